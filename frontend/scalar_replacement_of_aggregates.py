"""Structs that a SCoP declares, as variables for their fields.

before: struct point p = a[i]; p.x += 1; b[i] = p;
after:  double p_x = a[i].x, p_y = a[i].y; p_x += 1; b[i].x = p_x; b[i].y = p_y;
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import declared, is_plain, mentions, names_in, unused
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import block_items, copied, free_variables_in, map_children, possible_bases, variables_in
from polytile.frontend.type_shapes import StructType

_MOST = 120  # variables


def with_separate_fields(body: Sequence[c_ast.Node], scope: Scope) -> tuple[c_ast.Node, ...]:
    """The statements of a SCoP, whose types are spelt out, changed in place. Structs stay whose fields are no numbers,
    or that are used in another way than by their fields and in assignments that copy them field by field; and many
    of a type that variables around the SCoP have, which may stay: many variables make many statements."""
    found = _candidates(body, scope)
    taken = names_in(body)
    fields = {n: {f: (unused(f"{n}_{f}", taken), kind) for f, kind in _numbers(struct)} for n, struct in found.items()}
    return tuple(_Fields(fields).items(body)) if fields else tuple(body)


def _candidates(body: Sequence[c_ast.Node], scope: Scope) -> dict[str, StructType]:
    names = [str(n.name) for item in body for n in nodes_below(item) if isinstance(n, c_ast.Decl)]
    statements = list(_statements(body))
    found: dict[str, StructType] = {}
    for node in (n for n in statements if isinstance(n, c_ast.Decl) and names.count(str(n.name)) == 1):
        struct = _struct_of(node, scope)
        if struct is not None and _numbers(struct) and not isinstance(node.init, c_ast.InitList) and not node.storage:
            found[str(node.name)] = struct
    if not found:
        return {}
    copies = [(n.lvalue, n.rvalue) for n in statements if _copies(n)]
    begun = (n for n in statements if isinstance(n, c_ast.Decl) and n.name in found and n.init)
    copies += [(c_ast.ID(n.name), n.init) for n in begun]
    by_field = [n.name for item in body for n in nodes_below(item) if isinstance(n, c_ast.StructRef) and n.type == "."]
    whole = [side for sides in copies if _one_by_one(*sides) for side in sides]
    known = {id(n) for n in (*by_field, *whole) if isinstance(n, c_ast.ID)}
    other = {str(use.name) for item in body for use in variables_in(item) if id(use) not in known}
    other |= {str(target.name) for target, value in copies if isinstance(target, c_ast.ID) and id(target) not in known}
    other |= {str(use.name) for use in free_variables_in(body)}
    return _few(body, scope, {name: struct for name, struct in found.items() if name not in other})


def _few(body: Sequence[c_ast.Node], scope: Scope, found: dict[str, StructType]) -> dict[str, StructType]:
    """Those without which there is no way, where all would be too many variables."""
    if sum(len(_numbers(struct)) for struct in found.values()) <= _MOST:
        return found
    bindings = [scope.lookup(str(use.name)) for item in body for use in variables_in(item)]
    around = {b.shape.struct.name for b in bindings if b is not None and b.shape.struct is not None}
    return {name: struct for name, struct in found.items() if struct.name not in around}


def _statements(nodes: Sequence[c_ast.Node]) -> Iterator[c_ast.Node]:
    """Statements with those inside of them, but none that stands in an expression or in the header of a loop."""
    for node in nodes:
        yield node
        match node:
            case c_ast.Compound():
                yield from _statements(block_items(node))
            case c_ast.If():
                yield from _statements([side for side in (node.iftrue, node.iffalse) if side is not None])
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                yield from _statements([node.stmt])


def _one_by_one(target: c_ast.Node, value: c_ast.Node) -> bool:
    """Whether a struct may be copied field by field: what says which one it is is read again for each field, and must
    neither change anything, as in `a[c++] = p`, nor be changed, as in `p = a[p.k]`."""
    bases = [str(base.name) for base in possible_bases(target)]
    inner = [part for side in (target, value) for part in _subscripts(side)]
    return is_plain(target, value) and not any(mentions(part, *bases) for part in inner)


def _subscripts(place: c_ast.Node) -> Iterator[c_ast.Node]:
    while isinstance(place, c_ast.ArrayRef | c_ast.StructRef):
        if isinstance(place, c_ast.ArrayRef):
            yield place.subscript
        place = place.name


def _copies(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.Assignment) and node.op == "=" and _is_place(node.lvalue) and _is_place(node.rvalue)


def _is_place(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.ID | c_ast.ArrayRef | c_ast.StructRef)


def _struct_of(node: c_ast.Decl, scope: Scope) -> StructType | None:
    """The struct of which a declaration declares one; its tag may be the name of a type."""
    inner = node.type.type if isinstance(node.type, c_ast.TypeDecl) else None
    if not isinstance(inner, c_ast.Struct) or (node.init is not None and not _is_place(node.init)):
        return None
    tagged = scope.lookup_tag(inner.name)
    named = scope.lookup(inner.name)
    struct = tagged if isinstance(tagged, StructType) else named.shape.struct if named is not None else None
    return struct if struct is not None and struct.name == f"struct {inner.name}" else None


def _numbers(struct: StructType) -> list[tuple[str, str]]:
    """The fields with their types; none where some are no numbers."""
    found = []
    for member in struct.members:
        base = member.shape.base
        if member.name is None or base is None or base.kind == "struct" or member.shape.layers:
            return []
        found.append((member.name, str(base)))
    return found


@dataclass(slots=True)
class _Fields:
    fields: dict[str, dict[str, tuple[str, str]]]  # of each struct: the names and types of its variables

    def items(self, nodes: Sequence[c_ast.Node]) -> list[c_ast.Node]:
        return [made for node in nodes for made in self._item(node)]

    def _item(self, node: c_ast.Node) -> list[c_ast.Node]:
        if isinstance(node, c_ast.Decl) and node.name in self.fields:
            parts = self.fields[node.name].items()
            made = [declared(name, kind, self._part(node.init, f, node.coord)) for f, (name, kind) in parts]
            for part in (n for item in made for n in nodes_below(item)):
                part.coord = part.coord or node.coord
            return made
        if _copies(node) and (struct := self._of(node.lvalue) or self._of(node.rvalue)):
            sides = [(self._part(node.lvalue, f, node.coord), self._part(node.rvalue, f, node.coord)) for f in struct]
            return [c_ast.Assignment("=", left, right, node.coord) for left, right in sides]
        return [self._below(node)]

    def _of(self, node: c_ast.Node) -> dict[str, tuple[str, str]] | None:
        return self.fields.get(node.name) if isinstance(node, c_ast.ID) else None

    def _part(self, node: c_ast.Node | None, field: str, coord: object) -> Any:
        """One field of a whole struct."""
        if node is None:
            return None
        own = self._of(node)
        if own is not None:
            return c_ast.ID(own[field][0], coord)
        return c_ast.StructRef(self._below(copied(node)), ".", c_ast.ID(field, coord), coord)

    def _below(self, node: Any) -> Any:
        match node:
            case c_ast.Compound():
                node.block_items = self.items(node.block_items or [])
                return node
            case c_ast.StructRef(name=inner, type=".", field=c_ast.ID(name=field)) if self._of(inner) is not None:
                return self._part(inner, field, node.coord)
            case c_ast.Assignment() if _copies(node) and (self._of(node.lvalue) or self._of(node.rvalue)):
                return c_ast.Compound(self._item(node), node.coord)
        return map_children(node, self._below)
