"""Asynchronous copies are waited for before the barrier that shows them to others; split barriers are initialised, and
every arrival has its wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Declare, For, If, Scope, Stmt
from polytile.ir.expr_trees import children, walk
from polytile.ir.gpu_ops import (
    Arrive,
    AsyncCopy,
    Await,
    AwaitLaunches,
    CommitCopies,
    InitBarrier,
    Pointer,
    PrivateArray,
    WaitCopies,
)
from polytile.ir.kernel import Barrier, Kernel
from polytile.ir.verify.refuse import ensure


@dataclass(frozen=True, slots=True)
class _Copies:
    """Some copy that is in no group yet, and one whose group was not waited for."""

    issued: AsyncCopy | None = None
    committed: AsyncCopy | None = None

    def joined(self, other: _Copies) -> _Copies:
        return _Copies(self.issued or other.issued, self.committed or other.committed)


def check_copies(kernel: Kernel) -> None:
    """Raise InternalError where a barrier of the block follows a copy without a commit and a wait between them."""
    copies = [n for n in kernel.nodes if isinstance(n, AsyncCopy)]
    if copies:
        waits = any(isinstance(n, WaitCopies) for n in kernel.nodes)
        ensure(waits, kernel, copies[0], "nobody waits for this copy")
        _after(kernel, kernel.body, _Copies())


def _after(kernel: Kernel, body: Iterable[Stmt], state: _Copies) -> _Copies:
    """Return the copies in flight after `body`; a loop's body runs twice, since copies go round."""
    for stmt in body:
        match stmt:
            case AsyncCopy():
                state = _Copies(stmt, state.committed)
            case CommitCopies():
                state = _Copies(None, state.issued or state.committed)
            case WaitCopies():
                state = _Copies(state.issued, None)
            case Barrier(scope="block"):
                ensure(state.issued is None, kernel, state.issued, "a barrier follows a copy that is in no group")
                ensure(state.committed is None, kernel, state.committed, "a barrier follows a copy without a wait")
            case If(then=then, otherwise=otherwise):
                state = _after(kernel, then, state).joined(_after(kernel, otherwise, state))
            case For(body=inner):
                once = state.joined(_after(kernel, inner, state))
                state = once.joined(_after(kernel, inner, once))
            case Scope(body=inner):
                state = _after(kernel, inner, state)
    return state


def check_launches(kernel: Kernel) -> None:
    """Raise InternalError where memory is touched before the wait for the launches before."""
    waits = [n for n in kernel.nodes if isinstance(n, AwaitLaunches)]
    if waits:
        ahead = takewhile(lambda stmt: not isinstance(stmt, AwaitLaunches), kernel.body)
        first = len(waits) == 1 and all(map(_touches_nothing, ahead))
        ensure(first, kernel, waits[0], "a wait for the launches before that does not open the kernel")


def _touches_nothing(stmt: Stmt) -> bool:
    """Return whether a statement only declares what needs no memory."""
    if isinstance(stmt, Pointer):
        return True
    return isinstance(stmt, Declare | PrivateArray) and not any(isinstance(n, Access) for n in walk(stmt))


def check_split_barriers(kernel: Kernel) -> None:
    """Raise InternalError for a split barrier that is used before it is ready, or that only one side uses in a loop."""
    ready: dict[str, bool] = {}  # by array, once initialised: whether a barrier of the block followed
    for stmt in kernel.nodes:
        match stmt:
            case InitBarrier(barrier=barrier):
                ready[barrier.array] = False
            case Barrier(scope="block"):
                ready = dict.fromkeys(ready, True)
            case Arrive(barrier=barrier) | Await(barrier=barrier):
                ensure(barrier.array in ready, kernel, stmt, f"{barrier.array} is not initialised")
                ensure(ready[barrier.array], kernel, stmt, f"no barrier follows the initialisation of {barrier.array}")
    if ready:
        _check_pairs(kernel, kernel.body)


def _check_pairs(kernel: Kernel, body: tuple[Stmt, ...]) -> None:
    inside = [n for s in body for n in walk(s)]
    sides = {kind: {n.barrier.array for n in inside if isinstance(n, kind)} for kind in (Arrive, Await)}
    for stmt in _outside_loops(body):
        match stmt:
            case Arrive(barrier=barrier):
                ensure(barrier.array in sides[Await], kernel, stmt, "nobody waits for this arrival in the same loop")
            case Await(barrier=barrier):
                ensure(barrier.array in sides[Arrive], kernel, stmt, "nobody arrives for this wait in the same loop")
            case For(body=inner):
                _check_pairs(kernel, inner)


def _outside_loops(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """Yield the statements of a body, those inside its loops left out."""
    for stmt in body:
        yield stmt
        if not isinstance(stmt, For):
            yield from _outside_loops(c for c in children(stmt) if isinstance(c, Stmt))
