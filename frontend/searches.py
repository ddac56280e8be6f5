"""Loops that look for the place of an extreme, or for the last place, as reductions.

before: for (i) for (j) if (a[i][j] > x) { x = a[i][j]; k = i; l = j; }
after:  x0 = x; for (i) for (j) if (a[i][j] > x) x = a[i][j];
        at_i = largest; for (i) for (j) if (a[i][j] == x && a[i][j] > x0) at_i = i < at_i ? i : at_i;
        at_j = largest; for (i) for (j) if (i == at_i && a[i][j] == x && a[i][j] > x0) at_j = j < at_j ? j : at_j;
        if (at_i < largest) { k = at_i; l = at_j; }

before: for (i) if (a[i] > 0) k = i;
after:  at = least; for (i) if (a[i] > 0) at = i > at ? i : at;     if (at > least) k = at;

The first place whose value is the extreme is the one where it was found in order; none is where nothing is beyond what
the variable held before. The loops then have no variable that an iteration takes over from the one before but extremes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import (
    LARGEST,
    PURE,
    base_of,
    block,
    counted_up,
    declarations,
    declared,
    integer,
    is_plain,
    loops_around,
    mentions,
    names_in,
    place,
    there,
    type_of,
    unused,
)
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import alike, block_items, copied, substituted, variables_in


def with_searches(body: Sequence[c_ast.Node], scope: Scope) -> Iterator[c_ast.Node]:
    """The statements of a SCoP, with such loops among them replaced."""
    known = declarations(body)
    for node in body:
        found = _search(node)
        element = None if found is None else _element_type(found, known, scope)
        if found is None or element is None:
            yield node
        else:
            yield found.replaced(element, names_in(body))


@dataclass(frozen=True, slots=True)
class _Search:
    """`for (i) for (j) if (condition) { x = value; k = i; l = j; }`; without `extreme` there is no x."""

    loops: tuple[c_ast.For, ...]
    iterators: tuple[str, ...]
    condition: c_ast.Node
    places: tuple[c_ast.Assignment, ...]
    extreme: c_ast.Assignment | None

    def replaced(self, element: str, taken: set[str]) -> c_ast.Node:
        first = self.extreme is not None
        limit = integer(LARGEST if first else -LARGEST)
        items: list[c_ast.Node] = []
        condition = copied(self.condition)
        if self.extreme is not None:
            x, value = self.extreme.lvalue, self.extreme.rvalue
            before = unused(f"{x.name}_before", taken)
            items.append(declared(before, element, copied(x)))
            items.append(loops_around(self.loops, c_ast.If(copied(self.condition), copied(self.extreme), None)))
            beyond = substituted(copied(self.condition), {str(x.name): c_ast.ID(before)})
            condition = c_ast.BinaryOp("&&", c_ast.BinaryOp("==", copied(value), copied(x)), beyond)
        at: dict[str, str] = {}
        for iterator in self.located:
            at[iterator] = unused(f"{iterator}_at", taken)
            items.append(declared(at[iterator], "int", copied(limit)))
            items.append(place(self.loops, copied(condition), iterator, at[iterator], first=first))
            same = c_ast.BinaryOp("==", c_ast.ID(iterator), c_ast.ID(at[iterator]))
            condition = c_ast.BinaryOp("&&", same, condition)
        outermost = c_ast.ID(at[self.iterators[0]])
        found = c_ast.BinaryOp("<" if first else ">", outermost, copied(limit))
        items.append(c_ast.If(found, c_ast.Compound(there(self.places, at)), None))
        return block(items, self.loops[0].coord)

    @property
    def located(self) -> tuple[str, ...]:
        """The iterators whose values are looked for: those that places use, and those around these."""
        used = [k for k, name in enumerate(self.iterators) if any(mentions(p.rvalue, name) for p in self.places)]
        return self.iterators[: max(used, default=-1) + 1]


def _search(node: c_ast.Node) -> _Search | None:
    """The search that a nest of loops is."""
    if not isinstance(_innermost(node), c_ast.If):
        return None
    loops: list[c_ast.For] = []
    iterators: list[str] = []
    while (iterator := counted_up(node)) is not None:
        loops.append(node)
        iterators.append(iterator)
        items = block_items(node.stmt)
        if len(items) != 1:
            return None
        node = items[0]
    if not loops or not isinstance(node, c_ast.If) or node.iffalse is not None:
        return None
    sets = [n for n in block_items(node.iftrue) if isinstance(n, c_ast.Assignment) and n.op == "="]
    if len(sets) != len(block_items(node.iftrue)) or not all(isinstance(s.lvalue, c_ast.ID) for s in sets):
        return None
    extremes = [s for s in sets if mentions(node.cond, str(s.lvalue.name))]
    places = tuple(s for s in sets if s not in extremes)
    if len(extremes) > 1 or not is_plain(node.cond, *(s.rvalue for s in sets)):
        return None
    found = _Search(tuple(loops), tuple(iterators), node.cond, places, extremes[0] if extremes else None)
    return found if _fits(found, {str(s.lvalue.name) for s in sets}) else None


def _innermost(node: c_ast.Node) -> c_ast.Node:
    """What loops in one another repeat, if that is a single statement."""
    while isinstance(node, c_ast.For) and len(items := block_items(node.stmt)) == 1:
        node = items[0]
    return node


def _fits(found: _Search, changed: set[str]) -> bool:
    """Whether the variables that the nest sets are used as in one of the forms, and nowhere else in it."""
    if len(changed) != len(found.places) + (found.extreme is not None) or changed & set(found.iterators):
        return False
    headers = [(k, part) for k, loop in enumerate(found.loops) for part in (loop.init, loop.cond)]
    if any(mentions(part, *changed) for _, part in headers):
        return False
    if any(mentions(part, *found.iterators[:k]) for k, part in headers):
        return False  # isl takes too long to follow their order
    values = [p.rvalue for p in found.places]
    if any(mentions(v, *changed) for v in values) or not found.located:
        return False  # values that are the same at each place are flags (conditional_flags.py)
    if any(isinstance(n, c_ast.ArrayRef | c_ast.StructRef) for v in values for n in nodes_below(v)):
        return False
    if found.extreme is None:
        return any(isinstance(n, c_ast.ArrayRef) for n in nodes_below(found.condition))
    return _compares(found.condition, found.extreme)


def _compares(condition: c_ast.Node, extreme: c_ast.Assignment) -> bool:
    """Whether a condition is `value > x` or `value < x`, either way round."""
    if not isinstance(condition, c_ast.BinaryOp) or condition.op not in ("<", ">"):
        return False
    name = str(extreme.lvalue.name)
    sides = [condition.left, condition.right]
    others = [s for s in sides if not (isinstance(s, c_ast.ID) and s.name == name)]
    once = [use.name for use in variables_in(condition)].count(name) == 1
    return len(others) == 1 and once and alike(others[0], extreme.rvalue)


def _element_type(found: _Search, known: Mapping[str, c_ast.Decl], scope: Scope) -> str | None:
    """The type of the extreme, which has to be that of its values: what is rounded is not equal to them."""
    if found.extreme is None:
        return "int"
    name = str(found.extreme.lvalue.name)
    element = type_of(known[name]) if name in known else base_of(name, scope, arrays=False)
    return element if element and element == _value_type(found.extreme.rvalue, scope) else None


def _value_type(node: c_ast.Node, scope: Scope) -> str:
    """The type of the values that are compared: of elements, or of their amounts."""
    called = str(node.name.name) if isinstance(node, c_ast.FuncCall) else ""
    if called:
        node = node.args.exprs[0] if node.args is not None and len(node.args.exprs) == 1 else node
    while isinstance(node, c_ast.ArrayRef):
        node = node.name
    element = base_of(str(node.name), scope, arrays=True) if isinstance(node, c_ast.ID) else ""
    return element if not called or PURE[called] == element else ""
