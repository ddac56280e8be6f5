"""Scalars that several sums or extremes of a loop share, as one for each, so that each is a reduction by itself.

before: for (i) { t = a[i]; s += t; m = fmin(m, t * t); }
after:  for (i) { t = a[i]; s += t; float t_ = a[i]; m = fmin(m, t_ * t_); }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import base_of, declared, names_in, type_of, unused
from polytile.frontend.math_functions import is_known
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import WRITING, copied, statements_below, substituted, variables_in

_ACCUMULATES = ("+=", "-=", "*=", "&=", "|=", "^=")
_COMPARISONS = ("<", "<=", ">", ">=")
_EXTREMES = ("fmin", "fminf", "fmax", "fmaxf")
_MOST = 8  # values that are computed again for one sum


def with_terms_rematerialized(body: Sequence[c_ast.Node], scope: Scope) -> tuple[c_ast.Node, ...]:
    """The statements of a SCoP, in place, whose outermost loops add up, or keep extremes, in several variables that
    nothing else in them sets."""
    names: set[str] | None = None
    for node in body:
        if isinstance(node, c_ast.For) and len(_sums(node)) > 1:
            names = names or names_in(body) | {b.name for b in scope.bindings()}
            types = {str(n.name): type_of(n) for item in body for n in nodes_below(item) if isinstance(n, c_ast.Decl)}
            _Blocks(scope, _sums(node), types, names).visit(node)
    return tuple(body)


def _sums(loop: c_ast.For) -> frozenset[str]:
    """The variables that a loop only adds to, or of which it keeps the extreme."""
    index = NodeIndex.of([loop])
    sums: dict[int, str] = {}
    for node in index.all(c_ast.Assignment, c_ast.If):
        if (name := _sum_of(node)) is not None:
            sums[id(_assignment(node))] = name
    others = {_target(_written(n)) for n in index.all(c_ast.Assignment, c_ast.UnaryOp) if id(n) not in sums}
    return frozenset(sums.values()) - others - index.declared.keys()


def _written(node: c_ast.Node) -> c_ast.Node | None:
    if isinstance(node, c_ast.Assignment):
        return node.lvalue
    return node.expr if isinstance(node, c_ast.UnaryOp) and node.op in WRITING else None


def _target(node: c_ast.Node | None) -> str | None:
    """x of `x` and `x[i][j]`."""
    while isinstance(node, c_ast.ArrayRef):
        node = node.name
    return str(node.name) if isinstance(node, c_ast.ID) else None


def _assignment(node: c_ast.Node) -> c_ast.Node | None:
    """The one that a statement is, or has under its condition."""
    if isinstance(node, c_ast.If) and node.iffalse is None:
        node = node.iftrue
        if isinstance(node, c_ast.Compound) and len(node.block_items or []) == 1:
            node = node.block_items[0]
    return node if isinstance(node, c_ast.Assignment) else None


def _sum_of(node: c_ast.Node) -> str | None:
    """s of `s += e`, `s = s + e`, `s = fmin(s, e)`, `s = e < s ? e : s`, `if (c) s += e;`, and `if (e < s) s = e;`"""
    found = _assignment(node)
    name = _target(found.lvalue) if found is not None else None
    if found is None or name is None:
        return None
    if found.op in _ACCUMULATES:
        return name
    kept = _combined(found.rvalue) if found is node else (*_combined(found.rvalue), *_compared(node.cond))
    return name if found.op == "=" and any(_target(part) == name for part in kept) else None


def _compared(condition: c_ast.Node) -> tuple[c_ast.Node, ...]:
    if isinstance(condition, c_ast.BinaryOp) and condition.op in _COMPARISONS:
        return (condition.left, condition.right)
    return ()


def _combined(value: c_ast.Node) -> tuple[c_ast.Node, ...]:
    """Those of a value's operands of which one may be what it was before."""
    match value:
        case c_ast.BinaryOp(op="-"):
            return (value.left,)
        case c_ast.BinaryOp() if f"{value.op}=" in _ACCUMULATES:
            return (value.left, value.right)
        case c_ast.TernaryOp():
            return (value.iftrue, value.iffalse)
        case c_ast.FuncCall() if isinstance(value.name, c_ast.ID) and str(value.name.name) in _EXTREMES:
            return tuple(value.args.exprs if value.args else ())
    return ()


@dataclass(slots=True)
class _Blocks:
    scope: Scope
    sums: frozenset[str]
    types: Mapping[str, str]  # of variables that the SCoP declares
    taken: set[str]

    def visit(self, loop: c_ast.Node) -> None:
        for node in statements_below(loop):
            if isinstance(node, c_ast.Compound):
                node.block_items = list(self._items(node.block_items or []))

    def _items(self, items: Sequence[c_ast.Node]) -> Iterator[c_ast.Node]:
        """The statements of a block. `values` are those that set scalars, in front of sums alone."""
        values: list[c_ast.Node] = []
        used: set[str] = set()
        for item in items:
            name = _sum_of(item)
            if self._value(item) is not None:
                if str(self._value(item)) in used:
                    used = set()  # the scalar has another purpose from here on
                values.append(item)
            elif name in self.sums and _is_plain(item) and not any(_mentions(v, str(name)) for v in values):
                needed = self._needed(item, values)
                own = {str(self._value(v)) for v in needed}
                if own & used and len(needed) <= _MOST:
                    yield from self._apart(item, needed)
                    continue
                used |= own
            else:
                values, used = [], set()
            yield item

    def _value(self, item: c_ast.Node) -> str | None:
        """The scalar that a statement sets to a value of which a copy may be computed."""
        if isinstance(item, c_ast.Decl) and item.init is not None and type_of(item):
            return str(item.name) if _is_plain(item.init) else None
        if not isinstance(item, c_ast.Assignment) or item.op != "=" or not isinstance(item.lvalue, c_ast.ID):
            return None
        name = str(item.lvalue.name)
        plain = name not in self.sums and _is_plain(item.rvalue) and not _mentions(item.rvalue, name)
        return name if plain and self._type(name) else None

    def _type(self, name: str) -> str:
        return self.types.get(name) or base_of(name, self.scope, arrays=False)

    def _needed(self, item: c_ast.Node, values: Sequence[c_ast.Node]) -> list[c_ast.Node]:
        """Those of the values that a sum adds, in their order."""
        names = {str(use.name) for use in variables_in(item)}
        found: list[c_ast.Node] = []
        for value in reversed(values):
            name = self._value(value)
            if name in names:
                found.insert(0, value)
                names.remove(name)  # what it had before is not read
                names |= {str(use.name) for use in variables_in(_source(value))}
        return found

    def _apart(self, item: c_ast.Node, needed: Sequence[c_ast.Node]) -> Iterator[c_ast.Node]:
        """A sum behind scalars of its own."""
        names: dict[str, c_ast.Node] = {}
        for value in needed:
            name = str(self._value(value))
            again = substituted(copied(_source(value)), names)
            names[name] = c_ast.ID(unused(f"{name}_", self.taken), value.coord)
            made = declared(names[name].name, self._type(name), again)
            for node in nodes_below(made):
                node.coord = node.coord or value.coord
            yield made
        yield substituted(item, names)


def _source(value: c_ast.Node) -> c_ast.Node:
    """What a scalar is set to."""
    source: c_ast.Node = value.init if isinstance(value, c_ast.Decl) else value.rvalue
    return source


def _is_plain(node: c_ast.Node) -> bool:
    """Whether a value or a sum changes nothing else and calls only functions that are known."""
    nodes = list(nodes_below(node))
    written = sum(isinstance(n, c_ast.Assignment) for n in nodes)
    calls = (n for n in nodes if isinstance(n, c_ast.FuncCall))
    known = all(isinstance(c.name, c_ast.ID) and is_known(str(c.name.name)) for c in calls)
    changes = any(isinstance(n, c_ast.UnaryOp) and n.op in (*WRITING, "&") for n in nodes)
    return known and not changes and written == (_sum_of(node) is not None)


def _mentions(node: c_ast.Node, name: str) -> bool:
    return any(use.name == name for use in variables_in(node))
