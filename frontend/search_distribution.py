"""Searches beside other statements of a loop as the only statement of a loop of their own (loop distribution).

before: for (i) { double v = x[i]; s += v; if (v > best) { best = v; k = i; } }
after:  for (i) { double v = x[i]; s += v; }  for (i) if (x[i] > best) { best = x[i]; k = i; }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pycparser import c_ast

from polytile.frontend.ast_builders import is_plain, mentions, type_of
from polytile.frontend.parse import nodes_below
from polytile.frontend.reduction_statements import calls_others, changed_variables, target
from polytile.frontend.trees import alike, copied, substituted, variables_in

_LEAVES = (c_ast.Break, c_ast.Continue, c_ast.Goto, c_ast.Label, c_ast.Return, c_ast.Switch)
_TypeOf = Callable[[c_ast.Node], str]


def alone(
    loops: Sequence[c_ast.For], iterators: Sequence[str], items: Sequence[c_ast.Node], k: int, kind: _TypeOf
) -> c_ast.If | None:
    """Find what the k-th statement of a nest, a condition, is in another nest of the same loops behind that of the
    others; None where it may be something else. `kind` is the type of a variable, or of an element."""
    item, others = items[k], [*items[:k], *items[k + 1 :]]
    if not isinstance(item, c_ast.If) or any(_leaves(other) for other in others):
        return None
    changed = {name for other in others for name in changed_variables(other)}
    own = _with_values(item, items[:k], kind)
    sets = changed_variables(item)
    inner = {name for other in others for name in _declared(other)}
    headers = [part for loop in loops for part in (loop.init, loop.cond)]
    if any(mentions(other, *sets) for other in others) or any(mentions(part, *changed) for part in headers):
        return None
    if own is None or any(mentions(own, name) for name in inner | (changed - _set_before(iterators, items, k))):
        return None
    return own


def _leaves(node: c_ast.Node) -> bool:
    """Whether a statement may end an iteration, or do anything."""
    return calls_others(node) or any(isinstance(n, _LEAVES) for n in nodes_below(node))


def _with_values(item: c_ast.If, before: Sequence[c_ast.Node], kind: _TypeOf) -> c_ast.If | None:
    """Replace variables that statements in front set by their values, where nothing changes these."""
    own = copied(item)
    for k in reversed(range(len(before))):
        name, value = _value(before[k])
        if not name or value is None or not mentions(own, name):
            continue
        parts = [use.name for use in variables_in(value)]
        later = {n for other in before[k + 1 :] for n in (*changed_variables(other), *_declared(other))}
        own_type = type_of(before[k]) if isinstance(before[k], c_ast.Decl) else kind(c_ast.ID(name))
        if not is_plain(value) or later & {name, *parts} or not own_type or _kind(value, kind) != own_type:
            return None  # or its conversion would be lost
        own = substituted(own, {name: value})
    return own


def _kind(value: c_ast.Node, kind: _TypeOf) -> str:
    """Return the type of a value, where that is known: of an element, or of a sum or a product of ints."""
    match value:
        case c_ast.Constant(type=name):
            return str(name)
        case c_ast.BinaryOp(op="+" | "-" | "*", left=left, right=right):
            return "int" if _kind(left, kind) == _kind(right, kind) == "int" else ""
    return kind(value)


def _value(node: c_ast.Node) -> tuple[str, c_ast.Node | None]:
    """Return what a statement sets, and to what, if it is a variable."""
    match node:
        case c_ast.Decl(name=name, init=value):
            return str(name), value
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=value):
            return str(name), value
    return "", None


def _declared(node: c_ast.Node) -> set[str]:
    return {str(n.name) for n in nodes_below(node) if isinstance(n, c_ast.Decl)}


def _set_before(iterators: Sequence[str], items: Sequence[c_ast.Node], k: int) -> set[str]:
    """Find the arrays of which each iteration sets and reads an element of its own, in front of the k-th statement."""
    uses: dict[str, list[c_ast.Node]] = {}
    inner = {id(n.name) for item in items for n in nodes_below(item) if isinstance(n, c_ast.ArrayRef)}
    for item in items:
        for node in (n for n in nodes_below(item) if isinstance(n, c_ast.ArrayRef) and id(n) not in inner):
            uses.setdefault(str(target(node)), []).append(node)
    behind = {name for item in items[k + 1 :] for name in changed_variables(item)}
    one = {name for name, own in uses.items() if all(alike(own[0], n) for n in own) and _is_of_each(own[0], iterators)}
    return one - behind


def _is_of_each(element: c_ast.Node, iterators: Sequence[str]) -> bool:
    """Whether an element is another one in each iteration of a nest."""
    found = []
    while isinstance(element, c_ast.ArrayRef):
        found.append(element.subscript)
        element = element.name
    names = [n.name for n in found if isinstance(n, c_ast.ID)]
    return set(iterators) <= set(names)
