"""Which dimensions of the index space ranks can cut, and at which position each instance runs: owner computes.

An axis is a set of dimensions of arrays whose subscripts move together: an instance runs where the elements that it
writes are, and reads others at a bounded distance.

for (t) for (i) for (j) B[i][j] = A[i - 1][j] + A[i + 1][j] + A[0][j];
    axis of j: dimensions 1 of A and B; S[t, i, j] runs at position j
    none of i: A[0][j] is at any distance from row i
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import Location
from polytile.ir.digraph import connected
from polytile.ir.isl_util import maps, pieces_of
from polytile.ir.scop import AccessKind, AccessRelation, Origin, Scop, Statement

_IN, _OUT, _SET, _PARAM, _DIV = (
    isl.dim_type.in_,
    isl.dim_type.out,
    isl.dim_type.set,
    isl.dim_type.param,
    isl.dim_type.div,
)
Dimension = tuple[str, int]  # of an array


@dataclass(frozen=True, slots=True)
class CutAxis:
    """An axis: the dimension of each array that it cuts, where each statement runs, `{ S[t, i, j] -> [i] }`, and which
    iterator counts that. A statement without a position writes nothing that is cut: every rank runs it."""

    name: str
    dimensions: Mapping[str, int]
    positions: Mapping[str, isl.Map]
    iterators: Mapping[str, int]

    def offsets(self, statement: Statement, access: AccessRelation) -> isl.Set | None:
        """Return how far from its own position an instance accesses an array, `{ [-1] }` for A[i - 1]; None where the
        axis does not cut the array."""
        if access.array not in self.dimensions or statement.name not in self.positions:
            return None
        elements = along(access.relation.intersect_domain(statement.domain), self.dimensions[access.array])
        own = self.positions[statement.name].intersect_domain(statement.domain)
        return own.reverse().apply_range(elements).deltas()


@dataclass(frozen=True, slots=True)
class NotCut:
    """Why loops over `name` are not cut, and where."""

    name: str
    reason: str
    location: Location


def along(relation: isl.Map, dimension: int) -> isl.Map:
    """Return one dimension of what is accessed: `{ S[i, j] -> [j] }` for A[i][j] and dimension 1."""
    rank = relation.dim(_OUT)
    inner = relation.project_out(_OUT, dimension + 1, rank - dimension - 1)
    return inner.project_out(_OUT, 0, dimension).reset_tuple_id(_OUT)


def bounds(values: isl.Set) -> tuple[int, int] | None:
    """Return the least and greatest of some integers, for any parameters; None where they are not bounded."""
    low, high = values.dim_min_val(0), values.dim_max_val(0)
    return (low.to_python(), high.to_python()) if low.is_int() and high.is_int() else None


Flow = Mapping[str, isl.UnionMap]  # by array: pairs of writers and readers


def find_axes(scop: Scop, flow: Flow, *, timed: bool) -> tuple[tuple[CutAxis, ...], tuple[NotCut, ...]]:
    """Return the axes that can be cut, outer loops first, and why others cannot.

    `timed` says that the first iterator of all statements is the time loop's.
    """
    found: list[CutAxis] = []
    refused: list[NotCut] = []
    for dimensions in _classes(scop, timed):
        axis = _axis(scop, dimensions, flow, timed)
        reason = axis if isinstance(axis, NotCut) else _obstacle(scop, axis, flow, found)
        if reason is not None:
            refused.append(reason)
        elif isinstance(axis, CutAxis):
            found.append(axis)
    return tuple(sorted(found, key=_depth)), tuple(refused)


def _depth(axis: CutAxis) -> tuple[int, ...]:
    """Sort outer dimensions of arrays first: the last axis is contiguous."""
    return (max(axis.dimensions.values()), *sorted(axis.dimensions.values()))


def moving_iterator(relation: isl.Map, dimension: int) -> int | None:
    """Return the iterator m of a subscript m + constant; None for others."""
    found = shifted_iterator(relation, dimension)
    return None if found is None else found[0]


def shifted_iterator(relation: isl.Map, dimension: int) -> tuple[int, int] | None:
    """Return the iterator m and the constant of a subscript m + constant; None for others."""
    function = along(relation, dimension).as_pw_multi_aff() if relation.is_single_valued() else None
    pieces = pieces_of(function.get_at(0)) if function is not None else []
    if len(pieces) != 1:
        return None
    aff = pieces[0][1]
    if aff.dim(_DIV) or any(not aff.get_coefficient_val(_PARAM, k).is_zero() for k in range(aff.dim(_PARAM))):
        return None
    values = [aff.get_coefficient_val(_IN, k) for k in range(aff.dim(_IN))]
    users = [k for k, value in enumerate(values) if not value.is_zero()]
    constant = aff.get_constant_val()
    if len(users) == 1 and values[users[0]].is_one() and constant.is_int():
        return users[0], constant.to_python()
    return None


def _classes(scop: Scop, timed: bool) -> Iterator[frozenset[Dimension]]:
    """Yield the classes of dimensions that move with one another, of arrays that are written."""
    dimensions = [(a.name, d) for a in scop.arrays for d in range(a.rank)]
    edges = [
        (("array", access.array, d), ("statement", s.name, m))
        for s in scop.statements
        for access in s.accesses
        if access.kind is not AccessKind.KILL
        for d in range(scop.array(access.array).rank)
        if (m := moving_iterator(access.relation, d)) is not None and not (timed and m == 0)
    ]
    for members in connected([("array", *one) for one in dimensions], edges):
        cut = frozenset((name, d) for kind, name, d in members if kind == "array")
        if len(members) > len(cut) and any(scop.written(name) for name, _ in cut):
            yield cut


def _axis(scop: Scop, dimensions: frozenset[Dimension], flow: Flow, timed: bool) -> CutAxis | NotCut:
    """Return the axis of a class of dimensions, with the position of each statement, or why it is not cut."""
    positions: dict[str, isl.Map] = {}
    iterators: dict[str, int] = {}
    by_array = dict(sorted(dimensions))
    name = _name(scop, by_array, timed)
    twice = [array for array, _ in sorted(dimensions) if sum(a == array for a, _ in dimensions) > 1]
    if twice:
        array, location = _joining(scop, timed) or (twice[0], scop.array(twice[0]).location)
        return NotCut(name, f"two dimensions of {array} move along it", location)
    for statement in scop.statements:
        for access in _deciding(scop, statement, by_array):
            own = along(access.relation, by_array[access.array]).intersect_domain(statement.domain)
            known = positions.setdefault(statement.name, own)
            if not own.is_single_valued() or (access.writes and not own.is_equal(known)):
                return NotCut(name, f"an instance writes elements of {access.array} at several places", access.location)
            moving = moving_iterator(access.relation, by_array[access.array])
            if moving is not None and not (timed and moving == 0):
                iterators.setdefault(statement.name, moving)
    _add_writers_of_locals(scop, flow, positions, iterators, timed)
    return CutAxis(name, by_array, positions, iterators)


def _joining(scop: Scop, timed: bool) -> tuple[str, Location] | None:
    """Return the first access by which two dimensions of an array move together, as A[i][i], or A[j][i] behind
    A[i][j]."""
    for statement in scop.statements:
        seen: dict[tuple[str, int], int] = {}
        for access in statement.accesses:
            for d in range(scop.array(access.array).rank):
                moving = moving_iterator(access.relation, d)
                if moving is None or (timed and moving == 0):
                    continue
                if seen.setdefault((access.array, moving), d) != d:
                    return access.array, access.location
    return None


def _deciding(scop: Scop, statement: Statement, dimensions: Mapping[str, int]) -> list[AccessRelation]:
    """Return the accesses that say where a statement runs: its writes of cut arrays, else the first of its reads.

    There are none where it only sets locals, which their readers say.
    """
    writes = [a for a in statement.accesses if a.writes and a.array in dimensions]
    reads = [a for a in statement.relations(AccessKind.READ) if a.array in dimensions]
    return writes or ([] if _sets_locals(scop, statement) else reads[:1])


def _sets_locals(scop: Scop, statement: Statement) -> bool:
    return all(scop.array(a.array).origin is not Origin.EXTERNAL for a in statement.accesses if a.writes)


def _add_writers_of_locals(
    scop: Scop, flow: Flow, positions: dict[str, isl.Map], iterators: dict[str, int], timed: bool
) -> None:
    """Let what sets locals run where these are read.

    before: for (i) { S: s = 0; for (k) T: s += A[i - 1][k]; U: B[i] = s; }       U[t, i] runs at i
    after:  S[t, i] and T[t, i, k] run at i, too
    """
    pairs = [m for array in flow.values() for m in maps(array)]
    for _ in scop.statements:
        for relation in pairs:
            source, sink = relation.get_tuple_name(_IN), relation.get_tuple_name(_OUT)
            statement = scop.statement(source)
            if source in positions or sink not in positions or not _sets_locals(scop, statement):
                continue
            own = relation.apply_range(positions[sink])
            pieces = pieces_of(own.as_pw_multi_aff().get_at(0)) if own.is_single_valued() else []
            if len(pieces) == 1:  # the formula holds for instances whose values are not read, too
                positions[source] = isl.Map.from_aff(pieces[0][1]).intersect_domain(statement.domain)
                moving = moving_iterator(own, 0)
                if moving is not None and not (timed and moving == 0):
                    iterators[source] = moving


def _name(scop: Scop, dimensions: Mapping[str, int], timed: bool) -> str:
    """Return the name of the loops over an axis, as the first statement has it."""
    for statement in scop.statements:
        for access in statement.accesses:
            if access.array in dimensions:
                moving = moving_iterator(access.relation, dimensions[access.array])
                if moving is not None and not (timed and moving == 0):
                    return statement.iterators[moving]
    return "?"


def _obstacle(scop: Scop, axis: CutAxis, flow: Flow, others: list[CutAxis]) -> NotCut | None:
    """Say why an axis cannot be cut.

    Something is read too far away, or goes from one position to others by an uncut array.
    """
    return next(chain(_far_reads(scop, axis), _sums(scop, axis, flow), _uneven(scop, axis, others)), None)


def _far_reads(scop: Scop, axis: CutAxis) -> Iterator[NotCut]:
    for statement in scop.statements:
        for access in statement.accesses:
            offsets = axis.offsets(statement, access)
            if access.array in axis.dimensions and statement.name not in axis.positions:
                yield NotCut(axis.name, f"a statement reads {access.array} along all of it", access.location)
            if offsets is not None and not offsets.is_empty() and bounds(offsets) is None:
                yield NotCut(
                    axis.name, f"{access.array} is accessed at any distance from where its reader runs", access.location
                )


def _sums(scop: Scop, axis: CutAxis, flow: Flow) -> Iterator[NotCut]:
    """Yield statements that run along the axis and write what is not cut.

    Locals that are read where they are set are left out.
    """
    for statement in scop.statements:
        for access in statement.accesses:
            if not access.writes or access.array in axis.dimensions or statement.name not in axis.positions:
                continue
            kept = scop.array(access.array).origin is Origin.EXTERNAL
            if kept and statement.name in axis.iterators:
                reason = f"iterations along it write the same elements of {access.array}"
                yield NotCut(axis.name, reason, access.location)
            elif kept and not axis.positions[statement.name].range().is_singleton():
                yield NotCut(axis.name, f"{access.array} is written at several positions", access.location)
            elif _moves(axis, flow[access.array]):
                reason = f"{access.array} takes a value from one position to another"
                yield NotCut(axis.name, reason, access.location)


def _moves(axis: CutAxis, flow: isl.UnionMap) -> bool:
    """Return whether some value goes from one position to another."""
    for pairs in maps(flow):
        source, sink = (axis.positions.get(pairs.get_tuple_name(kind)) for kind in (_IN, _OUT))
        if source is not None and (sink is None or not pairs.is_subset(source.apply_range(sink.reverse()))):
            return True
    return False


def _uneven(scop: Scop, axis: CutAxis, others: list[CutAxis]) -> Iterator[NotCut]:
    """Yield statements that run along another axis, but at no position of this one: all its ranks would repeat them."""
    for statement in scop.statements:
        elsewhere = [other for other in others if statement.name in other.positions]
        if elsewhere and statement.name not in axis.positions:
            reason = f"a statement runs along {elsewhere[0].name} alone"
            yield NotCut(axis.name, reason, statement.location)
        if statement.name in axis.positions:
            missing = [other for other in others if statement.name not in other.positions]
            if missing:
                reason = f"a statement runs along it, and nowhere along {missing[0].name}"
                yield NotCut(axis.name, reason, statement.location)
