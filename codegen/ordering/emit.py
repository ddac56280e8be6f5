"""A sequence of values as statements.

before: 0: A[i]   1: A[i + 1]   2: 0 + 1   3: 2 * c   4: store B[i] = 3
after:  B[i] = (A[i] + A[i + 1]) * c;

A value that is used once, by what follows it at once, is written there; others get a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from polytile.codegen.ordering.operand_slots import OPERAND
from polytile.codegen.ordering.value_graph import Kind, ValueGraph
from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Assign, Declare, Expr, Name, Stmt
from polytile.ir.name_supply import Names
from polytile.ir.substitute import with_values

MAX_DEPTH = 24  # of operations that are written as one


def emit(graph: ValueGraph, sequence: Sequence[int], names: Names) -> tuple[Stmt, ...]:
    """Return the statements that compute the values in this sequence."""
    writer = _Writer(graph, names)
    for number in sequence:
        writer.write(number)
    writer.flush(0)
    return tuple(writer.body)


@dataclass(slots=True)
class _Pending:
    """A value that what follows may use in place."""

    number: int
    expr: Expr
    depth: int


@dataclass(slots=True)
class _Writer:
    graph: ValueGraph
    names: Names
    body: list[Stmt] = field(default_factory=list)
    written: dict[int, Expr] = field(default_factory=dict)
    pending: list[_Pending] = field(default_factory=list)
    uses: list[list[int]] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.uses = self.graph.uses()

    def write(self, number: int) -> None:
        node = self.graph.nodes[number]
        if node.kind is Kind.LOAD:
            self._put(number, node.expr, 0)
            return
        taken = self._taken(node.operands)
        self.flush(taken)
        inline = {p.number: p for p in self.pending}
        self.pending.clear()
        operands = [inline[o].expr if o in inline else self._value(o) for o in node.operands]
        if node.kind is Kind.STORE:
            assert isinstance(node.expr, Access)
            self.body.append(Assign(node.expr, "", operands[0], node.location))
            return
        values = {f"{OPERAND}{k}": o for k, o in enumerate(operands)}
        depth = 1 + max((p.depth for p in inline.values()), default=0)
        self._put(number, with_values(node.expr, values), depth)

    def _taken(self, operands: Sequence[int]) -> int:
        """Count the last pending values that are operands, in their order, with nothing to be written in between."""
        wanted = [o for o in operands if self.graph.nodes[o].kind is not Kind.CONSTANT and o not in self.written]
        for count in range(len(wanted), 0, -1):
            if [p.number for p in self.pending[-count:]] == wanted[-count:] and len(wanted) == count:
                return count
        return 0

    def _put(self, number: int, expr: Expr, depth: int) -> None:
        self.pending.append(_Pending(number, expr, depth))
        if len(self.uses[number]) != 1 or depth >= MAX_DEPTH:
            self.flush(0)

    def flush(self, keep: int) -> None:
        """Give names to the pending values, but not to the last ones."""
        count = len(self.pending) - keep
        for p in self.pending[:count]:
            name = self._name(p.number)
            ctype = p.expr.type
            self.body.append(Declare(name, ctype, p.expr))
            self.written[p.number] = Name(name, ctype)
        del self.pending[:count]

    def _value(self, number: int) -> Expr:
        node = self.graph.nodes[number]
        return node.expr if node.kind is Kind.CONSTANT else self.written[number]

    def _name(self, number: int) -> str:
        wanted = self.graph.names.get(number)
        if wanted is not None and wanted not in self.used:
            self.used.add(wanted)
            return wanted
        return self.names.fresh(f"v{len(self.written)}")
