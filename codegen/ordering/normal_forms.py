"""Whether two blocks compute the same but for roundings: sums as linear forms, everything else operation by operation.

    0.5 * (a + b) + c    and    (0.5 * a + c) + 0.5 * b        have one normal form: 0.5 a + 0.5 b + c

Values of both blocks are numbered in one table, from their leaves up. Factors are numbers and may differ in their last
digits; a load differs by the stores that may have reached its element. Nothing of what made the second block is
used here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import field

from polytile.codegen.ordering.value_graph import Kind, ValueGraph, ValueNode
from polytile.dataclass import dataclass
from polytile.ir.expr import Binary, Unary
from polytile.ir.literals import exact_value

TOLERANCE = 1e-13  # of a factor, relative: some roundings of a double
_ONE = -1  # the label of what is added as a number
Form = dict[int, float]


def same_sums(one: ValueGraph, other: ValueGraph) -> bool:
    """Return whether both graphs store values of the same normal forms in the same places.

    Each read must see the same store.
    """
    table = _Table()
    return table.stores(one) == table.stores(other)


@dataclass(slots=True)
class _Table:
    """The numbers of labels, and of forms by their labels."""

    labels: dict[Hashable, int] = field(default_factory=dict)
    forms: dict[tuple[int, ...], list[tuple[tuple[float, ...], int]]] = field(default_factory=dict)

    def stores(self, graph: ValueGraph) -> Counter[int]:
        """Count how often each store is in a graph, by its number."""
        forms: list[Form] = []
        for node in graph.nodes:
            forms.append(self._form(node, forms))
        return Counter(self._number(forms[n]) for n in graph.stores)

    def _form(self, node: ValueNode, forms: list[Form]) -> Form:
        operands = [forms[o] for o in node.operands]
        if node.kind is Kind.CONSTANT:
            value = exact_value(node.expr) if node.expr.type.kind == "float" or not node.operands else None
            return {_ONE: float(value)} if value is not None else self._label(("constant", node.key))
        if node.kind is Kind.OPERATION and (found := _combined(node, operands)) is not None:
            return found
        place = node.key[:2] if node.kind is Kind.LOAD and isinstance(node.key, tuple) else node.key
        after = frozenset(self._number(forms[n]) for n in node.after)
        return self._label((node.kind, place, tuple(self._number(o) for o in operands), after))

    def _label(self, key: Hashable) -> Form:
        return {self.labels.setdefault(key, len(self.labels)): 1.0}

    def _number(self, form: Form) -> int:
        """Return the number of a value.

        It is that of a label itself, or of a form with the same labels and nearly the same factors.
        """
        if len(form) == 1 and (label := next(iter(form))) != _ONE and form[label] == 1.0:
            return label
        labels = tuple(sorted(form))
        factors = tuple(form[label] for label in labels)
        known = self.forms.setdefault(labels, [])
        for others, number in known:
            if all(map(_are_near, factors, others)):
                return number
        number = self.labels.setdefault(("form", labels, factors), len(self.labels))
        known.append((factors, number))
        return number


def _are_near(a: float, b: float) -> bool:
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b))


def _combined(node: ValueNode, operands: list[Form]) -> Form | None:
    """Return the form of a sum, or of a value times a number; None for other operations."""
    if node.expr.type.kind != "float" or any(_type(node, k) != node.expr.type for k in range(len(operands))):
        return _scaled(node, operands)
    match node.expr, operands:
        case Binary(op="+" | "-" as op), [left, right]:
            return _sum(left, right, 1.0 if op == "+" else -1.0)
        case Unary(op="-"), [operand]:
            return {label: -factor for label, factor in operand.items()}
    return _scaled(node, operands)


def _sum(left: Form, right: Form, sign: float) -> Form:
    found = dict(left)
    for label, factor in right.items():
        found[label] = found.get(label, 0.0) + sign * factor
    return found


def _scaled(node: ValueNode, operands: list[Form]) -> Form | None:
    """Return the form of a product with a number, or of a quotient by one; None for other operations."""
    if node.expr.type.kind != "float" or not isinstance(node.expr, Binary) or node.expr.op not in ("*", "/"):
        return None
    left, right = operands
    if right.keys() == {_ONE} and _type(node, 0) == node.expr.type:
        by = right[_ONE] if node.expr.op == "*" else 1 / right[_ONE] if right[_ONE] else None
        return None if by is None else {label: factor * by for label, factor in left.items()}
    if left.keys() == {_ONE} and node.expr.op == "*" and _type(node, 1) == node.expr.type:
        return {label: factor * left[_ONE] for label, factor in right.items()}
    return None


def _type(node: ValueNode, position: int) -> object:
    """Return the type of an operand."""
    expr = node.expr
    if isinstance(expr, Binary):
        return (expr.left, expr.right)[position].type
    return expr.operand.type if isinstance(expr, Unary) else None
