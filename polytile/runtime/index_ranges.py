"""How far subscripts move around an index that is read: `x[p[i] + 4 * n + j]` with n = 13 and 0 <= j < 8 uses the
elements from p[i] + 52 to p[i] + 59.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from polytile.dataclass import dataclass
from polytile.ir.arith import known
from polytile.ir.expr import INT, LLONG, Access, Binary, Cast, Expr, For, Literal, Name, Node, Unary
from polytile.ir.expr_trees import walk
from polytile.ir.indirect_subscripts import Gathered, gathered
from polytile.ir.scop import Scop, Statement
from polytile.ir.substitute import substituted_expr
from polytile.runtime.parameters import point

Range = tuple[int, int]  # the least and the greatest value
Ranges = Mapping[str, Range]
_SMALL = 1 << 31


@dataclass(frozen=True, slots=True)
class Spread:
    """`index` with numbers from `low` to `high` added to it."""

    index: Gathered
    low: int = 0
    high: int = 0


def numbers(values: Mapping[str, int]) -> dict[str, Expr]:
    """Return the sizes as literals."""
    return {name: Literal(str(value), INT if abs(value) < _SMALL else LLONG) for name, value in values.items()}


def spread(subscript: Expr, sizes: Mapping[str, Expr], ranges: Ranges) -> Spread | None:
    """Match an index that is read, plus or minus sizes, constants and iterators that have ranges; None for others."""
    index: Gathered | None = None
    low = high = 0
    for sign, term in _terms(substituted_expr(subscript, sizes)):
        span = _range(term, ranges)
        if span is not None:
            least, greatest = sorted((sign * span[0], sign * span[1]))
            low, high = low + least, high + greatest
            continue
        found = gathered(term)
        if found is None or index is not None or sign < 0:
            return None
        index = found
    return None if index is None else Spread(index, low, high)


def _terms(expr: Expr, sign: int = 1) -> Iterator[tuple[int, Expr]]:
    match expr:
        case Binary(op="+" | "-" as op, left=left, right=right):
            yield from _terms(left, sign)
            yield from _terms(right, sign if op == "+" else -sign)
        case Cast(type=ctype, operand=Binary(op="+" | "-", type=inner) as operand) if (
            ctype.kind == inner.kind == "int" and ctype.size >= inner.size
        ):
            yield from _terms(operand, sign)
        case _:
            yield sign, expr


def _range(term: Expr, ranges: Ranges) -> Range | None:
    """Bound sums, products and quotients of constants and iterators."""
    number = known(term)
    if number is not None:
        return number, number
    match term:
        case Name(name=name):
            return ranges.get(name)
        case Cast(operand=operand):
            return _range(operand, ranges)
        case Unary(op="-", operand=operand):
            span = _range(operand, ranges)
            return None if span is None else (-span[1], -span[0])
        case Binary(op=op, left=left, right=right):
            one, other = _range(left, ranges), _range(right, ranges)
            return None if one is None or other is None else _combined(op, one, other)
    return None


def _combined(op: str, left: Range, right: Range) -> Range | None:
    low, high = right
    if op == "+":
        return left[0] + low, left[1] + high
    if op == "-":
        return left[0] - high, left[1] - low
    if op == "*":
        products = [a * b for a in left for b in right]
        return min(products), max(products)
    if op == "/" and low == high > 0:  # towards 0, as C divides
        least, greatest = (abs(end) // low * (1 if end >= 0 else -1) for end in left)
        return least, greatest
    if op == "%" and low == high > 0:
        return 0 if left[0] >= 0 else 1 - low, min(max(left[1], 0), low - 1)
    return None


def elements_used(scop: Scop, values: Mapping[str, int]) -> dict[str, int]:
    """Count how many elements the subscripts reach that no data decide, with these sizes.

    The counts are by the parameter that is the extent of an array of unknown size; conditions around subscripts are
    taken to hold.
    """
    sizes, ranges = numbers(values), ranges_of(scop, values)
    extents = {reached.array: reached.extent for reached in scop.reached}
    found: dict[str, int] = {}
    for statement in scop.statements:
        for access in (n for root in statement.body for n in walk(root) if isinstance(n, Access)):
            extent = extents.get(access.array)
            if extent is not None and access.subscripts:
                span = _range(substituted_expr(access.subscripts[0], sizes), ranges[statement.name])
                found[extent] = max(found.get(extent, 0), span[1] + 1 if span is not None else 0)
    return found


def ranges_of(scop: Scop, values: Mapping[str, int]) -> dict[str, dict[str, Range]]:
    """Compute, by statement, the values that its iterators and the loops inside it have for these sizes."""
    sizes = numbers(values)
    return {s.name: {**_of_iterators(s, values), **_of_loops(s.body, sizes)} for s in scop.statements}


def _of_iterators(statement: Statement, values: Mapping[str, int]) -> dict[str, Range]:
    domain = statement.domain.intersect_params(point(values))
    found: dict[str, Range] = {}
    if domain.is_empty():
        return found
    for position, name in enumerate(statement.iterators):
        low, high = domain.dim_min_val(position), domain.dim_max_val(position)
        if low.is_int() and high.is_int():
            found[name] = int(low.to_python()), int(high.to_python())
    return found


def _of_loops(body: Iterable[Node], sizes: Mapping[str, Expr]) -> dict[str, Range]:
    """Bound the iterators of loops between constants; loops of one iterator have all of their values together."""
    found: dict[str, Range] = {}
    unknown: set[str] = set()
    for loop in (node for root in body for node in walk(root) if isinstance(node, For)):
        span = _of_loop(loop, sizes)
        if span is None:
            unknown.add(loop.iterator)
        elif span[0] <= span[1]:
            before = found.get(loop.iterator, span)
            found[loop.iterator] = min(before[0], span[0]), max(before[1], span[1])
    return {name: span for name, span in found.items() if name not in unknown}


def _of_loop(loop: For, sizes: Mapping[str, Expr]) -> Range | None:
    low = known(substituted_expr(loop.lower, sizes))
    match loop.condition:
        case Binary(op="<" | "<=" as op, left=Name(name=name), right=right) if name == loop.iterator:
            end = known(substituted_expr(right, sizes))
            if low is not None and end is not None and isinstance(loop.step, int) and loop.step > 0:
                return low, end - (op == "<")
    return None
