"""Programs of ranks: the instances, accesses and order of the source, on a rank's own arrays, in a box of positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce

import islpy as isl

from polytile.check.rank_messages import along, elements
from polytile.check.relations import IN, OUT, Check, maps
from polytile.ir.name_supply import coordinates, fresh

SET, PARAM = isl.dim_type.set, isl.dim_type.param
Pairs = Callable[[str], tuple[isl.UnionMap, isl.UnionMap]]  # flow, and anti and output dependences, of an array


def program_problems(claim: Check, pairs: Pairs) -> Iterator[str]:
    """Yield where what phases run, or many steps at once, is not the source's in any box, a line each."""
    if len(claim["phases"]) != len(claim["programs"]):
        yield "not each phase has a program"
    for number, (phase, made) in enumerate(zip(claim["phases"], claim["programs"], strict=False)):
        if sorted(phase["statements"]) != sorted(made["statements"]):
            yield f"the program of phase {number} has other statements"
        else:
            yield from _differences(claim, made, f"phase {number}", pairs)
    if (made := claim["many_steps"]) is not None:
        if sorted(claim["program"]["statements"]) != sorted(made["statements"]):
            yield "the program of many steps has other statements"
            return
        yield from _differences(claim, made, "many steps", pairs)
        yield from _beyond_many_steps(claim, isl.Set(made["box"]))


def _differences(claim: Check, made: Check, what: str, pairs: Pairs) -> Iterator[str]:
    context = isl.Set(made["context"])
    asked = _asked_for(claim, made)
    if not asked.is_subset(_with_any_extents(context, asked)):
        yield f"{what} is not for all sizes, boxes and steps that ranks have"
    taken = {name: _of_source(claim, made, name) for name in made["statements"]}
    for name, runs in taken.items():
        statement, source = made["statements"][name], claim["program"]["statements"][name]
        found = isl.Set(statement["domain"]).intersect_params(context)
        wanted = _in_box(claim, made, name).apply(runs.reverse()).intersect_params(context)
        if not found.is_equal(wanted):
            yield f"{what} runs other instances of {name}"
        if len(statement["accesses"]) != len(source["accesses"]):
            yield f"{what} has other accesses in {name}"
            continue
        for mine, theirs in zip(statement["accesses"], source["accesses"], strict=True):
            relation = isl.Map(mine["relation"]).intersect_domain(found)
            moved = relation.apply_domain(runs).apply_range(_of_whole(claim, made, relation))
            there = isl.Map(theirs["relation"]).intersect_domain(found.apply(runs))
            if (mine["array"], mine["kind"]) != (theirs["array"], theirs["kind"]) or not moved.is_equal(there):
                yield f"{what} accesses other elements of {theirs['array']} in {name}"
    yield from _disorder(claim, made, taken, what, pairs)


def _asked_for(claim: Check, made: Check) -> isl.Set:
    """Return the parameters for which a program has to run: all sizes, boxes from 0 on, and steps of the source."""
    found = isl.Set(claim["context"])
    for box in made["boxes"]:
        first, end, offset = box["first"], box["end"], box["offset"]
        parts = f"0 <= {first} and {first} <= {end} and 0 <= {offset}"
        found = found.intersect(isl.Set(f"[{first}, {end}, {offset}] -> {{ : {parts} }}"))
    if step := made["step"]:
        count, t = made["count"], fresh("t", [step, made["count"] or ""])
        domains = (isl.Set(claim["program"]["statements"][name]["domain"]) for name in made["statements"])
        times = [d.project_out(SET, 1, d.dim(SET) - 1).reset_tuple_id() for d in domains]
        steps = [f"[{step}] -> {{ [{t}] : {t} = {step} }}"]
        if count:
            known = f"[{step}, {count}] -> {{ [{t}] : {count} > 0 and {t} ="
            steps = [f"{known} {step} }}", f"{known} {step} + {count} - 1 }}"]
        for there in map(isl.Set, steps):
            found = found.intersect(reduce(isl.Set.union, (time.intersect(there).params() for time in times)))
    return found


def _with_any_extents(context: isl.Set, asked: isl.Set) -> isl.Set:
    """Return the context for some value of each parameter that is not asked for: extents of a rank's arrays."""
    known = asked.get_var_dict(PARAM)
    for name in [name for name in context.get_var_dict(PARAM) if name not in known]:
        context = context.project_out(PARAM, context.find_dim_by_name(PARAM, name), 1)
    return context


def _of_source(claim: Check, made: Check, name: str) -> isl.Map:
    """Map instances of a rank's to the source's: those of one step, which is a parameter, or those of several."""
    shift = isl.Map(made["shifts"][name])
    own = isl.Set(made["statements"][name]["domain"]).dim(SET)
    if own == shift.dim(IN):
        return shift
    counted = ", ".join(coordinates("x", own, [made["step"]]))
    with_step = f"{made['step']}, {counted}" if own else made["step"]
    return isl.Map(f"[{made['step']}] -> {{ {name}[{counted}] -> {name}[{with_step}] }}").apply_range(shift)


def _in_box(claim: Check, made: Check, name: str) -> isl.Set:
    """Return the source's instances at positions first + offset .. end + offset - 1 in the steps of a program."""
    domain = isl.Set(claim["program"]["statements"][name]["domain"])
    if step := made["step"]:
        names = [step, made["count"]] if made["count"] else [step]
        own = coordinates("x", domain.dim(SET), names)
        when = f"{step} <= {own[0]} < {step} + {made['count']}" if made["count"] else f"{own[0]} = {step}"
        domain = domain.intersect(isl.Set(f"[{', '.join(names)}] -> {{ {name}[{', '.join(own)}] : {when} }}"))
    for position, box in zip(claim["positions"][name], made["boxes"], strict=True):
        if position is not None:
            p = fresh("p", box.values())
            within = f"{box['first']} + {box['offset']} <= {p} < {box['end']} + {box['offset']}"
            inside = isl.Set(f"[{', '.join(box.values())}] -> {{ [{p}] : {within} }}")
            domain = domain.intersect(isl.Map(position).intersect_range(inside).domain())
    return domain


def _of_whole(claim: Check, made: Check, relation: isl.Map) -> isl.Map:
    """Map elements of a rank's array to those of the whole one."""
    array = str(relation.get_tuple_name(OUT))
    offsets = {d: made["boxes"][a]["offset"] for d, a in enumerate(claim["arrays"][array]["axes"]) if a is not None}
    known = offsets.values()
    own = coordinates("e", relation.dim(OUT), known)
    whole = [f"{e} + {offsets[d]}" if d in offsets else e for d, e in enumerate(own)]
    return isl.Map(f"[{', '.join(known)}] -> {{ {array}[{', '.join(own)}] -> {array}[{', '.join(whole)}] }}")


def _disorder(
    claim: Check, made: Check, taken: dict[str, isl.Map], what: str, pairs: Pairs
) -> Iterator[str]:
    """Yield arrays through which instances depend on each other that a program has in another order."""
    context, order = isl.Set(made["context"]), isl.Schedule(made["order"])
    times = order.get_map()
    domains = {name: isl.Set(s["domain"]).intersect_params(context) for name, s in made["statements"].items()}
    for name, domain in domains.items():
        if not isl.UnionSet.from_set(domain).is_subset(order.get_domain()):
            yield f"{what} has no order for some instances of {name}"
    ordered = times.lex_lt_union_map(times)
    for array in claim["program"]["arrays"]:
        flow, others = pairs(array)
        for relation in maps(flow.union(others)):
            first, then = (str(relation.get_tuple_name(kind)) for kind in (IN, OUT))
            if first in taken and then in taken:
                here = taken[first].apply_range(relation).apply_range(taken[then].reverse())
                here = here.intersect_domain(domains[first]).intersect_range(domains[then])
                if not isl.UnionMap.from_map(here).is_subset(ordered):
                    yield f"{what} runs {first} and {then} in another order than {array} needs"


def _beyond_many_steps(claim: Check, box: isl.Set) -> Iterator[str]:
    """Yield where many steps at once leave out a box of a phase, or access what is not stored. What else they compute
    is not right, and no instance of a phase reads it."""
    stored = isl.Set(claim["stored"])
    for number, phase in enumerate(claim["phases"]):
        if not all(isl.Set(one).is_subset(box) for one in phase["boxes"]):
            yield f"many steps leave out positions of phase {number}"
    for name, statement in claim["program"]["statements"].items():
        domain = isl.Set(statement["domain"]).intersect_params(isl.Set(claim["context"]))
        domain = domain.intersect(at_positions(claim, name, box))
        yield from not_stored(claim, name, domain, stored)


def at_positions(claim: Check, name: str, box: isl.Set) -> isl.Set:
    """Return the instances of a statement at positions of a box; along axes where it has none they are all."""
    domain = isl.Set(claim["program"]["statements"][name]["domain"])
    for axis, position in enumerate(claim["positions"][name]):
        if position is not None:
            domain = domain.intersect(isl.Map(position).intersect_range(along(box, axis)).domain())
    return domain


def not_stored(claim: Check, name: str, runs: isl.Set, stored: isl.Set) -> Iterator[str]:
    """Yield accesses of instances to elements that a rank has no memory for."""
    for access in claim["program"]["statements"][name]["accesses"]:
        used = isl.Map(access["relation"]).intersect_domain(runs).range()
        if access["kind"] != "kill" and not used.is_subset(elements(claim, access["array"], used.dim(SET), stored)):
            yield f"{name} accesses elements of {access['array']} that the rank does not store"
