"""Time-iterated stencils in canonical form: instances by the step that they run in and the element that they write.

before: for (t) { for (i) B[i] = f(A[i-1], A[i], A[i+1]);  for (i) A[i] = g(B[i-1], B[i], B[i+1]); }
after:  S0[t, i] at step t, level 0, place [i]; S1[t, i] at step t, level 1, place [i]; and between them distances
        S0 -> S1: 0 steps, -1..1 along the first dimension; S1 -> S0: 1 step, -1..1; ...

One serial loop, over steps, is outermost; all statements of a level of one step are independent of one another. Every
strategy that tiles time and space together starts from this form (Grosser et al., Split tiling for GPUs, GPGPU-6 2013,
section 3, where instances are placed by their iterators).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import Location
from polytile.ir.digraph import edge_of_a_cycle, graph_of, in_order, predecessors
from polytile.ir.isl_util import band_members, maps
from polytile.ir.schedule import node_at
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.source_loops import nest_of

STEPS_APART = 8  # dependences over more steps than this (from the fewest) are bounded together
SET, IN, OUT = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, slots=True)
class StencilStatement:
    """A statement, its order within a step, and where its instances are, `{ S[t, i] -> [t, x] }`."""

    name: str
    level: int
    placed: isl.Map = field(compare=False)


@dataclass(frozen=True, slots=True)
class Distance:
    """How far dependences from `source` to `sink` over `steps` steps go along each dimension; None: any distance."""

    source: str
    sink: str
    steps: int
    low: tuple[int | None, ...]
    high: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class StencilForm:
    """The statements of a time loop over `dims` dimensions of space, the order of each step in `levels`, and the
    distances of their dependences."""

    dims: int
    levels: int
    statements: tuple[StencilStatement, ...]
    distances: tuple[Distance, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(s.name for s in self.statements)

    def placed(self) -> isl.UnionMap:
        """Return `{ S[t, i] -> [t, x] }` for all statements."""
        total = isl.UnionMap("{ }")
        for statement in self.statements:
            total = total.union(isl.UnionMap.from_map(statement.placed))
        return total


class NotAStencilError(Exception):
    """Why a loop is no time-iterated stencil, and where."""

    def __init__(self, reason: str, location: Location) -> None:
        super().__init__(f"{location.short}: {reason}" if location.line else reason)
        self.reason, self.location = reason, location


def time_loops(scop: Scop) -> list[tuple[str, ...]]:
    """Return the statements of each outermost loop around more than one loop level, in order of the program."""
    nest = nest_of(scop)
    groups: dict[object, list[str]] = {}
    for statement in scop.main:
        around = nest.around.get(statement.name, ())
        groups.setdefault(around[0] if around else statement.name, []).append(statement.name)
    ranks = {s.name: len(s.iterators) for s in scop.main}
    return [tuple(names) for names in groups.values() if max(ranks[name] for name in names) > 1]


def iterated_stencil(scop: Scop, dependences: Dependences) -> StencilForm:
    """Return the time loop that a SCoP is, in canonical form; raises NotAStencilError."""
    loops = time_loops(scop)
    if len(loops) != 1 or len(loops[0]) != len(scop.main):
        raise NotAStencilError("it is not one loop over steps around everything else", scop.location)
    form = stencil_form(scop, dependences, loops[0])
    if not any(distance.steps > 0 for distance in form.distances):
        first = scop.statement(form.names[0])
        reason = f"iterations of the outermost loop, over {first.iterators[0]}, do not depend on one another"
        raise NotAStencilError(reason, first.location)
    return form


def stencil_form(scop: Scop, dependences: Dependences, names: Sequence[str]) -> StencilForm:
    """Return the canonical form of the statements of one outermost loop; raises NotAStencilError."""
    statements = [scop.statement(name) for name in names]
    dims = max(len(s.iterators) for s in statements) - 1
    placed = {s.name: _placed(scop, s, dims) for s in statements}
    own = isl.UnionSet("{ }")
    for statement in statements:
        own = own.union(isl.UnionSet.from_set(statement.domain))
    pairs = dependences.all.intersect_params(scop.context).intersect_domain(own).intersect_range(own)
    distances = tuple(d for m in maps(pairs) for d in _distances(m, placed, dims))
    levels = _levels(scop, dependences, names, distances)
    found = tuple(StencilStatement(s.name, levels[s.name], placed[s.name]) for s in statements)
    return StencilForm(dims, 1 + max(levels.values()), found, distances)


def _placed(scop: Scop, statement: Statement, dims: int) -> isl.Map:
    """Return `{ S[t, i, j] -> [t, x, y] }`: the step, and the last subscripts of the element that it writes."""
    writes = [a for a in statement.accesses if a.kind is not AccessKind.READ]
    if len(writes) != 1 or writes[0].kind is not AccessKind.WRITE:
        several = "several elements" if len(writes) > 1 else "no element in each iteration"
        raise NotAStencilError(f"{statement.name} writes {several}, where a stencil writes one", statement.location)
    array = scop.array(writes[0].array)
    if array.rank < dims:
        where = f"{array.name} has {array.rank} dimensions, and the loops inside {statement.iterators[0]} are {dims}"
        raise NotAStencilError(f"{where}: iterations write the same elements", statement.location)
    written = writes[0].relation.intersect_domain(statement.domain).reset_tuple_id(OUT)
    written = written.project_out(OUT, array.rank, array.access_rank - array.rank)
    place = written.project_out(OUT, 0, array.rank - dims)
    if not place.is_single_valued():
        raise NotAStencilError(f"{statement.name} writes several elements of {array.name}", statement.location)
    return _step(scop, statement).flat_range_product(place)


def _step(scop: Scop, statement: Statement) -> isl.Map:
    """Return `{ S[t, i] -> [t] }`, by the outermost loop of the program."""
    around = nest_of(scop).around[statement.name]
    if not around:
        raise NotAStencilError("no loop over steps is around it", statement.location)
    path, member = around[0]
    value = isl.UnionMap.from_union_pw_aff(band_members(node_at(scop.schedule, path))[member])
    (own,) = maps(value.intersect_domain(isl.UnionSet.from_set(statement.domain)))
    return own


def _distances(pairs: isl.Map, placed: dict[str, isl.Map], dims: int) -> Iterator[Distance]:
    """Yield the distances of one relation, for each number of steps up to some, and one for all greater numbers."""
    source, sink = pairs.get_tuple_name(IN), pairs.get_tuple_name(OUT)
    apart = pairs.apply_domain(placed[source]).apply_range(placed[sink]).deltas()
    apart = apart.project_out_all_params().coalesce()
    least, most = _bound(apart, 0, upper=False), _bound(apart, 0, upper=True)
    first = 0 if least is None else least
    last = first + STEPS_APART if most is None else min(first + STEPS_APART, most)
    for steps in range(first, last + 1):
        yield from _over(source, sink, steps, apart.fix_val(SET, 0, isl.Val(steps)), dims)
    yield from _over(source, sink, last + 1, apart.lower_bound_val(SET, 0, isl.Val(last + 1)), dims)


def _over(source: str, sink: str, steps: int, apart: isl.Set, dims: int) -> Iterator[Distance]:
    if not apart.is_empty():
        sides = [[_bound(apart, 1 + k, upper=upper) for k in range(dims)] for upper in (False, True)]
        yield Distance(source, sink, steps, tuple(sides[0]), tuple(sides[1]))


def _bound(values: isl.Set, dim: int, *, upper: bool) -> int | None:
    value = values.dim_max_val(dim) if upper else values.dim_min_val(dim)
    return int(value.to_python()) if value.is_int() else None


def _levels(
    scop: Scop, dependences: Dependences, names: Sequence[str], distances: Sequence[Distance]
) -> dict[str, int]:
    """Order the statements within a step: each after those that it depends on."""
    within = [(d.source, d.sink) for d in distances if d.steps == 0]
    if not within:
        return dict.fromkeys(names, 0)
    graph = graph_of(names, within)
    if (edge := edge_of_a_cycle(graph)) is not None:
        raise carried_in_space(scop, dependences, *edge)
    levels: dict[str, int] = {}
    for name in in_order(graph, key=list(names).index):
        levels[name] = max((levels[other] + 1 for other in predecessors(graph, name)), default=0)
    return levels


def carried_in_space(scop: Scop, dependences: Dependences, source: str, sink: str) -> NotAStencilError:
    """Build the error for statements that depend on one another in a single step."""
    first, then = scop.statement(source), scop.statement(sink)
    arrays = " and ".join(dependences.arrays_between(source, sink)) or "memory"
    time = first.iterators[0]
    inner = " or ".join(then.iterators[1:]) or "space"
    other = "itself" if source == sink else f"{source} ({first.location.short})"
    depends = f"in one iteration of {time}, {sink} depends on {other} through {arrays}"
    return NotAStencilError(f"{depends}: the loop over {inner} carries that", then.location)
