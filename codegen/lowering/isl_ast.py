"""isl's AST, as our own trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import INT, Access, Binary, CType, Expr, For, If, Name, Stmt
from polytile.ir.expr_trees import rewrite
from polytile.ir.isl_expr import expression
from polytile.ir.substitute import with_values

# By name: islpy's stubs leave these two out.
FOR, IF = isl.ast_node_type["for_"], isl.ast_node_type["if_"]


@dataclass(frozen=True, slots=True)
class Instance(Stmt):
    """The instance of `statement` whose iterators have these values, where the `guard` holds. Its accesses of these
    `numbers` go to `cells`; a copy moves an element between its two: in
    blocks that each of its `parts` tests for, one after the other, under the guard there."""

    statement: str
    values: tuple[Expr, ...]
    guard: Expr | None = None
    cells: tuple[Access, ...] = ()
    numbers: tuple[int, ...] = ()
    parts: tuple[tuple[Expr | None, Expr | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Detail:
    """What is known of an instance besides its values, in terms of the loops around it."""

    guard: Expr | None
    cells: tuple[Access, ...]
    numbers: tuple[int, ...]
    parts: tuple[tuple[Expr | None, Expr | None], ...] = ()


@dataclass(frozen=True, slots=True)
class GridRange:
    """The block coordinates of one launch along one axis: the first, the last, and how many there are, over the host's
    iterators and the parameters."""

    first: Expr
    last: Expr
    count: Expr


@dataclass(frozen=True, slots=True)
class Marked(Stmt):
    """The part of the tree under the mark `name`; `grid` has a range for each block coordinate of a kernel."""

    name: str
    grid: tuple[GridRange, ...]
    body: tuple[Stmt, ...]


Labels = Mapping[str, Mapping[str, str]]  # by the mark above a band: labels of its loops, by their iterators


def statements(
    node: isl.AstNode,
    integer: CType = INT,
    labels: Labels | None = None,
    details: Mapping[str, Detail] | None = None,
    kept: Mapping[str, Mapping[str, Expr]] | None = None,
    groups: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Stmt, ...]:
    """Convert an isl AST to a statement tree of For, If, Instance and Marked.

    `details` are by the names of annotations. Loops of one iteration stay if their iterators are `kept`, which has, for
    each annotation, their values where isl made no loop of them at all. `groups` are the statements that one stands
    for.
    """
    return _Conversion(integer, labels or {}, details or {}, kept or {}, groups or {}).statements(node, {})


@dataclass(frozen=True, slots=True)
class _Conversion:
    integer: CType
    labels: Labels
    details: Mapping[str, Detail]
    kept: Mapping[str, Mapping[str, Expr]]
    groups: Mapping[str, tuple[str, ...]]

    def statements(self, node: isl.AstNode, known: Mapping[str, str]) -> tuple[Stmt, ...]:
        """Convert a node to statements; `known` labels the loops over these iterators."""
        kind = node.get_type()
        if kind == isl.ast_node_type.block:
            children = node.block_get_children()
            return tuple(s for i in range(children.n_ast_node()) for s in self.statements(children.get_at(i), known))
        if kind == FOR:
            return self._loop(node, known)
        if kind == IF:
            otherwise = self.statements(node.if_get_else_node(), known) if node.if_has_else_node() else ()
            condition = expression(node.if_get_cond(), self.integer)
            return (If(condition, self.statements(node.if_get_then_node(), known), otherwise),)
        if kind == isl.ast_node_type.mark:
            inside = self.labels.get(str(node.mark_get_id().get_name()), {})
            return self.statements(node.mark_get_node(), {**known, **inside})
        call = node.user_get_expr()
        name = str(call.get_op_arg(0).get_id().get_name())
        values = tuple(expression(call.get_op_arg(i), self.integer) for i in range(1, call.get_op_n_arg()))
        together = self.groups.get(name, (name,))
        if not self.details and not self.kept:
            return tuple(Instance(one, values) for one in together)
        annotation = str(node.get_annotation().get_name())
        instance = Instance(name, values)
        if found := self.details.get(annotation):
            instance = replace(instance, guard=found.guard, cells=found.cells, numbers=found.numbers)
            instance = replace(instance, parts=found.parts)
        kept = self.kept.get(annotation, {})
        return tuple(self._in_loops(replace(instance, statement=one), kept, known) for one in together)

    def _in_loops(self, stmt: Stmt, values: Mapping[str, Expr], known: Mapping[str, str]) -> Stmt:
        """Wrap an instance in loops of one iteration over what is kept and has no loop yet."""
        for iterator, value in values.items():
            if iterator in known:
                stmt = self._once(iterator, value, (stmt,), known[iterator])
        return stmt

    def _once(self, iterator: str, value: Expr, body: tuple[Stmt, ...], label: str) -> For:
        condition = Binary("<=", Name(iterator, self.integer), value)
        return For(iterator, value, condition, 1, body, self.integer, label=label)

    def _loop(self, node: isl.AstNode, known: Mapping[str, str]) -> tuple[Stmt, ...]:
        iterator = expression(node.for_get_iterator(), self.integer)
        assert isinstance(iterator, Name)
        label = known.get(iterator.name, "")
        body = self.statements(node.for_get_body(), {k: v for k, v in known.items() if k != iterator.name})
        lower = expression(node.for_get_init(), self.integer)
        if node.for_is_degenerate():
            if any(iterator.name in values for values in self.kept.values()) and label:
                return (self._once(iterator.name, lower, body, label),)
            return tuple(substitute(s, iterator.name, lower) for s in body)
        condition = expression(node.for_get_cond(), self.integer)
        step = node.for_get_inc().get_val().to_python()
        return (For(iterator.name, lower, condition, step, body, self.integer, label=label),)


def substitute(stmt: Stmt, name: str, value: Expr) -> Stmt:
    """Replace a name by a value in all expressions of a tree of For, If, Instance and Marked."""
    values = {name: value}

    def in_grid(node: Any) -> Any:
        if not isinstance(node, Marked):
            return node
        ends = ([with_values(e, values) for e in (g.first, g.last, g.count)] for g in node.grid)
        return replace(node, grid=tuple(GridRange(*e) for e in ends))

    result: Stmt = rewrite(with_values(stmt, values), in_grid)
    return result
