"""The proof that threads that combine their partial results compute what one instance did that read them all.

Given a Scop with combinations and the executions in its place, whoever made them, it is shown that

- every instance is a part of one of the Scop's, all parts together have its accesses, and the flow of values between
  parts is, seen from the whole, the Scop's;
- the lanes that combine are all there: neighbouring threads of one block, in segments that begin where their width
  divides the number of the thread, at the same step of the tree, each with an element of its own;
- what the first lanes of segments forward arrives, each value once, at the same combination.

A shuffle among all threads of a segment then combines exactly the elements that the instance combined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import islpy as isl

from polytile.ir.evaluate import evaluate
from polytile.ir.expr import Access, Binary, Declare, Expr, If, Literal, Name
from polytile.ir.expr import Scope as Braces
from polytile.ir.expr_trees import walk
from polytile.ir.gpu_ops import Shuffle, WarpReduce
from polytile.ir.isl_util import band_members, maps, mark_name, transform_node
from polytile.ir.kernel import Comment
from polytile.ir.schedule import KERNEL, MappedSchedule, nodes, nodes_below, thread_sizes
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.ir.thread_map import thread_map
from polytile.ir.warp_reductions import WarpReduction, lane_operator
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.executions import Executions
from polytile.scheduling.analysis.instance_map import places

_SET = isl.dim_type.set
_KINDS = (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE, AccessKind.KILL)


def wrong_executions(scop: Scop, dependences: Dependences, run: Executions) -> Iterator[str]:
    """Yield what does not hold of `run` as a realisation of `scop`, a line each."""
    context = scop.context
    parts = run.instances.intersect_params(context)
    whole = parts.domain().is_equal(run.scop.domain.intersect_params(context))
    if not whole or not parts.is_single_valued() or not parts.range().is_equal(scop.domain.intersect_params(context)):
        yield "the threads that combine do not run the parts of each instance"
    own = [a.name for a in scop.arrays]
    for array in own:
        yield from _other_values(scop, dependences, run, parts, array)
    for array in (a.name for a in run.scop.arrays if a.name not in own):
        yield from _not_forwarded(run, parts, array)
    for reduction in run.warp_reductions:
        yield from _wrong_reduction(run, parts, reduction)
    for statement in run.scop.statements:
        if not _does_as_claimed(scop, run, parts, statement):
            yield f"{statement.name} does not combine what its lanes have"


def _other_values(
    scop: Scop, dependences: Dependences, run: Executions, parts: isl.UnionMap, array: str
) -> Iterator[str]:
    only, context = frozenset((array,)), scop.context
    for kind in _KINDS:
        wanted, given = (s.accesses(kind, arrays=only).intersect_params(context) for s in (scop, run.scop))
        if not given.apply_domain(parts).is_equal(wanted):
            yield f"the threads that combine do not make the accesses to {array}"
    before, after = dependences.of(array), run.dependences.of(array)
    flow = after.flow.intersect_params(context).detect_equalities()  # see reductions.py
    flow = flow.apply_domain(parts).apply_range(parts).detect_equalities()
    unset = after.uninitialised.intersect_params(context).apply_domain(parts)
    if not flow.is_equal(before.flow.intersect_params(context).detect_equalities()):
        yield f"the threads that combine get other values of {array}"
    if not unset.is_equal(before.uninitialised.intersect_params(context)):
        yield f"the threads that combine get earlier values of {array}"


def _not_forwarded(run: Executions, parts: isl.UnionMap, array: str) -> Iterator[str]:
    only, found = frozenset((array,)), run.dependences.of(array)
    reads, writes = (run.scop.accesses(k, arrays=only) for k in (AccessKind.READ, AccessKind.WRITE))
    reads, writes = (a.intersect_domain(parts.domain()) for a in (reads, writes))
    stays = parts.apply_range(parts.reverse())
    arrives = parts.reverse().apply_range(writes).is_equal(parts.reverse().apply_range(reads))
    once = writes.is_single_valued() and writes.is_injective()
    flow, unset = (r.intersect_domain(parts.domain()) for r in (found.flow, found.uninitialised))
    if not (arrives and once and flow.is_subset(stays) and unset.is_empty()):
        yield f"what threads forward through {array} does not arrive, each value once, at the same combination"


def _wrong_reduction(run: Executions, parts: isl.UnionMap, reduction: WarpReduction) -> Iterator[str]:
    statement = run.scop.statement(reduction.statement)
    part = next(m for m in maps(parts) if m.get_tuple_name(isl.dim_type.in_) == statement.name)
    domain = part.domain()
    if not _filled(domain, reduction.sizes).is_equal(domain):
        yield f"some lanes of {statement.name} are missing"
    leaders = domain.intersect(_leaders(domain, reduction))
    for access in statement.accesses:
        relation = access.relation.intersect_domain(domain)
        if access.array != reduction.array:
            own = relation.domain()
            if not own.is_subset(leaders) or (access.writes and not leaders.is_subset(own)):
                yield f"other lanes of {statement.name} access {access.array} than those that have a result"
            continue
        each = relation.domain().is_equal(domain) and relation.is_single_valued()
        apart = part.range_product(relation).is_injective()
        if access.kind is not AccessKind.READ or not each or not apart:
            yield f"the lanes of {statement.name} do not read an element of {access.array} each"
    yield from _apart(run.schedule, part, reduction)


def _does_as_claimed(scop: Scop, run: Executions, parts: isl.UnionMap, statement: Statement) -> bool:
    """Return whether the body of a warp reduction is one combination of its segments, whose first threads use it.

    Other statements do not read values of other threads.
    """
    reduction = next((m for m in run.warp_reductions if m.statement == statement.name and m.width > 1), None)
    shuffles = [n for s in statement.body for n in walk(s) if isinstance(n, WarpReduce | Shuffle)]
    if reduction is None:
        return not shuffles
    whole = next(m for m in maps(parts) if m.get_tuple_name(isl.dim_type.in_) == statement.name)
    combine = scop.statement(whole.get_tuple_name(isl.dim_type.out)).combine
    lanes = statement.iterators[len(statement.iterators) - len(reduction.sizes) :]
    match statement.body:
        case (Braces(body=(Comment(), Declare(name=name, value=WarpReduce() as met), If() as used)),):
            part = met.value
            if not isinstance(part, Access):
                return False
            last = tuple(Name(lane) for lane in lanes)
            own = part.array == reduction.array and part.subscripts[-len(lanes) :] == last
            first = _is_of_leaders(used.condition, lanes, reduction) and not used.otherwise
            same = combine is not None and (met.op, name) == (lane_operator(combine), combine.value)
            return own and first and same and met.width == reduction.width and len(shuffles) == 1
    return False


def _is_of_leaders(condition: Expr, lanes: Sequence[str], reduction: WarpReduction) -> bool:
    """Return whether a condition holds for the first thread of each segment and for no other.

    Every thread is tested.
    """
    for node in walk(condition):
        if not isinstance(node, Binary | Literal) and not (isinstance(node, Name) and node.name in lanes):
            return False
    for place in product(*(range(size) for size in reduction.sizes)):
        number = sum(stride * k for stride, k in zip(reduction.strides, place, strict=True))
        if bool(evaluate(condition, dict(zip(lanes, place, strict=True)))) != (number % reduction.width == 0):
            return False
    return True


def _filled(domain: isl.Set, sizes: tuple[int, ...]) -> isl.Set:
    """Return the instances for all threads that combine, by `sizes`."""
    rank = domain.dim(_SET) - len(sizes)
    names = [f"d{k}" for k in range(domain.dim(_SET))]
    bounds = " and ".join(f"0 <= {name} < {size}" for name, size in zip(names[rank:], sizes, strict=True))
    box = isl.Set(f"{{ {domain.get_tuple_name()}[{', '.join(names)}] : {bounds} }}")
    every = isl.Map.identity(domain.get_space().map_from_set())
    for k in reversed(range(rank, domain.dim(_SET))):  # any lanes: the other iterators are equal
        every = every.drop_constraints_involving_dims(isl.dim_type.out, k, 1)
    return domain.apply(every).intersect(box)


def _leaders(domain: isl.Set, reduction: WarpReduction) -> isl.Set:
    """Return the first thread of each segment."""
    number = _number_text(domain, reduction)
    return isl.Set(f"{{ {_lane_text(domain, reduction)} : ({number}) mod {reduction.width} = 0 }}")


def _lane_text(domain: isl.Set, reduction: WarpReduction) -> str:
    return f"{domain.get_tuple_name()}[{', '.join(f'd{k}' for k in range(domain.dim(_SET)))}]"


def _number_text(domain: isl.Set, reduction: WarpReduction) -> str:
    """Format the number of a thread within its warp, over the iterators."""
    first = domain.dim(_SET) - len(reduction.sizes)
    return " + ".join(f"{stride} d{first + k}" for k, stride in enumerate(reduction.strides))


def _apart(schedule: MappedSchedule, part: isl.Map, reduction: WarpReduction) -> Iterator[str]:
    """Yield where the threads of an instance are not neighbours at one step of one block."""
    domain = part.domain()
    instances = isl.UnionSet.from_set(domain)
    mark = next(
        n for n in nodes(schedule.tree) if mark_name(n) == KERNEL and instances.is_subset(n.get_domain())
    )
    block = next(p.block for p in places(schedule) if instances.is_subset(p.domain))
    for where in (block, _step(schedule)):
        if not _same(part, isl.Map.from_union_map(where.intersect_domain(instances))):
            yield f"the lanes of {domain.get_tuple_name()} are not at one step of one block"
    if reduction.width == 1:
        return
    sizes = next(s for n in nodes_below(mark) if (s := thread_sizes(n)))
    threads = isl.UnionMap.from_multi_union_pw_aff(thread_map(mark)).intersect_domain(instances)
    dims = [f"t{k}" for k in range(len(sizes))]
    linear = " + ".join(f"{prod(sizes[k + 1 :])} {dim}" for k, dim in enumerate(dims))
    thread = isl.Map.from_union_map(threads).apply_range(isl.Map(f"{{ [{', '.join(dims)}] -> [{linear}] }}"))
    number = isl.Map(f"{{ {_lane_text(domain, reduction)} -> [{_number_text(domain, reduction)}] }}")
    base = thread.sum(number.neg().align_params(thread.get_space()))
    aligned = isl.Set(f"{{ [b] : b mod {reduction.width} = 0 }}")
    if not _same(part, base) or not base.range().is_subset(aligned):
        yield f"the lanes of {domain.get_tuple_name()} are not neighbours in segments of {reduction.width}"


def _same(part: isl.Map, value: isl.Map) -> bool:
    """Return whether a value is the same for all parts of each instance."""
    return bool(part.reverse().apply_range(value).is_single_valued())


def _step(schedule: MappedSchedule) -> isl.UnionMap:
    """Return the step at which each instance runs."""
    if "steps" not in schedule.remembered:
        schedule.remembered["steps"] = _steps(schedule.tree).get_map()
    found: isl.UnionMap = schedule.remembered["steps"]
    return found


def _steps(tree: isl.Schedule) -> isl.Schedule:
    """Return the tree without threads: it tells which of the points that one thread runs an instance is."""

    def visit(node: isl.ScheduleNode) -> isl.ScheduleNode:
        sizes = thread_sizes(node)
        if not sizes:
            return transform_node(node, visit)
        members = zip(band_members(node.child(0)), sizes, strict=True)
        quotients = [member.scale_down_val(isl.Val(size)).floor() for member, size in members]
        turns = isl.MultiUnionPwAff.from_union_pw_aff(quotients[0])
        for quotient in quotients[1:]:
            turns = turns.flat_range_product(isl.MultiUnionPwAff.from_union_pw_aff(quotient))
        return node.child(0).delete().insert_partial_schedule(turns).parent()

    return visit(tree.get_root()).get_schedule()
