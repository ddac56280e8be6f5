"""Reductions over the threads that hold partial results: which instances are lanes, and which of them uses the result.

before: C[i]: { v = 0; for (l < 32) v = v + part[i][l]; x[i] += v; }
after:  C[i, lane]: { v = polytile_warp_sum(part[i][lane]); if (lane == 0) x[i] += v; }
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from polytile.dataclass import dataclass
from polytile.ir.arith import add, binary, compare, mul
from polytile.ir.expr import INT, Binary, Expr, Name
from polytile.ir.partial_results import Combination


@dataclass(frozen=True, slots=True)
class WarpReduction:
    """The lanes of `statement` are its last iterators, of these sizes; `strides` number them, `axes` are the thread
    dimensions that they are added to. In segments of `width` lanes they combine what each reads of `array`; the first
    lane of a segment uses the result (`width` 1: each its own)."""

    statement: str
    array: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    axes: tuple[int, ...]
    width: int

    def __str__(self) -> str:
        count = prod(self.sizes) // self.width
        times = f", {count} times," if count > 1 else ""
        return f"{self.width} neighbouring threads{times} combine what they have of {self.array}, all of it"

    def leads(self, lanes: Sequence[str]) -> Expr:
        """Return the condition that a thread is the first of its segment: `lane == 0` where there is one segment."""
        if prod(self.sizes) == self.width:
            return _conjunction([compare("==", Name(lane), 0) for lane in lanes])
        return compare("==", binary("%", lane_number(lanes, self.strides), self.width), 0)


def lane_number(lanes: Sequence[str], strides: Sequence[int]) -> Expr:
    """Return the number of a thread among those that hold partial results: `32 * lane_y + lane_x`."""
    terms = sorted(zip(strides, lanes, strict=True), reverse=True)
    total: Expr | int = 0
    for stride, lane in terms:
        total = add(total, mul(stride, Name(lane)))
    assert isinstance(total, Expr)
    return total


def lane_operator(combine: Combination) -> str:
    """Return the operation that combines partial results of a warp.

    Minimum and maximum of floating-point values leave NaNs out, as the fold does.
    """
    return {"min": "fmin", "max": "fmax"}.get(combine.op, combine.op) if combine.type.kind == "float" else combine.op


def _conjunction(conditions: Sequence[Expr]) -> Expr:
    total = conditions[0]
    for condition in conditions[1:]:
        total = Binary("&&", total, condition, INT)
    return total
