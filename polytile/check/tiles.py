"""Placements with copies: cells that threads and blocks fill and drain inside kernels, one array at a time.

Before all uses of an array `before` writes its elements, and where it is seen, `after` reads them last. In the order
of the mapped tree with its copies it must hold:

- each use finds in its location what the program's order says, and of the element that it is about;
- any two uses that meet in a location, of which one writes, are kept in order by the GPU;
- cells are inside their extents, and what is copied has one;
- nobody meets an asynchronous copy between its start and its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import islpy as isl

from polytile.check.conflicting_elements import conflicting_elements
from polytile.check.copies import Loop, labelled_loops
from polytile.check.locations import AFTER, BEFORE, Flow, Placed, Routing, Uses, in_program
from polytile.check.relations import IN, Check, maps

MAX_COPIES_OF_COPIES = 8  # that a value goes through on its way


def is_tile(placement: Check) -> bool:
    """Return whether a placement has copies, or serves some uses only; others live in a whole kernel."""
    special = any(placement.get(k) for k in ("uses", "fill", "drain", "layout"))
    return bool(special or placement.get("level", "kernel") != "kernel")


def misplaced(placement: Check, tree: isl.Schedule, program: Check) -> str:
    """Return why a placement with copies cannot be where it is said to be; empty where it can."""
    name, kernel, level = placement["name"], placement["kernel"], placement.get("level", "kernel")
    loops = list(labelled_loops(tree))
    for label in (level, *(copy["at"] for copy in _copies(placement))):
        if (found := [key for key, _ in loops].count((kernel, label))) != 1:
            return f"{name} is at the loop {label} of kernel {kernel}, which is there {found} times"
    for statement, number in placement.get("uses", ()):
        accesses = program["statements"].get(statement, {"accesses": ()})["accesses"]
        if not 0 <= number < len(accesses) or accesses[number]["array"] != placement["array"]:
            return f"{name} is for access {number} of {statement}, which is none to {placement['array']}"
    known = {label: loop for (number, label), loop in loops if number == kernel}
    at, by = known[level], isl.Map(placement["cell"]).domain().unwrap().dim(IN)
    if by != at.rank + at.units(placement["owner"]):
        return f"{name} has cells by places that are not those of {level}"
    wrong = (_wrong_copy(placement, copy, known[copy["at"]]) for copy in _copies(placement))
    return next((line for line in wrong if line), _wrong_layout(placement))


def _wrong_copy(placement: Check, copy: Check, loop: Loop) -> str:
    name, owner, level = placement["name"], placement["owner"], placement.get("level", "kernel")
    if level not in loop.around:
        return f"{name} is copied outside of its loop {level}"
    if owner == "block" and loop.threads:
        return f"{name} is copied below a thread mark, where not all threads of a block pass"
    if copy.get("ahead", 0) and (loop.members != 1 or copy is placement.get("drain")):
        return f"{name} is copied ahead in a loop that has no one iteration before another"
    if isl.Map(copy["elements"]).dim(IN) != loop.rank + loop.units(owner):
        return f"{name} is copied by places that are not those of {copy['at']}"
    return ""


def _copies(placement: Check) -> list[Check]:
    return [copy for kind in ("fill", "drain") if (copy := placement.get(kind))]


def _wrong_layout(placement: Check) -> str:
    """Check that no two cells share an element of the memory; return what is wrong, or ""."""
    layout, extents = placement.get("layout", {}), placement["extents"]
    rows, unit = layout.get("swizzle", (0, 0))
    if not layout.keys() <= {"pad", "swizzle"} or layout.get("pad", 0) < 0 or min(rows, unit) < 0:
        return f"the layout of {placement['name']} is of a kind that is not known here"
    if not rows:
        return ""
    columns = extents[-1]
    taken = {
        (row, (column // unit ^ row % rows) * unit + column % unit)
        for row, column in product(range(prod(extents[:-1])), range(columns))
    }
    inside = all(column < columns + layout.get("pad", 0) for _, column in taken)
    return "" if inside and len(taken) == prod(extents) else f"two cells of {placement['name']} share memory"


def wrong_tiles(
    placed: Placed, array: str, program: Check, first: frozenset[str], visible: bool, context: isl.Set
) -> Iterator[str]:
    """Yield what is wrong with the placements of one array, a line each."""
    routing = Routing(placed, array, program, context)
    used = routing.uses()
    yield from routing.lines
    own = used.routes
    if not conflicting_elements(own["read"], own["write"].union(own["may-write"]), first).is_empty():
        yield f"an execution needs two elements of {array} at once that share a cell"
    wanted = in_program(array, program, visible, context)
    ours = used.framed(wanted.elements(), visible)
    flow = ours.flow(placed.times.vectors)
    yield from _wrong_values(array, ours, flow, wanted, program)
    yield from _wrong_order(array, ours, flow, placed)


def _wrong_values(array: str, used: Uses, flow: Flow, wanted: Uses, program: Check) -> Iterator[str]:
    """Yield where uses find something else than in the program."""
    if not flow.unset.is_empty():
        yield f"{array} is read in cells that nothing was written to, e.g. {maps(flow.unset)[0].sample()}"
    element = used.all().unwrap().range_map()
    met = flow.values.apply_domain(element).apply_range(element)
    if not met.is_subset(used.elements().identity()):
        yield f"a cell of {array} has another element than the one that is read"
    given = _without_copies(flow.values, used.copies, MAX_COPIES_OF_COPIES)
    order = isl.Schedule(program["order"]).get_map()
    known = wanted.flow(order).values
    wrong = given.subtract(known)
    seen = isl.UnionMap.from_domain_and_range(isl.UnionSet(f"{{ {AFTER}[] }}"), wanted.elements()).wrap()
    if not wrong.intersect_range(seen).is_empty():
        yield f"what is seen of {array} afterwards is not what was written last"
    wrong = wrong.subtract_range(seen)
    if not wrong.is_empty():
        yield f"uses of {array} get other values than in the program, e.g. {maps(wrong)[0].sample()}"
    if not used.routes["may-write"].is_empty() and not known.is_subset(given):
        yield f"uses of {array} do not get all values that they may have in the program"


def _without_copies(values: isl.UnionMap, copies: isl.UnionSet, limit: int) -> isl.UnionMap:
    """Replace copies in the flow by what they read.

    before: [before -> A[i]] -> [A_fill[b] -> A[i]]; [A_fill[b] -> A[i]] -> [S0[i] -> A[i]]
    after:  [before -> A[i]] -> [S0[i] -> A[i]]
    """
    into, found = values.intersect_range(copies), values.subtract_range(copies)
    for _ in range(limit):
        copied = found.intersect_domain(copies)
        if copied.is_empty():
            break
        found = found.subtract_domain(copies).union(into.apply_range(copied))
    return found


def _wrong_order(array: str, used: Uses, flow: Flow, placed: Placed) -> Iterator[str]:
    """Yield uses that meet in a location, one of them to write, and that the GPU does not keep in order."""
    frame = isl.UnionSet(f"{{ {BEFORE}[]; {AFTER}[] }}")
    executions = used.executions()
    outside = executions.intersect_range(frame).domain()
    pairs = flow.values.union(flow.false).subtract_domain(outside).subtract_range(outside)
    met = pairs.intersect_domain(used.landings.domain()).subtract(used.landings)
    early, late = (flow.values.intersect_range(s) for s in (used.landings.domain(), used.landings.range()))
    if not met.is_empty() or not early.apply_range(used.landings).is_equal(late):
        yield f"cells of {array} are used, or what is copied changes, before an asynchronous copy has ended"
    pairs = pairs.subtract(used.landings).coalesce()
    left = pairs.subtract(placed.times.kept(pairs, executions))
    if not left.is_empty():
        yield f"uses of {array} that meet are not ordered, e.g. {maps(left)[0].sample()}"
