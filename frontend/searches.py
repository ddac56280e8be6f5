"""Loops that look for the place of an extreme, or for the last place, as reductions.

before: for (i) if (a[i] > x) { x = a[i]; k = i; }
after:  x0 = x; for (i) if (a[i] > x) x = a[i];
        at = largest; for (i) if (a[i] == x && a[i] > x0) at = i < at ? i : at;     if (at < largest) k = at;

before: for (i) if (a[i] > 0) k = i;
after:  at = least; for (i) if (a[i] > 0) at = i > at ? i : at;     if (at > least) k = at;

The first place whose value is the extreme is the one where it was found in order; none is where nothing is beyond what
the variable held before. The loop then has no variable that an iteration takes over from the one before but extremes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pycparser import c_ast

from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import alike, block_items, copied, variables_in

_LARGEST = 2**31 - 1
_CHANGES = ("++", "--", "p++", "p--", "&")
_PURE = {"fabs": "double", "fabsf": "float", "abs": "int"}  # with the type that they take and give


def with_searches(body: Sequence[c_ast.Node], scope: Scope) -> Iterator[c_ast.Node]:
    """The statements of a SCoP, with such loops among them replaced."""
    declared: dict[str, c_ast.Decl] = {}
    for node in body:
        if isinstance(node, c_ast.Decl):
            declared[str(node.name)] = node
        found = _search(node)
        types = None if found is None else _types(found, declared, scope)
        if found is None or types is None:
            yield node
        else:
            yield found.replaced(types, {u.name for n in body for u in variables_in(n)})


@dataclass(frozen=True, slots=True)
class _Search:
    """`for (i) if (condition) { x = value; k = i; }`; without `extreme` there is no x."""

    loop: c_ast.For
    condition: c_ast.Node
    iterator: str
    place: str
    extreme: c_ast.Assignment | None

    def replaced(self, types: tuple[str, str], taken: set[str]) -> c_ast.Node:
        integer, element = types
        at, before = (_unused(f"{self.place}_{what}", taken) for what in ("at", "before"))
        first = self.extreme is not None
        limit = _integer(_LARGEST if first else -_LARGEST)
        items: list[c_ast.Node] = [_declared(at, integer, limit)]
        condition = copied(self.condition)
        if self.extreme is not None:
            x, value = self.extreme.lvalue, self.extreme.rvalue
            items.append(_declared(before, element, copied(x)))
            items.append(self._loop(c_ast.If(copied(self.condition), copied(self.extreme), None)))
            beyond = _renamed(self.condition, str(x.name), before)
            condition = c_ast.BinaryOp("&&", c_ast.BinaryOp("==", copied(value), copied(x)), beyond)
        op = "<" if first else ">"
        better = c_ast.BinaryOp(op, c_ast.ID(self.iterator), c_ast.ID(at))
        chosen = c_ast.TernaryOp(better, c_ast.ID(self.iterator), c_ast.ID(at))
        items.append(self._loop(c_ast.If(condition, c_ast.Assignment("=", c_ast.ID(at), chosen), None)))
        found = c_ast.BinaryOp(op, c_ast.ID(at), copied(limit))
        items.append(c_ast.If(found, c_ast.Assignment("=", c_ast.ID(self.place), c_ast.ID(at)), None))
        made = c_ast.Compound(items, self.loop.coord)
        for node in (made, *nodes_below(made)):
            node.coord = node.coord or self.loop.coord
        return made

    def _loop(self, body: c_ast.Node) -> c_ast.For:
        loop = self.loop
        return c_ast.For(copied(loop.init), copied(loop.cond), copied(loop.next), body, loop.coord)


def _search(node: c_ast.Node) -> _Search | None:
    """The search that a loop is."""
    if not isinstance(node, c_ast.For) or not isinstance(node.init, c_ast.DeclList) or len(node.init.decls) != 1:
        return None
    iterator = str(node.init.decls[0].name)
    items = block_items(node.stmt)
    if len(items) != 1 or not isinstance(items[0], c_ast.If) or items[0].iffalse is not None:
        return None
    test = items[0]
    sets = [n for n in block_items(test.iftrue) if isinstance(n, c_ast.Assignment) and n.op == "="]
    if len(sets) != len(block_items(test.iftrue)) or not all(isinstance(s.lvalue, c_ast.ID) for s in sets):
        return None
    places = [s for s in sets if isinstance(s.rvalue, c_ast.ID) and s.rvalue.name == iterator]
    others = [s for s in sets if s not in places]
    if len(places) != 1 or len(others) > 1 or not _is_plain(node, test.cond, *(s.rvalue for s in others)):
        return None
    found = _Search(node, test.cond, iterator, str(places[0].lvalue.name), others[0] if others else None)
    return found if _fits(found) else None


def _fits(found: _Search) -> bool:
    """Whether the variables are used as in one of the forms, and nowhere else in the loop."""
    used = [u.name for u in variables_in(found.condition)]
    counted = {u.name for n in (found.loop.cond, found.loop.next) for u in variables_in(n)}
    counts_up = isinstance(found.loop.next, c_ast.UnaryOp) and found.loop.next.op in ("++", "p++")
    if not counts_up or found.place in (*used, *counted):
        return False
    if found.extreme is None:
        return any(isinstance(n, c_ast.ArrayRef) for n in (found.condition, *nodes_below(found.condition)))
    name, value, condition = str(found.extreme.lvalue.name), found.extreme.rvalue, found.condition
    if not isinstance(condition, c_ast.BinaryOp) or condition.op not in ("<", ">") or name in counted:
        return False
    sides = [condition.left, condition.right]
    others = [s for s in sides if not (isinstance(s, c_ast.ID) and s.name == name)]
    return len(others) == 1 and used.count(name) == 1 and alike(others[0], value) and found.place != name


def _is_plain(loop: c_ast.For, *values: c_ast.Node) -> bool:
    """Whether values change nothing, and call nothing but functions that are known to be pure."""
    for node in (n for v in values for n in (v, *nodes_below(v))):
        if isinstance(node, c_ast.Assignment) or (isinstance(node, c_ast.UnaryOp) and node.op in _CHANGES):
            return False
        if isinstance(node, c_ast.FuncCall) and not (isinstance(node.name, c_ast.ID) and node.name.name in _PURE):
            return False
    return True


def _types(found: _Search, declared: dict[str, c_ast.Decl], scope: Scope) -> tuple[str, str] | None:
    """The types of the iterator, which has to be `int`, and of the extreme, which has to be that of its values: what is
    rounded is not equal to them."""
    integer = _type_of(found.loop.init.decls[0])
    if found.extreme is None:
        return (integer, "int") if integer == "int" else None
    name = str(found.extreme.lvalue.name)
    element = _type_of(declared[name]) if name in declared else _base_of(name, scope, arrays=False)
    return (integer, element) if integer == "int" and element and element == _value_type(found, scope) else None


def _value_type(found: _Search, scope: Scope) -> str:
    """The type of the values that are compared: of elements, or of their amounts."""
    assert found.extreme is not None
    node = found.extreme.rvalue
    called = str(node.name.name) if isinstance(node, c_ast.FuncCall) else ""
    if called:
        node = node.args.exprs[0] if node.args is not None and len(node.args.exprs) == 1 else node
    while isinstance(node, c_ast.ArrayRef):
        node = node.name
    element = _base_of(str(node.name), scope, arrays=True) if isinstance(node, c_ast.ID) else ""
    return element if not called or _PURE[called] == element else ""


def _base_of(name: str, scope: Scope, *, arrays: bool) -> str:
    binding = scope.lookup(name)
    if binding is None or binding.shape.base is None or bool(binding.shape.layers) is not arrays:
        return ""
    return binding.shape.base.name if binding.shape.base.kind != "struct" else ""


def _type_of(decl: c_ast.Decl) -> str:
    """`unsigned int` of `unsigned int x`; nothing of an array, a pointer or a struct."""
    inner = decl.type
    plain = isinstance(inner, c_ast.TypeDecl) and isinstance(inner.type, c_ast.IdentifierType)
    return " ".join(inner.type.names) if plain else ""


def _declared(name: str, ctype: str, value: c_ast.Node) -> c_ast.Decl:
    inner = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(ctype.split()))
    return c_ast.Decl(name, [], [], [], [], inner, value, None)


def _integer(value: int) -> c_ast.Node:
    literal = c_ast.Constant("int", str(abs(value)))
    return literal if value >= 0 else c_ast.UnaryOp("-", literal)


def _renamed(node: c_ast.Node, name: str, new: str) -> c_ast.Node:
    changed = copied(node)
    for inner in (changed, *nodes_below(changed)):
        if isinstance(inner, c_ast.ID) and inner.name == name:
            inner.name = new
    return changed


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
