"""Device memory between the kernels of a plan of overlapped tiles, by induction over pairs of them.

Before a pair of blocks, at t0, the home of each input has the values that its iteration left, and constant cells have
what they always had. The first kernel reads homes and writes the second buffers; the second kernel reads these, and
constant cells at home, and writes homes. So neither writes what it reads, and after the pair the same holds at
t0 + 2 T. At the end the homes have every version of an array that is read afterwards, or can be seen.

A block in place is a single iteration. Its kernel writes at home all that the iteration writes there, so that homes
have what the source's arrays have, iteration after iteration; and it writes no element that it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod

import islpy as isl

from polytile.ir.name_supply import Names
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamStep
from polytile.ir.scop import Origin, Scop
from polytile.ir.time_tile import Exchange
from polytile.machine import MAX_BLOCK_THREADS, WARP_SIZE
from polytile.scheduling.analysis.last_writers import is_seen
from polytile.scheduling.proof.time_tiles.time_loop import TimeLoop, require
from polytile.scheduling.proof.time_tiles.values import Group, versions_read


def check_memory(plan: OverlappedTiles, source: Scop, loop: TimeLoop, groups: tuple[Group, ...]) -> Iterator[str]:
    """Check that the blocks leave in memory what as many iterations of the source do; yields lines that say what.

    Raises WrongTimeTileError unless they do.
    """
    _check_steps(plan, loop)
    _check_shadows(plan, loop.scop)
    if plan.in_place or plan.exchange.is_one_step:
        yield from _check_in_place(plan, source, loop)
        return
    _check_handed_on(plan)
    for one, other in combinations(plan.stores, 2):
        _check_apart(plan.steps[one.step], plan.steps[other.step], loop)
    read, last = versions_read(groups), plan.iterations
    for array in loop.homes:
        seen = _is_seen(array, source, loop)
        count = max(read.get(array, 0), _live_versions(plan, array, loop) if seen else 0)
        stored = [plan.steps[s.step].iteration for s in plan.stores if plan.steps[s.step].array == array]
        for back in range(1, count + 1):
            which = f"t0{last - back:+d} of {array}, {'which can be seen' if seen else 'which is read'} afterwards"
            require(last - back in stored, f"no block stores the values of iteration {which}")
        yield f"{array} after the blocks: the last {count} iterations of it, as the source leaves them"


def _is_seen(array: str, source: Scop, loop: TimeLoop) -> bool:
    return is_seen(loop.scop, array) or any(a.name == array and is_seen(source, array) for a in source.arrays)


def _check_in_place(plan: OverlappedTiles, source: Scop, loop: TimeLoop) -> Iterator[str]:
    """Check that the kernel leaves all that is read later, or seen, and overwrites nothing that it reads."""
    stored = {plan.steps[s.step].array for s in plan.stores}
    require(len(stored) == len(plan.stores), "an array is stored twice in one iteration")
    read = {step.array for step in plan.inputs if step.array in loop.homes}
    for array in loop.homes:
        needed = array in read or _is_seen(array, source, loop)
        require(array in stored or not needed, f"no block stores the values of iteration t0+0 of {array}")
        yield f"{array} after each block: as the source leaves it" if needed else f"{array}: of one iteration alone"
    for step in (s for s in plan.inputs if s.array in stored):
        if plan.exchange.is_one_step and not _is_overwritten(plan, step):
            continue
        meets = _same_version(step.array, loop, step.iteration, (0,))
        what = f"a block in place overwrites what it reads, {step.array} of iteration t0{step.iteration:+d}"
        require(meets.is_empty(), what)


def _is_overwritten(plan: OverlappedTiles, source: StreamStep) -> bool:
    """Return whether kernels of one step overwrite an array that they read, except the cell that a thread computes.

    The kernels run one after another. The array of an input is written by the kernel that reads it, or one before it in
    the same iteration, which its values are older than.
    """
    reads = [r for r in plan.reads if r.source == source.index]
    reader = min(r.step for r in reads)
    makers = [s.index for s in plan.made if s.array == source.array]
    if source.iteration < 0:
        own_cell = not any(any(r.offset) for r in reads) and source.lag == plan.steps[reader].lag
        if own_cell and not plan.read_only:  # whoever overwrites a cell has loaded it, and nobody else does
            return any(maker < reader for maker in makers)
        return any(maker <= reader for maker in makers)
    what = f"step {source.index} is loaded before the kernel that makes {source.array} in this iteration"
    require(all(maker < reader for maker in makers), what)
    return False


def _check_steps(plan: OverlappedTiles, loop: TimeLoop) -> None:
    for step in plan.steps:
        constant = plan.exchange.is_one_step and step.is_input and loop.scop.array(step.array).rank == loop.dims
        written = step.array in loop.homes or (constant and step.iteration == 0)
        require(written, f"step {step.index}: {step.array} is written by no statement")
        read = any(r.source == step.index for r in plan.reads)
        require(read or not plan.exchange.is_one_step or not step.is_input, f"input {step.index} is read by no step")
        inside = step.iteration < plan.iterations
        require(inside, f"step {step.index} is of iteration t0{step.iteration:+d}, behind the block")
        whole = step.is_input or frozenset(step.statements) == loop.makers(step.array)
        require(whole, f"step {step.index} does not run all statements that write {step.array}")
        once = len(set(step.statements)) == len(step.statements)
        require(once, f"step {step.index} runs a statement twice")
    run = {name for step in plan.made for name in step.statements}
    for statement in loop.scop.statements:
        require(statement.name in run, f"no step runs {statement.name}")
    sizes = (*plan.threads, *plan.points)
    require(all(n > 0 for n in sizes) and plan.chunk >= 0, "tiles of a positive number of cells")
    threads = prod(plan.threads) * (WARP_SIZE if plan.exchange is Exchange.WARP else 1)
    require(threads <= MAX_BLOCK_THREADS, f"a block has at most {MAX_BLOCK_THREADS} threads, not {threads}")


def _check_shadows(plan: OverlappedTiles, scop: Scop) -> None:
    """Check that second buffers are memory of their own, with a cell for each that is stored."""
    names = [name for _, name in plan.shadows]
    require(len(set(names)) == len(names), "two inputs share a second buffer")
    used = {a.array for s in scop.statements for a in s.accesses}
    for index, name in plan.shadows:
        found = next((a for a in scop.arrays if a.name == name), None)
        free = name not in used and (found is None or found.origin is Origin.TEMPORARY)
        require(free, f"the second buffer {name} of an input is an array of the program")
        named = name.isidentifier() and name.isascii() and (found is not None or name not in Names.of(scop).taken)
        require(named, f"{name!r} is no free name for the second buffer of an input")
        if found is not None:
            home = scop.array(plan.steps[index].array)
            fits = found.element == home.element and found.extents == home.extents[home.rank - plan.dims :]
            require(fits, f"{name} does not have the cells of {home.name}")


def _check_handed_on(plan: OverlappedTiles) -> None:
    """Check that each input of the next block is stored by this one."""
    for store in plan.stores:
        if store.becomes is None:
            continue
        is_input = any(s.index == store.becomes for s in plan.inputs)
        require(is_input, f"what step {store.step} stores becomes step {store.becomes}, which is no input")
        step, becomes = plan.steps[store.step], plan.steps[store.becomes]
        same = step.array == becomes.array and step.iteration - plan.iterations == becomes.iteration
        what = f"{step.array} of iteration t0{step.iteration:+d}"
        where = f"{becomes.array} of iteration t0{becomes.iteration:+d} of the next block"
        require(same, f"step {step.index} stores {what}, which does not become {where}")
    for step in plan.inputs:
        count = sum(s.becomes == step.index for s in plan.stores)
        what = f"input {step.index}, {step.array} of iteration t0{step.iteration:+d}, of the next block"
        require(count == 1, f"{count or 'no'} stores are of {what}")


def _check_apart(one: StreamStep, other: StreamStep, loop: TimeLoop) -> None:
    """Check that no element is stored twice by one kernel."""
    if one.array != other.array:
        return
    what = f"steps {one.index} and {other.index} are stored to the same elements of {one.array}"
    if one.iteration == other.iteration:
        require(False, what)
    meets = _same_version(one.array, loop, one.iteration, (other.iteration,))
    require(meets.is_empty(), what)


def _live_versions(plan: OverlappedTiles, array: str, loop: TimeLoop) -> int:
    """Return how many of the last iterations have values in elements of their own, at any time."""
    for count in range(1, plan.iterations + 1):
        ends = _later(loop, 1).intersect(_later(loop, count + 1))  # where there is an iteration so long before
        if ends.is_subset(_same_version(array, loop, -count - 1, [-k for k in range(1, count + 1)])):
            return count
    what = f"{array} holds the values of more iterations at once than the {plan.iterations} of a block"
    require(False, what)
    return 0


def _later(loop: TimeLoop, by: int) -> isl.Set:
    return loop.times.apply(isl.Map(f"{{ [t] -> [t + {by}] }}"))


def _same_version(array: str, loop: TimeLoop, iteration: int, others: Sequence[int]) -> isl.Set:
    """Return the t for which what iteration t + `iteration` writes lies where one of the others writes."""
    versions = loop.versions[array]

    def moved(by: int) -> isl.Map:
        return isl.Map(f"{{ [t] -> [t + ({by})] }}").apply_range(versions)

    total = isl.Set.empty(loop.times.get_space())
    for other in others:
        total = total.union(moved(iteration).intersect(moved(other)).domain())
    return total
