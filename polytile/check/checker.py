"""Checks certificates: that the C's order of all conflicting accesses is kept by a mapped schedule, and values with it.

It shares no code with what made the schedule or proved it the first time, and trusts isl alone. For each SCoP:

- the mapped tree runs each instance once;
- of any two instances that use one element, of which one writes, the GPU surely ends the first before the second, but
  where both do nothing else than to update elements by the same operation, atomically, or add different numbers to the
  same data in a subscript;
- arrays inside kernels pass the same values on, though their elements share cells;
- blocks' copies of other arrays have what their kernels read of these;
- tiles, which are filled and drained inside kernels, pass on the values of their elements;
- the program that is scheduled computes the source's values (statements were joined, arrays renamed or expanded,
  copies left out);
- where threads combine what they hold, they do what the program's instances do;
- kernels of time tiles leave what as many iterations of the program leave;
- the dependences that the certificate claims are those of its accesses.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polytile.check.conflicting_elements import read_first
from polytile.check.copied_values import Groups, groups, left_out, not_copies, takes_one_element, wrong_values
from polytile.check.copies import WHOLE, labelled_loops
from polytile.check.data_offsets import separate
from polytile.check.kernel_tiles import holds, is_of_kernel
from polytile.check.locations import Placed, with_copies
from polytile.check.placements import check_forwarding, check_home, placements, unknown
from polytile.check.reads_apart import with_reads_apart
from polytile.check.reductions import condensed, results, settled, steps_of, wrong_results
from polytile.check.relations import BEFORE, IN, OUT, Check, accesses, conflicts, dependences, equal, maps, seen, union
from polytile.check.run import run_problems
from polytile.check.tiles import is_tile, misplaced, wrong_tiles
from polytile.check.time_tiles.problems import time_tile_problems
from polytile.check.tree import LOOP, NODE, THREADS, kernels, mark, nodes, thread_of
from polytile.dataclass import dataclass
from polytile.ir.isl_util import OverBudgetError, budget

MAX_OPERATIONS = 30_000_000  # for the tiles of one array: many seconds; most take a thirtieth


def problems(scop: Check) -> Iterator[str]:
    """Yield what is wrong with one SCoP of a certificate, a line each. Raises isl.Error or KeyError for what is not
    one."""
    context, program = isl.Set(scop["context"]), scop.get("run") or scop["program"]
    tree, order = isl.Schedule(scop["mapped"]), isl.Schedule(program["order"])
    domain = union([s["domain"] for s in program["statements"].values()], isl.UnionSet).intersect_params(context)
    wrong = list(_check_tree(tree, domain, context))
    yield from wrong
    if wrong:  # of what is no mapped tree there are no places
        return
    placed, unknown_ones = _placed(scop, program, tree)
    yield from unknown_ones
    kept = _tiles_of_kernels(placed, tree, domain, program, context)
    placed = [p for p in placed if p not in kept]
    tiled = {p["array"] for p in placed if is_tile(p)}
    copies = with_copies(tree.intersect_domain(domain), [p for p in placed if p["array"] in tiled])
    first = read_first(scop, program)
    for array in program["arrays"]:
        uses = _Uses.of(program, order, array)
        yield from _wrong_claims(scop["dependences"][array], array, uses, context)
        if array in tiled:
            yield from _tiles(copies, array, program, first, array in scop["visible"], context)
        else:
            yield from _disorder(scop, program, tree, [p for p in placed if p["array"] == array], uses, first)
    if scop.get("run"):
        yield from run_problems(scop["program"], scop["run"], tree, context)
    for tile in (plan["time_tile"] for plan in scop.get("plans", ()) if plan.get("time_tile")):
        yield from time_tile_problems(scop["program"], tile, scop["visible"], context)
    yield from check_values(scop["source"], scop["program"], scop["visible"], context)
    yield from _check_transfers(scop, context)
    if any(not isl.UnionMap(v).is_empty() for v in scop["violations"].values()):
        yield "a set of violations is not empty"


@dataclass(frozen=True, slots=True)
class _Uses:
    """The accesses of an array and, in the program's order, its dependences."""

    array: str
    reads: isl.UnionMap
    writes: isl.UnionMap
    may: isl.UnionMap
    flow: isl.UnionMap
    false: isl.UnionMap  # anti and output dependences

    @classmethod
    def of(cls, program: Check, order: isl.Schedule, array: str) -> _Uses:
        reads, writes, may = (accesses(program, array, k) for k in ("read", "write", "may-write"))
        return cls(array, reads, writes, may, *dependences(order, reads, writes, may, accesses(program, array, "kill")))


def _wrong_claims(claimed: Check, array: str, uses: _Uses, context: isl.Set) -> Iterator[str]:
    if not claimed["exact"]:
        return
    if not equal(isl.UnionMap(claimed["flow"]), uses.flow, context):
        yield f"the claimed flow through {array} is not that of the accesses"
    if not equal(isl.UnionMap(claimed["false"]), uses.false, context):
        yield f"the claimed anti and output dependences through {array} are not those of the accesses"


def _disorder(
    scop: Check, program: Check, tree: isl.Schedule, placed: list[Check], uses: _Uses, first: frozenset[str]
) -> Iterator[str]:
    """Yield the instances that conflict through an array, or through the places that it lives in, and are not
    ordered."""
    context, order, array = isl.Set(scop["context"]), isl.Schedule(program["order"]), uses.array
    here = tuple(a.intersect_params(context) for a in (uses.reads, uses.writes, uses.may))
    flow = uses.flow.intersect_params(context)
    homes = [p for p in placed if not p.get("through")]
    if homes:
        wrong, pairs = check_home(tree, homes[0], here, flow, array in scop["visible"], first)
        yield from wrong
    else:
        pairs = conflicts(order, uses.reads, uses.writes.union(uses.may))
    if homes[1:]:
        yield f"{array} lives in more than one place"
    pairs = pairs.subtract(_relaxed(scop, array)).subtract(_indivisible(scop, program, array))
    pairs = pairs.subtract(_promised(scop, array)).subtract(separate(program, array)).intersect_params(context)
    for copy in (p for p in placed if p.get("through")):
        wrong, inside = check_forwarding(tree, order, copy, here, flow, first)
        yield from wrong
        pairs = pairs.union(inside)
    pairs = pairs.coalesce()  # subtracting takes a seventh of the time where both have few pieces
    left = pairs.subtract(_ordered(tree.get_root(), pairs, None, "").coalesce())
    if not left.is_empty():
        yield f"instances that conflict through {array} are not ordered, e.g. {maps(left)[0].sample()}"


def _placed(scop: Check, program: Check, tree: isl.Schedule) -> tuple[list[Check], list[str]]:
    """Return the placements that can be checked, and why others cannot."""
    found = [(p, unknown(p, tree, program["arrays"])) for p in placements(scop)]
    found = [(p, why or (misplaced(p, tree, program) if is_tile(p) else "")) for p, why in found]
    return [p for p, why in found if not why], [why for _, why in found if why]


def _tiles_of_kernels(
    placed: list[Check], tree: isl.Schedule, domain: isl.UnionSet, program: Check, context: isl.Set
) -> list[Check]:
    """Return the tiles that blocks keep for a whole launch, and that change no value of a tree that is in order."""
    tiles = [p for p in placed if is_tile(p)]
    loops = dict(labelled_loops(tree.intersect_domain(domain))) if tiles else {}
    hosts = [int(kernel.get_schedule_depth()) for kernel in kernels(tree)]
    try:
        with budget(MAX_OPERATIONS):
            return [
                p
                for p in tiles
                if is_of_kernel(p, placed, loops, program)
                and holds(p, loops[p["kernel"], WHOLE], hosts[p["kernel"]], program, context)
            ]
    except OverBudgetError:
        return []


def _tiles(
    copies: Placed, array: str, program: Check, first: frozenset[str], visible: bool, context: isl.Set
) -> list[str]:
    try:
        with budget(MAX_OPERATIONS):
            return list(wrong_tiles(copies, array, program, first, visible, context))
    except OverBudgetError:
        return [f"the placements of {array} are not checked: that takes isl more than {MAX_OPERATIONS} operations"]


def _check_tree(tree: isl.Schedule, domain: isl.UnionSet, context: isl.Set) -> Iterator[str]:
    if not tree.get_domain().intersect_params(context).is_equal(domain):
        yield "the mapped schedule is for other instances"
    times = tree.get_map().intersect_domain(domain)
    if not times.domain().is_equal(domain) or not times.is_single_valued():
        yield "the mapped schedule does not run each instance once"
    for node, above in nodes(tree.get_root(), ()):
        kind, name = node.get_type(), mark(node)
        if kind in (NODE.context, NODE.expansion, NODE.extension, NODE.guard):
            yield "the mapped schedule has a node that changes its instances"
        inside = any(n == "kernel" for n in above)
        if (name == "block" and above[-1:] != ("kernel",)) or (name == "kernel" and inside):
            yield f"a {name} mark stands where blocks and kernels cannot start"
        if (name == "sync" or THREADS.fullmatch(name)) and (not inside or any(THREADS.fullmatch(n) for n in above)):
            yield f"a {name} mark stands where not all threads of a block pass"
        if LOOP.fullmatch(name) and above[-1:] and (THREADS.fullmatch(above[-1]) or above[-1] in ("block", "sync")):
            yield f"a {name} mark stands between a {above[-1]} mark and its band"


def _ordered(node: isl.ScheduleNode, pairs: isl.UnionMap, threads: isl.UnionMap | None, role: str) -> isl.UnionMap:
    """Return the pairs whose first instance surely ends before the second starts; `threads` pairs instances of one
    thread inside a kernel, `role` is the mark above."""
    if pairs.is_empty() or node.get_type() == NODE.leaf:
        return isl.UnionMap.empty(pairs.get_space())
    if node.get_type() in (NODE.sequence, NODE.set):
        found, done = isl.UnionMap.empty(pairs.get_space()), isl.UnionSet.empty(pairs.get_space())
        for i in range(node.n_children()):
            own = node.child(i).filter_get_filter()
            both = pairs.intersect_range(own)
            found = found.union(_ordered(node.child(i).child(0), both.intersect_domain(own), threads, ""))
            if node.get_type() == NODE.sequence:
                found = found.union(_kept(both.intersect_domain(done), threads, role))
            done = done.union(own)
        return found
    if node.get_type() == NODE.band and node.band_n_member() > 0:
        partial = node.band_get_partial_schedule()
        found = _ordered(node.child(0), pairs.eq_at_multi_union_pw_aff(partial), threads, "")
        later = pairs.lex_lt_at_multi_union_pw_aff(partial)
        return found if role == "block" else found.union(_kept(later, threads, role))
    name = mark(node)
    if node.get_type() == NODE.filter:
        pairs = pairs.intersect_domain(node.filter_get_filter()).intersect_range(node.filter_get_filter())
    return _ordered(node.child(0), pairs, thread_of(node) if name == "kernel" else threads, name)


def _kept(pairs: isl.UnionMap, threads: isl.UnionMap | None, role: str) -> isl.UnionMap:
    if threads is None or role == "sync":
        return pairs
    return pairs.intersect(threads.apply_range(threads.reverse()))


def check_values(source: Check, program: Check, visible: list[str], context: isl.Set) -> Iterator[str]:
    """Check that every read of the source, and whoever looks afterwards, gets its value from the same instances."""
    backwards = (name for entry in program.get("backwards", ()) for name, _ in steps_of(entry))
    split = [name for name in backwards if program["statements"][name]["reduction"] is None]
    source, program = (with_reads_apart(side, split) for side in (source, program))
    runs = {part: name for name, s in program["statements"].items() for part in s["parts"]}
    place = {part: k for s in program["statements"].values() for k, part in enumerate(s["parts"])}
    copies = union([s["domain"] for s in program["statements"].values() if not s["parts"]], isl.UnionSet)
    made = results(source, program, context)
    source = settled(source, made)
    yield from wrong_results(source, program, visible, made, context)
    gone = left_out(source, program)
    yield from not_copies(source, gone, context)
    shared = groups(source, gone)
    yield from _wrong_copies(program, shared, context)
    for group in shared:
        yield from wrong_values(source, program, group, visible, context)
    given = {array: seen(program, array, root, array in visible) for array, root in program["arrays"].items()}
    into = union(list(given.values()), isl.UnionMap).intersect_range(copies)
    for array in (a for a in source["arrays"] if not any(a in group for group in shared)):
        own, wanted = [r for r in made if r.root == array], isl.UnionMap("{ }")
        theirs = union([r.source for r in own], isl.UnionMap)
        for pairs in maps(condensed(seen(source, array, array, array in visible).intersect_params(context), theirs)):
            first, then = (str(pairs.get_tuple_name(kind)) for kind in (IN, OUT))
            pairs = pairs.set_tuple_name(IN, runs.get(first, first)).set_tuple_name(OUT, runs.get(then, then))
            moved = isl.UnionMap.from_map(pairs)
            if place.get(first, 0) < place.get(then, 0):  # what stays within one instance of a joined statement
                moved = moved.subtract(moved.domain().identity())
            wanted = wanted.union(moved)
        flows = [given[a].subtract_range(copies) for a, root in program["arrays"].items() if root == array]
        found = union(flows, isl.UnionMap)
        for _ in program["statements"]:  # a copy of a copy of ...
            found = found.subtract_domain(copies).union(into.apply_range(found.intersect_domain(copies)))
        found = condensed(found.intersect_params(context), union([r.program for r in own], isl.UnionMap))
        if not equal(wanted, found, context):
            yield f"the scheduled program does not pass on the source's values of {array}"


def _wrong_copies(program: Check, shared: Groups, context: isl.Set) -> Iterator[str]:
    """Yield the added statements that are no copies: a copy takes one element to one other that holds values of the
    same array, or of one in its group."""
    group = {array: number for number, arrays in enumerate(shared) for array in arrays}
    for name, statement in program["statements"].items():
        roots = {program["arrays"][a["array"]] for a in statement["accesses"]}
        one = len(roots) == 1 or (len({group.get(root, root) for root in roots}) == 1 and statement.get("copy"))
        if not statement["parts"] and not (one and takes_one_element(statement, context)):
            yield f"{name} is no copy of elements"


def _check_transfers(scop: Check, context: isl.Set) -> Iterator[str]:
    """Check copies between host and device: what is read or left from before must come in, what is seen must go out."""
    for array, transfer in scop["transfers"].items():
        flow = seen(scop["program"], array, array, array in scop["visible"]).intersect_params(context)
        senders = {m.get_tuple_name(IN) for m in maps(flow)}
        if f"{BEFORE}{array}" in senders and transfer["live_in"] and not transfer["copy_in"]:
            yield f"{array} is not copied in, though values from before are read or left in it"
        if array in scop["visible"] and senders - {f"{BEFORE}{array}"} and not transfer["copy_out"]:
            yield f"{array} is not copied out, though it is written and seen afterwards"


def _relaxed(scop: Check, array: str) -> isl.UnionMap:
    statements = scop["program"]["statements"]
    names = [name for name, through in scop["relaxed"].items() if through == array]
    domains = [isl.UnionSet(statements[name]["domain"]) for name in names]
    found: isl.UnionMap = union([isl.UnionMap.from_domain_and_range(d, d) for d in domains], isl.UnionMap)
    return found


def _promised(scop: Check, array: str) -> isl.UnionMap:
    """Return the pairs of instances that share no element of an array, as the user promises."""
    return isl.UnionMap(scop.get("assumed", {}).get("pairs", {}).get(array, "{ }"))


def _indivisible(scop: Check, program: Check, array: str) -> isl.UnionMap:
    """Return the pairs of instances that only update elements of an array by one operation, as atomic operations.
    Certain writes are none of these: other pairs are left out of the dependences where one stands between."""
    found = isl.UnionMap("{ }")
    names = [name for name, through in scop.get("atomic", ()) if through == array]
    for op in {u["op"] for n in names for u in program["statements"][n].get("updates", ()) if u["array"] == array}:
        same = isl.UnionSet("{ }")
        for name in names:
            statement = program["statements"][name]
            kinds = {a["kind"] for a in statement["accesses"] if a["array"] == array}
            if {"op": op, "array": array} in statement.get("updates", ()) and kinds <= {"read", "may-write"}:
                same = same.union(isl.UnionSet(statement["domain"]))
        found = found.union(isl.UnionMap.from_domain_and_range(same, same))
    return found
