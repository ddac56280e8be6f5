"""Large bodies in an order that takes few registers [Rawat et al., PPoPP 2018; SC 2018].

before: x = A[i] * w[0] + ..; y = B[i] * w[1] + ..; A[i] = x; B[i] = y        all that x reads, then all of y
after:  v0 = A[i] * w[0]; v1 = ..; A[i] = ..; v2 = B[i] * w[1]; ..             values near their uses

ptxas moves instructions, too, but spills where a body holds more values than there are registers. Operations keep their
operands, so results are the same bits; of several orders the one with the fewest live registers is taken, that of the
source among them. Each block is compared with what it was before.

A block of all points of a thread loads once what its points share, in whatever order; where registers have room for
all that it loads, that comes first:

before: v0 = A[i]; v1 = A[i + 1]; B[i] = v0 + v1; v2 = A[i + 2]; B[i + 1] = v1 + v2
after:  v0 = A[i]; v1 = A[i + 1]; v3 = v0 + v1; v2 = A[i + 2]; v4 = v1 + v2; B[i] = v3; B[i + 1] = v4

ptxas does the same for arrays that only constant pointers reach, but
loads no others ahead of stores, such as `A[t % 2]` and `A[(t + 1) % 2]`; and kernels that wait for those before them
(dependent_launch.py) have none of the former.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush

from polytile.codegen.ordering.address_registers import live_registers
from polytile.codegen.ordering.build_graph import Block, NotStraightError, build_graph
from polytile.codegen.ordering.value_graph import Kind, ValueGraph, is_order, max_live
from polytile.codegen.passes.basic_blocks import (
    AUTO_SHARE,
    LEAST_OPERATIONS,
    MOST_OPERATIONS,
    Body,
    each_block,
    is_small,
)
from polytile.codegen.passes.plan import Context, LoweredPlan
from polytile.diagnostics import InternalError
from polytile.ir.expr import Access, Assign
from polytile.ir.expr_trees import statements, walk
from polytile.ir.kernel import Kernel
from polytile.machine import MAX_THREAD_REGISTERS
from polytile.recursion_limit import deep_recursion

FIRST_LOADS = 64  # registers of the values that a block loads before it computes
CLEARLY = 0.9  # of the live registers of an order that is known
TREE, SWEEP, AUTO = "tree", "sweep", "auto"


def order_statements(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Order large bodies without branches so that they take few registers."""

    def ordered(run: Body, behind: Body) -> Body:
        return _ordered(kernel, run, behind, plan, context)

    with deep_recursion():
        return replace(kernel, body=each_block(kernel.body, ordered))


def _ordered(kernel: Kernel, run: Body, behind: Body, plan: LoweredPlan, context: Context) -> Body:
    """Put one block in the best order; leave it as it is where that is the source's."""
    if not plan.points and is_small(run):
        return run
    try:
        block = build_graph(kernel, run, behind)
    except NotStraightError:
        return run
    graph = block.graph
    shared = (plan.registers and _stores_again(run, graph)) or (plan.points and _loads_again(run, graph))
    if graph.operations > MOST_OPERATIONS or (graph.operations < LEAST_OPERATIONS and not (plan.points and shared)):
        return run
    few = AUTO_SHARE * (plan.registers or MAX_THREAD_REGISTERS)
    live = live_registers if plan.registers else max_live  # below a bound, ptxas has to hold addresses, too
    if plan.order == AUTO and not shared and live(graph, graph.order) <= few:
        return run
    sequence = graph.order
    if plan.order:
        key = (kernel.name, plan.order, run, behind)
        if key not in context.remembered:
            context.remembered[key] = best_order(graph, plan.order)
        sequence = context.remembered[key]
        if plan.bounded and plan.order != TREE and max_live(graph, sequence) > few:
            if (*key, SWEEP) not in context.remembered:
                context.remembered[*key, SWEEP] = with_fewer_by_parts(graph, sequence)
            sequence = context.remembered[*key, SWEEP]
    if shared and sequence == graph.order:
        sequence = loads_first(graph)
    if sequence == graph.order and not shared:
        return run
    return _in_order(kernel, block, sequence, context)


def _in_order(kernel: Kernel, block: Block, sequence: tuple[int, ...], context: Context) -> Body:
    """Put a block in another order; raises InternalError where it would compute something else."""
    from polytile.codegen.ordering.emit import emit
    from polytile.codegen.ordering.equivalence import equivalent

    graph = block.graph
    made = (*block.integers, *emit(graph, sequence, context.names)) if is_order(graph, sequence) else ()
    if not equivalent(graph, build_graph(kernel, made).graph):
        raise InternalError(f"kernel {kernel.name}: another order of a block computes something else")
    return made


def _loads_again(run: Body, graph: ValueGraph) -> bool:
    """Return whether statements read elements several times that the graph loads once.

    Those of neighbouring points do.
    """
    read = sum(isinstance(node, Access) for node in walk(*run)) - len(graph.stores)
    return read > sum(node.kind is Kind.LOAD for node in graph.nodes)


def loads_first(graph: ValueGraph) -> tuple[int, ...]:
    """Return an order with all loads ahead of all stores, and each operation once it has its operands.

    That of the source, where registers have no room for all that is loaded.
    """
    loads = [number for number in graph.order if graph.nodes[number].kind is Kind.LOAD]
    if sum(graph.nodes[number].width for number in loads) > FIRST_LOADS:
        return graph.order
    waiting = {n: set(graph.needs(n)) for n in graph.order if graph.nodes[n].kind is Kind.OPERATION}
    uses = graph.uses()
    found: list[int] = []
    ready = [number for number, needs in waiting.items() if not needs]  # a heap: those of the source come first
    for load in loads:
        done = load
        while True:
            found.append(done)
            for use in uses[done]:
                if use in waiting:
                    waiting[use].discard(done)
                    if not waiting[use]:
                        heappush(ready, use)
            if not ready:
                break
            done = heappop(ready)
            del waiting[done]
    order = (*found, *waiting, *graph.stores)
    return order if is_order(graph, order) else graph.order


def _stores_again(run: Body, graph: ValueGraph) -> bool:
    """Return whether statements store elements that others store again right after."""
    return sum(isinstance(s, Assign) and isinstance(s.target, Access) for s in statements(*run)) > len(graph.stores)


def best_order(graph: ValueGraph, wanted: str) -> tuple[int, ...]:
    """Return the sequence with the fewest live registers of those of a kind; the source's unless one has fewer."""
    from polytile.codegen.ordering.candidate_orders import candidate_orders  # only large bodies pay for it

    found = candidate_orders(graph, trees=wanted in (TREE, AUTO), sweeps=wanted in (SWEEP, AUTO))
    return min(((max_live(graph, graph.order), graph.order), *found), key=lambda one: one[0])[1]


def with_fewer_by_parts(graph: ValueGraph, sequence: tuple[int, ...]) -> tuple[int, ...]:
    """Return a sequence of which parts are swept, where it clearly has fewer live registers than the given one.

    ptxas makes more of some orders than of others, so that a few registers less say nothing.
    """
    from polytile.codegen.ordering.candidate_orders import swept_by_parts

    found = swept_by_parts(graph)
    return found if max_live(graph, found) < CLEARLY * max_live(graph, sequence) else sequence
