"""Local arrays with a list of initial values: their elements are assigned, those without a value to 0.

before: double w[8] = {0.5, x};
after:  double w[8]; for (int polytile_0 = 0; polytile_0 < 8; polytile_0++) w[polytile_0] = 0; w[0] = 0.5; w[1] = x;
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.parse import nodes_below
from polytile.frontend.trees import copied, map_statements
from polytile.ir.name_supply import fresh

_MOST = 64  # values that are assigned one by one


def with_assigned_elements(body: Sequence[c_ast.Node]) -> tuple[c_ast.Node, ...]:
    """The normalised statements of a SCoP, changed in place. Lists with designators or of other lengths than the array
    allows, of structs, and of arrays whose size is no constant stay, and are refused."""
    taken = {str(n.name) for item in body for n in nodes_below(item) if isinstance(n, c_ast.ID | c_ast.Decl) and n.name}
    return tuple(_Lists(taken).items(body))


@dataclass(slots=True)
class _Lists:
    taken: set[str]

    def items(self, nodes: Sequence[c_ast.Node]) -> list[c_ast.Node]:
        return [made for node in nodes for made in self._item(node)]

    def _item(self, node: c_ast.Node) -> list[c_ast.Node]:
        if isinstance(node, c_ast.Decl) and isinstance(node.init, c_ast.InitList):
            made = self._assigned(node)
            return [node] if made is None else made
        return [self._below(node)]

    def _below(self, node: Any) -> Any:
        if isinstance(node, c_ast.Compound):
            node.block_items = self.items(node.block_items or [])
            return node
        return map_statements(node, self._below)

    def _assigned(self, node: c_ast.Decl) -> list[c_ast.Node] | None:
        extents = _extents(node.type)
        values = None if extents is None else _values(node.init, extents)
        if extents is None or values is None or len(values) > _MOST:
            return None
        total = 1
        for extent in extents:
            total *= extent
        given = [(place, value) for place, value in values if len(values) == total or not _is_zero(value)]
        result: list[c_ast.Node] = [node]
        if len(values) < total:
            result.append(self._zeros(node, extents))
        elif total > _MOST:
            return None
        for place, value in given:
            subscripts = [c_ast.Constant("int", str(k), node.coord) for k in place]
            result.append(c_ast.Assignment("=", _element(node, subscripts), value, node.coord))
        node.init = None
        _without_const(node)
        return result

    def _zeros(self, node: c_ast.Decl, extents: Sequence[int]) -> c_ast.Node:
        """Loops that set all elements to 0."""
        names = []
        for _ in extents:
            names.append(fresh("polytile_0", self.taken))
            self.taken.add(names[-1])
        subscripts = [c_ast.ID(name, node.coord) for name in names]
        made: c_ast.Node = c_ast.Assignment(
            "=", _element(node, subscripts), c_ast.Constant("int", "0", node.coord), node.coord
        )
        for name, extent in zip(reversed(names), reversed(extents), strict=True):
            made = _counting(name, extent, made, node.coord)
        return made


def _extents(declarator: c_ast.Node) -> list[int] | None:
    """The constant extents of an array of scalars."""
    found = []
    while isinstance(declarator, c_ast.ArrayDecl):
        if not isinstance(declarator.dim, c_ast.Constant) or not declarator.dim.value.isdecimal():
            return None
        found.append(int(declarator.dim.value))
        declarator = declarator.type
    scalar = isinstance(declarator, c_ast.TypeDecl) and isinstance(declarator.type, c_ast.IdentifierType)
    return found if found and scalar else None


def _values(node: c_ast.InitList, extents: Sequence[int]) -> list[tuple[tuple[int, ...], c_ast.Node]] | None:
    """The values with their places, where braces are as the dimensions are."""
    if len(node.exprs) > extents[0]:
        return None
    found: list[tuple[tuple[int, ...], c_ast.Node]] = []
    for k, part in enumerate(node.exprs):
        if isinstance(part, c_ast.NamedInitializer) or isinstance(part, c_ast.InitList) != (len(extents) > 1):
            if not _only_zero(node):
                return None
            return []
        inner = [((), part)] if len(extents) == 1 else _values(part, extents[1:])
        if inner is None:
            return None
        found += [((k, *place), value) for place, value in inner]
    return found


def _only_zero(node: c_ast.InitList) -> bool:
    """`{0}`, which sets arrays of any dimension to 0."""
    return len(node.exprs) == 1 and _is_zero(node.exprs[0])


def _is_zero(value: c_ast.Node) -> bool:
    text = value.value.rstrip("fFuUlL") if isinstance(value, c_ast.Constant) and value.type != "string" else "1"
    return bool(text) and not text.strip("0.")


def _element(node: c_ast.Decl, subscripts: Sequence[c_ast.Node]) -> c_ast.Node:
    made: c_ast.Node = c_ast.ID(node.name, node.coord)
    for subscript in subscripts:
        made = c_ast.ArrayRef(made, copied(subscript), node.coord)
    return made


def _counting(name: str, extent: int, body: c_ast.Node, coord: Any) -> c_ast.For:
    """`for (int name = 0; name < extent; name++) body`."""
    kind = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(["int"], coord), coord)
    first = c_ast.Decl(name, [], [], [], [], kind, c_ast.Constant("int", "0", coord), None, coord)
    condition = c_ast.BinaryOp("<", c_ast.ID(name, coord), c_ast.Constant("int", str(extent), coord), coord)
    step = c_ast.UnaryOp("p++", c_ast.ID(name, coord), coord)
    return c_ast.For(c_ast.DeclList([first], coord), condition, step, body, coord)


def _without_const(node: c_ast.Decl) -> None:
    for part in _declarators(node):
        part.quals = [q for q in part.quals or [] if q != "const"]


def _declarators(node: Any) -> Iterator[Any]:
    yield node
    inner = node.type
    while isinstance(inner, c_ast.ArrayDecl):
        inner = inner.type
    if isinstance(inner, c_ast.TypeDecl):
        yield inner
