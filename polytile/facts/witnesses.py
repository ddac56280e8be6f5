"""Why a loop is serial: the least pair of its iterations of which one must follow the other.

Dependences that a loop carries are those between instances that are equal in the loops around it and differ in its own
iterator. The loops that two statements share are read off the source's schedule tree: two nests whose iterators are
both called `i` share none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import islpy as isl

from polytile.dataclass import dataclass
from polytile.facts.model import AccessPlace, DependenceKind, Values, Witness
from polytile.frontend.describe import describe
from polytile.ir.certain_accesses import accesses_in, element_of, touches_certainly
from polytile.ir.expr import IteratorValue, Name
from polytile.ir.expr_trees import rewrite
from polytile.ir.isl_util import unbounded
from polytile.ir.iterator_values import iterator_values, loops_around
from polytile.ir.lexicographic import lexmin
from polytile.ir.scop import AccessKind, AccessRelation, Scop, SourceLoop, Statement
from polytile.scheduling.analysis.dependences import certain_flow
from polytile.scheduling.analysis.source_loops import equal_iterators

IN, OUT, PARAM, SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param, isl.dim_type.set
Key = tuple[bool, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two instances and the sizes at which they are."""

    source: str
    source_values: tuple[int, ...]
    sink: str
    sink_values: tuple[int, ...]
    sizes: Mapping[str, int]

    @property
    def key(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """By which pairs are compared: sizes, then iterators."""
        return tuple(self.sizes.values()), (*self.source_values, *self.sink_values)


def carried_by(pairs: Iterable[isl.Map], loop: SourceLoop) -> Iterator[isl.Map]:
    """Yield the parts of relations between instances that a loop carries."""
    for m in pairs:
        names = m.get_tuple_name(IN), m.get_tuple_name(OUT)
        if all(name in loop.statements for name in names):
            outer = equal_iterators(m, loop.level)
            for order in (outer.order_lt, outer.order_gt):
                apart = order(IN, loop.level, OUT, loop.level)
                if not apart.is_empty():
                    yield apart


def least_pair(pairs: isl.Map) -> Pair:
    """Return the lexicographic minimum of (sizes, source, sink) of a relation that is not empty; sizes are at least 0
    where that leaves some."""
    n_in, n_out, sizes = pairs.dim(IN), pairs.dim(OUT), pairs.dim(PARAM)
    names = [str(pairs.get_dim_name(PARAM, k)) for k in range(sizes)]
    flat = pairs.wrap().flatten().reset_tuple_id()
    flat = flat.move_dims(SET, 0, PARAM, 0, sizes)
    positive = flat
    for k in range(sizes):
        positive = positive.lower_bound_val(SET, k, isl.Val(0))
    point = lexmin(flat if positive.is_empty() else positive).sample_point()
    values = [point.get_coordinate_val(SET, k).to_python() for k in range(sizes + n_in + n_out)]
    first, last = values[sizes : sizes + n_in], values[sizes + n_in :]
    source, sink = str(pairs.get_tuple_name(IN)), str(pairs.get_tuple_name(OUT))
    return Pair(source, tuple(first), sink, tuple(last), dict(zip(names, values[:sizes], strict=True)))


def witness(scop: Scop, array: str, kind: DependenceKind, carried: list[isl.Map], *, exact: bool) -> Witness:
    """Return the least pair of what a loop carries through an array; one that is certain before one that may be. Where
    every conflict counts as a dependence none is certain, and the least pair of one of hundreds of relations will
    do."""
    if not exact:
        carried = [_simplest(min(carried, key=isl.Map.n_basic_map))]
    found = (_witness(scop, array, kind, pair, exact=exact) for pair in map(least_pair, carried))
    return min(found, key=_key)


def _simplest(pairs: isl.Map) -> isl.Map:
    """Return one part of a relation that has pairs, with the fewest constraints."""
    parts = [part for part in pairs.get_basic_maps() if not part.is_empty()]
    return isl.Map.from_basic_map(min(parts, key=lambda part: len(part.get_constraints())))


def _key(one: Witness) -> Key:
    values = (*one.source.iteration, *one.sink.iteration)
    return one.may, tuple(v for _, v in one.sizes), tuple(v for _, v in values)


def _witness(scop: Scop, array: str, kind: DependenceKind, pair: Pair, *, exact: bool) -> Witness:
    with unbounded():  # a few operations for each access, at given instances
        firsts = _touching(scop, array, pair.source, pair.source_values, pair.sizes, kind is not DependenceKind.ANTI)
        thens = _touching(scop, array, pair.sink, pair.sink_values, pair.sizes, kind is not DependenceKind.FLOW)
        common = ((a, b, a.elements.intersect(b.elements)) for a, b in product(firsts, thens))
        meeting = [(a, b, _first(elements)) for a, b, elements in common if not elements.is_empty()]
    first, then, element = min(meeting, key=lambda three: three[0].may(three[2]) + three[1].may(three[2]))
    lasting = kind is not DependenceKind.FLOW or _certainly_lasts(scop, array, pair)
    return Witness(
        kind,
        array,
        _place(scop, first, element),
        _place(scop, then, element),
        tuple(pair.sizes.items()),
        first.may(element) or then.may(element) or not lasting or not exact,
    )


def _first(elements: isl.Set) -> tuple[int, ...]:
    point = lexmin(elements).sample_point()
    return tuple(point.get_coordinate_val(SET, k).to_python() for k in range(elements.dim(SET)))


def _certainly_lasts(scop: Scop, array: str, pair: Pair) -> bool:
    """Return whether no write in between, which data decide on, may hide what the source wrote from the sink."""
    if not any(a.array == array and a.kind is AccessKind.MAY_WRITE for s in scop.statements for a in s.accesses):
        return True
    certain = certain_flow(scop, array).intersect_params(_sizes(pair.sizes))
    ends = _instance(pair.source, pair.source_values), _instance(pair.sink, pair.sink_values)
    return not certain.intersect_domain(ends[0]).intersect_range(ends[1]).is_empty()


def _instance(statement: str, values: tuple[int, ...]) -> isl.UnionSet:
    return isl.UnionSet(f"{{ {statement}[{', '.join(map(str, values))}] }}")


@dataclass(frozen=True, slots=True)
class _Touch:
    """An access of an instance, with the elements that it may touch; `values` are those of iterators and sizes."""

    statement: Statement
    access: AccessRelation
    elements: isl.Set
    iteration: tuple[int, ...]
    values: Mapping[str, int]

    def may(self, element: tuple[int, ...]) -> bool:
        """Return whether data decide that it touches an element."""
        if self.access.writes:
            return self.access.kind is AccessKind.MAY_WRITE
        return not touches_certainly(self.statement, self.access.array, self.values, element)


def _touching(
    scop: Scop, array: str, name: str, iteration: tuple[int, ...], sizes: Mapping[str, int], writes: bool
) -> list[_Touch]:
    statement = scop.statement(name)
    values = {**sizes, **dict(zip(statement.iterators, iteration, strict=True))}
    found = []
    for access in statement.accesses:
        wanted = access.writes if writes else access.kind is AccessKind.READ
        if access.array != array or not wanted:
            continue
        own = access.relation.intersect_params(_sizes(sizes))
        for i, value in enumerate(iteration):
            own = own.fix_val(IN, i, isl.Val(value))
        if not own.is_empty():
            found.append(_Touch(statement, access, own.range(), iteration, values))
    return found


def _sizes(sizes: Mapping[str, int]) -> isl.Set:
    names, equations = ", ".join(sizes), " and ".join(f"{n} = {v}" for n, v in sizes.items())
    return isl.Set(f"[{names}] -> {{ : {equations} }}" if sizes else "{ : }")


def _place(scop: Scop, touch: _Touch, element: tuple[int, ...]) -> AccessPlace:
    statement = touch.statement
    line = touch.access.location.line or statement.location.line
    loops = loops_around(scop, statement)
    values = iterator_values(scop, statement, touch.values).values()
    iteration: Values = tuple((loop.iterator, value) for loop, value in zip(loops, values, strict=True))
    return AccessPlace(statement.name, _text(touch, element, loops), line, iteration)


def _text(touch: _Touch, element: tuple[int, ...], loops: Sequence[SourceLoop]) -> str:
    """Return the access in the source's terms: a[i - 1]; its array alone where data leave a choice of several."""
    own = list(dict.fromkeys(node for node in accesses_in(touch.statement) if node.array == touch.access.array))
    reached = [(node, element_of(node, touch.values)) for node in own]
    meant = [node for node, found in reached if found == element[: len(node.subscripts)]]
    loose = [node for node, found in reached if found is None]
    if not meant and len(loose) != 1:
        return touch.access.array

    called = dict(zip(touch.statement.iterators, loops, strict=True))

    def as_called(node: object) -> object:
        match node:
            case IteratorValue(called=name) if name in called:
                return replace(node, called=called[name].iterator)
            case Name(name=name, type=ctype) if name in called:
                return Name(called[name].iterator, ctype)
        return node

    return describe(rewrite((meant or loose)[0], as_called))
