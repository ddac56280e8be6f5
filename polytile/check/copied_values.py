"""Copies of the source that a program does without: values are followed through them, to where they were made.

Arrays between which such copies go are one group. Each access of the source's statements gets its values from the same
instances, or from the same elements as they were, and so does whoever looks at the arrays of the group afterwards.
What a statement does to values is not in a certificate: that it only copies is, and is compared with the C.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import islpy as isl

from polytile.check.reductions import regrouped
from polytile.check.relations import BEFORE, IN, OUT, Check, accesses, equal, maps, seen, union

Groups = list[frozenset[str]]


def left_out(source: Check, program: Check) -> list[str]:
    """Return the statements of the source that write something and that no statement of the program runs."""
    runs = {part for s in program["statements"].values() for part in s["parts"]}
    runs |= {entry["statement"] for entry in program.get("privatised", ())}
    gone = {name: s for name, s in source["statements"].items() if name not in runs}
    return [name for name, s in gone.items() if any(a["kind"].endswith("write") for a in s["accesses"])]


def groups(source: Check, gone: list[str]) -> Groups:
    """Group the arrays that copies connect."""
    found: Groups = []
    for name in gone:
        own = frozenset(a["array"] for a in source["statements"][name]["accesses"])
        touching = [group for group in found if group & own]
        found = [group for group in found if not group & own] + [reduce(frozenset.union, touching, own)]
    return found


def not_copies(source: Check, gone: list[str], context: isl.Set) -> Iterator[str]:
    """Yield a line for each statement that is left out and does more than copy."""
    for name in gone:
        statement = source["statements"][name]
        if not statement.get("copy") or not takes_one_element(statement, context):
            yield f"the program leaves out {name}, which does not only copy"


def takes_one_element(statement: Check, context: isl.Set) -> bool:
    """Return whether each instance reads one element and writes one."""
    domain = isl.Set(statement["domain"]).intersect_params(context)
    uses = [isl.Map(a["relation"]).intersect_domain(domain) for a in statement["accesses"]]
    kinds = sorted(a["kind"] for a in statement["accesses"])
    return kinds == ["read", "write"] and all(m.is_single_valued() and domain.is_subset(m.domain()) for m in uses)


def wrong_values(
    source: Check, program: Check, group: frozenset[str], visible: list[str], context: isl.Set
) -> Iterator[str]:
    """Check that the program passes on the source's values of a group; yield a line if not."""
    where = " and ".join(sorted(group))
    runs = {part: name for name, s in program["statements"].items() for part in s["parts"]}
    apart = [n for n in source["statements"] if program["statements"].get(n, {}).get("parts") == [n]]
    gone = left_out(source, program)
    added = [name for name, s in program["statements"].items() if not s["parts"]]
    holders = {array: root for array, root in program["arrays"].items() if root in group}
    if any(program["arrays"][array] in group for array in regrouped(program)):
        yield f"values of {where} come through copies that are gone, and through partial results"
        return
    wanted = _origins(source, {array: array for array in group}, gone, apart, visible, context)
    given = _origins(program, holders, added, apart, visible, context)
    place = {part: k for s in program["statements"].values() for k, part in enumerate(s["parts"])}
    moved = isl.UnionMap("{ }")
    for pairs in maps(wanted):
        first, then = (str(pairs.get_tuple_name(kind)) for kind in (IN, OUT))
        one = isl.UnionMap.from_map(pairs.set_tuple_name(IN, runs.get(first, first)))
        if then in runs:
            (one,) = (isl.UnionMap.from_map(m.set_tuple_name(OUT, runs[then])) for m in maps(one))
            if place.get(first, 0) < place[then]:  # what stays within one instance of a joined statement
                one = one.subtract(one.domain().identity())
        moved = moved.union(one)
    if not equal(moved, given, context):
        yield f"the scheduled program does not pass on the source's values of {where}"


def _origins(
    side: Check, arrays: dict[str, str], copies: list[str], apart: list[str], visible: list[str], context: isl.Set
) -> isl.UnionMap:
    """Return who made each value that is read, by access where statements are `apart`, or left."""
    wires = union([side["statements"][name]["domain"] for name in copies], isl.UnionSet)
    flows, into = isl.UnionMap("{ }"), isl.UnionMap("{ }")
    for array, root in sorted(arrays.items()):
        flow = seen(side, array, root, array in visible).intersect_params(context)
        into = into.union(flow.intersect_range(wires))
        flows = flows.union(_by_access(side, array, flow.subtract_range(wires), apart))
    for _ in copies:  # a copy of a copy of ...
        flows = flows.subtract_domain(wires).union(into.apply_range(flows.intersect_domain(wires)))
    unchanged = [m.domain().identity().set_tuple_name(OUT, _after(str(m.get_tuple_name(IN)))) for m in maps(flows)]
    return flows.subtract(union([isl.UnionMap.from_map(m) for m in unchanged], isl.UnionMap))


def _after(before: str) -> str:
    return f"after {before.removeprefix(BEFORE)}"


def _by_access(side: Check, array: str, flow: isl.UnionMap, apart: list[str]) -> isl.UnionMap:
    """Return the flow through an array to each access of the statements in `apart`, to other statements as a whole, and
    to those who look at this array afterwards."""
    writes = union([accesses(side, array, kind) for kind in ("write", "may-write")], isl.UnionMap)
    total = isl.UnionMap("{ }")
    for pairs in maps(flow):
        writer, reader = (str(pairs.get_tuple_name(kind)) for kind in (IN, OUT))
        if reader == "after":
            total = total.union(isl.UnionMap.from_map(pairs.set_tuple_name(OUT, f"after {array}")))
            continue
        if reader not in apart:
            total = total.union(isl.UnionMap.from_map(pairs))
            continue
        made = writes
        if writer.startswith(BEFORE):
            same = isl.Map.identity(pairs.domain().get_space().map_from_set())
            made = isl.UnionMap.from_map(same.set_tuple_name(OUT, array))
        for number, access in enumerate(side["statements"][reader]["accesses"]):
            if (access["array"], access["kind"]) == (array, "read"):
                through = made.apply_range(isl.UnionMap(access["relation"]).reverse())
                own = isl.UnionMap.from_map(pairs).intersect(through)
                named = (isl.UnionMap.from_map(m.set_tuple_name(OUT, f"{reader}@{number}")) for m in maps(own))
                total = total.union(union(named, isl.UnionMap))
    return total
