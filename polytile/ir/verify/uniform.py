"""All threads of a block reach its barriers, and all lanes of a segment what they combine: neither stands below a
condition that may differ between them."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from math import prod

from polytile.dataclass import dataclass
from polytile.ir.def_use import targets
from polytile.ir.expr import Access, Assign, Binary, Declare, Execution, Expr, For, If, Invoke, Literal, Name, Stmt
from polytile.ir.expr_trees import bodies, expressions, walk
from polytile.ir.gpu_ops import Atomic, Leave, Load, Shuffle, ThreadIndex, WarpReduce
from polytile.ir.kernel import Barrier, Kernel
from polytile.ir.memory import Space
from polytile.ir.verify.refuse import ensure
from polytile.ir.verify.scopes import distinctly_named

AXES = "xyz"


def check_uniform(kernel: Kernel) -> None:
    """Raise InternalError where a barrier of the block or grid, or a `Leave`, may miss some threads of a block, or a
    reduction over lanes some of its segment.

    Values from memory, from other lanes and the indices of threads may differ; so may what is computed from them.
    """
    meets = prod(kernel.block) > 1 and any(_meets(n) for n in kernel.nodes)
    widths = sorted({n.width for n in kernel.nodes if isinstance(n, WarpReduce)})
    if meets or widths:
        kernel = replace(kernel, body=distinctly_named(kernel.body))
    if meets:
        _check(kernel, kernel.body, differing_names(kernel), False)
    _check_widths(kernel, widths)


def _check_widths(kernel: Kernel, widths: Iterable[int]) -> None:
    for width in widths:
        x, y, _ = kernel.block
        ensure(not x % width or not width % x, kernel, None, f"segments of {width} lanes in rows of {x} threads")
        axes = "x" if width <= x else "xy" if width <= x * y else AXES
        own = _copies_of_lane(kernel) if x >= width else frozenset()
        _check_segments(kernel, kernel.body, _Lanes(width, axes, differing_names(kernel, axes), own))


def _copies_of_lane(kernel: Kernel) -> frozenset[str]:
    """Return the names that always stand for the thread's index along x."""
    own = {c.name for c in kernel.coordinates if c.source == ThreadIndex("x")}
    set_again = (t for n in kernel.nodes if isinstance(n, Assign | Invoke) for t in targets(n))
    others = {t.name for t in set_again if isinstance(t, Name)}
    declared = [n for n in kernel.nodes if isinstance(n, Declare)]
    for d in declared:
        if not (isinstance(d.value, Name) and d.value.name in own):
            others.add(d.name)
    return frozenset((own | {d.name for d in declared}) - others)


@dataclass(frozen=True, slots=True)
class _Lanes:
    """Segments of `width` lanes: along which axes, and which names differ inside; `own` are names of the index
    along x."""

    width: int
    axes: str
    differing: frozenset[str]
    own: frozenset[str]

    def stay_together(self, kernel: Kernel, condition: Expr) -> bool:
        """Return whether a condition holds in all lanes of a segment or in none."""
        match condition:
            case Binary(op="&&" | "||", left=left, right=right):
                return self.stay_together(kernel, left) and self.stay_together(kernel, right)
            case Binary(op=op, left=Name(name=name), right=Literal() as bound) if name in self.own:
                return self._between_segments(op, bound)
            case Binary(op=op, left=Literal() as bound, right=Name(name=name)) if name in self.own:
                return self._between_segments({"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op), bound)
        return not differs(kernel, condition, self.differing, self.axes)

    def stay_together_at(self, kernel: Kernel, stmt: Stmt) -> bool:
        """Return whether all lanes of a segment go the same way at a statement."""
        if isinstance(stmt, If):
            return self.stay_together(kernel, stmt.condition)
        return not _splits(kernel, stmt, self.differing, self.axes)

    def reduced_in(self, stmt: Stmt) -> bool:
        """Return whether the expressions of a statement itself combine the lanes of such segments."""
        return any(isinstance(n, WarpReduce) and n.width == self.width for n in walk(*expressions(stmt)))

    def _between_segments(self, op: str, bound: Literal) -> bool:
        """Return whether `lane op bound` is the same for all lanes of a segment."""
        first = int(bound.text) + (op in ("<=", ">")) if bound.text.isdigit() and op in ("<", "<=", ">", ">=") else 1
        return first % self.width == 0


def _check_segments(kernel: Kernel, body: Iterable[Stmt], lanes: _Lanes, apart: Stmt | None = None) -> None:
    """Raise InternalError where a warp reduction may miss some of its threads.

    `apart`: the outermost statement around the body at which threads of a segment may go different ways.
    """
    for stmt in body:
        if apart is not None and lanes.reduced_in(stmt):
            ensure(False, kernel, apart, "a reduction of lanes below a condition that may differ between them")
        blocks = bodies(stmt)
        inside = stmt if apart is None and blocks and not lanes.stay_together_at(kernel, stmt) else apart
        for block in blocks:
            _check_segments(kernel, block, lanes, inside)


def _meets(node: object) -> bool:
    return isinstance(node, Leave) or (isinstance(node, Barrier) and node.scope != "warp")


def _check(kernel: Kernel, body: Iterable[Stmt], differing: frozenset[str], apart: bool) -> None:
    for stmt in body:
        message = "below a condition that may differ between the threads of a block"
        ensure(not apart or not _meets(stmt), kernel, stmt, message)
        blocks = bodies(stmt)
        inside = apart or (bool(blocks) and _splits(kernel, stmt, differing))
        for block in blocks:
            _check(kernel, block, differing, inside)


def _splits(kernel: Kernel, stmt: Stmt, differing: AbstractSet[str], axes: str = AXES) -> bool:
    """Return whether threads of a block may go different ways at a statement."""
    branches = bool(bodies(stmt)) and not isinstance(stmt, Execution)
    return branches and any(differs(kernel, e, differing, axes) for e in expressions(stmt))


def differs(kernel: Kernel, value: Expr, differing: AbstractSet[str], axes: str = AXES) -> bool:
    """Return whether a value may differ between threads of a block that differ along `axes`.

    `differing` are the names that may.
    """
    for node in walk(value):
        match node:
            case ThreadIndex(axis=axis) if axis in axes:
                return True
            case Name(name=name) if name in differing:
                return True
            case Access(array=array) if kernel.storage_of(array).space is not Space.VALUE:
                return True
            case Shuffle() | WarpReduce():
                return True
    return False


def differing_names(kernel: Kernel, axes: str = AXES) -> frozenset[str]:
    """Return the names that may have different values in threads of a block that differ along `axes`."""
    found: set[str] = set()
    for c in kernel.coordinates:
        if differs(kernel, c.source, found, axes):
            found.add(c.name)
    before = -1
    while len(found) > before:
        before = len(found)
        _collect(kernel, kernel.body, found, False, axes)
    return frozenset(found)


def _collect(kernel: Kernel, body: Iterable[Stmt], found: set[str], apart: bool, axes: str) -> None:
    for stmt in body:
        match stmt:
            case Declare(name=name, value=Expr() as value) if name not in found and differs(kernel, value, found, axes):
                found.add(name)
            case Assign(target=Name(name=name), value=value) if name not in found and (
                apart or differs(kernel, value, found, axes)
            ):
                found.add(name)
            case Atomic() | Load() | Invoke():
                found.update(t.name for t in targets(stmt) if isinstance(t, Name))
        blocks = bodies(stmt)
        inside = bool(blocks) and _splits(kernel, stmt, found, axes)
        if inside and isinstance(stmt, For):
            found.add(stmt.iterator)
        for block in blocks:
            _collect(kernel, block, found, apart or inside, axes)
