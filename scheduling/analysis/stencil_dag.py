"""DAGs of stencils that are not iterated: the fields that statements make, and where what they read was made.

before: for (i, j) S0: B[i][j] = f(A[i - 1][j], A[i + 1][j]);  for (i, j) S1: C[i][j] = g(B[i][j - 1], B[i][j]);
after:  field 0: B by S0, reads A from before at (-1, 0), (1, 0); field 1: C by S1, reads field 0 at (0, -1), (0, 0)

Offsets are those of elements that are read from the element that is written. Values come from flow dependences, so that
an array may be read before it is written, too; then the field that writes it comes after the reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.digraph import condensed, graph_of, in_order
from polytile.ir.isl_util import maps
from polytile.ir.scop import AccessKind, AccessRelation, Array, Scop, Statement
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.stencil_form import NotAStencilError
from polytile.scheduling.analysis.stencil_values import StencilValues

BEFORE = -1  # the iteration that made what is there before
SET, OUT = isl.dim_type.set, isl.dim_type.out
Offset = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DagRead:
    """An access of a statement (its position) that reads what the field `source` made, or (None) the values of `array`
    that are there before, of `iteration`. `offset` is None where it is not the same everywhere."""

    statement: str
    access: int
    array: str
    iteration: int
    source: int | None
    offset: Offset | None


@dataclass(frozen=True, slots=True)
class DagField:
    """What `statements` make of an array, each at cells of its own. `kept`: it is live behind the DAG."""

    array: str
    statements: tuple[str, ...]
    reads: tuple[DagRead, ...]
    kept: bool
    iteration: int = 0


@dataclass(frozen=True, slots=True)
class StencilDag:
    """Fields over a space, each behind those that it reads. Field b overwrites what field a has read: (a, b) is in
    `overwritten`. `in_place`: fields are written to the arrays that inputs are read from."""

    dims: int
    fields: tuple[DagField, ...]
    in_place: bool
    overwritten: tuple[tuple[int, int], ...] = ()

    @property
    def flow(self) -> tuple[tuple[int, int], ...]:
        """Return the pairs of fields of which the second reads the first."""
        pairs = ((r.source, k) for k, f in enumerate(self.fields) for r in f.reads if r.source is not None)
        return tuple(dict.fromkeys(pairs))

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        return tuple(dict.fromkeys((*self.flow, *self.overwritten)))


def iteration_dag(scop: Scop, values: StencilValues, iterations: int) -> StencilDag:
    """Build the DAG of so many iterations of a time loop. Inputs and results are in different buffers."""
    count, fields = len(values.fields), []
    last = {k: max((r.back for r in values.reads if r.source == k), default=0) for k in range(count)}
    for time in range(iterations):
        for k, field in enumerate(values.fields):
            reads = []
            for r in values.reads:
                if r.statement in field.statements:
                    made = time - r.back
                    source = made * count + r.source if made >= 0 else None
                    reads.append(DagRead(r.statement, r.access, values.fields[r.source].array, made, source, r.offset))
            live = (field.period or iterations) if scop.array(field.array).live_out else 0
            kept = time >= iterations - max(last[k], live)
            fields.append(DagField(field.array, field.statements, tuple(reads), kept, time))
    return StencilDag(values.dims, tuple(fields), in_place=False)


def stencil_dag(scop: Scop, dependences: Dependences) -> StencilDag:
    """Build the DAG of a SCoP whose statements each make an element an iteration; raises NotAStencilError."""
    if not scop.statements:
        raise NotAStencilError("there are no statements", scop.location)
    written = {s.name: _written(scop, s) for s in scop.statements}
    of_array: dict[str, list[Statement]] = {}
    for statement in scop.statements:
        of_array.setdefault(written[statement.name].get_tuple_name(OUT), []).append(statement)
    dims = {scop.array(array).rank for array in of_array}
    if len(dims) > 1 or 0 in dims:
        raise NotAStencilError("the arrays that are written have different dimensions, or none", scop.location)
    for array, writers in of_array.items():
        _check_writers(array, writers, written, dependences)
    return _Builder(scop, dependences, dims.pop(), written, of_array).dag()


def _written(scop: Scop, statement: Statement) -> isl.Map:
    writes = [a for a in statement.accesses if a.kind is not AccessKind.READ]
    if len(writes) != 1 or writes[0].kind is not AccessKind.WRITE:
        several = "several elements" if len(writes) > 1 else "no element in each iteration"
        raise NotAStencilError(f"{statement.name} writes {several}, where a stencil writes one", statement.location)
    if scop.array(writes[0].array).fields:
        raise NotAStencilError(f"{writes[0].array} is an array of structs", statement.location)
    domain = statement.domain.intersect_params(scop.context)
    relation = writes[0].relation.intersect_domain(domain)
    if not (relation.is_single_valued() and relation.is_injective()):
        reason = f"several iterations of {statement.name} write one element of {writes[0].array}"
        raise NotAStencilError(reason, statement.location)
    return relation


def _check_writers(
    array: str, writers: Sequence[Statement], written: dict[str, isl.Map], dependences: Dependences
) -> None:
    """Check that the statements that write an array do so at different elements, without values of one another."""
    if not dependences.of(array).exact:
        raise NotAStencilError(f"it takes too long to find out which values of {array} are read", writers[0].location)
    names = {s.name for s in writers}
    for k, one in enumerate(writers):
        for other in writers[:k]:
            if not written[one.name].range().is_disjoint(written[other.name].range()):
                raise NotAStencilError(f"{other.name} and {one.name} write the same elements of {array}", one.location)
    for pairs in maps(dependences.of(array).flow):
        if {pairs.get_tuple_name(isl.dim_type.in_), pairs.get_tuple_name(OUT)} <= names:
            raise NotAStencilError(f"values of {array} depend on one another", writers[0].location)


class _Builder:
    """Fields in the order of the source, which is then one in which they can be made."""

    def __init__(
        self,
        scop: Scop,
        dependences: Dependences,
        dims: int,
        written: dict[str, isl.Map],
        of_array: dict[str, list[Statement]],
    ) -> None:
        self.scop, self.dependences, self.dims = scop, dependences, dims
        self.written, self.of_array = written, of_array
        self.arrays = list(of_array)

    def dag(self) -> StencilDag:
        reads = {array: list(self._reads_of(array)) for array in self.arrays}
        order = self._order(reads)
        number = {array: k for k, array in enumerate(order)}
        fields = tuple(
            DagField(
                array,
                tuple(s.name for s in self.of_array[array]),
                tuple(
                    DagRead(s, k, a.name, 0 if made else BEFORE, number[a.name] if made else None, offset)
                    for s, k, a, made, offset in reads[array]
                ),
                self.scop.array(array).live_out,
            )
            for array in order
        )
        overwritten = ((number[r], number[w]) for r, w in self._overwritten(reads))
        return StencilDag(self.dims, fields, True, tuple(overwritten))

    def _reads_of(self, array: str) -> Iterator[tuple[str, int, Array, bool, Offset | None]]:
        """Yield the reads of a field: statement and access, array, whether a field made the values, offset.

        Elements of arrays that are not written, at no fixed offset, are coefficients: there is nothing to fuse.
        """
        for statement in self.of_array[array]:
            for number, access in enumerate(statement.accesses):
                if access.kind is not AccessKind.READ:
                    continue
                made = access.array in self.of_array and self._is_made(statement, access)
                offset = self._offset(statement, access)
                if access.array == array and offset != (0,) * self.dims:
                    raise NotAStencilError(
                        f"{statement.name} reads elements of {array} that others write", statement.location
                    )
                if offset is not None or access.array in self.of_array:
                    yield statement.name, number, self.scop.array(access.array), made, offset

    def _is_made(self, reader: Statement, access: AccessRelation) -> bool:
        """Return whether what is read of an array that is written was made before: all of it, or nothing."""
        read = access.relation.intersect_domain(reader.domain.intersect_params(self.scop.context))
        flow = self.dependences.of(access.array).flow.reverse()
        before = after = False
        for writer in self.of_array[access.array]:
            touched = isl.UnionMap.from_map(read.apply_range(self.written[writer.name].reverse()))
            valued = touched.intersect(flow)
            before = before or not valued.is_empty()
            after = after or not touched.is_subset(valued)
        if before and after:
            reason = f"{reader.name} reads elements of {access.array} both before and after they are written"
            raise NotAStencilError(reason, reader.location)
        return before

    def _offset(self, statement: Statement, access: AccessRelation) -> Offset | None:
        """Return how far what is read is from the element that is written."""
        if access.relation.dim(OUT) != self.dims:
            return None
        cell = self.written[statement.name].reset_tuple_id(OUT)
        read = access.relation.intersect_domain(cell.domain()).reset_tuple_id(OUT)
        apart = cell.reverse().apply_range(read).deltas().project_out_all_params()
        if not apart.is_singleton():
            return None
        point = apart.sample_point()
        return tuple(int(point.get_coordinate_val(SET, k).to_python()) for k in range(self.dims))

    def _overwritten(
        self, reads: dict[str, list[tuple[str, int, Array, bool, Offset | None]]]
    ) -> Iterator[tuple[str, str]]:
        found = (
            (array, a.name)
            for array in self.arrays
            for _, _, a, made, _ in reads[array]
            if not made and a.name in self.of_array and a.name != array
        )
        yield from dict.fromkeys(found)

    def _order(self, reads: dict[str, list[tuple[str, int, Array, bool, Offset | None]]]) -> list[str]:
        flow = ((a.name, array) for array in self.arrays for _, _, a, made, _ in reads[array] if made)
        graph = graph_of(self.arrays, [*flow, *self._overwritten(reads)])
        cycles = [one for one in condensed(graph)[0] if len(one) > 1]
        if cycles:
            names = " and ".join(sorted(cycles[0]))
            raise NotAStencilError(f"{names} depend on one another", self.of_array[min(cycles[0])][0].location)
        return in_order(graph, self.arrays.index)
