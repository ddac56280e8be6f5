"""What the superposed strategy considered, for a person: both loop trees, lines and derivatives, predicted requests.

The superposed strategy: loop trees of both levels, kernels from them, a mapped tree for each way to treat
reductions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

from polytile.choices import SUPERPOSED
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Scop, Statement
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.cost import Lane, Request, derivatives, distinct_lines, predict, priority
from polytile.scheduling.proof.legality import unordered
from polytile.scheduling.strategies.mapping import with_barriers
from polytile.scheduling.strategies.serial_kernels import with_serial_kernels_joined
from polytile.scheduling.strategies.superposed.kernel_formation import (
    FormedKernel,
    Host,
    HostLoop,
    HostSequence,
    read_once,
    superpose_levels,
)
from polytile.scheduling.strategies.superposed.kernel_plans import KernelMapping, Planner
from polytile.scheduling.strategies.superposed.loop_tree import CONSTANT, NoLoopTreeError, Tree, outline, statements_of
from polytile.scheduling.strategies.superposed.serial_tiling import Tiling
from polytile.scheduling.strategies.superposed.superpose import Superposed, superpose
from polytile.scheduling.strategies.superposed.thread_mapping import Steps, nests_of
from polytile.scheduling.strategies.superposed.two_level_trees import loop_trees
from polytile.scheduling.strategies.tile_sizes import SizeChooser, parse_sizes
from polytile.scheduling.transform.reductions.exact import with_exact_reductions

AXES = "xyz"


def explanation(
    scop: Scop, block: Tree, thread: Tree, host: Host, planner: Planner, split: Collection[str]
) -> tuple[str, ...]:
    """Return the lines of --explain for a schedule of two levels.

    There is one for each level, for the lines and loop order of each statement, for the requests of each access, and
    for the tiles of sums that could be `split`.
    """
    lines = [f"block level: {outline(scop, block)}", f"thread level: {outline(scop, thread)}"]
    for statement in (scop.statement(name) for name in statements_of(thread)):
        if statement.iterators:
            lines.append(_order(scop, statement))
    for group in _groups(host):
        lines += _requests(scop, planner.plans[id(group)])
        tilings = planner.plans[id(group)].tilings
        lines += (_tiles(scop, tiling) for name, tiling in tilings.items() if name in split)
    return tuple(lines)


def _order(scop: Scop, statement: Statement) -> str:
    """Format a line such as `S1: distinct lines r*q + ...; by r -0.01, q -0.02, p -0.4: order r, q, p`."""
    names = statement.iterators
    slopes = derivatives(scop, statement.name)
    by = ", ".join(f"{n} {s:.3g}" for n, s in zip(names, slopes, strict=True))
    order = ", ".join(names[i] for i in priority(scop, statement.name))
    return (
        f"{statement.name}: distinct lines of a tile {distinct_lines(scop, (statement.name,)).text(names)};"
        f" derivatives by {by}: order {order}"
    )


def _groups(host: Host) -> Iterator[FormedKernel]:
    match host:
        case FormedKernel():
            yield host
        case HostLoop(body=body):
            yield from _groups(body)
        case HostSequence(children):
            for child in children:
                yield from _groups(child)


def _requests(scop: Scop, plan: KernelMapping) -> Iterator[str]:
    """Yield a line for each statement with its sectors per request.

    Example: `S1, threads r, q, p = 2 x 4 x 32, q by 4: sectors per request: A read 1, C4 read 8, sum written 8`
    """
    for nest in nests_of(plan.group.inside):
        for name in statements_of(nest.body):
            statement, shares = scop.statement(name), plan.shares(nest, name)
            moving = [(s, size) for s, size in zip(shares, plan.threads, strict=True) if s.row.iterator != CONSTANT]
            if not moving or shares[-1].row.iterator == CONSTANT:
                continue
            lanes = [Lane(s.row.iterator, size, s.row.sign, s.unit, s.inner) for s, size in reversed(moving)]
            along = ", ".join(statement.iterators[s.row.iterator] for s, _ in moving)
            shape = " x ".join(str(size) for _, size in moving)
            several = "".join(f", {statement.iterators[s.row.iterator]} by {s.inner}" for s, _ in moving if s.inner > 1)
            found = ", ".join(_request(r) for r in predict(scop, name, lanes))
            yield f"{name}, threads {along} = {shape}{several}: sectors per request: {found}"


def _tiles(scop: Scop, tiling: Tiling) -> str:
    """Format a line such as `S1, each thread: i, j in tiles of 32; lines per iteration of a warp 2.1 -> 0.13`."""
    statement = tiling.statement
    names = scop.statement(statement).iterators
    loops = zip((names[loop.row(statement).iterator] for loop in tiling.loops), tiling.sizes, strict=True)
    shape = ", ".join(name if size == 1 else f"{name} in tiles of {size}" for name, size in loops)
    before, after = tiling.lines
    return f"{statement}, each thread: {shape}; lines per iteration of a warp {before:.3g} -> {after:.3g}"


def _request(request: Request) -> str:
    access = request.access
    place = f" ({access.location.short})" if access.location.line else ""
    return f"{access.array} {access.kind.value}{place} {request.sectors:g}{'' if request.ideal else ' (not ideal)'}"


MOST_INEXACT = 800  # conflicts: a search takes thousands of isl's operations for each
_SEARCH = "mapping its loops and reductions to blocks and threads"
TOO_LONG = f"{_SEARCH} takes too long"


def propose(problem: Problem) -> Iterator[Candidate]:
    """Yield the strategy's mapped schedules that keep the order, each with the Scop whose reductions it privatised."""
    for found in superposed(problem):
        needed = found.dependences.all.intersect_params(found.scop.context)
        tree = with_serial_kernels_joined(with_barriers(found.tree, needed), needed)
        if not unordered(tree, needed):
            yield Candidate(
                SUPERPOSED,
                found.scop,
                found.dependences,
                MappedSchedule(tree, found.strategy),
                problem.notes,
                found.reasons,
            )


def superposed(problem: Problem) -> Iterator[Superposed]:
    """Yield mapped trees without barriers, which are not proven yet; there is none where nothing is parallel.

    Reductions are mapped to blocks and threads in the first, those of integers alone under `strict`, and all stay in
    the source's order in the second.
    """
    if problem.conflicts > MOST_INEXACT:
        many = f"{problem.conflicts} pairs of conflicting statements and sizes are more than {MOST_INEXACT}"
        problem.remembered[SUPERPOSED] = f"{_SEARCH} is not tried, as {many}"
        return
    sizes = SizeChooser(problem.choices, parse_sizes(problem.options.sizes), problem.machine)
    strict = problem.options.strict
    free = with_exact_reductions(problem.scop) if strict else problem.scop
    for relax in (True, False) if not strict or any(s.reduction for s in free.statements) else (False,):
        try:
            with budget(problem.options.max_operations):
                found = _found(problem, free if relax else problem.scop, sizes, relax=relax)
        except OverBudgetError:
            problem.remembered[SUPERPOSED] = TOO_LONG
            if not problem.dependences.exact:
                return  # what takes so long is what all conflicts count for, in any order
            continue
        except NoLoopTreeError:
            continue
        if found is not None:
            yield replace(found, scop=problem.scop) if found.scop is free else found
        if relax and found is not None and found.scop is free:
            return  # no reduction was split, and without them it is the same


def _found(problem: Problem, scop: Scop, sizes: SizeChooser, *, relax: bool) -> Superposed | None:
    dependences = problem.dependences
    trees = loop_trees(scop, dependences, relax=relax)
    steps = Steps(scop, problem.options.parameters, problem.machine.tuning.sharing)
    host = superpose_levels(steps, trees.block, trees.thread, reductions=relax)
    host = read_once(scop, dependences, host) if relax else host
    planner = Planner(steps, sizes)
    planner.visit(host)
    if not planner.plans:
        return None
    found = superpose(scop, dependences, host, planner)
    if found is None:
        return None
    strategy = SUPERPOSED if relax else "superposed (reductions in order)"
    split = {made.statement for made in found.scop.privatised}
    reason = partial(explanation, scop, trees.block, trees.thread, host, planner, split)
    return replace(found, strategy=strategy, reasons=(reason,))
