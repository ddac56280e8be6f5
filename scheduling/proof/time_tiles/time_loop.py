"""The instances of one time loop, by iteration and the cell that each writes.

before: S0[t, i, j] writes A[(t + 1) % 2][i][j] for 0 <= t < n and 0 < i, j < m - 1
after:  iteration t makes the cell [i, j] of A; its home is A[(t + 1) % 2][i][j]

Cells of an array that no instance makes are constant: their elements keep what they had before the SCoP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import reduce

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import band_members, maps, sample
from polytile.ir.scop import AccessKind, AccessRelation, Scop, Statement
from polytile.scheduling.proof.wrong_plans import WrongTimeTileError

IN, OUT, SET, PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set, isl.dim_type.param


def require(holds: bool, message: str) -> None:
    """Raise WrongTimeTileError unless it holds."""
    if not holds:
        raise WrongTimeTileError(message)


def example(relation: isl.Map) -> str:
    """Format one pair of a relation, for a message."""
    found = sample(relation)
    if found is None:
        return ""
    return f"for example {found[0]}{list(found[1])} -> {found[2]}{list(found[3])} with {found[4]}"


@dataclass(frozen=True, slots=True)
class TimeLoop:
    """`times` are the iterations, `{ [t] }`; by statement `at`, `{ S[i] -> [t, x] }`, and by array `made`, what makes a
    cell, `{ [t, x] -> S[i] }`, and `homes`, `{ [t, x] -> A[e] }`, also for iterations and cells that nothing makes."""

    scop: Scop
    dims: int
    times: isl.Set = field(compare=False)
    at: Mapping[str, isl.Map] = field(compare=False)
    made: Mapping[str, isl.UnionMap] = field(compare=False)
    versions: Mapping[str, isl.Map] = field(compare=False)  # { [t] -> [the leading subscripts of elements] }
    homes: Mapping[str, isl.Map] = field(compare=False)

    def makers(self, array: str) -> frozenset[str]:
        """Return the statements that write an array."""
        return frozenset(s.name for s in self.scop.statements if write_of(s).array == array)


def write_of(statement: Statement) -> AccessRelation:
    """Return the one write of a statement that writes one element in each instance."""
    found = [a for a in statement.accesses if a.kind is not AccessKind.READ]
    one = len(found) == 1 and found[0].kind is AccessKind.WRITE
    require(one, f"{statement.name} does not write one element in each iteration")
    return found[0]


def time_loop(scop: Scop, dims: int) -> TimeLoop:
    """Return the instances of a SCoP by iteration and cell.

    Raises WrongTimeTileError where it is not one time loop all of whose iterations make the same cells.
    """
    time = _outermost(scop)
    at = {s.name: placed(scop, s, _time_of(s, time), dims) for s in scop.statements}
    times = iterations(at)
    versions = {array: _versions(scop, array, dims) for array in _written_arrays(scop)}
    return _instances(scop, dims, times, at, versions)


def single_iteration(scop: Scop, dims: int) -> TimeLoop:
    """Return the instances of a SCoP as those of one iteration, 0, of no loop.

    before: for (i) S0: B[i] = ..;  for (i) S1: C[i] = ..
    after:  for (t = 0; t < 1; t++) { for (i) S0: B[i] = ..;  for (i) S1: C[i] = .. }
    """
    for array in (scop.array(name) for name in _written_arrays(scop)):
        require(array.rank == dims, f"{array.name} has not {dims} dimensions")
    none = isl.Set("{ [t] : t = 0 }")
    at = {s.name: placed(scop, s, isl.Map.from_domain_and_range(s.domain, none), dims) for s in scop.statements}
    versions = {array: isl.Map("{ [t] -> [] }") for array in _written_arrays(scop)}
    return _instances(scop, dims, none, at, versions)


def _written_arrays(scop: Scop) -> tuple[str, ...]:
    return tuple(dict.fromkeys(write_of(s).array for s in scop.statements))


def _instances(
    scop: Scop, dims: int, times: isl.Set, at: Mapping[str, isl.Map], versions: Mapping[str, isl.Map]
) -> TimeLoop:
    made = {array: _made(scop, array, at) for array in versions}
    homes = {array: _homes(array, own, dims) for array, own in versions.items()}
    return TimeLoop(scop, dims, times, at, made, versions, homes)


def _outermost(scop: Scop) -> isl.UnionPwAff:
    """Return the loop around all statements."""
    node = scop.schedule.get_root().child(0)
    is_loop = node.get_type() == isl.schedule_node_type.band and node.band_n_member() > 0
    require(is_loop, "no loop over time is around all statements")
    return band_members(node)[0]


def _time_of(statement: Statement, time: isl.UnionPwAff) -> isl.Map:
    """Return `{ S[i] -> [t] }`: the first iterator."""
    domain = statement.domain
    require(len(statement.iterators) > 0, f"no loop over time is around {statement.name}")
    steps = maps(isl.UnionMap.from_union_pw_aff(time.intersect_domain(isl.UnionSet.from_set(domain))))
    first = first_iterator(statement)
    same = len(steps) == 1 and steps[0].is_equal(first)
    require(same, f"the first loop of {statement.name} does not count the iterations of the time loop")
    return first


def first_iterator(statement: Statement) -> isl.Map:
    """Return `{ S[t, i] -> [t] }` of a statement in a loop."""
    first = isl.Map.identity(statement.domain.get_space().map_from_set()).reset_tuple_id(OUT)
    return first.project_out(OUT, 1, len(statement.iterators) - 1).intersect_domain(statement.domain)


def placed(scop: Scop, statement: Statement, time: isl.Map, dims: int) -> isl.Map:
    """Return `{ S[i] -> [t, x] }`: when a statement runs, and the last subscripts of the element that it writes.

    Raises WrongTimeTileError where it does not write one element, with one of its own for each cell.
    """
    write, array, domain = write_of(statement), scop.array(write_of(statement).array), statement.domain
    require(array.rank >= dims and not array.fields, f"{array.name} has no element of its own for each cell")
    written = write.relation.intersect_domain(domain).reset_tuple_id(OUT).project_out(OUT, 0, array.rank - dims)
    require(written.is_single_valued(), f"{statement.name} does not write one element in each iteration")
    return time.flat_range_product(written).intersect_params(scop.context)


def iterations(at: Mapping[str, isl.Map]) -> isl.Set:
    """Return the iterations `{ [t] }` that there are: all from a first to a last one.

    Raises WrongTimeTileError where there are others, or a statement does not make the same cells in each.
    """
    ranges = {name: one.range() for name, one in at.items()}
    first, *others = (own.project_out(SET, 1, own.dim(SET) - 1) for own in ranges.values())
    total = reduce(isl.Set.union, others, first).coalesce()
    space = total.get_space()
    between = total.apply(isl.Map.lex_lt(space)).intersect(total.apply(isl.Map.lex_gt(space)))
    require(between.is_subset(total), "the time loop leaves iterations out")
    for name, own in ranges.items():
        same = total.flat_product(own.project_out(SET, 0, 1)).is_equal(own)
        require(same, f"{name} does not write the same cells in each iteration of the time loop")
    return total


def _versions(scop: Scop, array: str, dims: int) -> isl.Map:
    """Return `{ [t] -> [l] }`: the leading subscripts of what iteration t writes, for t outside of the loop as well."""
    total = None
    for statement in (s for s in scop.statements if write_of(s).array == array):
        written = write_of(statement).relation.reset_tuple_id(OUT).reset_tuple_id(IN)
        leading = written.project_out(OUT, scop.array(array).rank - dims, dims)
        by_time = leading.project_out(IN, 1, len(statement.iterators) - 1)
        total = by_time if total is None else total.union(by_time)
    assert total is not None
    require(total.is_single_valued(), f"one iteration writes several versions of {array}")
    return total.coalesce()


def _made(scop: Scop, array: str, at: Mapping[str, isl.Map]) -> isl.UnionMap:
    """Return `{ [t, x] -> S[i] }`: one instance for each iteration and cell."""
    found = [at[s.name].reverse() for s in scop.statements if write_of(s).array == array]
    total, seen = isl.UnionMap.from_map(found[0]), found[0].domain()
    require(found[0].is_single_valued(), f"several instances of one iteration make a cell of {array}")
    for more in found[1:]:
        alone = more.is_single_valued() and more.domain().is_disjoint(seen)
        require(alone, f"several instances of one iteration make a cell of {array}")
        total, seen = total.union(isl.UnionMap.from_map(more)), seen.union(more.domain())
    return total


def _homes(array: str, versions: isl.Map, dims: int) -> isl.Map:
    """Return `{ [t, x] -> A[l, x] }`."""
    space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, dims).align_params(versions.get_space().params())
    return versions.flat_product(isl.Map.identity(space.map_from_set())).set_tuple_name(OUT, array)
