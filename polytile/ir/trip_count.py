"""How often a loop runs: the values of its iterator where they are constants, its bounds where they are not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir import arith
from polytile.ir.arith import known
from polytile.ir.def_use import mentioned_names, reads_memory, value_names
from polytile.ir.expr import Binary, Expr, For, Name
from polytile.ir.fold import constant, folded
from polytile.ir.substitute import substituted_expr

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def trip_values(loop: For, limit: int) -> tuple[int, ...] | None:
    """Return the values that the iterator takes; None where they are not constants.

    Raises InternalError beyond `limit`.
    """
    start = known(folded(loop.lower))
    if start is None or isinstance(loop.step, Name):
        return None
    values: list[int] = []
    value = start
    while (holds := known(substituted_expr(loop.condition, {loop.iterator: constant(value, loop.type)}))) == 1:
        values.append(value)
        value += loop.step
        if len(values) > limit:
            raise InternalError(f"the loop over {loop.iterator} runs more than {limit} times")
    return tuple(values) if holds == 0 else None


def consecutive(loop: For) -> Binary | None:
    """Return the condition of a loop over consecutive numbers, `j < bound` or `j <= bound`; None for other loops."""
    match loop.condition:
        case Binary(op="<" | "<=", left=Name(name=name), right=bound) if name == loop.iterator and loop.step == 1:
            return None if name in value_names(bound) else loop.condition
    return None


@dataclass(frozen=True, slots=True)
class Trips:
    """A loop from `lower` by `step` while the iterator is below (with a negative step: above) every one of `ends`."""

    iterator: Name
    lower: Expr
    step: int
    ends: tuple[Expr, ...]

    def condition_of(self, times: int) -> Expr:
        """Return the condition that there are `times` iterations more.

        It is written on the bounds' side, where nothing overflows.
        """
        offset = (times - 1) * self.step
        op = "<" if self.step > 0 else ">"
        parts = [arith.compare(op, self.iterator, folded(arith.sub(end, offset))) for end in self.ends]
        return reduce(lambda a, b: Binary("&&", a, b, b.type), parts)

    def count(self) -> Expr:
        """Return the number of iterations."""
        if self.step > 0:
            distance = arith.sub(reduce(arith.least, self.ends), self.lower)
        else:
            distance = arith.sub(self.lower, reduce(arith.most, self.ends))
        size = abs(self.step)
        return folded(arith.div(arith.add(arith.most(distance, 0), size - 1), size))


def trips(loop: For) -> Trips | None:
    """Return the loop as a range of values, where its condition is one, else None."""
    if isinstance(loop.step, Name):
        return None
    ends = list(_ends(loop.condition, loop.iterator, 1 if loop.step > 0 else -1))
    bounds = tuple(end for end in ends if end is not None)
    if reads_memory(loop.lower, *bounds) or len(bounds) < len(ends):
        return None
    return Trips(Name(loop.iterator, loop.type), loop.lower, loop.step, bounds)


def _ends(condition: Expr, iterator: str, sign: int) -> Iterator[Expr | None]:
    """Yield the exclusive ends, of all conjuncts; None for one that is no bound."""
    match condition:
        case Binary(op="&&" | "&", left=left, right=right):
            yield from _ends(left, iterator, sign)
            yield from _ends(right, iterator, sign)
        case Binary(op=op, left=Name(name=name), right=end) if name == iterator and op in _MIRRORED:
            yield _end(op, end, iterator, sign)
        case Binary(op=op, left=end, right=Name(name=name)) if name == iterator and op in _MIRRORED:
            yield _end(_MIRRORED[op], end, iterator, sign)
        case _:
            yield None


def _end(op: str, end: Expr, iterator: str, sign: int) -> Expr | None:
    if iterator in mentioned_names(end) or op[0] != ("<" if sign > 0 else ">"):
        return None
    return folded(arith.add(end, sign)) if op.endswith("=") else end
