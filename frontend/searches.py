"""Loops that look for the place of an extreme, or for the last place, as reductions.

before: for (i) for (j) if (a[i][j] > x) { x = a[i][j]; k = i; l = j; }
after:  x0 = x; for (i) for (j) if (a[i][j] > x) x = a[i][j];
        at_i = largest; for (i) for (j) if (a[i][j] == x && a[i][j] > x0) at_i = i < at_i ? i : at_i;
        at_j = largest; for (i) for (j) if (i == at_i && a[i][j] == x && a[i][j] > x0) at_j = j < at_j ? j : at_j;
        if (at_i < largest) { k = at_i; l = at_j; }

before: for (j) if (fabs(a[j]) > fabs(a[k])) k = j;          k says where the extreme is
after:  if (0 < n) x = fabs(a[k]);  for (j) if (fabs(a[j]) > x) { x = fabs(a[j]); k = j; }      and so on as above

before: for (i) if (a[i] > 0) k = i;
after:  at = least; for (i) if (a[i] > 0) at = i > at ? i : at;     if (at > least) k = at;

The first place whose value is the extreme is the one where it was found in order; none is where nothing is beyond what
the variable held before. The loops then have no variable that an iteration takes over from the one before but extremes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import (
    LARGEST,
    block,
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
from polytile.frontend.reduction_statements import changed_variables
from polytile.frontend.scalar_value import changes
from polytile.frontend.scope import Scope
from polytile.frontend.search_distribution import alone
from polytile.frontend.trees import (
    alike,
    block_items,
    copied,
    map_statements,
    statements_below,
    substituted,
    variables_in,
)
from polytile.frontend.trip_counts import count_of
from polytile.frontend.value_types import ValueTypes

MOST_LOOPS = 2  # of a nest whose bounds depend on its iterators


def with_searches(body: Sequence[c_ast.Node], scope: Scope) -> Iterator[c_ast.Node]:
    """The statements of a SCoP, with such loops replaced."""
    if any(isinstance(n, c_ast.If) for node in body for n in statements_below(node)):
        searches = _Searches.of(body, scope)
        yield from map(searches.changed, body)
    else:
        yield from body


@dataclass(frozen=True, slots=True)
class _Searches:
    types: ValueTypes
    taken: set[str]

    @classmethod
    def of(cls, body: Sequence[c_ast.Node], scope: Scope) -> _Searches:
        return cls(ValueTypes.of(body, scope), names_in(body))

    def changed(self, node: Any) -> Any:
        """A statement in which such loops are replaced."""
        loops, iterators, items = self._nest(node)
        for k, item in enumerate(items):
            own = item if len(items) == 1 else alone(loops, iterators, items, k, self._kind)
            found = self._search(loops, iterators, own)
            if found is not None:
                others = [*items[:k], *items[k + 1 :]]
                made = found[0].replaced(found[1], self.taken)
                if all(isinstance(other, c_ast.Decl) and not changed_variables(other) for other in others):
                    return made
                rest = self.changed(loops_around(loops, c_ast.Compound(others, node.stmt.coord)))
                return block([rest, made], node.coord)
        return map_statements(node, self.changed)

    def _nest(self, node: c_ast.Node) -> tuple[tuple[c_ast.For, ...], tuple[str, ...], list[c_ast.Node]]:
        """The loops of a nest, their iterators, and the statements inside of it."""
        loops: list[c_ast.For] = []
        iterators: list[str] = []
        items = [node]
        while len(items) == 1 and (iterator := self._counted(items[0])) is not None:
            loops.append(items[0])
            iterators.append(iterator)
            items = block_items(items[0].stmt)
        return tuple(loops), tuple(iterators), items if loops else []

    def _search(
        self, loops: tuple[c_ast.For, ...], iterators: tuple[str, ...], node: c_ast.Node | None
    ) -> tuple[_Search, str] | None:
        """Return the search that a condition in loops is, with the type of its extreme."""
        if not isinstance(node, c_ast.If) or node.iffalse is not None:
            return None
        found = _search(loops, iterators, node) or _search_by_place(loops, iterators, node, self.taken)
        element = None if found is None else self._element_type(found)
        return None if found is None or element is None else (found, element)

    def _counted(self, loop: c_ast.Node) -> str | None:
        """The iterator, an int, of a loop that counts up by one."""
        count = count_of(loop) if isinstance(loop, c_ast.For) else None
        if count is None or count.step != 1 or count.condition is None or changes(loop.stmt, count.name):
            return None
        kind = type_of(loop.init.decls[0]) if count.declared else self.types.of_scalar(count.name)
        return count.name if kind == "int" and is_plain(count.first, count.condition) else None

    def _kind(self, node: c_ast.Node) -> str:
        """Return the type of a variable, or of an element."""
        return self.types.of_scalar(str(node.name)) if isinstance(node, c_ast.ID) else self.types.of_value(node)

    def _element_type(self, found: _Search) -> str | None:
        """The type of the extreme, which has to be that of its values: what is rounded is not equal to them."""
        if found.extreme is None:
            return "int"
        value, name = self.types.of_value(found.extreme.rvalue), str(found.extreme.lvalue.name)
        return value if value and (found.start is not None or value == self.types.of_scalar(name)) else None


@dataclass(frozen=True, slots=True)
class _Search:
    """`for (i) for (j) if (condition) { x = value; k = i; l = j; }`; without `extreme` there is no x. With `start` the
    x is a new variable, which has that value before the loops where they run."""

    loops: tuple[c_ast.For, ...]
    iterators: tuple[str, ...]
    condition: c_ast.Node
    places: tuple[c_ast.Assignment, ...]
    extreme: c_ast.Assignment | None
    start: c_ast.Node | None = None

    def replaced(self, element: str, taken: set[str]) -> c_ast.Node:
        first = self.extreme is not None
        limit = integer(LARGEST if first else -LARGEST)
        items: list[c_ast.Node] = []
        condition = copied(self.condition)
        if self.extreme is not None:
            x, value = self.extreme.lvalue, self.extreme.rvalue
            if self.start is not None:
                begin = c_ast.Assignment("=", copied(x), self.start)
                items += [declared(x.name, element, integer(0)), c_ast.If(_runs(self.loops), begin, None)]
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


def _search(loops: tuple[c_ast.For, ...], iterators: tuple[str, ...], node: c_ast.If) -> _Search | None:
    """The search that a condition in loops is, which sets the extreme and its place."""
    sets = [n for n in block_items(node.iftrue) if isinstance(n, c_ast.Assignment) and n.op == "="]
    if len(sets) != len(block_items(node.iftrue)) or not all(isinstance(s.lvalue, c_ast.ID) for s in sets):
        return None
    extremes = [s for s in sets if mentions(node.cond, str(s.lvalue.name))]
    places = tuple(s for s in sets if s not in extremes)
    if len(extremes) > 1 or not is_plain(node.cond, *(s.rvalue for s in sets)):
        return None
    found = _Search(loops, iterators, node.cond, places, extremes[0] if extremes else None)
    return found if _fits(found, {str(s.lvalue.name) for s in sets}) else None


def _search_by_place(
    loops: tuple[c_ast.For, ...], iterators: tuple[str, ...], node: c_ast.If, taken: set[str]
) -> _Search | None:
    """The search that a condition is, which compares with the value at the place: `if (a[i] > a[k]) k = i;`"""
    sets = [n for n in block_items(node.iftrue) if isinstance(n, c_ast.Assignment) and n.op == "="]
    places = {
        n.rvalue.name: n.lvalue for n in sets if isinstance(n.rvalue, c_ast.ID) and isinstance(n.lvalue, c_ast.ID)
    }
    if not places or len(places) != len(block_items(node.iftrue)) or not places.keys() <= {*iterators}:
        return None
    if not isinstance(node.cond, c_ast.BinaryOp) or node.cond.op not in ("<", ">"):
        return None
    others = set(iterators) - places.keys()  # the value there would be another one in each of their iterations
    for value, other in ((node.cond.left, node.cond.right), (node.cond.right, node.cond.left)):
        if mentions(value, *others) or not mentions(value, *places):
            continue
        if not alike(substituted(copied(value), places), other):
            continue
        x = c_ast.ID(unused(f"{next(iter(places.values())).name}_value", taken), node.coord)
        sides = (copied(value), x) if value is node.cond.left else (x, copied(value))
        compared = c_ast.BinaryOp(node.cond.op, *sides, node.cond.coord)
        extreme = c_ast.Assignment("=", copied(x), copied(value), node.coord)
        made = c_ast.If(compared, c_ast.Compound([extreme, *sets], node.coord), None, node.coord)
        found = None if _depends_on_itself(loops, iterators) else _search(loops, iterators, made)
        return None if found is None else replace(found, start=copied(other))
    return None


def _depends_on_itself(loops: Sequence[c_ast.For], iterators: Sequence[str]) -> bool:
    """Whether a bound of a nest depends on an iterator of a loop around it."""
    headers = ((k, part) for k, loop in enumerate(loops) for part in (loop.init, loop.cond))
    return any(mentions(part, *iterators[:k]) for k, part in headers)


def _runs(loops: Sequence[c_ast.For]) -> c_ast.Node:
    """Whether a nest, of which no header depends on a loop around, runs at all."""
    found: list[c_ast.Node] = []
    for loop in loops:
        count = count_of(loop)
        assert count is not None and count.condition is not None
        found.append(substituted(copied(count.condition), {count.name: copied(count.first)}))
    return reduce(lambda one, other: c_ast.BinaryOp("&&", one, other), found)


def _fits(found: _Search, changed: set[str]) -> bool:
    """Whether the variables that the nest sets are used as in one of the forms, and nowhere else in it."""
    if len(changed) != len(found.places) + (found.extreme is not None) or changed & set(found.iterators):
        return False
    if any(mentions(part, *changed) for loop in found.loops for part in (loop.init, loop.cond)):
        return False
    if len(found.loops) > MOST_LOOPS and _depends_on_itself(found.loops, found.iterators):
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
