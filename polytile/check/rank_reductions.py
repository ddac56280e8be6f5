"""Sums, minima and maxima over the positions of all ranks: that each term of the program is combined once.

In place of a statement `R: e[t] op= f(..)` of the source the program has one that writes terms, and a combining one
behind it, which brings what all ranks have found into e[t]:

- terms of a step are one to one with the instances of R in it, and there are none of other steps;
- each rank combines those at positions that it owns, in all axes, and no others;
- whatever else uses e comes in front of, or behind, all of R's instances of a step, and so of the combining one;
- the order does not count: integers, minima and maxima, or floating-point sums of parts that need no rounding;
- the rest of the program passes on the source's values (checker.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polytile.check.rank_messages import own_box
from polytile.check.relations import Check, accesses, maps

SET = isl.dim_type.set
ANY_ORDER = {("+", "int"), ("min", "int"), ("max", "int"), ("min", "float"), ("max", "float")}


def without_reductions(claim: Check) -> tuple[Check, Check]:
    """Return the source without the updates of reductions, and the program without what stands for them."""
    source, program = claim["source"], claim["program"]
    combining = {r["combining"] for r in claim["reductions"]}
    own = {name for r in claim["reductions"] for name in (r["terms"], r["result"])}
    updates = {r["statement"]: {r["target"]} for r in claim["reductions"]}
    left = dict(source["statements"])
    left |= {name: {**_without(left[name], gone), "reduction": None} for name, gone in updates.items()}
    kept = {name: _without(s, own) for name, s in program["statements"].items() if name not in combining}
    domain = isl.UnionSet("{ }")
    for statement in kept.values():
        domain = domain.union(isl.UnionSet(statement["domain"]))
    return (
        {**source, "statements": left},
        {
            **program,
            "statements": kept,
            "order": isl.Schedule(program["order"]).intersect_domain(domain).to_str(),
            "arrays": {name: root for name, root in program["arrays"].items() if name not in own},
        },
    )


def in_same_order(one: Check, other: Check) -> bool:
    """Return whether two sides have the same order of instances, be it told in other ways."""
    if one["order"] == other["order"]:
        return True
    return bool(_before(isl.Schedule(one["order"])).is_equal(_before(isl.Schedule(other["order"]))))


def _without(statement: Check, arrays: set[str]) -> Check:
    return {**statement, "accesses": [a for a in statement["accesses"] if a["array"] not in arrays]}


def reduction_problems(claim: Check) -> Iterator[str]:
    """Yield what is wrong with the global reductions of a plan for ranks, a line each."""
    phase = {name: k for k, one in enumerate(claim["phases"]) for name in one["statements"]}
    for one in claim["reductions"]:
        what = f"the reduction {one['statement']} into {one['target']}"
        users = _users(claim["program"], one["terms"])
        if [kind for _, kind in users] != ["write"] or _users(claim["program"], one["result"]) != [
            (one["combining"], "read")
        ]:
            yield f"{what}: its terms, or its result, have other uses"
            continue
        writer = users[0][0]
        if one["statement"] not in claim["source"]["statements"] or not _updates(claim, one):
            yield f"{what}: the program has no such update"
            continue
        if phase[writer] >= phase[one["combining"]]:
            yield f"{what} is combined in front of its terms"
        if not _one_to_one(claim, one, writer):
            yield f"{what}: terms of a step are not its instances"
        axes = claim["arrays"][one["terms"]]["axes"]
        if not isl.Set(one["box"]).is_equal(own_box(claim)) or not {*range(len(claim["bounds"]))} <= {*axes}:
            yield f"{what}: ranks combine terms of other ranks"
        if (one["op"], one["kind"]) not in ANY_ORDER and not (one["op"] == "+" and one["parts"] >= 2):
            yield f"{what}: the order of ranks counts"
        if not _in_order(claim, one, writer):
            yield f"{what}: something else uses {one['target']} between its instances"


def _users(side: Check, array: str) -> list[tuple[str, str]]:
    return [(name, a["kind"]) for name, s in side["statements"].items() for a in s["accesses"] if a["array"] == array]


def _updates(claim: Check, one: Check) -> bool:
    """Return whether the source's statement updates the element that the combining one does, by one operation."""
    source = claim["source"]["statements"][one["statement"]]
    combining = claim["program"]["statements"][one["combining"]]
    reduction = source["reduction"]
    if reduction is None or [reduction["op"], reduction["array"]] != [one["op"], one["target"]]:
        return False
    steps = _steps(claim, source, one["statement"]), _steps(claim, combining, one["combining"])
    context = isl.Set(claim["context"])
    each = []
    for statement, step in zip((source, combining), steps, strict=True):
        domain = isl.Set(statement["domain"]).intersect_params(context)
        own = [a for a in statement["accesses"] if a["array"] == one["target"]]
        if sorted(a["kind"].removeprefix("may-") for a in own) != ["read", "write"]:
            return False
        own.sort(key=lambda access: access["kind"] == "read")
        each.append([step.reverse().apply_range(isl.Map(a["relation"]).intersect_domain(domain)) for a in own])
    return all(mine.is_equal(theirs) for mine, theirs in zip(*each, strict=True))


def _steps(claim: Check, statement: Check, name: str) -> isl.Map:
    """Map instances to iterations of the time loop: `{ S[t, i] -> [t] }`, or to `[]` where there is none."""
    domain = isl.Set(statement["domain"]).intersect_params(isl.Set(claim["context"]))
    counted = [f"x{k}" for k in range(domain.dim(SET))]
    step = counted[0] if claim["timed"] else ""
    return isl.Map(f"{{ {name}[{', '.join(counted)}] -> [{step}] }}").intersect_domain(domain)


def _one_to_one(claim: Check, one: Check, writer: str) -> bool:
    statements, context = claim["program"]["statements"], isl.Set(claim["context"])
    terms = next(iter(maps(accesses(claim["program"], one["terms"], "write")))).intersect_params(context)
    steps = _steps(claim, statements[writer], writer)
    combining = _steps(claim, statements[one["combining"]], one["combining"])
    source = claim["source"]["statements"][one["statement"]]
    wanted = isl.Set(source["domain"]).set_tuple_name(writer).intersect_params(context)
    of_step = steps.reverse().apply_range(terms)
    every = isl.Map.from_domain_and_range(combining.range(), terms.range())
    return bool(
        steps.flat_range_product(terms).is_injective()
        and terms.is_single_valued()
        and terms.domain().is_equal(wanted)
        and combining.is_injective()
        and combining.range().is_equal(steps.range())
        and every.is_equal(of_step)
    )


def _in_order(claim: Check, one: Check, writer: str) -> bool:
    """Return whether instances come in the source's order with the combining statement in the reduction's place."""
    program, source = claim["program"], claim["source"]
    combining = _steps(claim, program["statements"][one["combining"]], one["combining"]).reverse()
    after = _before(isl.Schedule(program["order"]))
    if not isl.UnionMap.from_map(
        _steps(claim, program["statements"][writer], writer).apply_range(combining)
    ).is_subset(after):
        return False
    taken = isl.UnionMap.from_map(
        _steps(claim, source["statements"][one["statement"]], one["statement"]).apply_range(combining)
    )
    alike = {r["statement"] for r in claim["reductions"] if (r["op"], r["target"]) == (one["op"], one["target"])}
    own = _all_uses(source, one["target"], [one["statement"]])
    others = _all_uses(source, one["target"], [name for name in source["statements"] if name not in alike])
    pairs = own.apply_range(others.reverse())
    first = _before(isl.Schedule(source["order"]))
    behind, before = pairs.intersect(first), pairs.reverse().intersect(first)
    behind, before = taken.reverse().apply_range(behind), before.apply_range(taken)
    return bool(behind.is_subset(after) and before.is_subset(after))


def _all_uses(side: Check, array: str, names: Sequence[str]) -> isl.UnionMap:
    some = {**side, "statements": {name: side["statements"][name] for name in names}}
    found = isl.UnionMap("{ }")
    for kind in ("read", "write", "may-write"):
        found = found.union(accesses(some, array, kind))
    return found


def _before(order: isl.Schedule) -> isl.UnionMap:
    times = order.get_map()
    return times.lex_lt_union_map(times)
