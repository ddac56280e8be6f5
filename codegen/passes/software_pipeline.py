"""Software pipelining: tiles are on their way while earlier ones are worked on.

before: for (int k = 0; k < n; ++k) { copy(k, s); wait; barrier; step_0(s); step_1(s); barrier; }
after:  copy(0, s[0]); commit; copy(1, s[1]); commit;                                       3 stages
        int read = 0, write = 2;
        for (int k = 0; k < n; ++k) {
            wait until one group is left; barrier;
            half of copy(k + 2, s[write]); step_0(s[read]); the other half; step_1(s[read]); commit;
            write = read; read = read == 2 ? 0 : read + 1;
        }
        wait for all

Copies of tiles behind the last one fill with zeros what nobody reads: no branch, and every iteration is one group.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from polytile.codegen.passes.plan import Context, LoweredPlan, iterator_of
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.arith import add, both, compare, lift, select
from polytile.ir.def_use import names_of
from polytile.ir.expr import INT, Access, Assign, Declare, Expr, For, Literal, Name, Stmt
from polytile.ir.expr_trees import rewrite, statements, walk, with_bodies
from polytile.ir.gpu_ops import Advance, AsyncCopy, CommitCopies, WaitCopies
from polytile.ir.kernel import Barrier, Kernel
from polytile.ir.name_supply import fresh
from polytile.ir.substitute import Body, block, substituted
from polytile.ir.trip_count import Trips, trips


def software_pipeline(kernel: Kernel, plan: LoweredPlan, _: Context) -> Kernel:
    """Copy tiles to shared memory some iterations before they are used."""
    for label, stages in plan.stages.items():
        kernel = pipeline(kernel, iterator_of(kernel, label), stages)
    return kernel


def pipeline(kernel: Kernel, iterator: str, stages: int) -> Kernel:
    """Put the tiles of a kernel's loops over `iterator` in `stages` buffers.

    The body of such a loop is copies to shared memory with what they need (constants, pointers that advance; a commit
    and a wait), a barrier, the steps of the computation, and perhaps a barrier. Nothing else uses the shared arrays.
    Raises InternalError for other loops.
    """
    loops = [n for n in kernel.nodes if isinstance(n, For) and n.iterator == iterator]
    if not loops or stages < 2:
        raise InternalError(f"no loop over {iterator} to pipeline in {stages} stages")
    staged = frozenset(n.target.array for n in statements(*loops) if isinstance(n, AsyncCopy))
    used = [n for n in kernel.nodes if isinstance(n, Access) and n.array in staged]
    inside = [n for n in walk(*loops) if isinstance(n, Access) and n.array in staged]
    if len(used) > len(inside) or any(s.keeps is not None for s in kernel.storage if s.array in staged):
        raise InternalError(f"the tiles of the loop over {iterator} are used outside it")
    read, write = (Name(fresh(name, kernel.names)) for name in ("read", "write"))
    body = _spliced(kernel.body, iterator, _Pipeliner(staged, stages, read, write))
    buffers = (lift(stages),)
    storage = tuple(replace(s, extents=(*buffers, *s.extents)) if s.array in staged else s for s in kernel.storage)
    return replace(kernel, body=body, storage=storage)


def _spliced(body: Body, iterator: str, pipeliner: _Pipeliner) -> Body:
    """Replace the loops over `iterator` by pipelined ones, from inner loops to outer ones."""
    out: list[Stmt] = []
    for stmt in body:
        stmt = with_bodies(stmt, lambda inside: _spliced(inside, iterator, pipeliner))
        out += pipeliner.loop(stmt) if isinstance(stmt, For) and stmt.iterator == iterator else (stmt,)
    return tuple(out)


@dataclass(frozen=True, slots=True)
class _Pipeliner:
    staged: frozenset[str]
    stages: int
    read: Name
    write: Name

    def loop(self, loop: For) -> Body:
        """Build the prologue, the loop and the epilogue."""
        run = trips(loop)
        if run is None:
            raise InternalError(f"the loop over {loop.iterator} has no bounds to pipeline it by")
        copies, steps = self._parts(loop)
        return (
            *(s for stage in range(self.stages - 1) for s in self._ahead(copies, run, stage)),
            Declare(self.read.name, INT, lift(0)),
            Declare(self.write.name, INT, lift(self.stages - 1)),
            replace(loop, body=tuple(self._iteration(loop, run, copies, steps))),
            WaitCopies(0, "no copy outlives its loop"),
        )

    def _ahead(self, copies: Body, run: Trips, stage: int) -> Body:
        """Build the copies of a tile before the loop."""
        tile = add(run.lower, stage * run.step)
        op = "<" if run.step > 0 else ">"
        exists = both(*(compare(op, tile, end) for end in run.ends))
        return (*block(self._copies(copies, run, tile, exists, lift(stage))), CommitCopies())

    def _iteration(self, loop: For, run: Trips, copies: Body, steps: Body) -> Iterable[Stmt]:
        distance = self.stages - 1
        exists = run.condition_of(distance + 1)
        coming = self._copies(copies, run, add(run.iterator, distance * run.step), exists, self.write)
        yield WaitCopies(self.stages - 2, f"the tile of {loop.iterator} has arrived")
        yield Barrier(f"all have the tile of {loop.iterator}, and nobody reads the one before any longer")
        yield from _spread(coming, tuple(self._in_slot(s, self.read) for s in steps))
        yield CommitCopies()
        yield Assign(self.write, "", self.read)
        last = compare("==", self.read, self.stages - 1)
        yield Assign(self.read, "", select(last, lift(0), add(self.read, 1)))

    def _copies(self, copies: Body, run: Trips, tile: Expr, exists: Expr, slot: Expr) -> Body:
        """Build the copies of a tile to a slot; zeros where the tile does not exist."""

        def change(node: Any) -> Any:
            if not isinstance(node, AsyncCopy):
                return node
            guard = exists if node.guard is None else both(exists, node.guard)
            return replace(node, guard=None if guard == Literal("1", guard.type) else guard)

        moved = substituted(copies, {run.iterator.name: tile})
        return tuple(rewrite(self._in_slot(stmt, slot), change) for stmt in moved)

    def _in_slot(self, stmt: Stmt, slot: Expr) -> Stmt:
        def change(node: Any) -> Any:
            if isinstance(node, Access) and node.array in self.staged:
                return replace(node, subscripts=(slot, *node.subscripts))
            return node

        result: Stmt = rewrite(stmt, change)
        return result

    def _parts(self, loop: For) -> tuple[Body, Body]:
        """Split a loop into the copies, with the constants they use put in, and the steps after the first barrier."""
        cut = next((i for i, s in enumerate(loop.body) if isinstance(s, Barrier)), None)
        steps = loop.body[(len(loop.body) if cut is None else cut + 1) :]
        if steps and isinstance(steps[-1], Barrier):
            steps = steps[:-1]
        if cut is None or not steps:
            raise InternalError(f"the loop over {loop.iterator} has no barrier between copies and steps")
        constants: dict[str, Expr] = {}
        copies: list[Stmt] = []
        kept: list[Declare] = []
        for stmt in loop.body[:cut]:
            match stmt:
                case Declare(name=name, value=value) if value is not None:
                    (named,) = substituted((stmt,), constants)
                    assert isinstance(named, Declare) and named.value is not None
                    constants[name] = named.value
                    kept.append(stmt)
                case AsyncCopy() | Advance():
                    copies += substituted((stmt,), constants)
                    if sum(isinstance(n, Access) for n in walk(copies[-1])) > 2:
                        raise InternalError(f"where the loop over {loop.iterator} copies from depends on memory")
                case CommitCopies() | WaitCopies():
                    pass
                case _:
                    raise InternalError(f"the loop over {loop.iterator} begins with more than copies: {stmt}")
        return tuple(copies), (*_used(kept, steps), *steps)


def _used(constants: list[Declare], steps: Body) -> Body:
    """Return the constants that the steps use too."""
    used = set(names_of(steps))
    kept: list[Stmt] = []
    for stmt in reversed(constants):
        if stmt.name in used:
            used |= names_of((stmt,))
            kept.append(stmt)
    return tuple(reversed(kept))


def _spread(copies: Body, steps: Body) -> Iterable[Stmt]:
    """Spread the copies evenly among the steps, in order, declarations first."""
    first = next((i for i, s in enumerate(steps) if not isinstance(s, Declare)), len(steps))
    yield from steps[:first]
    work = steps[first:] or ()
    count = max(len(work), 1)
    position = 0
    for number in range(count):
        while position < len(copies) and position * count // len(copies) <= number:
            yield copies[position]
            position += 1
        yield from work[number : number + 1]
