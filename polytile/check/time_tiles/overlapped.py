"""Kernels that run blocks of iterations of a time loop, two at a time, in front of a mapped schedule.

A certificate has their plan: steps, each the values that one iteration makes of an array, in slots of planes; which
steps read which; and what is stored for the next block or behind the last one. It is checked here for any first
iteration t0 of a pair of blocks, and for any sizes:

- each step reads in its slots what its source put there (plane_slots.py);
- what its source means there is what the program reads;
- the first block finds its inputs where the program keeps them at t0, the second one in second buffers;
- the second block leaves what the program has at t0 + 2 T, of all that is read or seen from there on.

A program that is no time loop is a single iteration (`once`), which one block without inputs runs. A block of one
iteration may be in place (`in_place`): it leaves what the program has at t0 + 1, and overwrites nothing that it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import islpy as isl

from polytile.check.relations import Check, maps, union
from polytile.check.time_tiles.plane_slots import slot_problems
from polytile.check.time_tiles.shared_planes import ONE_STEP
from polytile.check.time_tiles.time_loop import Cells, cells_of
from polytile.check.time_tiles.wrong_tile import WrongTileError, require


def overlapped_problems(program: Check, plan: Check, visible: list[str], context: isl.Set) -> Iterator[str]:
    """Yield what is wrong with a plan of blocks of a program, a line each; `visible` are arrays that are seen after it.

    Raises WrongTileError for what cannot be checked.
    """
    _check_form(program, plan)
    cells = cells_of(program, plan, context)
    held = [_held(cells, plan, step) for step in plan["steps"]]
    yield from slot_problems(plan)
    yield from _values(cells, program, plan, held)
    if plan.get("in_place"):
        yield from _block_in_place(cells, plan, visible)
        return
    yield from _first_block(cells, plan, held)
    yield from _last_block(cells, plan, visible)


def _check_form(program: Check, plan: Check) -> None:
    steps, inputs = plan["steps"], [s["index"] for s in plan["steps"] if not s["statements"]]
    in_order = plan["exchange"] in ONE_STEP
    buffered = [] if plan.get("in_place") or in_order else inputs
    buffers = [name for _, name in plan["shadows"]]
    used = {a["array"] for s in program["statements"].values() for a in s["accesses"]}
    becomes = sorted(s["becomes"] for s in plan["stores"] if s.get("becomes") is not None)
    stored = [s["step"] for s in plan["stores"]]
    before = min((s["iteration"] for s in steps), default=0) if plan.get("in_place") else -plan["iterations"]
    writes = {
        name: [a["array"] for a in s["accesses"] if a["kind"] != "read"] for name, s in program["statements"].items()
    }
    tests = {
        "a step runs a statement that writes another array": all(
            writes.get(name) == [s["array"]] and s["statements"].count(name) == 1
            for s in steps
            for name in s["statements"]
        ),
        "a program without a time loop has other iterations": not plan.get("once")
        or (plan["iterations"] == 1 and all(s["iteration"] == 0 for s in steps)),
        "steps are not numbered": [s["index"] for s in steps] == list(range(len(steps))),
        "more than one iteration, or none of a loop, is in place": not plan.get("in_place")
        or (plan["iterations"] == 1 and not plan.get("once")),
        "an input has no second buffer of its own": sorted(k for k, _ in plan["shadows"]) == buffered
        and len({*buffers}) == len(buffered)
        and not used & {*buffers},
        "an input of the next block is not stored once": becomes == buffered,
        "what is stored is not made": all(0 <= k < len(steps) and k not in inputs for k in stored),
        "a step is of no iteration of its block": all(
            before <= s["iteration"] < plan["iterations"]
            and ((s["iteration"] < 0) == (not s["statements"]) or (in_order and not s["statements"]))
            for s in steps
        ),
    }
    for what, holds in tests.items():
        require(holds, what)


def _held(cells: Cells, plan: Check, step: Check) -> isl.UnionMap:
    """Return `{ [x] -> the value }` that a step means to have: an input what the array has at t0 where that iteration
    wrote, another one what its statements make, and where these make none what a constant element has. Kernels of one
    step load arrays that nothing writes, and what a kernel before them has made in the same iteration."""
    if not step["statements"] and step["iteration"] == 0:
        if step["array"] not in cells.arrays:
            return cells.unwritten(step["array"])
        step = _maker(plan, step)
    places = cells.places(step["array"], step["iteration"])
    if not step["statements"]:
        return isl.UnionMap.from_map(places).apply_range(cells.memory(step["array"], 0))
    made = _made(cells, step, 0).apply_domain(cells.cell_of_element)
    if not made.is_single_valued():
        raise WrongTileError(f"step {step['index']} makes a cell more than once")
    rest = isl.UnionMap.from_map(places).subtract_domain(made.domain())
    return made.union(rest.apply_range(cells.constant(step["array"])))


def _maker(plan: Check, step: Check) -> Check:
    """Return the step that makes, in an earlier kernel, what an input of the same iteration loads, and stores it."""
    readers = [r["step"] for r in plan["reads"] if r["source"] == step["index"]]
    stored = [plan["steps"][s["step"]] for s in plan["stores"]]
    found = [s for s in stored if s["array"] == step["array"] and s["iteration"] == 0 and s["index"] < min(readers)]
    if len(found) != 1 or len({*readers}) != 1:
        raise WrongTileError(f"input {step['index']} is loaded before a kernel makes it")
    maker: Check = found[0]
    return maker


def _made(cells: Cells, step: Check, after: int) -> isl.UnionMap:
    """Return `{ A[e] -> S[i] }`: the elements that a step of the block at t0 + after makes, by the program's own
    writes."""
    found: isl.UnionMap = union(
        [cells.writes_at(name, step["iteration"] + after) for name in step["statements"]], isl.UnionMap
    )
    return found.reverse()


def _values(cells: Cells, program: Check, plan: Check, held: list[isl.UnionMap]) -> Iterator[str]:
    """Check that each step reads the program's values, if its sources have what they mean to have."""
    for step in plan["steps"]:
        for name in step["statements"]:
            accesses = program["statements"][name]["accesses"]
            changing = [k for k, a in enumerate(accesses) if a["kind"] == "read" and a["array"] in cells.arrays]
            reads = [r for r in plan["reads"] if (r["step"], r["statement"]) == (step["index"], name)]
            own = [r["access"] for r in reads if accesses[r["access"]]["array"] in cells.arrays]
            if sorted(own) != changing or any(accesses[r["access"]]["kind"] != "read" for r in reads):
                yield f"step {step['index']} has not one source for each access of {name} to an array that changes"
                continue
            by_source: dict[int, list[Check]] = {}
            for read in reads:
                by_source.setdefault(read["source"], []).append(read)
                if not cells.is_away(name, read["access"], read["offset"]):
                    yield f"{name} does not read {read['offset']} away from what it writes by access {read['access']}"
            for source, group in by_source.items():
                if source not in range(len(held)) or not _reads(cells, step, name, group, held[source]):
                    yield f"step {step['index']}: {name} reads other values in the program than step {source} has"


def _reads(cells: Cells, step: Check, name: str, reads: list[Check], held: isl.UnionMap) -> bool:
    wanted, pairs = cells.reads_at(name, [r["access"] for r in reads], step["iteration"])
    given = pairs.range_map().apply_range(cells.cell_of_element).apply_range(held)
    return bool(wanted.domain().is_equal(pairs.wrap()) and wanted.is_subset(given) and given.is_single_valued())


def _first_block(cells: Cells, plan: Check, held: list[isl.UnionMap]) -> Iterator[str]:
    """Check that the first block stores what the program has at t0 + T for each cell that ever changes; the other cells
    are constant in device memory."""
    count = plan["iterations"]
    for store in (s for s in plan["stores"] if s.get("becomes") is not None):
        step, becomes = plan["steps"][store["step"]], plan["steps"][store["becomes"]]
        array = becomes["array"]
        there = isl.UnionMap.from_map(cells.places(array, becomes["iteration"] + count))
        wanted = there.apply_range(cells.memory(array, count))
        made = _made(cells, step, 0).apply_domain(cells.cell_of_element)
        if step["array"] != array or not wanted.intersect_domain(cells.changing(array)).is_subset(made):
            yield f"step {step['index']} is not what the next block takes for its input {becomes['index']}"
        rest = wanted.subtract_domain(cells.changing(array))
        if not rest.is_subset(there.apply_range(cells.constant(array))):
            yield f"input {becomes['index']} of the second block is not at home"


def _block_in_place(cells: Cells, plan: Check, visible: list[str]) -> Iterator[str]:
    """Check a block that stores in place: it leaves in device memory what an iteration writes of arrays that are read
    later, or seen; other elements keep what the program has there. None of them is one that the block reads."""
    steps = plan["steps"]
    stored = [(steps[s["step"]], _made(cells, steps[s["step"]], 0)) for s in plan["stores"]]
    for (one, first), (other, then) in combinations(stored, 2):
        if not first.domain().is_disjoint(then.domain()):
            yield f"steps {one['index']} and {other['index']} are stored to the same elements"
    left: isl.UnionMap = union([made for _, made in stored], isl.UnionMap)
    for array in cells.arrays:
        wanted = cells.read_later(array, 1)
        if cells.arrays[array] in visible:
            wanted = wanted.union(cells.written_before(array, 1))
        missing = wanted.intersect_range(cells.instances_at(0)).subtract(left)
        if not missing.is_empty():
            yield f"the block does not leave what the program has in {array}, e.g. {maps(missing)[0].sample()}"
    for step in (s for s in steps if not s["statements"] and s["array"] in cells.arrays and s["iteration"] < 0):
        if plan["exchange"] in ONE_STEP:  # each step is a kernel: those behind the reader overwrite what they like
            reads = [r for r in plan["reads"] if r["source"] == step["index"]]
            reader = min((r["step"] for r in reads), default=len(steps) - 1)
            own = not any(any(r["offset"]) for r in reads) and step["lag"] == steps[reader]["lag"]
            behind = reader if own and not plan.get("read_only") else reader + 1  # a thread loads a cell, then makes it
            left = union([made for s, made in stored if s["index"] < behind], isl.UnionMap)
        read = isl.UnionMap.from_map(cells.places(step["array"], step["iteration"])).range()
        if step["array"] not in {s["array"] for s, _ in stored}:
            yield f"input {step['index']} is of an array that no block stores"
        if not read.is_disjoint(left.domain()):
            yield f"the block overwrites what step {step['index']} reads"


def _last_block(cells: Cells, plan: Check, visible: list[str]) -> Iterator[str]:
    """Check the second block, or the only one: it leaves in device memory what the program has after it; nothing is
    stored twice."""
    count, steps = plan["iterations"], plan["steps"]
    before = 0 if plan.get("once") else count
    end = before + count
    stored = [(s, _made(cells, steps[s["step"]], before)) for s in plan["stores"]]
    for (one, first), (other, then) in combinations(stored, 2):
        if not first.domain().is_disjoint(then.domain()):
            yield f"steps {one['step']} and {other['step']} are stored to the same elements"
    for store, made in stored:
        if store.get("becomes") is None:
            continue
        becomes = steps[store["becomes"]]
        array = becomes["array"]
        places = isl.UnionMap.from_map(cells.places(array, becomes["iteration"] + end))
        wanted = cells.memory(array, end).intersect_domain(places.intersect_domain(cells.changing(array)).range())
        if not wanted.is_subset(made):
            yield f"step {store['step']} is not what the next pair of blocks takes for its input {becomes['index']}"
    left: isl.UnionMap = union([made for _, made in stored], isl.UnionMap)
    for array in cells.arrays:
        wanted = cells.read_later(array, end)
        if cells.arrays[array] in visible:
            wanted = wanted.union(cells.written_before(array, end))
        missing = wanted.subtract(left)
        if not missing.is_empty():
            yield f"the last block does not leave what the program has in {array}, e.g. {maps(missing)[0].sample()}"
