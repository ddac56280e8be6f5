"""Pointers to rows that a block declares and never changes, as the rows.

before: for (i) { double *row = A[i]; for (j) row[j] = 0; }        float *v = p[i].at, *w = &B[i][k];  v[0] = *w;
after:  for (i) { for (j) A[i][j] = 0; }                           p[i].at[0] = B[i][k];

Rows are of arrays with several dimensions, or in structs, and rows of pointers are rows, too; pointers into arrays of
one dimension are offsets (pointer_offsets.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import integer
from polytile.frontend.must_reads import shape_of
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import address_taken, copied, map_children, map_statements, written_name

_TYPES = (c_ast.Typename, c_ast.TypeDecl, c_ast.IdentifierType)
_PLAIN = (c_ast.ID, c_ast.Constant, c_ast.BinaryOp, c_ast.UnaryOp, c_ast.Cast, *_TYPES)


def with_row_pointers(
    items: Sequence[c_ast.Node], scope: Scope, shared: frozenset[str] = frozenset()
) -> list[c_ast.Node]:
    """The statements of a block, in place, without the pointers that stand for a row all through it; functions that are
    called may change the `shared` variables."""
    rest = list(items)
    made: list[c_ast.Node] = []
    while rest:
        node = rest.pop(0)
        row = _row(node, scope)
        if row is not None and not shared & row.variables and _stays(node.name, row, rest):
            rest = [_with_row(n, node.name, row) for n in rest]
            continue
        made.append(_inside(node, scope, shared))
    # One whose array another one has an address of stayed until that was gone: `v = &a[i][0], *w = &a[i][1]`.
    again = len(made) < len(items) and any(_row(node, scope) is not None for node in made)
    return with_row_pointers(made, scope, shared) if again else made


def _inside(node: Any, scope: Scope, shared: frozenset[str]) -> Any:
    if isinstance(node, c_ast.Compound):
        node.block_items = with_row_pointers(node.block_items or [], scope, shared)
        return node
    return map_statements(node, lambda child: _inside(child, scope, shared))


@dataclass(frozen=True, slots=True)
class _Row:
    """Elements `place[offset]`, `place[offset + 1]` and so on; no offset is 0."""

    place: Any
    offset: Any = None

    @property
    def variables(self) -> set[str]:
        """The names of what says which elements these are."""
        parts = (self.place,) if self.offset is None else (self.place, self.offset)
        return {str(n.name) for part in parts for n in nodes_below(part) if isinstance(n, c_ast.ID)}

    def element(self, subscript: Any, coord: object) -> c_ast.ArrayRef:
        at = integer(0) if subscript is None else subscript
        if self.offset is not None:
            at = copied(self.offset) if subscript is None else c_ast.BinaryOp("+", copied(self.offset), at, coord)
        return c_ast.ArrayRef(copied(self.place), at, coord)


def _row(node: Any, scope: Scope) -> _Row | None:
    """What a declared pointer leads to: A[i] of `double *p = A[i];`, A[i] from k on of `= &A[i][k];`."""
    if not (isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.PtrDecl) and node.init is not None):
        return None
    match node.init:
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=place, subscript=offset)):
            row = _Row(place, offset)
        case place:
            row = _Row(place)
    if not isinstance(row.place, c_ast.ArrayRef | c_ast.StructRef):
        return None
    if not _is_plain(row.place) or (row.offset is not None and not _computes(row.offset)):
        return None
    shape, own = shape_of(row.place, scope), scope.shape(node.type)
    if shape is None or shape.base is None or shape.base != own.base or len(shape.layers) != len(own.layers):
        return None
    plain = len(own.layers) == 1 or all(layer.pointer for layer in (*shape.layers, *own.layers))
    return row if own.layers and plain else None


def _is_plain(place: c_ast.Node) -> bool:
    """Whether a place is the same wherever its variables are."""
    match place:
        case c_ast.ID():
            return True
        case c_ast.StructRef(name=inner):
            return _is_plain(inner)
        case c_ast.ArrayRef(name=inner, subscript=subscript):
            return _is_plain(inner) and _computes(subscript)
    return False


def _computes(value: c_ast.Node) -> bool:
    """Whether an expression neither reads memory nor changes anything."""
    nodes = list(nodes_below(value))
    plain = all(isinstance(n, _PLAIN) for n in nodes)
    return plain and not any(written_name(n) or (isinstance(n, c_ast.UnaryOp) and n.op in ("*", "&")) for n in nodes)


def _stays(name: str, row: _Row, rest: Sequence[c_ast.Node]) -> bool:
    """Whether the following statements use the pointer for elements alone, and change nothing that says which."""
    nodes = [n for item in rest for n in nodes_below(item)]
    changed = {w for n in nodes if (w := written_name(n) or address_taken(n)) is not None}
    changed |= {str(n.name) for n in nodes if isinstance(n, c_ast.Decl) and n.name}
    if changed & {name, *row.variables}:
        return False
    uses = [n for n in nodes if isinstance(n, c_ast.ID) and n.name == name]
    return len(uses) == sum(_is_element(n, name) for n in nodes)


def _is_element(node: Any, name: str) -> bool:
    """row[j], *row, row->field"""
    match node:
        case c_ast.ArrayRef(name=c_ast.ID(name=used)) | c_ast.UnaryOp(op="*", expr=c_ast.ID(name=used)):
            return bool(used == name)
        case c_ast.StructRef(name=c_ast.ID(name=used), type="->"):
            return bool(used == name)
    return False


def _with_row(node: Any, name: str, row: _Row) -> Any:
    element = _is_element(node, name)
    if element and isinstance(node, c_ast.ArrayRef):
        return row.element(_with_row(node.subscript, name, row), node.coord)
    if element and isinstance(node, c_ast.UnaryOp):
        return row.element(None, node.coord)
    if element:
        return c_ast.StructRef(row.element(None, node.coord), ".", node.field, node.coord)
    return map_children(node, lambda child: _with_row(child, name, row))
