"""Where the values of a time-iterated stencil come from: for each read, which field made them, how many iterations ago,
and how far away in space.

before: for (t) { for (i) S0: B[i] = f(A[i - 1], A[i + 1]);  for (i) S1: A[i] = B[i]; }
after:  fields B by S0, A by S1; S0 reads A, made 1 iteration ago, at -1 and +1; S1 reads B, made 0 iterations ago, at 0

A *field* is what one iteration makes of one array. Values come from flow dependences, so that
A[(t + 1) % 2][i] = .. A[t % 2][i] reads A of 1 iteration ago. A cell is named by the last subscripts of the element
that is written (StencilForm); the ones in front of them depend on the iteration alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.access_boxes import Offset, taken_apart, united
from polytile.ir.digraph import edge_of_a_cycle, graph_of, in_order
from polytile.ir.isl_util import maps
from polytile.ir.scop import AccessKind, AccessRelation, Array, Scop, Statement
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.stencil_form import NotAStencilError, StencilForm

MOST_VERSIONS = 8  # of an array in turns
FAR = 1 << 30  # iterations: a distance that is not bounded
SET, IN, OUT = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, slots=True)
class Field:
    """What an iteration makes of an array, by `statements` at different cells. It takes the elements that the field had
    `period` iterations ago; None: each iteration has elements of its own."""

    array: str
    statements: tuple[str, ...]
    period: int | None


@dataclass(frozen=True, slots=True)
class ValueRead:
    """An access of a statement (its position) that reads what the field number `source` made `back` iterations before,
    `offset` away from the cell that the statement writes; or what was there before, at cells that are not written."""

    statement: str
    access: int
    source: int
    back: int
    offset: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StencilValues:
    """The fields of an iteration, in an order in which they can be made, and all reads of them; `times` are the
    iterations, `{ [t] }`. `once`: these are a DAG of stencils that is not iterated, and a single iteration."""

    dims: int
    fields: tuple[Field, ...]
    reads: tuple[ValueRead, ...]
    times: isl.Set = field(compare=False)
    once: bool = False

    def field_of(self, statement: str) -> int:
        return next(k for k, f in enumerate(self.fields) if statement in f.statements)


@dataclass(frozen=True, slots=True)
class _Writer:
    """A statement and what it writes: `placed` is `{ S[t, i] -> [t, cell] }`, `leading` `{ [t] -> [subscripts] }`."""

    statement: Statement
    access: AccessRelation
    placed: isl.Map
    leading: isl.Map

    @property
    def written(self) -> isl.Map:
        return self.access.relation.intersect_domain(self.placed.domain())


def stencil_values(scop: Scop, dependences: Dependences, form: StencilForm) -> StencilValues:
    """Return the fields and reads of a stencil.

    Raises NotAStencilError where an access reads what several iterations made.
    """
    writers = {name: _writer(scop, form, name) for name in form.names}
    times = _times(writers)
    arrays = list(dict.fromkeys(w.access.array for w in writers.values()))
    of_array = {a: [w for w in writers.values() if w.access.array == a] for a in arrays}
    for array in arrays:
        _check_field(of_array[array])
        if not dependences.of(array).exact:
            reason = f"it takes too long to find out which values of {array} are read"
            raise NotAStencilError(reason, of_array[array][0].statement.location)
    found: list[tuple[str, str, ValueRead]] = []
    for writer in writers.values():
        for array in arrays:
            sources = _Sources(form.dims, writer, of_array[array], dependences.of(array).flow, times)
            found += [(writer.access.array, array, read) for read in sources.reads()]
    order = _order(arrays, found, of_array)
    fields = tuple(_field(scop.array(array), of_array[array], times) for array in order)
    reads = tuple(
        ValueRead(r.statement, r.access, order.index(array), r.back, r.offset)
        for _, array, r in sorted(found, key=lambda f: (form.names.index(f[2].statement), f[2].access))
    )
    return StencilValues(form.dims, fields, reads, times)


def _writer(scop: Scop, form: StencilForm, name: str) -> _Writer:
    statement = scop.statement(name)
    placed = next(s.placed for s in form.statements if s.name == name)
    placed = placed.intersect_domain(statement.domain.intersect_params(scop.context))
    time = statement.iterators[0]
    if not placed.is_subset(placed.equate(IN, 0, OUT, 0)):
        raise NotAStencilError(f"iterations over {time} do not run upwards one after another", statement.location)
    access = next(a for a in statement.accesses if a.kind is AccessKind.WRITE)
    array = scop.array(access.array)
    if array.fields:
        raise NotAStencilError(f"{array.name} is an array of structs", statement.location)
    if not placed.is_injective():
        reason = f"several iterations of {name} write one element of {array.name} for the same {time}"
        raise NotAStencilError(reason, statement.location)
    return _Writer(statement, access, placed, _leading(statement, access, array.rank - form.dims))


def _leading(statement: Statement, access: AccessRelation, count: int) -> isl.Map:
    """Return `{ [t] -> [subscripts] }`: the first subscripts of what is written, also for iterations not run.

    No other iterator may change them.
    """
    rank = access.relation.dim(OUT)
    leading = access.relation.project_out(OUT, count, rank - count).gist_domain(statement.domain)
    inner = leading.dim(IN) - 1
    if leading.involves_dims(IN, 1, inner):
        reason = f"leading subscripts of {access.array} depend on more than {statement.iterators[0]}"
        raise NotAStencilError(reason, statement.location)
    return _by_time(leading)


def _by_time(leading: isl.Map) -> isl.Map:
    return leading.reset_tuple_id(OUT).reset_tuple_id(IN).project_out(IN, 1, leading.dim(IN) - 1)


def _times(writers: Mapping[str, _Writer]) -> isl.Set:
    """Return the iterations, `{ [t] }`: each statement runs in all of them, for the same cells."""
    ranges = [w.placed.range() for w in writers.values()]
    times = [_time_of(r) for r in ranges]
    union = times[0]
    for other in times[1:]:
        union = union.union(other)
    union = union.coalesce()
    for writer, points in zip(writers.values(), ranges, strict=True):
        cells = points.project_out(SET, 0, 1)
        if not union.flat_product(cells).is_equal(points):
            time, name = writer.statement.iterators[0], writer.statement.name
            raise NotAStencilError(
                f"{name} does not run for the same cells in every iteration over {time}", writer.statement.location
            )
    below = union.apply(isl.Map("{ [t] -> [u] : u > t }"))
    above = union.apply(isl.Map("{ [t] -> [u] : u < t }"))
    if not below.intersect(above).is_subset(union):
        first = next(iter(writers.values())).statement
        raise NotAStencilError(f"iterations over {first.iterators[0]} leave some out", first.location)
    return union


def _time_of(points: isl.Set) -> isl.Set:
    return points.project_out(SET, 1, points.dim(SET) - 1)


def _check_field(writers: Sequence[_Writer]) -> None:
    """Check that the statements that write one array write different cells, of the same elements."""
    seen: list[_Writer] = []
    for writer in writers:
        name, array, place = writer.statement.name, writer.access.array, writer.statement.location
        for other in seen:
            if not writer.leading.is_equal(other.leading):
                reason = f"{other.statement.name} and {name} write different versions of {array} in one iteration"
                raise NotAStencilError(reason, place)
            if not writer.placed.range().is_disjoint(other.placed.range()):
                reason = f"{other.statement.name} and {name} write the same elements of {array} in one iteration"
                raise NotAStencilError(reason, place)
        seen.append(writer)


def _field(array: Array, writers: Sequence[_Writer], times: isl.Set) -> Field:
    leading = writers[0].leading
    period = next((k for k in range(1, MOST_VERSIONS + 1) if _repeats(leading, k, times)), None)
    if period is None and array.live_out:
        raise NotAStencilError(f"all iterations leave values in {array.name}", writers[0].statement.location)
    return Field(array.name, tuple(w.statement.name for w in writers), period)


def _repeats(leading: isl.Map, distance: int, times: isl.Set) -> bool:
    """Return whether any two iterations so far apart have the same elements."""
    later = isl.Map(f"{{ [t] -> [t + {distance}] }}").intersect_domain(times).intersect_range(times)
    return bool(later.is_subset(leading.apply_range(leading.reverse())))


def _order(
    arrays: Sequence[str], found: Sequence[tuple[str, str, ValueRead]], of_array: Mapping[str, Sequence[_Writer]]
) -> list[str]:
    """Order the fields, each after those that it reads in the same iteration."""
    within = [(source, reader) for reader, source, read in found if read.back == 0]
    if not within:
        return list(arrays)
    graph = graph_of(arrays, within)
    if (edge := edge_of_a_cycle(graph)) is not None:
        source, reader = edge
        writer = of_array[reader][-1].statement
        other = "" if source == reader else f", through {source}"
        reason = f"{writer.name} writes {reader}, and reads values of {reader} of the same iteration{other}"
        raise NotAStencilError(reason, writer.location)
    return in_order(graph, key=list(arrays).index)


@dataclass(frozen=True, slots=True)
class _Sources:
    """The reads of a statement of one array that `writers` write."""

    dims: int
    reader: _Writer
    writers: Sequence[_Writer]
    flow: isl.UnionMap
    times: isl.Set

    def reads(self) -> Iterator[ValueRead]:
        statement, array = self.reader.statement, self.writers[0].access.array
        groups: list[tuple[isl.Map, list[int]]] = []
        alike, offsets = dict[object, isl.Map](), dict[str, tuple[Offset, Offset]]()
        for number, access in enumerate(statement.accesses):
            if access.array == array and access.kind is AccessKind.READ:
                leading = self._leading(access, alike)
                same = next((own for other, own in groups if other.is_equal(leading)), None)
                if same is None:
                    groups.append((leading, [number]))
                else:
                    same.append(number)
        for leading, numbers in groups:
            back = self._back(numbers)
            self._check_version(leading, back)
            for number in numbers:
                yield ValueRead(statement.name, number, 0, back, self._offset(statement.accesses[number], offsets))

    def _leading(self, access: AccessRelation, alike: dict[object, isl.Map]) -> isl.Map:
        """Return the first subscripts of what is read in each iteration.

        Accesses whose other subscripts differ in constants alone share them (`alike`).
        """
        rank = access.relation.dim(OUT)
        function = taken_apart(access.relation)
        key = function and (function[0], function[1][: rank - self.dims])
        if key in alike:
            return alike[key]
        read = access.relation.intersect_domain(self.reader.placed.domain())
        leading = _by_time(read.project_out(OUT, rank - self.dims, self.dims))
        if key is not None:
            alike[key] = leading
        return leading

    def _back(self, numbers: Sequence[int]) -> int:
        """Return how many iterations ago the values were made that these accesses read."""
        read = united([self.reader.statement.accesses[n].relation for n in numbers])
        read = read.intersect_domain(self.reader.placed.domain())
        touched = [read.apply_range(writer.written.reverse()) for writer in self.writers]
        valued = [m for pairs in touched for m in maps(isl.UnionMap.from_map(pairs).intersect(self.flow.reverse()))]
        apart = {k for m in valued for k in _iterations_apart(m)}
        if not apart:
            raise self._refused("reads elements of {array} that no iteration before it writes")
        back = min(apart)
        expected = [pairs for pairs in (_made_before(m, back) for m in touched) if not pairs.is_empty()]
        if len(apart) > 1 or not _union(expected).is_equal(_union(valued)):
            raise self._refused("reads values of {array} that several iterations made")
        return back

    def _check_version(self, leading: isl.Map, back: int) -> None:
        """Check that what is read at cells that are not written is of the version that is read elsewhere."""
        version = isl.Map(f"{{ [t] -> [t - {back}] }}").apply_range(self.writers[0].leading)
        if not leading.is_subset(version):
            raise self._refused("reads another version of {array} at some cells")

    def _offset(self, access: AccessRelation, known: dict[str, tuple[Offset, Offset]]) -> Offset:
        """Return how far what is read is from the cell that is written.

        What is read by one affine function plus constants is as far away as these are.
        """
        text, constants = taken_apart(access.relation) or ("", ())
        if not text:
            return self._distance(access)
        last = constants[len(constants) - self.dims :]
        if text not in known:
            known[text] = (self._distance(access), last)
        offset, other = known[text]
        return tuple(o + a - b for o, a, b in zip(offset, last, other, strict=True))

    def _distance(self, access: AccessRelation) -> Offset:
        placed = self.reader.placed
        cell = placed.project_out(OUT, 0, 1)
        if not placed.domain().is_subset(access.relation.domain()):
            raise self._refused("reads {array} in some iterations alone")
        read = access.relation.intersect_domain(placed.domain()).reset_tuple_id(OUT)
        read = read.project_out(OUT, 0, read.dim(OUT) - self.dims)
        apart = cell.reverse().apply_range(read).deltas().project_out_all_params()
        if not apart.is_singleton():
            raise self._refused("reads {array} at a distance that is not the same everywhere")
        point = apart.sample_point()
        return tuple(int(point.get_coordinate_val(SET, k).to_python()) for k in range(self.dims))

    def _refused(self, reason: str) -> NotAStencilError:
        statement, array = self.reader.statement, self.writers[0].access.array
        return NotAStencilError(f"{statement.name} {reason.format(array=array)}", statement.location)


def _iterations_apart(pairs: isl.Map) -> Iterator[int]:
    """Yield the least and the most iterations by which the second instances of pairs precede the first ones."""
    apart = pairs.reset_tuple_id(IN).project_out(IN, 1, pairs.dim(IN) - 1)
    apart = apart.reset_tuple_id(OUT).project_out(OUT, 1, pairs.dim(OUT) - 1)
    found = apart.deltas().project_out_all_params()
    for value in (found.dim_min_val(0), found.dim_max_val(0)):
        yield -int(value.to_python()) if value.is_int() else FAR


def _made_before(pairs: isl.Map, back: int) -> isl.Map:
    """Return the pairs whose second instance runs so many iterations before the first."""
    space = isl.LocalSpace.from_space(pairs.get_space())
    apart = isl.Constraint.equality_alloc(space).set_constant_val(isl.Val(-back))
    apart = apart.set_coefficient_val(IN, 0, isl.Val(1)).set_coefficient_val(OUT, 0, isl.Val(-1))
    return pairs.add_constraint(apart)


def _union(parts: Sequence[isl.Map]) -> isl.UnionMap:
    total = isl.UnionMap("{ }")
    for part in parts:
        total = total.union(isl.UnionMap.from_map(part))
    return total
