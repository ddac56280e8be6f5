"""Counts that a loop adds to between stores, as one variable for each place, so that each is a reduction by itself.

before: for (i) { if (x[i] < lo) c++; if (x[i] < lo) x[i] = lo; if (x[i] > hi) c++; }
after:  int c_ = 0; for (i) { if (x[i] < lo) c++; if (x[i] < lo) x[i] = lo; if (x[i] > hi) c_++; } c += c_;

Integers alone: sums of others would be rounded otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pycparser import c_ast

from polytile.frontend.ast_builders import base_of, block, declared, integer, names_in, type_of, unused
from polytile.frontend.parse import nodes_below
from polytile.frontend.reduction_statements import reduced_variable, reduced_variables
from polytile.frontend.scope import Scope
from polytile.frontend.trees import WRITING, statements_below, substituted, variables_in, written_name

_SUMS = ("+=", "-=", *WRITING)
_ROUNDED = ("float", "double")


def with_separate_accumulators(body: Sequence[c_ast.Node], scope: Scope) -> tuple[c_ast.Node, ...]:
    """Give the outermost loops of a SCoP such variables, in place."""
    taken: set[str] = set()
    types: dict[str, str] = {}
    made: list[c_ast.Node] = []
    for node in body:
        names = reduced_variables(node) if isinstance(node, c_ast.For) else frozenset[str]()
        if names and not taken:
            taken = names_in(body) | {b.name for b in scope.bindings()}
            types = {str(n.name): type_of(n) for item in body for n in nodes_below(item) if isinstance(n, c_ast.Decl)}
        before, after = [], []
        for name, ctype in _counts(node, names, types, scope):
            for place in _behind_stores(node, name, names):
                own = unused(f"{name}_", taken)
                before.append(declared(own, ctype, integer(0)))
                after.append(c_ast.Assignment("+=", c_ast.ID(name), c_ast.ID(own)))
                substituted(place, {name: c_ast.ID(own, place.coord)})
        made += [*_at(node, before), node, *_at(node, after)]
    return tuple(made)


def _at(loop: c_ast.Node, statements: Sequence[c_ast.Node]) -> Sequence[c_ast.Node]:
    return block(list(statements), loop.coord).block_items if statements else ()


def _counts(
    loop: c_ast.Node, names: frozenset[str], types: Mapping[str, str], scope: Scope
) -> Iterator[tuple[str, str]]:
    """The integers that a loop only adds to, and does not read, with their types."""
    for name in sorted(names):
        ctype = types.get(name) or base_of(name, scope, arrays=False)
        writes = [n for n in nodes_below(loop) if written_name(n) == name]
        uses = sum(use.name == name for use in variables_in(loop))
        only = uses == len(writes) and all(n.op in _SUMS for n in writes)
        if only and ctype and not any(word in _ROUNDED for word in ctype.split()):
            yield name, ctype


def _behind_stores(loop: c_ast.Node, name: str, sums: frozenset[str]) -> Iterator[c_ast.Node]:
    """The statements that add to a variable where their block has another one in front, and stores between."""
    for node in statements_below(loop):
        adds = apart = False
        for item in node.block_items or [] if isinstance(node, c_ast.Compound) else ():
            variable = reduced_variable(item)
            if variable == name:
                if adds and apart:
                    yield item
                    apart = False
                adds = True
            elif variable not in sums and not isinstance(item, c_ast.Decl):
                apart = True
