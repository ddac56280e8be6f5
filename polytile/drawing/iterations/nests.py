"""The nests of a SCoP's source, and over which two of its loops each is drawn.

A nest of one or two loops is drawn whole. Of a deeper one a slice: the loop of a witness runs along one axis, and the
other loops have the values that they have there; without a witness the outermost two loops, and values of the others
where many instances are. Where too many statements meet in one place, the loops further inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import islpy as isl

from polytile.drawing.iterations.panel_positions import MOST_SLOTS, most_in_one_place
from polytile.drawing.iterations.view import View
from polytile.facts.model import LoopFacts
from polytile.facts.source_loops import source_loops
from polytile.ir.iterator_values import loops_around
from polytile.ir.scop import Scop, SourceLoop, Statement

SET = isl.dim_type.set
SHARE = 0.3  # of the instances of the fullest slice, that one through a witness has at least


def views_of(scop: Scop, facts: Iterable[LoopFacts], values: Mapping[str, int]) -> tuple[View, ...]:
    """Choose what is drawn of each nest, in the order of the source; slices are chosen at some sizes."""
    loops, known = source_loops(scop), tuple(facts)
    nests = _nests(scop, loops, 0, scop.statements)
    return tuple(view for nest in nests for view in _of_nest(scop, nest, known, values))


def _nests(scop: Scop, loops: Iterable[SourceLoop], level: int, within: Iterable[Statement]) -> list[tuple[str, ...]]:
    """Group statements that are in one loop of a level; those that are in none, as one group where they have no
    iterators."""
    found: dict[object, list[str]] = {}
    around = {name: k for k, loop in enumerate(loops) if loop.level == level for name in loop.statements}
    for statement in within:
        alone = statement.name if statement.iterators else ""
        found.setdefault(around.get(statement.name, alone), []).append(statement.name)
    return [tuple(names) for names in found.values()]


def _of_nest(scop: Scop, nest: tuple[str, ...], facts: tuple[LoopFacts, ...], values: Mapping[str, int]) -> list[View]:
    """Return the views of one nest: several where its outermost loop is at a given value."""
    depth = max(len(scop.statement(name).iterators) for name in nest)
    if depth <= 2:
        return _few(scop, View(nest, tuple(range(depth))), values)
    loops = [loop for loop in facts if set(loop.statements) <= set(nest)]
    through = [_fullest(scop, view, depth, values) for loop in loops for view in _through(nest, loop)]
    others = [_fullest(scop, View(nest, (k, k + 1)), depth, values) for k in range(depth - 1)]
    sizes = {view: view.count(scop, values) for view in (*through, *others)}
    most = max(sizes.values())
    for view in (*through, *others):
        parts = _parts(scop, view)
        if sizes[view] >= SHARE * most and all(most_in_one_place(scop, part, values) <= MOST_SLOTS for part in parts):
            return parts
    return [few for part in _parts(scop, others[0]) for few in _few(scop, part, values)]


def _few(scop: Scop, view: View, values: Mapping[str, int]) -> list[View]:
    """Split a view into views of some of its statements each, where too many of them meet in one place."""
    if most_in_one_place(scop, view, values) <= MOST_SLOTS:
        return [view]
    names = view.statements
    return [replace(view, statements=names[k : k + MOST_SLOTS]) for k in range(0, len(names), MOST_SLOTS)]


def _parts(scop: Scop, view: View) -> list[View]:
    """Split a view whose outer axis is inside of other loops, into one for each loop that the outer axis is."""
    first = view.axes[0]
    if first == 0:
        return [view]
    inside = [s for s in scop.statements if s.name in view.statements and len(s.iterators) > first]
    return [replace(view, statements=names) for names in _nests(scop, source_loops(scop), first, inside)]


def _through(nest: tuple[str, ...], loop: LoopFacts) -> Iterator[View]:
    """Yield the slice through the witness of a loop, if one of two dimensions has it."""
    if loop.witness is None:
        return
    ends = [tuple(v for _, v in place.iteration) for place in (loop.witness.source, loop.witness.sink)]
    shared = min(map(len, ends))
    apart = {loop.level, *(k for k in range(shared) if ends[0][k] != ends[1][k])}
    if len(apart) == 1:
        apart.add(loop.level + 1 if loop.level + 1 < shared or loop.level == 0 else loop.level - 1)
    if len(apart) == 2:
        longer = max(ends, key=len)
        rest = tuple((k, v) for k, v in enumerate(longer) if k not in apart)
        yield View(nest, tuple(sorted(apart)), rest)


def _fullest(scop: Scop, view: View, depth: int, values: Mapping[str, int]) -> View:
    """Fix the other loops of a view at values with many instances: the least, middle or greatest of each."""
    known = {*view.axes, *(level for level, _ in view.slices)}
    for level in (k for k in range(depth) if k not in known):
        shown = [own for own in view.shown(scop, values).values() if own.dim(SET) > level and not own.is_empty()]
        if not shown:
            return replace(view, slices=(*view.slices, (level, 0)))
        low = min(own.dim_min_val(level).to_python() for own in shown)
        high = max(own.dim_max_val(level).to_python() for own in shown)
        some = dict.fromkeys((low, (low + high) // 2, high))
        tried = [replace(view, slices=(*view.slices, (level, value))) for value in some]
        view = max(tried, key=lambda one: one.count(scop, values))
    return view


def level_name(scop: Scop, statements: Iterable[str], level: int) -> str:
    """Return the user's name for iterators of a level: `i`, or `iteration of i` where its iterations are counted."""
    loops = (loops_around(scop, scop.statement(name))[level:] for name in statements)
    found = dict.fromkeys(
        own[0].iterator if own[0].value is None else f"iteration of {own[0].iterator}" for own in loops if own
    )
    return "/".join(found)
