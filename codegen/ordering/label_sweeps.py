"""Label sweeps: elements are loaded from the middle of a stencil outwards, or in the order of memory, in each order of
its dimensions; what they complete runs at once.

before: b0 = A[0] + A[1] + A[2]; b1 = A[1] + A[2] + A[3]        the first point, then the second: A[1], A[2] are kept
after:  A[0], A[1], A[2]: b0 and part of b1; A[3]: b1           one element and two sums are kept
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from polytile.codegen.ordering.value_graph import Kind, ValueGraph
from polytile.ir.expr import Access
from polytile.ir.polynomial import linear

MAX_DIMENSIONS = 3
_Offsets = Mapping[int, Mapping[frozenset[tuple[str, int]], int]]  # by load: along each dimension


def sweep_orders(graph: ValueGraph) -> Iterator[tuple[int, ...]]:
    """Yield the sequences of all sweeps of elements that have all dimensions; others come with what needs them."""
    yield from (swept(graph, places) for places in label_places(graph, (True, False)))


def label_places(graph: ValueGraph, directions: Sequence[bool] = (False,)) -> Iterator[dict[int, int]]:
    """Yield when each sweep loads each element, from the middle outwards or not."""
    offsets = _offsets(graph)
    rank = max((len(d) for d in offsets.values()), default=0)
    full = {load: found for load, found in offsets.items() if len(found) == rank}
    dimensions = sorted({d for found in full.values() for d in found}, key=sorted)
    if not 0 < len(dimensions) <= MAX_DIMENSIONS:
        return
    for order in permutations(dimensions):
        for outwards in directions:
            yield _ranks(full, order, outwards=outwards)


def _offsets(graph: ValueGraph) -> _Offsets:
    """Return the offsets of loads along each dimension; a dimension is what subscripts have beside a constant."""
    found: dict[int, dict[frozenset[tuple[str, int]], int]] = {}
    for number, node in enumerate(graph.nodes):
        if node.kind is not Kind.LOAD or not isinstance(node.expr, Access):
            continue
        forms = [linear(s) for s in node.expr.subscripts]
        plain = [dict(f) for f in forms if f is not None]
        if len(plain) == len(forms):
            parts = ((f.pop("", 0), frozenset(f.items())) for f in plain)
            found[number] = {form: offset for offset, form in parts if form}
    return found


def _ranks(full: _Offsets, order: Sequence[frozenset[tuple[str, int]]], *, outwards: bool) -> dict[int, int]:
    """Rank the elements by when they are loaded; those of one place, in several arrays, have one rank."""

    def place(load: int) -> tuple[int, ...]:
        offsets = [full[load].get(d, 0) for d in order]
        return tuple(2 * abs(o) + (o > 0) for o in offsets) if outwards else tuple(offsets)

    places = sorted({place(load) for load in full})
    numbers = {at: number for number, at in enumerate(places)}
    return {load: numbers[place(load)] for load in full}


def swept(graph: ValueGraph, ranks: Mapping[int, int]) -> tuple[int, ...]:
    """Sort operations and stores by when the last of what they need is there."""
    there = list[int]()
    for number, needs in enumerate(graph.all_needs()):
        there.append(max([ranks.get(number, -1), *[there[n] for n in needs]]))
    computed = [n for n in graph.order if graph.nodes[n].kind is not Kind.LOAD]
    return with_late_loads(graph, sorted(computed, key=lambda n: (there[n], n)))


def with_late_loads(graph: ValueGraph, computed: Sequence[int]) -> tuple[int, ...]:
    """Place loads in a sequence of operations and stores right before their first use.

    A load that must precede a store comes right before that, if it is not used earlier.
    """
    sequence: dict[int, None] = {}
    nodes, needs = graph.nodes, graph.all_needs()
    for number in computed:
        for need in needs[number]:
            if nodes[need].kind is Kind.LOAD:
                sequence.setdefault(need)
        sequence[number] = None
    return tuple(sequence)
