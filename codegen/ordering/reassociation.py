"""A graph whose sums are multiplied out and share their parts, where additions may come in another order.

before: x = 0.5 * (a[0] + a[1] + a[2]); y = 0.5 * (a[1] + a[2] + a[3])
after:  s = a[1] + a[2]; x = 0.5 * a[0] + 0.5 * s; y = 0.5 * s + 0.5 * a[3]

Each sum adds up its labels in one order of the elements in memory, the same for all sums, so that an element that is
loaded goes to all sums that it is part of, and few values wait: the sums, and what is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from polytile.codegen.ordering.label_sweeps import label_places, swept
from polytile.codegen.ordering.linear_forms import Sums, sums_of
from polytile.codegen.ordering.operand_slots import OPERAND, binary_slots
from polytile.codegen.ordering.shared_sums import SharedSums, apart, share
from polytile.codegen.ordering.value_graph import Kind, ValueGraph, ValueNode, max_live, words
from polytile.dataclass import dataclass
from polytile.ir.expr import Binary, CType, Expr, Name, Unary
from polytile.ir.literals import spelt


class _NoLiteralError(Exception):
    """A factor that the type of its sum does not hold."""


@dataclass(frozen=True, slots=True)
class Reassociated:
    """A graph with other sums, in a sequence that takes few registers."""

    graph: ValueGraph
    sequence: tuple[int, ...]

    def score(self, few: int) -> float:
        return score(self.graph, self.sequence, few)


def best_reassociation(
    graph: ValueGraph, few: int, *, distribute: bool = True, sharing: bool = True
) -> Reassociated | None:
    """Return the best way to share parts of sums and to add them up, or None.

    It is None for a graph without elements in an array's order. Constants are multiplied out where `distribute` says
    so, and sums have parts in common with `sharing`.
    """
    found: list[tuple[float, Reassociated, Sums, Mapping[int, int]]] = []
    orders = [_places(graph, loads) for loads in label_places(graph)]
    for sums in [sums_of(graph, shared=shared, distribute=distribute) for shared in (False, True) if orders]:
        columns = share(sums.forms, {}, pairs=False) if sharing else apart(sums.forms)
        for places in orders:
            made = _rebuilt(graph, sums.inside, columns, places)
            found += [] if made is None else [(made.score(few), made, sums, places)]
    if not found:
        return None
    least, best, sums, order = min(found, key=lambda one: one[0])
    if not sharing:
        return best
    paired = _rebuilt(graph, sums.inside, share(sums.forms, order, pairs=True), order)
    return best if paired is None or least <= paired.score(few) else paired


def score(graph: ValueGraph, sequence: Sequence[int], few: int) -> float:
    """Score a sequence by its operations, which count more where values take more than a `few` registers.

    With more registers, fewer threads run at a time.
    """
    return issued_operations(graph) * max(1.0, max_live(graph, sequence) / few)


def issued_operations(graph: ValueGraph) -> int:
    """Count the operations of a graph, where a product that is only added is part of the addition."""
    uses = graph.uses()

    def is_free(number: int) -> bool:
        node = graph.nodes[number]
        if isinstance(node.expr, Unary):
            return True
        return (
            isinstance(node.expr, Binary) and node.expr.op == "*" and all(_adds(graph.nodes[u]) for u in uses[number])
        )

    operations = (n for n, node in enumerate(graph.nodes) if node.kind is Kind.OPERATION)
    return sum(not is_free(number) for number in operations)


def _adds(node: ValueNode) -> bool:
    return node.kind is Kind.OPERATION and isinstance(node.expr, Binary) and node.expr.op in ("+", "-")


def _places(graph: ValueGraph, loads: Mapping[int, int]) -> dict[int, int]:
    """Return the place of each value in the order of elements: at the last one that it needs."""
    found: dict[int, int] = {}
    for number, needs in enumerate(graph.all_needs()):
        found[number] = max([loads.get(number, -1), *[found[n] for n in needs]])
    return found


def _rebuilt(
    graph: ValueGraph, inside: frozenset[int], shared: SharedSums, places: Mapping[int, int]
) -> Reassociated | None:
    """Rebuild the graph with these sums, or return None where a factor has no literal."""
    try:
        made, loads = _Rebuilder(graph, inside, shared, places).run()
    except _NoLiteralError:
        return None
    return Reassociated(made, swept(made, loads))


class _Rebuilder:
    """Puts nodes into a new graph, in the order of the old one."""

    def __init__(
        self, graph: ValueGraph, inside: frozenset[int], shared: SharedSums, places: Mapping[int, int]
    ) -> None:
        self.graph, self.inside, self.shared = graph, inside, shared
        self.made = ValueGraph()
        self.new: dict[int, int] = {}  # by nodes of the old graph, and parts
        self.constants: dict[tuple[int, bool, CType], int] = {}  # by the identities of factors, which the sums keep
        self.places = dict(places)
        for part, form in shared.parts.items():
            self.places[part] = max(self.places[label] for label in form)

    def run(self) -> tuple[ValueGraph, dict[int, int]]:
        for number, node in enumerate(self.graph.nodes):
            if number in self.shared.sums:
                self.new[number] = self._sum(self.shared.sums[number], node.expr.type)
            elif number not in self.inside:
                operands = tuple(self.new[o] for o in node.operands)
                after = tuple(self.new[n] for n in node.after)
                same = ValueNode(node.kind, node.key, operands, node.expr, node.width, after, node.location)
                self.new[number] = self.made.add(same)
            if number in self.graph.names and number in self.new:
                self.made.names.setdefault(self.new[number], self.graph.names[number])
        loads = {self.new[n]: self.places[n] for n, node in enumerate(self.graph.nodes) if node.kind is Kind.LOAD}
        return self.made, loads

    def _label(self, number: int, ctype: CType) -> int:
        if number not in self.new:
            self.new[number] = self._sum(self.shared.parts[number], ctype)
        return self.new[number]

    def _sum(self, form: Mapping[int, Fraction], ctype: CType) -> int:
        """Add up a sum from the first element on, and return its number."""
        terms = sorted(form.items(), key=lambda term: (self.places[term[0]], term[0]))
        total: int | None = None
        for label, factor in terms:
            value = self._label(label, ctype)
            term = self._scaled(value, factor, ctype, signed=total is None)
            total = term if total is None else self._operation("+" if factor > 0 else "-", (total, term), ctype)
        assert total is not None
        return total

    def _scaled(self, value: int, factor: Fraction, ctype: CType, *, signed: bool) -> int:
        """Multiply a value by a factor, or by its magnitude, and return the number of the product."""
        if factor == 1 or (factor == -1 and not signed):
            return value
        if factor == -1:
            slots = Unary("-", Name(f"{OPERAND}0", ctype), ctype)
            return self.made.add(ValueNode(Kind.OPERATION, slots, (value,), slots, words(slots)))
        key = id(factor), signed, ctype
        if key not in self.constants:
            literal = spelt(abs(factor), ctype)
            if literal is None:
                raise _NoLiteralError
            expr: Expr = literal if factor > 0 or not signed else Unary("-", literal, ctype)
            self.constants[key] = self.made.add(ValueNode(Kind.CONSTANT, expr, (), expr, 0))
        return self._operation("*", (self.constants[key], value), ctype)

    def _operation(self, op: str, operands: tuple[int, int], ctype: CType) -> int:
        slots = binary_slots(op, ctype, ctype, ctype)
        return self.made.add(ValueNode(Kind.OPERATION, slots, operands, slots, words(slots)))
