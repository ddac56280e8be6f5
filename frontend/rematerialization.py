"""Scalars that several sums or extremes of a loop share, as one for each, so that each is a reduction by itself.

before: for (i) { t = a[i]; s += t; m = fmin(m, t * t); }
after:  for (i) { t = a[i]; s += t; float t_ = a[i]; m = fmin(m, t_ * t_); }

before: for (i) for (j > i) { w = x[i] - x[j]; F[i] += w; F[j] -= w; }
after:  for (i) for (j > i) { w = x[i] - x[j]; F[i] += w; double w_ = x[i] - x[j]; F[j] -= w_; }

Behind a store of the scalar they read what was stored:

before: for (i) { t = a[i] / 2; b[i] = t; s += t; m = fmin(m, t); }
after:  for (i) { t = a[i] / 2; b[i] = t; float t_ = b[i]; s += t_; float t__ = b[i]; m = fmin(m, t__); }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import base_of, declared, names_in, type_of, unused
from polytile.frontend.parse import nodes_below
from polytile.frontend.reduction_statements import (
    changes_nothing_else,
    reduced_variable,
    reduced_variables,
    scattered_variables,
    target,
)
from polytile.frontend.scope import Scope
from polytile.frontend.trees import copied, statements_below, substituted, variables_in

_MOST = 8  # values that are computed again for one sum


def with_terms_rematerialized(body: Sequence[c_ast.Node], scope: Scope) -> tuple[c_ast.Node, ...]:
    """The statements of a SCoP, in place, whose outermost loops add up, or keep extremes, in several variables that
    nothing else in them sets, or in elements of one of which some are shared by all iterations."""
    names: set[str] | None = None
    for node in body:
        if not isinstance(node, c_ast.For):
            continue
        sums, scattered = reduced_variables(node), scattered_variables(node)
        if len(sums) > 1 or scattered:
            names = names or names_in(body) | {b.name for b in scope.bindings()}
            types = {str(n.name): type_of(n) for item in body for n in nodes_below(item) if isinstance(n, c_ast.Decl)}
            _Blocks(scope, sums | scattered, types, names).visit(node)
    return tuple(body)


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
        """The statements of a block. `values` are those that set scalars, which can be computed again; `used` are the
        scalars that something has read."""
        values: list[c_ast.Node] = []
        used: set[str] = set()
        for item in items:
            if (name := self._value(item)) is not None:
                if name in used:
                    used = set()  # the scalar has another purpose from here on
                values = [*self._unchanged(values, name), item]
            elif self._is_free(item, values):
                needed = self._needed(item, values)
                own = {str(self._value(v)) for v in needed}
                if own & used and len(needed) <= _MOST:
                    yield from self._apart(item, needed)
                    continue
                used |= own
            elif (array := _stored(item)) is not None:
                used |= {str(self._value(v)) for v in self._needed(item, values)}
                held = list(self._held(item))
                values = [*self._unchanged(values, array), *held]
                used |= {str(self._value(v)) for v in held}
            else:
                values, used = [], set()
            yield item

    def _unchanged(self, values: Sequence[c_ast.Node], changed: str) -> list[c_ast.Node]:
        """The values that are the same where a variable has changed, with all that they are computed from."""
        gone, kept = {changed}, []
        for value in values:
            if any(_mentions(_source(value), name) for name in gone):
                gone.add(str(self._value(value)))
            else:
                kept.append(value)
        return [value for value in kept if self._value(value) not in gone]

    def _held(self, store: c_ast.Assignment) -> Iterator[c_ast.Node]:
        """The value of a scalar that a store put into an element of its own type: `t = b[i]` behind `b[i] = t`."""
        held = store.rvalue
        own = self._type(held.name) if store.op == "=" and isinstance(held, c_ast.ID) else ""
        if own and own == base_of(str(_stored(store)), self.scope, arrays=True):
            yield c_ast.Assignment("=", held, store.lvalue, store.coord)

    def _is_free(self, item: c_ast.Node, values: Sequence[c_ast.Node]) -> bool:
        """Whether a statement is a reduction into what none of the values reads."""
        name = reduced_variable(item)
        return name in self.sums and changes_nothing_else(item) and not any(_mentions(v, str(name)) for v in values)

    def _value(self, item: c_ast.Node) -> str | None:
        """The scalar that a statement sets to a value of which a copy may be computed."""
        if isinstance(item, c_ast.Decl) and item.init is not None and type_of(item):
            return str(item.name) if changes_nothing_else(item.init) else None
        if not isinstance(item, c_ast.Assignment) or item.op != "=" or not isinstance(item.lvalue, c_ast.ID):
            return None
        name = str(item.lvalue.name)
        plain = name not in self.sums and changes_nothing_else(item.rvalue) and not _mentions(item.rvalue, name)
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


def _stored(item: c_ast.Node) -> str | None:
    """The array of whose elements a statement sets one, and changes nothing else."""
    if not isinstance(item, c_ast.Assignment) or not isinstance(item.lvalue, c_ast.ArrayRef):
        return None
    return target(item.lvalue) if changes_nothing_else(item.rvalue) and changes_nothing_else(item.lvalue) else None


def _mentions(node: c_ast.Node, name: str) -> bool:
    return any(use.name == name for use in variables_in(node))
