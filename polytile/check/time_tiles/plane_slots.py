"""Slots of planes: what a step finds there was put there for it, by an analysis of accesses to slots.

For a box of any size, the cells that a step makes, and those that it reads of a source, take place in the order of
planes, and of steps in a plane. Of the cells of other threads of a block only the order of planes is certain: there a
step must find the same whether it runs first or last in its plane. A step that is retimed reads a cell before its own
plane is made: as soon as the cell is there, which in cells of other threads is a plane later.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polytile.check.flow import flow
from polytile.check.relations import Check
from polytile.check.time_tiles.shared_planes import ONE_STEP, places, shape_problems
from polytile.machine import WARP_SIZE

MADE, READ = "made", "read"


def slot_problems(plan: Check) -> Iterator[str]:
    """Yield what is wrong with the boxes, lags, and slots of a plan, a line each."""
    yield from _tiles(plan)
    known: dict[tuple[object, ...], bool] = {}
    for step in plan["steps"]:
        sources: dict[int, set[tuple[int, ...]]] = {}
        for read in (r for r in plan["reads"] if r["step"] == step["index"]):
            sources.setdefault(read["source"], set()).add(tuple(read["offset"]))
        for number, offsets in sources.items():
            source = plan["steps"][number]
            own = number if plan["exchange"] in ONE_STEP else None
            key = _difference(step, source), frozenset(offsets), own
            if key not in known:
                known[key] = _finds(plan, step, source, sorted(offsets))
            if not known[key]:
                yield f"step {step['index']} does not find in its slots what step {number} made"


def _difference(step: Check, source: Check) -> tuple[object, ...]:
    """Return all that what is found depends on: the box is any."""
    apart = [a - b for side in ("lower", "upper") for a, b in zip(step[side], source[side], strict=True)]
    order = (step["index"] > source["index"]) - (step["index"] < source["index"])
    return step["lag"] - source["lag"], source["slots"], order, step.get("retimed", False), *apart


def _tiles(plan: Check) -> Iterator[str]:
    steps, dims = plan["steps"], plan["dims"]
    shape = [len(s[side]) == dims for s in steps for side in ("lower", "upper")]
    shape += [len(r["offset"]) == dims for r in plan["reads"]]
    if not all(shape):
        yield f"a box or an offset has not {dims} dimensions"
    if any(a > 0 or b < 0 for s in steps for a, b in zip(s["lower"], s["upper"], strict=True)):
        yield "a step does not make its owner box"
    if plan["exchange"] in ONE_STEP:
        yield from shape_problems(plan)
        if min([*plan["threads"], *plan["points"]]) <= 0 or plan.get("chunk", 0) < 0:
            yield "a tile owns no cells"
        yield from _slots_and_lags(plan)
        return
    first = 1 if dims > 1 else 0
    lanes = [WARP_SIZE] if plan["exchange"] == "shuffles" else plan["threads"]
    sides = [(max(-s["lower"][k] for s in steps), max(s["upper"][k] for s in steps)) for k in range(first, dims)]
    units = [1] * (len(sides) - 1) + [max(1, n) for n in plan["points"][-1:]]  # lanes are halo as a whole
    halo = [sum(-(-n // unit) * unit for n in pair) for pair, unit in zip(sides, units, strict=False)]
    wide = len(lanes) == len(plan["points"]) == len(halo)
    wide = wide and all(n * p > h for n, p, h in zip(lanes, plan["points"], halo, strict=True))
    if lanes[-1:] != [WARP_SIZE]:
        yield "no warp lies across the last dimension"
    if not wide or min([*plan["threads"], *plan["points"]]) <= 0 or plan.get("chunk", 0) < 0:
        yield "a tile owns no cells"
    yield from _slots_and_lags(plan)


def _slots_and_lags(plan: Check) -> Iterator[str]:
    line = plan["dims"] == 1
    if any(s["slots"] < 1 or s["lag"] < 0 or (line and s["lag"]) for s in plan["steps"]):
        yield "a step has no slots, or comes before its inputs"


def _finds(plan: Check, step: Check, source: Check, offsets: list[tuple[int, ...]]) -> bool:
    """Return whether each cell of the step's box finds, at each offset, what the source made of that very cell."""
    dims = plan["dims"]
    if plan["exchange"] in ONE_STEP:
        last = len(plan["steps"])
        return all(
            count > 0 and (not part or _finds_at(dims, step, source, part, last, slots=count, put=put, late=late))
            for part, count, put, late in places(plan, source, offsets)
        )
    own = [offset for offset in offsets if not any(offset[dims > 1 :])]
    others = [offset for offset in offsets if any(offset[dims > 1 :])]
    found = [(own, step["index"]), (others, -1), (others, len(plan["steps"]))]
    if plan["exchange"] == "shuffles":
        found = [(offsets, step["index"])]
    if not step.get("retimed", False):
        return all(_finds_at(dims, step, source, part, place) for part, place in found if part)
    soon = 0 if plan["exchange"] == "shuffles" else 1
    behind = {offset: step["lag"] - source["lag"] - offset[0] for offset in offsets}
    return all(
        _finds_at(dims, step, source, [offset], place, min(behind[offset], soon))
        for part, place in found
        for offset in part
    )


def _finds_at(
    dims: int,
    step: Check,
    source: Check,
    offsets: list[tuple[int, ...]],
    place: int,
    soon: int | None = None,
    *,
    slots: int = 0,
    put: int = 0,
    late: int = 0,
) -> bool:
    """Return whether a step finds what it reads when it runs at a place among the steps of a plane, or, `soon` planes
    after its source made what it reads. There may be other `slots` than the source's own, where planes are put so many
    rows after they came, and a reader that comes too late."""
    streamed = dims > 1
    c, w = ([f"{v}{k}" for k in range(dims)] for v in "cw")
    of = f"[{', '.join(f'o{k}, e{k}' for k in range(dims))}]"
    away = " or ".join(
        "(" + " and ".join(f"w{k} = c{k} + ({o})" for k, o in enumerate(offset)) + ")" for offset in offsets
    )
    pairs = f"{READ}[{', '.join(c + w)}]"
    reads = isl.UnionSet(f"{of} -> {{ {pairs} : {_box(step, 'c')} and ({away}) }}").coalesce()
    made = isl.UnionSet(f"{of} -> {{ {MADE}[{', '.join(w)}] : {_box(source, 'w')} }}")
    plane = f"w0 mod {slots or source['slots']}" if streamed else "w0"
    slot = f"slot[{', '.join([plane, *w[1:]])}]"
    sinks = isl.UnionMap(f"{{ {pairs} -> {slot} }}").intersect_domain(reads)
    sources = isl.UnionMap(f"{{ {MADE}[{', '.join(w)}] -> {slot} }}").intersect_domain(made)
    now, then = (
        f"{v}0 + {s['lag'] + more}" if streamed else "0" for v, s, more in (("c", step, late), ("w", source, put))
    )
    now = now if soon is None else f"{then} + {soon}"
    times = isl.UnionMap(
        f"{{ {pairs} -> [{now}, {place}]; {MADE}[{', '.join(w)}] -> [{then}, {source['index']}] }}"
    )
    found = flow(sinks, sources, times).values
    wanted = isl.UnionMap(f"{{ {MADE}[{', '.join(w)}] -> {pairs} }}").intersect_range(reads)
    return bool(found.is_equal(wanted))


def _box(step: Check, name: str) -> str:
    sides = enumerate(zip(step["lower"], step["upper"], strict=True))
    return " and ".join(f"o{k} + ({low}) <= {name}{k} < e{k} + ({high})" for k, (low, high) in sides)
