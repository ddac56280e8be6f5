"""From a SCoP to a plan for ranks: axes, phases, halos, exchanges, and the SCoPs that each rank runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError, UserError
from polytile.distribution.axes import CutAxis, NotCut, along, bounds, find_axes
from polytile.distribution.boxes import Reach
from polytile.distribution.copies import HaloCopy, halo_copy
from polytile.distribution.exchanges import exchanges
from polytile.distribution.growth import phase_growth, widest
from polytile.distribution.local_scop import LocalPositions
from polytile.distribution.phases import conflicts, group_statements
from polytile.distribution.plan import (
    Axis,
    BoxParameters,
    DistributedArray,
    DistributionPlan,
    GlobalReduction,
    HaloExchange,
    Phase,
    Placement,
)
from polytile.distribution.proof import prove
from polytile.distribution.rank_combinations import RankCombination, rank_combination
from polytile.distribution.reads import find_reads
from polytile.distribution.refusals import nothing_to_cut
from polytile.distribution.split_reductions import check_combined, with_terms
from polytile.distribution.time_loop import NO_TIME_LOOP, has_time_loop, step_distances, time_loop
from polytile.ir.expr import INT, Expr, Name
from polytile.ir.isl_expr import parameter_expression
from polytile.ir.isl_util import maps
from polytile.ir.name_supply import Names
from polytile.ir.scop import Origin, Scop
from polytile.scheduling.analysis.dependences import Dependences, analyse
from polytile.scheduling.transform.statement_fusion import fuse_locals


def distribute(scop: Scop, steps: int = 1, *, strict: bool = False, max_operations: int = 0) -> DistributionPlan:
    """Return how a SCoP runs on ranks, with `steps` iterations of its time loop between two exchanges.

    With `strict` elements have the bits of the C.

    Raises UserError where nothing can be cut, with the first reason and its place, and UsageError where `steps` is no
    positive number, or more than 1 without a time loop. Every plan is proven (proof.py). Source: Zhang and Mueller, CGO
    2012, section 4; for several steps an exchange, Holewinski et al., ICS 2012 (overlapped tiles).
    """
    if steps < 1:
        raise UsageError(f"{steps} steps per exchange", hint="at least 1")
    _check(scop)
    own = fuse_locals(scop)
    found = analyse(own, max_operations)
    timed = has_time_loop(own, found.flow)
    cut = _Cut(own, found, *find_axes(own, _flow(found), timed=timed), ())
    if not cut.axes:
        timed = timed and has_time_loop(own, _without_updates(own, found))
        cut = _with_sums(scop, frozenset(), max_operations, timed=timed) or cut
        check_combined(scop, cut.reductions, strict=strict)
    if steps > 1 and not timed:
        hint = "leave it at 1, or put the pragma around a loop that counts upwards, with all statements in it"
        raise UsageError(f"{scop.name} has no time loop: {steps} steps per exchange", hint=hint)
    if not cut.axes:
        raise nothing_to_cut(scop, cut.refused, timed=timed)
    plan = _Planner(cut.scop, cut.axes, cut.found, timed, steps, cut.reductions).plan()
    return replace(plan, proof=str(prove(plan, cut.found, scop)))


@dataclass(frozen=True, slots=True)
class _Cut:
    """A SCoP with its dependences, what cuts it, what does not, and the reductions that were split in it."""

    scop: Scop
    found: Dependences
    axes: tuple[CutAxis, ...]
    refused: tuple[NotCut, ...]
    reductions: tuple[GlobalReduction, ...]


def _with_sums(scop: Scop, whole: frozenset[str], max_operations: int, *, timed: bool) -> _Cut | None:
    """Return a SCoP whose reductions are split, but for those of terms that no axis cuts, such as a sum over a table:
    all ranks have these whole, and combine them as the C does. None where there is nothing to split."""
    split, reductions = with_terms(scop, whole, timed=timed)
    if not reductions:
        return None
    own = fuse_locals(split)
    found = analyse(own, max_operations)
    cut = _Cut(own, found, *find_axes(own, _flow(found), timed=timed), reductions)
    alike = {r.statement for r in reductions if all(r.terms not in axis.dimensions for axis in cut.axes)}
    return _with_sums(scop, whole | alike, max_operations, timed=timed) if cut.axes and alike else cut


def _flow(found: Dependences) -> dict[str, isl.UnionMap]:
    return {d.array: d.values.flow for d in found.by_array}


def _without_updates(scop: Scop, found: Dependences) -> isl.UnionMap:
    """Return the flow but for what reductions hand on to themselves: a loop that carries nothing else is no time loop,
    as in a sum over all elements of an array."""
    kept = isl.UnionMap("{ }")
    for one in found.by_array:
        updates = {s.name for s in scop.statements if s.reduction and s.reduction.array == one.array}
        for pairs in maps(one.values.flow):
            if not {pairs.get_tuple_name(kind) for kind in (isl.dim_type.in_, isl.dim_type.out)} <= updates:
                kept = kept.union(isl.UnionMap.from_map(pairs))
    return kept


def _check(scop: Scop) -> None:
    """Refuse what asks for memory or conditions that ranks do not have."""
    asked = {
        "tables of pointers to rows": scop.tables,
        "arrays whose size the data say": (*scop.reached, *scop.allocated),
        "arrays or structs inside of elements": [a for a in scop.arrays if any("[" in name for name, _ in a.fields)],
        "conditions that the host asks when it runs": scop.checked,
        "pointers that may be null": scop.optional,
    }
    for what, there in asked.items():
        if there:
            raise UserError(
                f"{scop.name} cannot be distributed: it has {what}",
                location=scop.location,
                hint="declare its arrays with their sizes, as in double A[2][nx][ny]",
            )


class _Planner:
    """What the parts of a plan are made from."""

    def __init__(
        self,
        scop: Scop,
        axes: tuple[CutAxis, ...],
        found: Dependences,
        timed: bool,
        steps: int,
        reductions: tuple[GlobalReduction, ...],
    ) -> None:
        self.scop, self.axes, self.timed, self.steps = scop, axes, timed, steps
        nothing = tuple((0, 0) for _ in axes)
        self.reductions = tuple(replace(r, reach=nothing) for r in reductions)
        self.flow = {d.array: (d.values.flow, d.uninitialised) for d in found.by_array}
        self.reads = find_reads(scop, axes, self.flow, timed=timed)
        cut = {name for axis in axes for name in axis.dimensions}
        local = {a.name for a in scop.arrays if a.origin is not Origin.EXTERNAL} - cut
        ordered = {d.array: d.values.flow if d.array in local else d.values.all for d in found.by_array}
        across = conflicts(scop, axes, ordered, timed=timed)
        alone = frozenset(s.name for s in scop.statements if all(s.name not in axis.positions for axis in axes))
        self.groups = group_statements(scop, _order(scop), across, alone, self._receivers(), timed=timed)
        self.growth = phase_growth(self.groups, self.reads, steps, len(axes))
        self.integer = scop.parameters[0].type if scop.parameters else INT
        self._check_locals(local - self._private())
        self._check_received()

    def _check_received(self) -> None:
        """Refuse values that one rank alone has where ranks compute beyond their part what reads them."""
        beyond = {s for group, g in zip(self.groups, self.growth, strict=True) if any(map(any, g[-1])) for s in group}
        receivers = self._receivers()
        for array, (pairs, _) in self.flow.items():
            for relation in maps(pairs):
                source, sink = (relation.get_tuple_name(kind) for kind in (isl.dim_type.in_, isl.dim_type.out))
                if source in receivers and sink in beyond:
                    raise UserError(
                        f"{self.scop.name} cannot be distributed: {array} is set on the rank that owns a position, and "
                        "read where others compute the same position",
                        location=self.scop.statement(sink).location,
                        hint="1 step per exchange" if self.steps > 1 else f"give {array} the dimensions of the grid",
                    )

    def _check_locals(self, kept: set[str]) -> None:
        """Refuse locals that hold a value for each position across phases, as they have room for one."""
        for statement in self.scop.statements:
            for access in statement.accesses:
                if access.array in kept and access.writes and any(statement.name in a.positions for a in self.axes):
                    raise UserError(
                        f"{self.scop.name} cannot be distributed: {access.array} is set at each position and read "
                        "behind a loop that reads other positions",
                        location=access.location,
                        hint=f"make {access.array} an array with an element for each position",
                    )

    def plan(self) -> DistributionPlan:
        """Put the plan together."""
        names = Names.of(self.scop)
        boxes = tuple(
            BoxParameters(*(names.fresh(f"{axis.name}_{what}") for what in ("first", "end", "offset", "extent")))
            for axis in self.axes
        )
        step = names.fresh(self.scop.statements[0].iterators[0]) if self.timed else ""
        by_statement = {s: g for group, g in zip(self.groups, self.growth, strict=True) for s in group}
        exchanged = partial(exchanges, self.scop, self.axes, self.reads, by_statement, self.steps)
        before, between = exchanged(first=True), exchanged(first=False)
        local = LocalPositions(self.scop, self.axes, boxes, step, self.integer, private=self._private())
        count = names.fresh("count") if self.timed else ""
        lead = LocalPositions(self.scop, self.axes, boxes, step, self.integer, count, self._private())
        plan = DistributionPlan(
            scop=self.scop,
            axes=tuple(self._extent(axis) for axis in self.axes),
            time=time_loop(self.scop) if self.timed else NO_TIME_LOOP,
            steps=self.steps,
            arrays=tuple(self._array(a.name, before) for a in self.scop.arrays),
            phases=tuple(Phase(tuple(g), growth) for g, growth in zip(self.groups, self.growth, strict=True)),
            before=before,
            between=between,
            boundary=(),
            boxes=boxes,
            step=step,
            placements=tuple(
                Placement(s.name, tuple(axis.positions.get(s.name) for axis in self.axes), lead.shift(s))
                for s in self.scop.statements
            ),
            local=tuple(local.scop_of(f"{self.scop.name}_phase{k}", group) for k, group in enumerate(self.groups)),
            copies=self._copies(local, before, between),
            reductions=self.reductions,
            combinations=self._combinations(local),
            lead=lead.scop_of(f"{self.scop.name}_steps", _order(self.scop)) if self._has_lead() else None,
            count=count,
            margin=self._margin(),
        )
        return replace(plan, boundary=self._boundary(between, plan.split_phase))

    def _has_lead(self) -> bool:
        """Return whether several steps can be one SCoP: ranks do not wait for each other in the middle of it."""
        return self.steps > 1 and not self.reductions

    def _receivers(self) -> frozenset[str]:
        """Return the statements that write only arrays not cut by an axis along which the statements have a position.

        Such an array, or a line of it, belongs to the rank at that position.
        """
        found = set()
        for statement in self.scop.statements:
            written = [a.array for a in statement.accesses if a.writes]
            along = [axis for axis in self.axes if statement.name in axis.positions]
            own = all(self.scop.array(name).origin is not Origin.EXTERNAL for name in written)
            if not own and all(any(name not in axis.dimensions for axis in along) for name in written):
                found.add(statement.name)
        return frozenset(found)

    def _private(self) -> frozenset[str]:
        """Return the arrays of the SCoP's own whose values stay in one phase and one step."""
        own = {a.name for a in self.scop.arrays if a.origin is not Origin.EXTERNAL}
        own -= {name for r in self.reductions for name in (r.terms, r.result)}
        phase = {s: k for k, group in enumerate(self.groups) for s in group}
        for array, (pairs, _) in self.flow.items():
            for relation in maps(pairs):
                ends = (relation.get_tuple_name(kind) for kind in (isl.dim_type.in_, isl.dim_type.out))
                stays = len({phase[name] for name in ends}) == 1
                if not stays or (self.timed and not step_distances(relation).is_subset(isl.Set("{ [0] }"))):
                    own.discard(array)
        return frozenset(own)

    def _margin(self) -> tuple[Reach, ...]:
        """Compute how far any access is from where it runs."""
        far: tuple[Reach, ...] = tuple((0, 0) for _ in self.axes)
        for statement in self.scop.statements:
            for access in statement.accesses:
                each = [axis.offsets(statement, access) for axis in self.axes]
                offsets = [None if o is None or o.is_empty() else bounds(o) for o in each]
                far = widest(far, [(max(0, -o[0]), max(0, o[1])) if o else (0, 0) for o in offsets])
        return far

    def _extent(self, axis: CutAxis) -> Axis:
        """Return how many positions an axis has: the size that all arrays have there, or as far as any is accessed."""
        declared = [self.scop.array(name).extents[d] for name, d in axis.dimensions.items()]
        given = list(dict.fromkeys(e for e in declared if e is not None))
        if len(given) == 1 and isinstance(given[0], Name):
            names = ", ".join(p.name for p in self.scop.parameters)
            return Axis(axis.name, given[0], isl.PwAff(f"[{names}] -> {{ [{given[0].name}] }}"))
        reached: isl.Set | None = None
        for statement in self.scop.statements:
            for access in statement.accesses:
                if access.array in axis.dimensions:
                    own = along(access.relation.intersect_domain(statement.domain), axis.dimensions[access.array])
                    positions = own.range()
                    reached = positions if reached is None else reached.union(positions)
        assert reached is not None
        last = reached.coalesce().dim_max(0)
        end = last.add_constant_val(isl.Val.one(last.get_ctx()))
        known = isl.Set.universe(self.scop.context.get_space())
        return Axis(axis.name, parameter_expression(end, known, self.integer), end)

    def _array(self, name: str, exchanged: Sequence[HaloExchange]) -> DistributedArray:
        array = self.scop.array(name)
        halo = next((e.reach for e in exchanged if e.array == name), tuple((0, 0) for _ in self.axes))
        return DistributedArray(
            name=name,
            element=array.element,
            axes=self._cut_by(name),
            extents=array.extents,
            halo=self._stored(name, halo),
            written=self.scop.written(name),
            position=tuple(self._writers(name, axis) if name not in axis.dimensions else None for axis in self.axes),
        )

    def _stored(self, name: str, halo: tuple[Reach, ...]) -> tuple[Reach, ...]:
        """Widen the halo by what a rank computes and reads of an array beyond its part.

        In time tiles that is what any phase computes, and as far around it as any access goes.
        """
        own = {s: g[-1] for group, g in zip(self.groups, self.growth, strict=True) for s in group}
        for read in self.reads:
            if read.access.array == name:
                halo = widest(halo, read.reach(own[read.statement]))
        for statement in self.scop.statements:
            if any(a.writes and a.array == name for a in statement.accesses):
                halo = widest(halo, own[statement.name])
        if self.steps > 1:
            for growth in own.values():
                around = zip(growth, self._margin(), strict=True)
                halo = widest(halo, [(below + low, above + high) for (below, above), (low, high) in around])
        return halo

    def _writers(self, array: str, axis: CutAxis) -> Expr | None:
        """Return where the statements are that write an array which an axis does not cut; None where all ranks do."""
        for statement in self.scop.statements:
            if statement.name in axis.positions and any(a.writes and a.array == array for a in statement.accesses):
                at = axis.positions[statement.name].range()
                known = isl.Set.universe(self.scop.context.get_space())
                return parameter_expression(at.dim_max(0).gist(known), known, self.integer)
        return None

    def _boundary(self, between: Sequence[HaloExchange], phase: int) -> tuple[Reach, ...]:
        """Compute how thick the sides are that a neighbour waits for, of what a phase writes: what it computes beyond
        the part for the phases behind it comes in front of what is sent."""
        thick: tuple[Reach, ...] = tuple((0, 0) for _ in self.axes)
        written = {a.array for s in self.groups[phase] for a in self.scop.statement(s).accesses if a.writes}
        for exchange in between:
            if exchange.array in written:
                thick = widest(thick, [(above, below) for below, above in exchange.reach])
        beyond = self.growth[phase][0]
        return tuple((a + c, b + d) if a or b else (0, 0) for (a, b), (c, d) in zip(thick, beyond, strict=True))

    def _copies(
        self, local: LocalPositions, before: Sequence[HaloExchange], between: Sequence[HaloExchange]
    ) -> tuple[HaloCopy, ...]:
        planes = {e.array: e.plane for e in (*before, *between)}
        found = []
        for name, plane in planes.items():
            array = self.scop.array(name)
            found.append(halo_copy(self.scop, local.array(array), self._cut_by(name), plane, self.integer))
        return tuple(found)

    def _cut_by(self, name: str) -> tuple[int | None, ...]:
        """Return the axis that cuts each dimension of an array, None where all ranks have it."""
        cut = {axis.dimensions[name]: k for k, axis in enumerate(self.axes) if name in axis.dimensions}
        return tuple(cut.get(d) for d in range(self.scop.array(name).rank))

    def _combinations(self, local: LocalPositions) -> tuple[RankCombination, ...]:
        """Build what ranks run for each reduction. Raises UserError where several ranks have the same terms."""
        found = []
        for one in self.reductions:
            terms, axes = local.array(self.scop.array(one.terms)), self._cut_by(one.terms)
            missing = [axis.name for k, axis in enumerate(self.axes) if k not in axes]
            if missing:
                raise UserError(
                    f"{self.scop.name} cannot be distributed: {one.target} combines what all ranks along {missing[0]} "
                    "have",
                    location=terms.location,
                    hint=f"let {one.target} combine what is at all positions, or compute it behind the SCoP",
                )
            result = self.scop.array(one.result).element
            found.append(rank_combination(self.scop, terms, axes, one.op, result, self.integer))
        return tuple(found)


def _order(scop: Scop) -> list[str]:
    """Order the statements as an iteration of the time loop runs them."""
    dates = {m.get_tuple_name(isl.dim_type.in_): m for m in _maps(scop)}
    return sorted(dates, key=lambda name: _first_date(dates[name]))


def _maps(scop: Scop) -> list[isl.Map]:
    found: list[isl.Map] = []
    scop.schedule.get_map().foreach_map(found.append)
    return found


def _first_date(date: isl.Map) -> tuple[int, ...]:
    """Return the numbers of the sequences that a statement is in, in front of loops that others may share."""
    values = []
    points = date.range()
    for k in range(points.dim(isl.dim_type.set)):
        low, high = points.dim_min_val(k), points.dim_max_val(k)
        values.append(low.to_python() if low.is_int() and low.eq(high) else 0)
    return tuple(values)

