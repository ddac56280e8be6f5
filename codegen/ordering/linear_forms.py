"""Sums as linear forms: what values add up, each with a constant factor.

before: 0.5 * (a[i] + a[i + 1]) - (a[i + 2] - x * y)
after:  0.5 a[i] + 0.5 a[i + 1] - a[i + 2] + x y              four labels: three elements, and one product of values
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from polytile.codegen.ordering.value_graph import Kind, ValueGraph
from polytile.dataclass import dataclass
from polytile.ir.expr import Binary, Unary
from polytile.ir.literals import exact_value

Form = Mapping[int, Fraction]  # labels, as numbers of nodes, and their factors
_ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class Sums:
    """The linear forms of a graph by the operation that computes each, and the operations that are parts of them."""

    forms: Mapping[int, Form]
    inside: frozenset[int]


def sums_of(graph: ValueGraph, *, shared: bool, distribute: bool = True) -> Sums:
    """Return the largest sums of a graph.

    Those that several others have a part of are multiplied out in each of these where `shared` ones are. A constant
    times a sum is a factor of each of its labels, unless none is to `distribute`: then the product is a label.
    """
    uses = graph.uses()
    parts = [_parts(graph, number) for number in range(len(graph.nodes))]

    def is_inside(number: int) -> bool:
        users = uses[number]
        scaled = not distribute and len(parts[number]) > 1 and any(len(parts[u]) == 1 for u in users)
        return bool(users) and all(parts[u] for u in users) and (shared or len(users) == 1) and not scaled

    linear = [n for n in range(len(graph.nodes)) if parts[n]]
    inside = frozenset(n for n in linear if is_inside(n))
    while True:
        forms = {n: _form(n, parts, inside) for n in linear if n not in inside}
        known = {n: f for n, f in forms.items() if f is not None}
        lost = {o for n in forms if n not in known for o, _ in parts[n]} & inside
        if not lost:
            return Sums(known, inside)
        inside -= lost  # what such a sum adds up is computed as it was


def _form(root: int, parts: list[tuple[tuple[int, Fraction], ...]], inside: frozenset[int]) -> Form | None:
    """Return the form of one sum, or None where factors of a label add up to nothing."""
    found: dict[int, Fraction] = {}
    waiting = [(number, factor) for number, factor in reversed(parts[root])]
    while waiting:
        number, factor = waiting.pop()
        if number in inside:
            waiting += [(n, factor * f) for n, f in reversed(parts[number])]
        else:
            found[number] = found.get(number, Fraction(0)) + factor
    return found if all(found.values()) else None


def _parts(graph: ValueGraph, number: int) -> tuple[tuple[int, Fraction], ...]:
    """Return the operands of an addition, or what a product has beside a constant, with their factors.

    Empty for what is no part of a sum.
    """
    node = graph.nodes[number]
    if node.kind is not Kind.OPERATION or node.expr.type.kind != "float":
        return ()
    same = [graph.nodes[o].expr.type == node.expr.type for o in node.operands]
    match node.expr, node.operands:
        case Binary(op="+" | "-" as op), (left, right) if all(same):
            return (left, _ONE), (right, _ONE if op == "+" else -_ONE)
        case Binary(op="*"), (left, right):
            for label, factor, fits in ((left, right, same[0]), (right, left, same[1])):
                value = _factor(graph, factor)
                if value and fits and _factor(graph, label) is None:
                    return ((label, value),)
        case Binary(op="/"), (left, right) if same[0]:
            value = _factor(graph, right)
            return ((left, 1 / value),) if value and _factor(graph, left) is None else ()
        case Unary(op="-"), (operand,) if all(same):
            return ((operand, -_ONE),)
    return ()


def _factor(graph: ValueGraph, number: int) -> Fraction | None:
    node = graph.nodes[number]
    return exact_value(node.expr) if node.kind is Kind.CONSTANT else None
