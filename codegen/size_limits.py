"""For which sizes no integer that a program computes overflows: the kernels', of 32 or 64 bits, and the host's.

Every sum, difference and product of integers that is printed is bounded by linear forms over the sizes, for all values
of the iterators, threads and blocks in it; where such a bound may leave the type, it becomes a limit.

before: for (k = 0; k < n; ++k) ... 32 * b + t, with t in 0 .. 31 and b in 0 .. floor((n - 1)/32)
after:  32 * b + t <= n + 30, so that n <= 2147483617; k + 1 <= n, which is less

Arithmetic that is not linear is the program's own, as the body of a statement has it: C says that it does not overflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import reduce
from math import floor, gcd, lcm

import islpy as isl

from polytile.codegen.linear_spans import ANY, Number, Span, Terms, Values, is_index
from polytile.dataclass import dataclass
from polytile.ir.expr import (
    INT,
    Access,
    Assign,
    Binary,
    CType,
    Declare,
    Expr,
    For,
    IteratorValue,
    Name,
    Node,
    Stmt,
    Unary,
    value_range,
)
from polytile.ir.expr_trees import children, walk
from polytile.ir.gpu_ops import Atomic, BlockIndex, GridExtent, Store, ThreadIndex
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel, Launch
from polytile.ir.ranges import Range
from polytile.ir.size_limits import LIMIT_OF_INT, LIMIT_OF_LONG, SizeLimit
from polytile.ir.trip_count import trips

_AXES = ("x", "y", "z")
_COMPUTED = ("+", "-", "*", "<<")
_PARAM, _SET = isl.dim_type.param, isl.dim_type.set


def size_limits(program: HostProgram, context: isl.Set) -> tuple[SizeLimit, ...]:
    """Return the limits of a program's sizes; none where all sizes of their types are right.

    `context` is what holds of the sizes.
    """
    host = Values({p.name: Span.of(p.name) for p in program.parameters})
    found = _Sums()
    for parameter in program.parameters:
        found.fit(Span.of(parameter.name), 2**63 - 1)
    found.statements(program.body, host, on_host=True)
    grids: dict[str, tuple[Span, ...]] = {}
    for node in walk(*program.body):
        if isinstance(node, Launch):
            here = tuple(map(host, node.grid))
            grids[node.kernel] = tuple(map(Span.joined, grids.get(node.kernel, here), here))
            found.fit(here[0], LIMIT_OF_INT)
    for kernel in program.kernels:
        found.kernel(kernel, host, grids.get(kernel.name, (ANY, ANY, ANY)))
    found.natural |= host.natural
    return _limits(found, {p.name: value_range(p.type) for p in program.parameters}, context)


def can_hold(limits: Iterable[SizeLimit], runs: Sequence[isl.Set]) -> bool:
    """Return whether each limit holds for some sizes with which something runs: those of one of these domains."""
    return all(any(not d.params().is_disjoint(_allowed(limit)) for d in runs) for limit in limits)


def _allowed(limit: SizeLimit) -> isl.Set:
    total = " + ".join(f"{factor} {name}" for name, factor in limit.terms) or "0"
    return isl.Set(f"[{', '.join(sorted(limit.names))}] -> {{ : {total} <= {limit.most} }}")


@dataclass(slots=True)
class _Sums:
    """Forms that must not be above 0, and sizes that must not be below."""

    forms: dict[Terms, Number] = field(default_factory=dict)
    natural: set[str] = field(default_factory=set)

    def fit(self, span: Span, most: int) -> None:
        """Require that all values of a span are from -most - 1 to most."""
        for forms, limit in ((span.most, most), (span.least, most + 1)):
            for terms, constant in (forms or {}).items():
                before = self.forms.get(terms)
                if before is None or constant - limit > before:
                    self.forms[terms] = constant - limit

    def kernel(self, kernel: Kernel, host: Values, grid: Sequence[Span]) -> None:
        """Add what a kernel computes, on a grid of such extents."""
        scalars = [p for p in kernel.parameters if p.buffer is None]
        values = Values({p.name: host.names.get(p.name, ANY) for p in scalars})
        for parameter in scalars:
            if parameter.type.kind == "int" and parameter.type.signed:
                self.fit(values.names[parameter.name], _most(parameter.type))
        for axis, count, threads in zip(_AXES, grid, kernel.block, strict=True):
            values.names[BlockIndex(axis).name] = Span((count - Span.between(1, 1)).most, {(): 0})
            values.names[GridExtent(axis).name] = Span(count.most, {(): -1})
            values.names[ThreadIndex(axis).name] = Span.between(0, threads - 1)
        for coordinate in kernel.coordinates:
            values.names[coordinate.name] = values(coordinate.source)
        self.statements(kernel.body, values, kernel.bounds, kernel.changing, wide=kernel.index_type != "int")
        self.natural |= values.natural

    def statements(
        self,
        body: tuple[Stmt, ...],
        values: Values,
        bounds: Sequence[Range] = (),
        changing: frozenset[str] = frozenset(),
        *,
        wide: bool = False,
        on_host: bool = False,
    ) -> None:
        """Add what statements compute, all of it in 64 bits on the host.

        `bounds` are those of names that they declare, beyond what their values say. In a kernel with `wide` indices, 32
        bits are the C's own.
        """
        known = {r.name: r for r in bounds}
        inside, computed = _computed(body)
        for stmt in inside:
            match stmt:
                case Declare(name=name, value=value, type=CType(kind="int")):
                    span = ANY if value is None or name in changing else values(value)
                    values.declare(name, _within(span, known.get(name), values))
                case For(iterator=name):
                    values.declare(name, ANY if name in changing else _iterator(stmt, values))
        values.found.clear()
        most = LIMIT_OF_LONG if on_host else None
        for expr in computed:
            if not wide or expr.type.size > INT.size:
                self.fit(values(expr), most or _most(expr.type))
        for stmt in inside:
            match stmt:
                case For(iterator=name, type=ctype) if is_index(Name(name, ctype)):
                    if not wide or ctype.size > INT.size:
                        self.fit(values.names[name] + _step(stmt, values), most or _most(ctype))
                case Declare(type=CType(kind="int") as ctype, value=Expr() as value) if wide:
                    if ctype.size < value.type.size:
                        self.fit(values(value), _most(ctype))


def _computed(body: Sequence[Stmt]) -> tuple[list[Stmt], list[Expr]]:
    """Return statements with all inside of them, and the sums, differences and products of indices, each once.

    Left out are those of what is stored, subscripts apart, and of values of the C's iterators: only instances that
    there are compute these, and C says that they fit.
    """
    inside: list[Stmt] = []
    seen: set[Expr] = set()
    found: list[Expr] = []
    waiting: list[Node] = [*reversed(body)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Stmt):
            inside.append(node)
        elif isinstance(node, IteratorValue) or node in seen:
            continue
        else:
            seen.add(node)
            if isinstance(node, Binary | Unary) and node.op in _COMPUTED and is_index(node):
                found.append(node)
        below = children(node)
        if isinstance(node, Assign | Atomic | Store) or (isinstance(node, Declare) and node.type.kind != "int"):
            below = tuple(part for part in walk(*below) if isinstance(part, Access))
        waiting += below[::-1]
    return inside, found


def _step(loop: For, values: Values) -> Span:
    """Return what an iterator changes by."""
    return values(loop.step) if isinstance(loop.step, Name) else Span.between(loop.step, loop.step)


def _iterator(loop: For, values: Values) -> Span:
    """Return the values of an iterator inside of its loop."""
    ends = trips(replace(loop, step=1) if isinstance(loop.step, Name) else loop)  # a grid's extent is above 0
    if ends is None:
        return ANY
    start, one = values(ends.lower), Span.between(1, 1)
    if ends.step > 0:
        return Span((reduce(Span.least_with, map(values, ends.ends)) - one).most, start.least)
    last = -reduce(Span.least_with, (-values(end) for end in ends.ends)) + one
    return Span(start.most, last.least)


def _within(span: Span, bound: Range | None, values: Values) -> Span:
    """Return the values that are also within a bound."""
    if bound is None:
        return span
    least = span.least if bound.least is None else values(bound.least).least
    return Span(span.most if bound.most is None else values(bound.most).most, least)


def _most(ctype: CType) -> int:
    return LIMIT_OF_INT if ctype.size <= 4 else LIMIT_OF_LONG


# Limits -------------------------------------------------------------------------------------------------------------
def _limits(found: _Sums, ranges: Mapping[str, tuple[int, int]], context: isl.Set) -> tuple[SizeLimit, ...]:
    """Return the sums as limits, but for those that all sizes keep.

    Of those with equal terms it is the most restrictive one.
    """
    ranges = _narrowed(ranges, context)
    limits: dict[tuple[tuple[str, int], ...], int] = {}
    forms = [*found.forms.items(), *((((name, -1),), 0) for name in sorted(found.natural))]
    for terms, constant in forms:
        if sum(max(f * end for end in ranges[name]) for name, f in terms) + constant <= 0:
            continue
        factors, most = _in_integers(terms, constant)
        limits[factors] = min(limits.get(factors, most), most)
    return tuple(SizeLimit(terms, limits[terms]) for terms in sorted(limits))


def _in_integers(terms: Terms, constant: Number) -> tuple[tuple[tuple[str, int], ...], int]:
    """Convert sum + constant <= 0 to `sum <= most` with integer factors that have no common divisor.

    before: n/8 + 3 n/8 - 1/2 <= 7/8;    after: n <= 2
    """
    scale = lcm(*(Fraction(f).denominator for _, f in terms))
    factors = [(name, int(f * scale)) for name, f in terms]
    divisor = gcd(*(f for _, f in factors)) or 1
    return tuple((name, f // divisor) for name, f in factors), floor(Fraction(-constant * scale) / divisor)


def _narrowed(ranges: Mapping[str, tuple[int, int]], context: isl.Set) -> dict[str, tuple[int, int]]:
    """Narrow the ranges of sizes by what the context says of each alone.

    Where the host asks that, sizes from 2^63 on are negative to it.
    """
    found, known = dict(ranges), context.params()
    for name, (least, most) in ranges.items():
        position = known.find_dim_by_name(_PARAM, name)
        if position >= 0 and known.involves_dims(_PARAM, position, 1):
            values = isl.Set.from_params(known).move_dims(_SET, 0, _PARAM, position, 1)
            low, high = values.dim_min_val(0), values.dim_max_val(0)
            found[name] = (
                max(least, low.to_python()) if low.is_int() else least,
                min(most, high.to_python()) if high.is_int() and most < 2**63 else most,
            )
    return found
