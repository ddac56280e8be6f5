"""Where arrays live inside kernels, as certificates say it: cells of threads or blocks, by place and element.

    { [[block.., thread..] -> t[i, j]] -> [j mod 16] }

Without `through`, the cells are all that there is of the array; with it, a write also goes to the array, and the kernel
reads from the cells.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polytile.check.conflicting_elements import conflicting_elements
from polytile.check.flow import NOTHING
from polytile.check.flow import flow as values_found
from polytile.check.relations import Check, dependences
from polytile.check.tree import THREADS, blocks, kernels, mark, nodes, thread_of

Uses = tuple[isl.UnionMap, ...]  # reads, writes, may-writes
MEMORIES = {("private", "thread"): "registers", ("shared", "block"): "shared memory"}


def placements(scop: Check) -> list[Check]:
    """Return all placements of a SCoP, with the number of their kernels."""
    return [{**p, "kernel": plan["kernel"]} for plan in scop["plans"] for p in plan.get("placements", ())]


def _owners(kernel: isl.ScheduleNode, private: bool) -> isl.UnionMap:
    """Return who has the cells of each instance: its block or its thread."""
    block = blocks(kernel)
    threads = private and any(THREADS.fullmatch(mark(node)) for node, _ in nodes(kernel, ()))
    return block.flat_range_product(thread_of(kernel)) if threads else block


def memory(placement: Check) -> str:
    return MEMORIES[placement["memory"], placement["owner"]]


def unknown(placement: Check, tree: isl.Schedule, arrays: Check) -> str:
    """Return why a placement cannot be checked at all; empty where it can."""
    name = placement["name"]
    if placement["array"] not in arrays:
        return f"there is no array {placement['array']} to have a copy of"
    if not 0 <= placement["kernel"] < len(kernels(tree)):
        return f"{name} is placed in kernel {placement['kernel']}, which is not there"
    if (placement["memory"], placement["owner"]) not in MEMORIES:
        return f"{name} is placed in {placement['memory']} memory of a {placement['owner']}"
    return "" if isl.UnionMap(placement["cell"]).is_single_valued() else f"{name} has several cells for one element"


def cells(tree: isl.Schedule, placement: Check, accesses: isl.UnionMap) -> isl.UnionMap:
    """Return the cells that instances of the kernel use, `{ S[i] -> [[place] -> [cell]] }`."""
    place = _owners(kernels(tree)[placement["kernel"]], placement["memory"] == "private")
    return place.range_product(place.range_product(accesses).apply_range(isl.UnionMap(placement["cell"])))


def _routes(tree: isl.Schedule, placement: Check, accesses: isl.UnionMap) -> isl.UnionMap:
    """Return the cells that instances of the kernel use, by element: `{ [S[i] -> A[j]] -> [[place] -> [cell]] }`."""
    place = _owners(kernels(tree)[placement["kernel"]], placement["memory"] == "private")
    owner = accesses.domain_map().apply_range(place)
    return owner.range_product(owner.range_product(accesses.range_map()).apply_range(isl.UnionMap(placement["cell"])))


def without_cells(tree: isl.Schedule, placement: Check, uses: Uses) -> Iterator[str]:
    """Yield the elements that have no cell, or one outside of the extents."""
    place = _owners(kernels(tree)[placement["kernel"]], placement["memory"] == "private")
    cell, extents = isl.UnionMap(placement["cell"]), placement.get("extents")
    box = ""
    if extents is not None:
        names = [f"c{k}" for k in range(len(extents))]
        bounds = " and ".join(f"0 <= {c} < {e}" for c, e in zip(names, extents, strict=True))
        box = f"{{ [{', '.join(names)}] : {bounds or 'true'} }}"
    for accesses in uses:
        used = place.range_product(accesses).range()
        if not used.is_subset(cell.domain()):
            yield f"elements of {placement['array']} have no cell in {placement['name']}"
        elif box and not used.apply(cell).is_subset(isl.UnionSet(box)):
            yield f"cells of {placement['name']} are outside of its extents {extents}"


def check_home(
    tree: isl.Schedule, placement: Check, uses: Uses, flow: isl.UnionMap, visible: bool, first: frozenset[str]
) -> tuple[list[str], isl.UnionMap]:
    """Check an array that lives in a kernel alone; return what is wrong, and the conflicts through its cells."""
    array, here = placement["array"], kernels(tree)[placement["kernel"]].get_domain()
    found = list(without_cells(tree, placement, tuple(a.intersect_domain(here) for a in uses)))
    found += elements_mixed(tree, placement, uses, first)
    inside, false = through_cells(tree, placement, uses)
    if visible or not uses[0].domain().is_subset(flow.range()):
        found.append(f"{array} lives inside a kernel, and values of it come from outside or are seen there")
    if not inside.coalesce().is_equal(flow.coalesce()):
        found.append(f"the {memory(placement)} of kernel {placement['kernel']} mix up the values of {array}")
    return found, inside.union(false)


def check_forwarding(
    tree: isl.Schedule, order: isl.Schedule, copy: Check, uses: Uses, flow: isl.UnionMap, first: frozenset[str]
) -> tuple[list[str], isl.UnionMap]:
    """Check that what one kernel reads of an array comes from its own writes, by the cells of a block's copy; return
    what is wrong, and the conflicts through these cells."""
    array, number = copy["array"], copy["kernel"]
    domain = kernels(tree)[number].get_domain()
    here = tuple(a.intersect_domain(domain) for a in uses)
    found, wanted = list(without_cells(tree, copy, here)), flow.intersect_range(domain)
    unset = values_found(here[0], uses[1], order.get_map(), conditions=uses).unset
    if not wanted.domain().is_subset(domain) or not unset.is_empty():
        found.append(f"kernel {number} reads values of {array} that it has not written from a copy")
    found += elements_mixed(tree, copy, here, first)
    inside, false = through_cells(tree, copy, here)
    if not inside.is_equal(wanted):
        found.append(f"the copy in {memory(copy)} of kernel {number} mixes up the values of {array}")
    return found, inside.union(false)


def through_cells(tree: isl.Schedule, placement: Check, uses: Uses) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Return the flow through cells in the mapped order, and the other conflicts there."""
    reads, writes, may = (cells(tree, placement, a) for a in uses)
    here = kernels(tree)[placement["kernel"]].get_domain()
    return dependences(tree.intersect_domain(here), reads, writes, may, NOTHING, uses)


def elements_mixed(tree: isl.Schedule, placement: Check, uses: Uses, first: frozenset[str]) -> Iterator[str]:
    """Yield the reads that find another element in their cell than their own, or nothing. Instances that use several
    elements may, though each gets values from the right instances. The statements `first` read before they write."""
    reads, writes, may = (_routes(tree, placement, u) for u in uses)
    array, where = placement["array"], f"the {memory(placement)} of kernel {placement['kernel']}"
    if not conflicting_elements(reads, writes.union(may), first).is_empty():
        yield f"an instance needs two elements of {array} at once that share a cell in {where}"
    if may.is_empty() and all(u.is_single_valued() for u in uses):
        return
    every = reads.union(writes).union(may).domain().unwrap()
    when, element = every.domain_map().apply_range(tree.get_map()), every.range_map()
    found = values_found(reads, writes, when, may, conditions=uses)
    values = found.values
    if not values.apply_domain(element).apply_range(element).is_subset(element.range().identity()):
        yield f"a cell of {array} in {where} has another element than the one that is read"
    if not found.untouched.is_empty():
        yield f"{array} is read in {where}, where nothing wrote it"
