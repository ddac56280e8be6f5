"""What runs in place of a program: instances whose parts threads combine, by shuffles or handing over.

A certificate says which instance of the program each of those that run is a part of, and where lanes meet: the last
iterators of a statement, of given sizes, numbered with given strides, combine what each reads of one array, in segments
of so many lanes; the first lane of a segment has the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import islpy as isl

from polytile.check.relations import IN, Check, accesses, equal, maps, union, value_flow
from polytile.check.tree import NODE, THREADS, blocks, kernels, mark, nodes, thread_of

KINDS = ("read", "write", "may-write", "kill")


def run_problems(program: Check, run: Check, tree: isl.Schedule, context: isl.Set) -> Iterator[str]:
    """Yield where those that run are not the program, a line each."""
    parts = isl.UnionMap(run["parts"]).intersect_params(context)
    domains = [
        union([s["domain"] for s in side["statements"].values()], isl.UnionSet).intersect_params(context)
        for side in (run, program)
    ]
    exact = parts.is_single_valued() and parts.domain().is_equal(domains[0]) and parts.range().is_equal(domains[1])
    if not exact:
        yield "the instances that run are not parts of the program's"
    for array in run["arrays"]:
        if array in program["arrays"]:
            yield from _changed(program, run, parts, array, context)
        elif not _is_forwarded(run, parts, array, context):
            yield f"what threads forward through {array} does not arrive at the same instance"
    several = {m.get_tuple_name(IN) for m in maps(parts) if not m.is_injective()}
    for name in sorted(several - {meeting["statement"] for meeting in run["meetings"]}):
        yield f"several instances of {name} are a part of one, and do not meet"
    for meeting in run["meetings"]:
        yield from _meeting(run, parts, meeting, tree)


def _uses(side: Check, array: str, context: isl.Set) -> list[isl.UnionMap]:
    return [accesses(side, array, kind).intersect_params(context) for kind in KINDS]


def _changed(program: Check, run: Check, parts: isl.UnionMap, array: str, context: isl.Set) -> Iterator[str]:
    """Compare the accesses and values of all parts of instances with those of the whole."""
    before, after = _uses(program, array, context), _uses(run, array, context)
    if not all(mine.apply_domain(parts).is_equal(whole) for mine, whole in zip(after, before, strict=True)):
        yield f"the parts of instances access other elements of {array}"
    flow, mine = (value_flow(isl.Schedule(side["order"]), *u) for side, u in ((program, before), (run, after)))
    if not equal(mine.apply_domain(parts).apply_range(parts), flow, context):
        yield f"the parts of instances get other values of {array}"


def _is_forwarded(run: Check, parts: isl.UnionMap, array: str, context: isl.Set) -> bool:
    """Return whether each element is written once, and read by parts of the same instance and no others."""
    reads, writes, may, kills = _uses(run, array, context)
    whole = parts.reverse()
    flow = value_flow(isl.Schedule(run["order"]), reads, writes, may, kills)
    read = equal(whole.apply_range(reads), whole.apply_range(writes), context)
    sure = may.is_empty() and kills.is_empty() and reads.domain().is_subset(flow.range())
    return bool(read and sure and writes.is_injective() and flow.is_subset(parts.apply_range(whole)))


def _meeting(run: Check, parts: isl.UnionMap, meeting: Check, tree: isl.Schedule) -> Iterator[str]:
    name, width = meeting["statement"], meeting["width"]
    part = next(m for m in maps(parts) if m.get_tuple_name(IN) == name)
    lanes, whole = part.domain(), part.reverse()
    rank = lanes.dim(isl.dim_type.set)
    dims = [f"d{k}" for k in range(rank)]
    own = dims[rank - len(meeting["sizes"]) :]
    box = " and ".join(f"0 <= {d} < {size}" for d, size in zip(own, meeting["sizes"], strict=True))
    number = " + ".join(f"{stride} {d}" for stride, d in zip(meeting["strides"], own, strict=True))
    instance = f"{name}[{', '.join(dims)}]"
    numbers = isl.Map(f"{{ {instance} -> [{number}] : {box} }}")
    # As many lanes as there are numbers: in each whole instance, every number from 0 on is there once.
    count = isl.Map(f"{{ {instance} -> [n] : 0 <= n < {prod(meeting['sizes'])} }}")
    here, wanted = (whole.apply_range(isl.Map.intersect_domain(m, lanes)) for m in (numbers, count))
    if not here.is_equal(wanted) or not part.range_product(numbers.intersect_domain(lanes)).is_injective():
        yield f"lanes of {name} are missing"
    firsts = isl.Set(f"{{ {instance} : ({number}) mod {width} = 0 }}")
    for access in run["statements"][name]["accesses"]:
        relation = isl.Map(access["relation"]).intersect_domain(lanes)
        if access["array"] != meeting["array"]:
            alike = access["kind"] == "read" or firsts.intersect(lanes).is_subset(relation.domain())
            if not relation.domain().is_subset(firsts) or not alike:
                yield f"lanes of {name} without a result access {access['array']}"
        elif access["kind"] != "read" or not _one_each(part, relation):
            yield f"the lanes of {name} do not each have an element of {meeting['array']}"
    yield from _place(part, numbers, width, tree)


def _one_each(part: isl.Map, relation: isl.Map) -> bool:
    every = relation.domain().is_equal(part.domain())
    return bool(every and relation.is_single_valued() and part.range_product(relation).is_injective())


def _place(part: isl.Map, numbers: isl.Map, width: int, tree: isl.Schedule) -> Iterator[str]:
    """Check that all threads of an instance are neighbours in one block, and that nothing of the tree but their threads
    differs."""
    name, lanes = part.get_tuple_name(IN), isl.UnionSet.from_set(part.domain())
    kernel = next(k for k in kernels(tree) if lanes.is_subset(k.get_domain()))
    whole = isl.UnionMap.from_map(part.reverse())
    times = [blocks(kernel).intersect_domain(lanes), _without_threads(tree).get_map().intersect_domain(lanes)]
    if not all(whole.apply_range(time).is_single_valued() for time in times):
        yield f"the lanes of {name} are not at one step of one block"
    sizes = next(_sizes(n) for n, _ in nodes(kernel, ()) if THREADS.fullmatch(mark(n)))
    index = " + ".join(f"{prod(sizes[k + 1 :])} t{k}" for k in range(len(sizes)))
    linear = isl.UnionMap(f"{{ [{', '.join(f't{k}' for k in range(len(sizes)))}] -> [{index}] }}")
    thread = isl.Map.from_union_map(thread_of(kernel).intersect_domain(lanes).apply_range(linear))
    first = thread.sum(numbers.neg().align_params(thread.get_space()))
    starts = isl.Set(f"{{ [t] : t mod {width} = 0 }}")
    one = part.reverse().apply_range(first).is_single_valued() and first.range().is_subset(starts)
    if width > 1 and not one:
        yield f"the lanes of {name} are not neighbours in segments of {width}"


def _sizes(node: isl.ScheduleNode) -> list[int]:
    found = THREADS.fullmatch(mark(node))
    return [int(s) for s in found[1].split(",")] if found else []


def _without_threads(tree: isl.Schedule) -> isl.Schedule:
    """Return the tree with the turns of each thread in place of the points that it runs."""

    def visit(node: isl.ScheduleNode) -> isl.ScheduleNode:
        sizes = _sizes(node) if node.get_type() == NODE.mark else []
        if not sizes:
            for k in range(node.n_children()):
                node = visit(node.child(k)).parent()
            return node
        band = node.child(0)
        points = isl.UnionMap.from_multi_union_pw_aff(band.band_get_partial_schedule())
        dims = [f"p{k}" for k in range(len(sizes))]
        turns = ", ".join(f"floor({d} / {size})" for d, size in zip(dims, sizes, strict=True))
        turned = points.apply_range(isl.UnionMap(f"{{ [{', '.join(dims)}] -> [{turns}] }}"))
        return band.delete().insert_partial_schedule(isl.MultiUnionPwAff.from_union_map(turned)).parent()

    return visit(tree.get_root()).get_schedule()
