"""Which dependences are drawn between the instances of a panel: all where they are few, else those into a few."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

import islpy as isl

from polytile.compilation import Compilation
from polytile.drawing.instances import points
from polytile.drawing.iterations.model import Arrow, Arrows, At, Bold
from polytile.drawing.iterations.panel_positions import Positions
from polytile.drawing.iterations.view import count_of
from polytile.drawing.model import Instance
from polytile.facts.model import AccessPlace, LoopFacts
from polytile.facts.text import in_sentence
from polytile.ir.isl_util import maps
from polytile.runtime.parameters import point
from polytile.scheduling.analysis.dependences import Dependences, analyse

IN, OUT = isl.dim_type.in_, isl.dim_type.out
ALL = 40  # arrows, of which all are drawn
SINKS, EACH = 3, 16  # of how many instances arrows are drawn else, and how many of each


def source_dependences(state: Compilation) -> Dependences:
    """Compute the dependences between the instances of the source."""
    return analyse(state.source, state.options.array_operations, state.unexpanded or state.analysed)


def arrows_of(
    dependences: Dependences, shown: Mapping[str, isl.Set], places: Positions, values: Mapping[str, int]
) -> Arrows:
    """Draw the flow between instances that are shown; without any, what the reuse of storage orders."""
    inside = reduce(isl.UnionSet.union, map(isl.UnionSet.from_set, shown.values()), isl.UnionSet("{ }"))
    for relation, flow in ((dependences.flow, True), (dependences.false, False)):
        own = relation.intersect_params(point(values)).intersect_domain(inside).intersect_range(inside)
        parts = [m for m in maps(own) if not m.is_empty()]
        if parts:
            return _some(parts, places, flow)
    return Arrows()


def _some(parts: list[isl.Map], places: Positions, flow: bool) -> Arrows:
    total = sum(count_of(m.wrap()) for m in parts)
    if total <= ALL:
        return Arrows(tuple(sorted(_pairs(parts), key=_order)), total, (), flow)
    sinks = tuple(_focus(parts, name, places) for name in _most_needing(parts, places))
    found: list[Arrow] = []
    for name, iterators in sinks:
        one = isl.Set(f"{{ {name}[{', '.join(map(str, iterators))}] }}")
        into = [m.intersect_range(one) for m in parts if m.get_tuple_name(OUT) == name]
        own = sorted(_pairs(into), key=_order)
        step = -(-len(own) // EACH)
        found += own[::step]
    return Arrows(tuple(found), total, sinks, flow)


def _order(arrow: Arrow) -> tuple[Instance, Instance]:
    return arrow.sink, arrow.source


def _pairs(parts: Iterable[isl.Map]) -> Iterator[Arrow]:
    for m in parts:
        n, source, sink = m.dim(IN), str(m.get_tuple_name(IN)), str(m.get_tuple_name(OUT))
        yield from {Arrow((source, p[:n]), (sink, p[n:])): None for p in points(m.wrap())}


def _most_needing(parts: list[isl.Map], places: Positions) -> list[str]:
    """Select the statements that depend on others most, in the order of the source."""
    counts: dict[str, int] = {}
    for m in parts:
        name = str(m.get_tuple_name(OUT))
        counts[name] = counts.get(name, 0) + count_of(m.wrap())
    chosen = sorted(counts, key=lambda name: -counts[name])[:SINKS]
    return [name for name in places if name in chosen]


def _focus(parts: list[isl.Map], name: str, places: Positions) -> Instance:
    """Choose the instance of a statement in the middle of those that depend on several others, if there are some."""
    own = sorted((m for m in parts if m.get_tuple_name(OUT) == name), key=lambda m: -count_of(m.wrap()))
    common = own[0].range()
    for other in own[1:]:
        both = common.intersect(other.range())
        common = both if not both.is_empty() else common
    found = [(name, p) for p in points(common)]
    where = [places[name][instance] for instance in found]
    middle = tuple((min(at[k] for at in where) + max(at[k] for at in where)) / 2 for k in (0, 1))
    return min(found, key=lambda one: (_apart(places[name][one], middle), one[1]))


def _apart(at: At, middle: tuple[float, ...]) -> float:
    return sum((a - b) ** 2 for a, b in zip(at, middle, strict=True))


def bold_of(facts: Iterable[LoopFacts], places: Positions) -> Iterator[Bold]:
    """Yield the witnesses of serial loops whose two instances are shown."""
    for loop in facts:
        if loop.witness is None:
            continue
        source, sink = _instance(loop.witness.source), _instance(loop.witness.sink)
        if all(end in places.get(end[0], ()) for end in (source, sink)):
            yield Bold(Arrow(source, sink), f"loop {loop.iterator} is serial: {in_sentence(loop.witness)}")


def _instance(place: AccessPlace) -> Instance:
    return place.statement, tuple(value for _, value in place.iteration)
