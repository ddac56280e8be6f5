"""Split tiles whose values are in registers: which programs have such, and how large they are.

Each thread keeps a few neighbouring cells of each array that is written; in one dimension a warp has a tile, in two the
warps of a block have rows of one. Statements read at constant distances, and each runs at the same places in all steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from math import ceil

import islpy as isl

from polytile.ir.def_use import integer_divisors
from polytile.ir.expr import Access, Literal
from polytile.ir.expr_trees import walk
from polytile.ir.scop import AccessKind, AccessRelation, Array, Scop, Statement
from polytile.ir.split_tiles import SplitCut, SplitRead, SplitTiles, SplitWrite, tile_threads
from polytile.ir.time_tile import TileThreads
from polytile.machine import WARP_SIZE
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.stencil_form import StencilForm, StencilStatement
from polytile.scheduling.candidate import Problem
from polytile.scheduling.strategies.split.cone import Cone, Side
from polytile.scheduling.strategies.split.tile_sets import Cut

MOST_DIMENSIONS = 2  # of space
MOST_VERSIONS = 4  # of an array
SET, IN, OUT = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out


class NoRegisterTilesError(Exception):
    """Why the values of tiles do not live in registers."""


def stencil_accesses(problem: Problem, form: StencilForm, cones: Sequence[Cone]) -> SplitTiles:
    """Return what statements write and read, in a plan of the smallest tiles; raises NoRegisterTilesError."""
    scop = problem.scop
    if form.dims > MOST_DIMENSIONS:
        raise NoRegisterTilesError(f"{form.dims} dimensions of space: a block has too few registers")
    if scop.prologue or scop.epilogue:
        raise NoRegisterTilesError("other statements run before or behind the loop over steps")
    found = _Accesses(scop, form)
    writes = tuple(_write(found, statement, cones) for statement in form.statements)
    reads = tuple(read for statement in form.statements for read in found.reads(statement))
    versions = tuple((array, found.versions(scop.array(array))) for array in dict.fromkeys(w.array for w in writes))
    if len({n for _, n in versions} - {1}) > 1:
        raise NoRegisterTilesError("arrays have different numbers of versions")
    _check_bodies(scop, form)
    _check_domains(scop, form)
    height = max(n for _, n in versions)
    cuts = tuple(plan_cut(Cut(cone, 1, 1, height)) for cone in cones)
    transient = tuple(
        array for array, n in versions if n == 1 and _is_transient(problem.dependences, scop, writes, reads, array)
    )
    block = tile_threads(1, (*((1 << 12,) * (form.dims - 1)), 1 << 8))
    exact = not transient and any(_in_place(write, reads) for write in writes)
    return SplitTiles(
        block.exchange, block.threads, block.points, height, reads, cuts, writes, versions, transient, exact=exact
    )


def _in_place(write: SplitWrite, reads: Sequence[SplitRead]) -> bool:
    """Return whether a statement reads neighbours of the elements that it writes.

    Then boxes around its places have elements that other tiles of a launch write.
    """
    own = (r for r in reads if (r.statement, r.array, r.version) == (write.statement, write.array, write.version))
    return len(write.lower) > 1 and any(any(r.offset) for r in own)


def plan_cut(cut: Cut) -> SplitCut:
    return SplitCut(int(cut.cone.lower.slope), int(cut.cone.upper.slope), cut.width, cut.period)


def _write(found: _Accesses, statement: StencilStatement, cones: Sequence[Cone]) -> SplitWrite:
    array, version = found.write(statement)
    lower = tuple(_offset(cone.lower, statement) for cone in cones)
    upper = tuple(_offset(cone.upper, statement) for cone in cones)
    return SplitWrite(statement.name, statement.level, array, version, lower, upper)


def _offset(side: Side, statement: StencilStatement) -> int:
    return int(side.offsets[statement.name])


class _Accesses:
    """Accesses by the distance from the place that a statement writes."""

    def __init__(self, scop: Scop, form: StencilForm) -> None:
        self.scop, self.dims = scop, form.dims

    def versions(self, array: Array) -> int:
        """Return how many elements there are for a place, in turns."""
        if array.fields:
            raise NoRegisterTilesError(f"{array.name} has fields")
        leading = array.extents[: array.rank - self.dims]
        if not leading:
            return 1
        known = [int(e.text) for e in leading if isinstance(e, Literal) and e.text.isdigit()]
        if len(leading) > 1 or len(known) != 1 or known[0] > MOST_VERSIONS:
            raise NoRegisterTilesError(f"{array.name} has more elements for a place than few in turns")
        return known[0]

    def write(self, statement: StencilStatement) -> tuple[str, int]:
        (access,) = (a for a in self.scop.statement(statement.name).accesses if a.kind is AccessKind.WRITE)
        offset, version = self._distance(statement, access)
        assert not any(offset)
        return access.array, version

    def reads(self, statement: StencilStatement) -> Iterator[SplitRead]:
        for number, access in enumerate(self.scop.statement(statement.name).accesses):
            if access.kind is AccessKind.READ and self.scop.written(access.array):
                offset, version = self._distance(statement, access)
                yield SplitRead(statement.name, number, offset, access.array, version)

    def _distance(self, statement: StencilStatement, access: AccessRelation) -> tuple[tuple[int, ...], int]:
        """Return how far from the place an access is, and of which version of the array."""
        array = self.scop.array(access.array)
        turns = self.versions(array)
        found = statement.placed.reverse().apply_range(access.relation).intersect_params(self.scop.context)
        reason = f"{statement.name} reads {array.name} at no constant distance from what it writes"
        if found.is_empty() or not found.is_single_valued():
            raise NoRegisterTilesError(reason)
        point = found.wrap().sample_point()
        values = [int(point.get_coordinate_val(SET, k).to_python()) for k in range(found.dim(IN) + found.dim(OUT))]
        place, element = values[1 : 1 + self.dims], values[1 + self.dims :]
        offset = tuple(e - x for e, x in zip(element[array.rank - self.dims :], place, strict=True))
        version = (element[0] - values[0]) % turns if turns > 1 or array.rank > self.dims else 0
        if not found.is_subset(element_map(array, self.dims, turns, version, offset)):
            raise NoRegisterTilesError(reason)
        return offset, version


def element_map(array: Array, dims: int, versions: int, version: int, offset: Sequence[int]) -> isl.Map:
    """Build `{ [t, x] -> A[(t + version) mod versions, x + offset] }`; without the first subscript if it has none."""
    x = [f"x{k}" for k in range(dims)]
    front = [f"(t + {version}) mod {versions}"] * (array.rank - dims)
    places = [f"{name} + {d}" for name, d in zip(x, offset, strict=True)]
    return isl.Map(f"{{ [{', '.join(['t', *x])}] -> {array.name}[{', '.join([*front, *places])}] }}")


def _check_bodies(scop: Scop, form: StencilForm) -> None:
    """Raise NoRegisterTilesError where statements divide integers by values that are computed.

    Threads compute garbage outside of what tiles write.
    """
    for statement in map(scop.statement, form.names):
        for divisor in integer_divisors(*statement.body):
            made = [n.array for n in walk(divisor) if isinstance(n, Access) and scop.written(n.array)]
            if made:
                raise NoRegisterTilesError(f"{statement.name} divides integers by {made[0]}")


def _check_domains(scop: Scop, form: StencilForm) -> None:
    """Raise NoRegisterTilesError unless each statement runs at the same places in each step, first to last.

    Where these are no boxes, all arrays have memory if any statement runs.
    """
    placed = [s.placed.range().intersect_params(scop.context) for s in form.statements]
    steps = placed[0].project_out(SET, 1, form.dims)
    for one in placed[1:]:
        steps = steps.union(one.project_out(SET, 1, form.dims))
    later = isl.Map.lex_lt(steps.get_space())
    if not steps.apply(later).intersect(steps.apply(later.reverse())).is_subset(steps):
        raise NoRegisterTilesError("the loop over steps leaves steps out")
    for statement, one in zip(form.statements, placed, strict=True):
        if not statement.placed.is_subset(statement.placed.equate(IN, 0, OUT, 0)):
            raise NoRegisterTilesError(f"the loop over steps around {statement.name} runs downwards")
        places = one.project_out(SET, 0, 1)
        if not steps.flat_product(places).is_equal(one):
            raise NoRegisterTilesError(f"{statement.name} does not run at the same places in each step")
        if not _is_box(places):
            _check_memory(scop, form, statement.name)


def _is_box(places: isl.Set) -> bool:
    """Return whether the places are a box: each place within the sides along each dimension is one."""
    total: isl.Set | None = None
    for k in range(places.dim(SET)):
        along = places.project_out(SET, k + 1, places.dim(SET) - k - 1).project_out(SET, 0, k).coalesce()
        if not isl.Set.from_basic_set(along.unshifted_simple_hull().remove_divs()).is_equal(along):
            return False
        total = along if total is None else total.flat_product(along)
    assert total is not None
    return bool(total.is_equal(places.reset_tuple_id()))


def _check_memory(scop: Scop, form: StencilForm, odd: str) -> None:
    """Raise NoRegisterTilesError unless some element of each written array is touched wherever a statement runs."""
    statements = [scop.statement(name) for name in form.names]
    some = reduce(isl.Set.union, (s.domain.params() for s in statements)).intersect_params(scop.context)
    touched: dict[str, isl.Set] = {}
    for statement in statements:
        for access in (a for a in statement.accesses if scop.written(a.array)):
            used = access.relation.intersect_domain(statement.domain).domain().params()
            touched[access.array] = used.union(touched[access.array]) if access.array in touched else used
    for array, where in touched.items():
        if not some.is_subset(where):
            raise NoRegisterTilesError(f"{odd} does not run at all places of a box, and {array} may have no memory")


def _is_transient(
    dependences: Dependences,
    scop: Scop,
    writes: Sequence[SplitWrite],
    reads: Sequence[SplitRead],
    array: str,
) -> bool:
    """Return whether each step makes all values of an array that it reads, but for elements that nothing writes."""
    own = [w for w in writes if w.array == array]
    level = {w.statement: w.level for w in writes}
    known = dependences.of(array)
    if len(own) != 1 or not known.exact or any(level[r.statement] <= own[0].level for r in reads if r.array == array):
        return False
    steps = isl.UnionMap("{ }")
    for name in {r.statement for r in reads if r.array == array} | {own[0].statement}:
        domain: Statement = scop.statement(name)
        rest = ", ".join(f"i{k}" for k in range(1, len(domain.iterators)))
        steps = steps.union(isl.UnionMap(f"{{ {name}[{', '.join(x for x in ('i0', rest) if x)}] -> [i0] }}"))
    apart = known.flow.apply_domain(steps).apply_range(steps).deltas()
    within = isl.UnionSet("{ [0] }")
    written = scop.statement(own[0].statement)
    (write,) = (a.relation.intersect_domain(written.domain) for a in written.accesses if a.writes)
    makes = isl.UnionSet.from_set(write.range())
    return bool(apart.is_subset(within)) and bool(known.uninitialised.intersect_range(makes).is_empty())


def with_sizes(plan: SplitTiles, cuts: Sequence[Cut], block: TileThreads) -> SplitTiles:
    """Return the plan with tiles that are cut so; raises InternalError where cells are too few."""
    cut, height = tuple(map(plan_cut, cuts)), cuts[0].height
    threads, points = block.threads, block.points
    return replace(plan, iterations=height, cuts=cut, exchange=block.exchange, threads=threads, points=points)


def touched(plan: SplitTiles, cuts: Sequence[Cut]) -> tuple[int, ...]:
    """Return how many places tiles that are cut so touch along each dimension."""
    return tuple(max(plan.sizes_of(k, plan_cut(cut), cut.height)) for k, cut in enumerate(cuts))


def points_for(places: Sequence[int], warps: int) -> tuple[int, ...]:
    """Compute the cells of a thread along each dimension for tiles of so many warps that touch so many places."""
    if len(places) == 1:
        return (ceil(places[0] / (WARP_SIZE * warps)),)
    return ceil(places[0] / warps), ceil(places[-1] / WARP_SIZE)
