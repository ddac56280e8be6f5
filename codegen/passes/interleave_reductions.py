"""Lanes that meet once for a batch of iterations, and then finish some of them each.

before: for (c = ...; c += 2) {                        (a batch of two iterations, see unroll_loads_first.py)
            part = ...; s = polytile_warp_sum(part); if (lane == 0) y[c] = s;
            part = ...; s = polytile_warp_sum(part); if (lane == 0) y[c + 1] = s; }
after:  for (c = ...; c += 2) {
            part = ...; part_at0 = part; part = ...; part_at1 = part;
            s = polytile_each_sum(part_at0, part_at1);
            if (lane % 16 == 0 && lane / 16 <= c_last - c) y[c + lane / 16] = s; }

Where lanes exchange halves of the values that they hold, eight sums over a warp take 9 shuffles instead of 40. Each is
added up in the order of the single ones, so that all bits are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.ir.arith import both
from polytile.ir.expr import Access, Binary, Declare, Expr, If, Literal, Name, Scope, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.gpu_ops import WarpReduce
from polytile.ir.kernel import Comment
from polytile.machine import WARP_SIZE

JOINED = frozenset("+*&|^")  # whose results are the same in all lanes, whichever operand comes first


@dataclass(frozen=True, slots=True)
class ReductionEnd:
    """The end of an iteration, behind `before`: lanes combine, and the first one does the rest."""

    before: tuple[Stmt, ...]
    names: tuple[Stmt, ...]  # declarations and comments that the rest may need
    declared: Declare
    met: WarpReduce
    rest: tuple[Stmt, ...]
    lane: str

    @property
    def part(self) -> Access:
        """Return the partial result of each thread of a warp."""
        assert isinstance(self.met.value, Access)
        return self.met.value

    def joined(self, iterator: Name, last: Expr, parts: Sequence[Name]) -> tuple[Stmt, If, Expr]:
        """Build one reduction of several iterations' `parts`, and what threads then do for one iteration each.

        Returns the declaration of the result, the statement, and the iteration of each thread, which has to take the
        place of `iterator` there.
        """
        integer = iterator.type
        each, lane = Literal(str(WARP_SIZE // len(parts)), integer), Name(self.lane, integer)
        own = Binary("/", lane, each, integer)
        leads = Binary("==", Binary("%", lane, each, integer), Literal("0", integer))
        runs = Binary("<=", own, Binary("-", last, iterator, integer))
        met = replace(self.met, value=parts[0], more=tuple(parts[1:]))
        then = If(both(leads, runs), (*self.names, *self.rest))
        return replace(self.declared, value=met), then, Binary("+", iterator, own, integer)


def meets(*body: Stmt) -> bool:
    """Return whether threads of a warp reduce a value there."""
    return any(isinstance(n, WarpReduce) for n in walk(*body))


def meeting(body: Sequence[Stmt], lane: str | None) -> ReductionEnd | None:
    """Return how iterations end, if that is the only reduction, by whole warps; `lane` numbers their threads."""
    met = [n for s in body for n in walk(s) if isinstance(n, WarpReduce)]
    match body:
        case [*before, Scope(body=(*names, Declare() as declared, If(otherwise=()) as rest))] if len(met) == 1:
            first = _first_lane(rest.condition, names)
            plain = all(isinstance(n, Comment) or _is_plain(n) for n in names)
            if declared.value is met[0] and _can_join(met[0]) and plain and lane is not None and first == lane:
                return ReductionEnd(tuple(before), tuple(names), declared, met[0], rest.then, lane)
    return None


def _can_join(met: WarpReduce) -> bool:
    return met.width == WARP_SIZE and met.op in JOINED and isinstance(met.value, Access)


def _is_plain(stmt: Stmt) -> bool:
    """Return whether a declaration reads no memory, so that it can stand below a condition."""
    return isinstance(stmt, Declare) and not any(isinstance(n, Access | WarpReduce) for n in walk(stmt))


def _first_lane(condition: Expr, names: Sequence[Stmt]) -> str | None:
    """Return the name that `lane` stands for in the condition `lane == 0`, or None."""
    match condition:
        case Binary(op="==", left=Name(name=name), right=Literal(text="0")):
            stands = {n.name: n.value.name for n in names if isinstance(n, Declare) and isinstance(n.value, Name)}
            return stands.get(name, name)
    return None
