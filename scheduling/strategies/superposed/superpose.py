"""Superposition: block-level and thread-level loops as one mapped tree [Shirako, Hayashi and Sarkar 2017, section 4].

before: blocks (r, q); inside: threads (r, q, p) of S and T, then threads (r, q, p) of U
after:  kernel { block [floor(r/2), floor(q/4)] { sequence {
            thread[2,4,32] [r mod 2, q mod 4, p mod 32] { [floor(p/32)] { S; [s] T } }
            thread[2,4,32] [r mod 2, q mod 4, p mod 32] { [floor(p/32)] U } } } }

The outer rows are parallel, and so permutable with everything inside, and the inside is legal by itself: their
Lemma 1. What is built is proven in any case.

A reduction loop on blocks or threads makes its statement accumulate into partial results (privatise.py): their start
stands before what the threads run, their combination behind it, and the sum over blocks is a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.partial_results import Privatised
from polytile.ir.schedule import BLOCK, KERNEL, thread_mark
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.candidate import Reason
from polytile.scheduling.strategies.superposed.kernel_formation import (
    FormedKernel,
    Host,
    HostLoop,
    HostSequence,
    Serial,
)
from polytile.scheduling.strategies.superposed.kernel_plans import KernelMapping, Planner, ThreadShare
from polytile.scheduling.strategies.superposed.loop_tree import Kind, Leaf, Loop, Sequence, Tree, statements_of
from polytile.scheduling.strategies.superposed.reduction_statements import Part, Parts, modulo, quotient
from polytile.scheduling.strategies.superposed.second_stage import (
    Staged,
    in_order,
    leaf,
    marked,
    staged,
    under_band,
    with_second_stages,
)
from polytile.scheduling.strategies.superposed.serial_tiling import Tiling
from polytile.scheduling.strategies.superposed.thread_mapping import Inside, Phases, Repeated, ThreadNest
from polytile.tuning import Tuning

Shares = Mapping[str, list[ThreadShare]]  # of each statement of a nest, by thread dimension


@dataclass(frozen=True, slots=True)
class Superposed:
    """A mapped tree, still without barriers, over a Scop in which reductions may be privatised."""

    scop: Scop
    dependences: Dependences
    tree: isl.Schedule = field(compare=False)
    strategy: str = "superposed"
    reasons: tuple[Reason, ...] = ()


def superpose(scop: Scop, dependences: Dependences, host: Host, planner: Planner) -> Superposed | None:
    """Build the mapped tree of the kernels that `host` describes and `planner` has planned.

    None where a reduction cannot be privatised.
    """
    private: dict[str, Privatised] = {}
    tilings: dict[str, Tiling] = {}
    tuning = planner.sizes.machine.tuning
    lanes = dict(enumerate(tuning.blocks.combining))
    shared = [name for plan in planner.plans.values() for name in plan.splits()]
    scop = _upwards(scop, dependences, shared) if shared else scop
    for plan in planner.plans.values():
        for name, splits in plan.splits().items():
            from polytile.scheduling.transform.reductions.privatise import NONE, privatised  # few have splits

            tiled = name in plan.tilings
            blocked, adders = ({}, NONE) if tiled else (plan.blocked(name), lanes)
            result = privatised(scop, dependences, name, splits, blocked, adders)
            if result is None and not tiled:
                return None
            if result is not None:
                scop, dependences = result
                private[name] = scop.privatised[-1]
                tilings |= {name: plan.tilings[name]} if tiled else {}
    builder = _Builder(Parts(scop, private, tilings), planner.plans, tilings, tuning)
    return Superposed(scop, dependences, builder.host(host))


def _upwards(scop: Scop, dependences: Dependences, names: Iterable[str]) -> Scop:
    """Let the sums that are to be split run upwards, as blocks and threads run through loops."""
    from polytile.scheduling.transform.reductions.loop_reversal import upwards  # few have splits

    return upwards(scop, dependences, names)


@dataclass(frozen=True, slots=True)
class _Builder:
    """Builds the tree over the Scop in which reductions are privatised."""

    parts: Parts
    plans: Mapping[int, KernelMapping]
    tilings: Mapping[str, Tiling]
    tuning: Tuning

    def host(self, host: Host | Staged) -> isl.Schedule:
        match host:
            case FormedKernel():
                return self.host(staged(self.parts, host))
            case Staged(group, stages):
                from polytile.scheduling.strategies.superposed.second_stage import second_stage_kernel

                behind = [second_stage_kernel(self.parts, stage, self.tuning.blocks) for stage in stages]
                return in_order([self._kernel(self.plans[id(group)]), *behind])
            case HostLoop(loop, body):
                return self._repeat(loop, self.host(body), statements_of(loop), finishes=True)
            case HostSequence(children):
                return in_order([self.host(child) for child in with_second_stages(self.parts, children)])
            case Serial(tree):
                return marked(self._alone(tree), KERNEL)

    def _repeat(
        self, loop: Loop, body: isl.Schedule, names: tuple[str, ...], *, finishes: bool = False
    ) -> isl.Schedule:
        times = {}
        for name in names:
            parts = [*self.parts.inside(name), *(self.parts.finishes(name) if finishes else [])]
            times.update({p.statement: [p.serial(loop.row(name))] for p in parts})
        return under_band(body, times)

    def _kernel(self, plan: KernelMapping) -> isl.Schedule:
        schedule = self._inside(plan, plan.group.inside)
        times = {
            part.statement: [
                part.block(b.row(name), tile) for b, tile in zip(plan.group.blocks, plan.tiles, strict=True)
            ]
            for name in plan.group.statements
            for part in self.parts.inside(name)
        }
        if plan.tiles:
            schedule = marked(under_band(schedule, times, parallel=True), BLOCK)
        return marked(schedule, KERNEL)

    def _inside(self, plan: KernelMapping, inside: Inside) -> isl.Schedule:
        match inside:
            case Repeated(loop, body):
                return self._repeat(loop, self._inside(plan, body), _statements(body))
            case Phases(children):
                return in_order([self._inside(plan, child) for child in children])
            case ThreadNest():
                return self._nest(plan, inside)

    def _nest(self, plan: KernelMapping, nest: ThreadNest) -> isl.Schedule:
        """Build what threads run: partial results start, then the loops, and after them the combinations."""
        names = statements_of(nest.body)
        shares = {name: plan.shares(nest, name) for name in names}
        runs = [(name, part) for name in names for part in self.parts.running(name)]
        starts = [(name, part) for name in names for part in self.parts.starts(name)]
        combines = [(name, part) for name in names for part in self.parts.combines(name)]
        schedule = self._alone(nest.body, shares)
        if not starts:
            return self._threads(plan, shares, schedule, runs, points=True)
        members = [*starts, *runs]
        if not combines:
            schedule = in_order([*(self._neighbours(shares[name], part) for name, part in starts), schedule])
            return self._threads(plan, shares, self._in_turns(plan, nest, shares, schedule, members), members)
        summed = self._in_source_order(plan, nest, shares)
        schedule = self._in_turns(plan, nest, shares, schedule, runs) if summed is None else summed
        schedule = in_order([*(self._few_turns(plan, shares, *start) for start in starts), schedule])
        phases = [self._threads(plan, shares, schedule, members)]
        phases += [self._threads(plan, shares, self._few_turns(plan, shares, *one), [one]) for one in combines]
        return in_order(phases)

    def _in_turns(
        self,
        plan: KernelMapping,
        nest: ThreadNest,
        shares: Shares,
        schedule: isl.Schedule,
        members: list[tuple[str, Part]],
    ) -> isl.Schedule:
        """Build loops over the iterations that one thread runs along each dimension.

        Those of few turns are unrolled, and innermost where this adds up a partial result of several loops in the
        source's order.
        """

        def few(dim: int) -> bool:
            return all(plan.turns(shares[name][dim], dim) <= self.tuning.sharing.max_columns for name, _ in members)

        dims = sorted(range(len(plan.threads)), key=lambda d: (not few(d), -d))
        if not plan.adds_in_order(nest, dims):
            dims.sort(key=lambda d: -plan.depth(nest, d))
        for dim in dims:
            own = [(part, shares[name][dim]) for name, part in members]
            if not all(plan.covered(share, dim) for _, share in own):
                turns = [p.turn(share.row, plan.threads[dim] * share.unit) for p, share in own]
                times = {
                    p.statement: [turn.neg() if share.backwards else turn]
                    for (p, share), turn in zip(own, turns, strict=True)
                }
                schedule = under_band(schedule, times, unrolled=few(dim))
        return schedule

    def _in_source_order(self, plan: KernelMapping, nest: ThreadNest, shares: Shares) -> isl.Schedule | None:
        """Order the turns of threads and the loops inside of them as in the source, for a sum over some of both.

        None for a statement that does not add up over some of both, and for several statements.
        """
        loops = []
        tree = nest.body
        while isinstance(tree, Loop):
            loops.append(tree)
            tree = tree.body
        if not isinstance(tree, Leaf) or not any(loop.kind(tree.statement) is Kind.REDUCTION for loop in loops):
            return None
        part = self.parts.runs(tree.statement)
        bands = [(loop.row(tree.statement).iterator, part.serial(loop.row(tree.statement)), False) for loop in loops]
        for dim, share in enumerate(shares[tree.statement]):
            if not plan.covered(share, dim):
                turn = part.turn(share.row, plan.threads[dim] * share.unit)
                few = plan.turns(share, dim) <= self.tuning.sharing.max_columns
                bands.append((share.row.iterator, turn.neg() if share.backwards else turn, few))
        if len(bands) == len(loops):
            return None
        schedule = self._neighbours(shares[tree.statement], part)
        for _, time, few in sorted(bands, key=lambda band: -band[0]):
            schedule = under_band(schedule, {part.statement: [time]}, unrolled=few)
        return schedule

    def _few_turns(self, plan: KernelMapping, shares: Shares, name: str, part: Part) -> isl.Schedule:
        """Put a statement under its unrolled loops."""
        schedule = self._neighbours(shares[name], part)
        for dim in reversed(range(len(plan.threads))):
            share = shares[name][dim]
            if 1 < plan.turns(share, dim) <= self.tuning.sharing.max_columns and part.runs_through(share.row):
                times = {part.statement: [part.turn(share.row, plan.threads[dim] * share.unit)]}
                schedule = under_band(schedule, times, unrolled=True)
        return schedule

    def _threads(
        self,
        plan: KernelMapping,
        shares: Shares,
        schedule: isl.Schedule,
        members: list[tuple[str, Part]],
        *,
        points: bool = False,
    ) -> isl.Schedule:
        """Insert a thread band, of the threads' coordinates, or of all `points` that they run in turn."""
        if not plan.threads:
            return schedule

        def time(name: str, part: Part, dim: int) -> isl.PwAff:
            share = shares[name][dim]
            if points and not all(plan.covered(shares[other][dim], dim) for other, _ in members):
                return quotient(part.serial(share.row), share.unit)
            return part.thread(share.row, plan.period(share, dim), share.unit)

        times = {part.statement: [time(n, part, d) for d in range(len(plan.threads))] for n, part in members}
        return marked(under_band(schedule, times, parallel=True), thread_mark(plan.threads))

    def _neighbours(self, shares: list[ThreadShare], part: Part) -> isl.Schedule:
        """Put a statement under unrolled loops over the neighbouring iterations that one thread runs of it."""
        schedule = leaf(self.parts.scop, part.statement)
        for share in shares:
            if share.inner > 1 and part.moves_along(share.row):
                times = {part.statement: [modulo(part.serial(share.row), share.inner)]}
                schedule = under_band(schedule, times, unrolled=True)
        return schedule

    def _alone(self, tree: Tree, shares: Shares | None = None) -> isl.Schedule:
        """Build what one thread runs, in order."""
        match tree:
            case Leaf(statement):
                return self._neighbours(shares[statement] if shares else [], self.parts.runs(statement))
            case Sequence(children):
                return in_order([self._alone(child, shares) for child in children])
            case Loop():
                own = {self.parts.runs(r.statement): r for r in tree.rows}
                times = {p.statement: [p.serial(r)] for p, r in own.items()}
                schedule = under_band(self._alone(tree.body, shares), times)
                tiling = self.tilings.get(tree.rows[0].statement)
                return self._tiled(tiling, schedule) if tiling and tiling.loops[0] is tree else schedule

    def _tiled(self, tiling: Tiling, schedule: isl.Schedule) -> isl.Schedule:
        """Tile a sum, each tile in a partial result of its own."""
        before, behind = (leaf(self.parts.scop, part.statement) for part in self.parts.chunk(tiling.statement))
        schedule = in_order([before, schedule, behind])
        for row, size in reversed(tiling.tiled):
            times = {p.statement: [p.block(row, size)] for p in self.parts.inside(tiling.statement)}
            schedule = under_band(schedule, times)
        return schedule


def _statements(inside: Inside) -> tuple[str, ...]:
    match inside:
        case ThreadNest(body=body):
            return statements_of(body)
        case Repeated(body=body):
            return _statements(body)
        case Phases(children):
            return tuple(s for child in children for s in _statements(child))
