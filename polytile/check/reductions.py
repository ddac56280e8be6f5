"""Reductions in partial results: what adds them up gets each value of the source's, once, in an uninterrupted chain. So
do reductions in another order.

What the statements do to single values is not in a certificate: that `initial` writes what is neutral to the operation,
that the others combine by it, and that a reduction which may leave its element writes back what it read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

import islpy as isl

from polytile.check.relations import BEFORE, Check, accesses, maps, seen, union
from polytile.dataclass import dataclass


@dataclass(frozen=True)
class Result:
    """The results of one reduction: `parts` of the source and `last` of the program add to them; both are mapped."""

    entry: Check
    array: str
    root: str
    parts: tuple[str, ...]
    last: tuple[str, ...]
    source: isl.UnionMap = field(compare=False)
    program: isl.UnionMap = field(compare=False)


def results(source: Check, program: Check, context: isl.Set) -> list[Result]:
    """Return the results that were regrouped. Raises ValueError where a statement is not that of a reduction."""
    found = []
    for entry, array in _entries(program):
        steps, root = steps_of(entry), program["arrays"][array]
        name, claim = steps[0][0], {"op": entry["op"], "array": root}
        parts = [(p, group) for step, group in steps for p in program["statements"][step]["parts"]]
        own = [(p, group) for p, group in parts if source["statements"][p]["reduction"] == claim]
        last = steps
        if "partial" in entry:  # which one in another order has not
            adding = (entry.get("gathering") or {}).get("total") or entry["finish"] or entry["combine"]
            last = [(adding, range(len(entry["group"])))]
        if not own or ("partial" not in entry and len(own) < len(parts)):
            raise ValueError(f"{name} is no reduction into {root}")
        if "partial" not in entry and any(program["statements"][s]["reduction"]["op"] != entry["op"] for s, _ in steps):
            raise ValueError(f"{name} is no reduction by {entry['op']}")
        theirs = union([_keys(source, p, group, name, context) for p, group in own], isl.UnionMap)
        ours = union([_keys(program, s, kept, name, context) for s, kept in last], isl.UnionMap)
        found.append(Result(entry, array, root, _names(own), _names(last), theirs, ours))
    return found


def steps_of(entry: Check) -> list[tuple[str, list[int] | range]]:
    """Return the statements that make the steps of a reduction, with their iterators that index the results."""
    if "steps" in entry:
        return [(name, group) for name, group in entry["steps"]]
    return [(entry["update"], entry["group"])]


def _names(steps: Iterable[tuple[str, object]]) -> tuple[str, ...]:
    return tuple(name for name, _ in steps)


def regrouped(program: Check) -> list[str]:
    """Find the arrays that reductions add to in another way than the source's."""
    return [array for _, array in _entries(program)]


def _entries(program: Check) -> Iterator[tuple[Check, str]]:
    """Return what became of each such reduction, with the array."""
    yield from ((entry, entry["array"]) for entry in program.get("privatised", ()))
    for entry in program.get("backwards", ()):
        yield entry, program["statements"][steps_of(entry)[0][0]]["reduction"]["array"]


def _keys(side: Check, statement: str, kept: list[int] | range, name: str, context: isl.Set) -> isl.UnionMap:
    """Map instances to the result that they are for, `{ S[i, j] -> result[i] }`."""
    domain = isl.Set(side["statements"][statement]["domain"]).intersect_params(context)
    instances = domain.identity()
    for k in reversed(range(domain.dim(isl.dim_type.set))):
        if k not in kept:
            instances = instances.project_out(isl.dim_type.out, k, 1)
    return isl.UnionMap.from_map(instances.set_tuple_name(isl.dim_type.out, f"{name} results"))


def settled(source: Check, found: list[Result]) -> Check:
    """Return the source, with reductions that write back what they read where they do not change it."""
    parts = {part: r.root for r in found for part in r.parts}
    statements = dict(source["statements"])
    for name, root in parts.items():
        own = [
            {**a, "kind": "write"} if (a["array"], a["kind"]) == (root, "may-write") else a
            for a in statements[name]["accesses"]
        ]
        statements[name] = {**statements[name], "accesses": own}
    return {**source, "statements": statements}


def condensed(flow: isl.UnionMap, results: isl.UnionMap) -> isl.UnionMap:
    """Return the flow between results and others; what goes on inside a result is left out."""
    rest = flow.domain().union(flow.range()).subtract(results.domain())
    names = results.union(rest.identity())
    return flow.apply_domain(names).apply_range(names).subtract(results.range().identity())


def wrong_results(
    source: Check, program: Check, visible: list[str], found: list[Result], context: isl.Set
) -> Iterator[str]:
    """Yield what is wrong with partial results, a line each."""
    for r in found:
        where = f"the results of {' and '.join(r.parts)} in {r.entry.get('partial', r.array)}"
        theirs, ours = (
            seen(side, array, r.root, array in visible).intersect_params(context)
            for side, array in ((source, r.root), (program, r.array))
        )
        alone = all(_one_element(source, part, r.root) for part in r.parts)
        if not alone or not _is_chain(theirs, r.source):
            yield f"{where}: the source's values are no uninterrupted chain for each result"
        if not all(_one_element(program, s, r.array) for s in r.last) or not _is_chain(ours, r.program):
            yield f"{where}: {' and '.join(r.last)} is no uninterrupted chain for each result"
        if not all(_arrive(program, r.entry, *step, context) for step in _steps(r.entry)):
            yield f"{where}: not every value goes to its result, once"


def _one_element(side: Check, statement: str, array: str) -> bool:
    own = {**side, "statements": {statement: side["statements"][statement]}}
    reads, writes, others = (accesses(own, array, kind) for kind in ("read", "write", "may-write"))
    return bool(reads.is_equal(writes) and reads.is_single_valued() and others.is_empty() and not reads.is_empty())


def _is_chain(flow: isl.UnionMap, results: isl.UnionMap) -> bool:
    """Return whether the instances of each result pass one value on, from the first to the last."""
    members = results.domain()
    received, sent = flow.intersect_range(members), flow.intersect_domain(members)
    inside = sent.intersect_range(members)
    firsts, lasts = members.subtract(inside.range()), members.subtract(inside.domain())
    return bool(
        inside.is_subset(results.apply_range(results.reverse()))
        and received.reverse().is_single_valued()
        and inside.is_single_valued()
        and results.intersect_domain(firsts).is_injective()
        and sent.subtract(inside).domain().is_subset(lasts)
    )


def _steps(entry: Check) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """Yield the arrays of partial results: the statement whose values they hold, and all that write and read them."""
    if "partial" not in entry:
        return
    update, combine, finish = entry["update"], entry["combine"], entry["finish"]
    yield entry["partial"], update, [entry["initial"], update], [update, combine or finish]
    if combine and finish:
        yield entry["middle"], combine, [combine], [finish]
    if given := entry.get("gathering"):
        yield given["partial"], finish, [given["initial"], finish], [finish, given["total"]]


def _arrive(
    program: Check, entry: Check, array: str, sender: str, writers: list[str], readers: list[str], context: isl.Set
) -> bool:
    """Return whether each value of `sender` has one reader, for the same result, and what is read was written."""
    users = {(n, a["kind"]) for n, s in program["statements"].items() for a in s["accesses"] if a["array"] == array}
    if users != {(n, "write") for n in writers} | {(n, "read") for n in readers}:
        return False
    group = entry["group"]
    folds = [name for name in (entry["combine"], (entry.get("gathering") or {}).get("total")) if name]
    keys = {entry["update"]: group, **{n: range(len(group)) for n in (*folds, entry["finish"])}}
    key = union([_keys(program, n, kept, "", context) for n, kept in keys.items() if n], isl.UnionMap)
    flow = seen(program, array, array, False).intersect_params(context)
    values = isl.UnionSet(program["statements"][sender]["domain"]).intersect_params(context)
    onward, taken = flow.intersect_domain(values), flow
    for name in (n for n in folds if n in readers):  # which takes many values
        taken = taken.subtract_range(isl.UnionSet(program["statements"][name]["domain"]))
    return bool(
        f"{BEFORE}{array}" not in {m.get_tuple_name(isl.dim_type.in_) for m in maps(flow)}
        and values.is_subset(onward.domain())
        and onward.is_single_valued()
        and taken.reverse().is_single_valued()
        and onward.is_subset(key.apply_range(key.reverse()))
    )
