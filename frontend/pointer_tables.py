"""Pointers in elements of arrays of structs, as tables of pointers to rows.

before: for (i) for (k) s[i] += p[i].at[k] * p[0].at[k];
after:  for (i) for (k) s[i] += p_at[i][k] * p_at[0][k];      where p_at[i] is p[i].at: a `float **`

The way to a row, `p[{0}].at`, has a place for each subscript; those of the field itself go on from there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import integer
from polytile.frontend.must_reads import shape_of
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.scop_region import PointerTable
from polytile.frontend.scope import Scope
from polytile.frontend.trees import copied, text_of
from polytile.frontend.type_shapes import Layer, Shape


@dataclass(frozen=True, slots=True)
class TablePath:
    """The way to a pointer: `text` with places for `subscripts`, the pointers that are `followed` on it, the variable
    where it starts."""

    text: str
    root: str
    subscripts: tuple[c_ast.Node, ...] = ()
    followed: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """p_at of `p[{0}].at`."""
        return "_".join(re.findall(r"[A-Za-z_]\w*", self.text))

    def shape(self, field: Shape) -> Shape:
        """The type of the table, if that of the pointer is `field`."""
        return replace(field, layers=(*(Layer(True) for _ in self.subscripts), *field.layers), const=False)

    def table(self, field: Shape) -> PointerTable:
        """The pointers, as many dimensions as the field has besides."""
        return further(PointerTable(self.text, self.followed, field=True), len(self.subscripts), field.layers)


def further(table: PointerTable, depth: int, layers: Sequence[Layer]) -> PointerTable:
    """A table whose rows have `depth` subscripts so far, with those that lead on through all `layers` but the last one.

    before: w, (*, *, *)        after: w[{0}][{1}], which follows w and w[{0}]
    """
    row, followed = table.row, table.followed
    for k, layer in enumerate(layers[:-1], start=depth):
        followed = (*followed, row) if layer.pointer else followed
        row += f"[{{{k}}}]"
    return replace(table, row=row, followed=followed, deep=len(followed) > 1)


def table_path(node: c_ast.Node, scope: Scope, own: dict[str, Shape]) -> TablePath | None:
    """The way to a place, `p[i].at`, `q->grid[i][j].at`; None where it is none of variables, fields and elements. `own`
    are variables that the scope does not know."""
    match node:
        case c_ast.ID(name=name):
            return TablePath(str(name), str(name))
        case c_ast.StructRef(name=inner, type=kind, field=member):
            before = table_path(inner, scope, own)
            if before is None:
                return None
            followed = (*before.followed, before.text) if kind == "->" else before.followed
            return replace(before, text=f"{before.text}{kind}{member.name}", followed=followed)
        case c_ast.ArrayRef(name=inner, subscript=subscript):
            return _element(table_path(inner, scope, own), subscript, _leads(inner, scope, own))
        case c_ast.UnaryOp(op="*", expr=inner):
            return _element(table_path(inner, scope, own), integer(0), _leads(inner, scope, own))
    return None


def _element(before: TablePath | None, subscript: c_ast.Node, leads: bool) -> TablePath | None:
    if before is None:
        return None
    followed = (*before.followed, before.text) if leads else before.followed
    text = f"{before.text}[{{{len(before.subscripts)}}}]"
    return TablePath(text, before.root, (*before.subscripts, subscript), followed)


def _leads(node: c_ast.Node, scope: Scope, own: dict[str, Shape]) -> bool:
    """Whether an array is a pointer, as parameters are that are declared as arrays."""
    shape = shape_of(node, scope, own)
    if shape is None or not shape.layers or shape.layers[0].pointer:
        return True
    binding = scope.lookup(node.name) if isinstance(node, c_ast.ID) else None
    return binding is not None and binding.kind == "parameter"


def elements_of(table: str, subscripts: Sequence[Any], coord: object) -> c_ast.Node:
    """p_at[i] of `p[i].at`."""
    made: c_ast.Node = c_ast.ID(table, coord)
    for subscript in subscripts:
        made = c_ast.ArrayRef(made, subscript, coord)
    return made


def has_pointers(shape: Shape | None) -> bool:
    """Whether a type is a pointer, or an array of such."""
    return shape is not None and shape.base is not None and any(layer.pointer for layer in shape.layers)


def with_first_elements(body: Sequence[c_ast.Node], scope: Scope) -> None:
    """Spell the pointer `p->at` as `p[0].at`, in place, where another subscript of p leads to that field, too: they are
    of one table."""
    fields = [f for f in NodeIndex.of(body).all(c_ast.StructRef) if has_pointers(shape_of(f, scope))]
    others = {_text(f.name.name, f.field.name) for f in fields if isinstance(f.name, c_ast.ArrayRef)}
    for node in fields:
        place = node.name if node.type == "->" else None
        if isinstance(node.name, c_ast.UnaryOp) and node.name.op == "*":
            place = node.name.expr
        if place is not None and _text(place, node.field.name) in others:
            node.name, node.type = c_ast.ArrayRef(copied(place), integer(0), node.coord), "."


def _text(place: c_ast.Node, field: str) -> str:
    return f"{text_of(place)}[].{field}"
