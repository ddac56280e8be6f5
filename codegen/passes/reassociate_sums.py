"""Large sums in another order, with constants multiplied out and parts that several sums share [Rawat et al., SC 2018].

before: b[i] = 0.5 * (a[i-1] + a[i+1]) + a[i]; b[i+1] = 0.5 * (a[i] + a[i+2]) + a[i+1];
after:  x = 0.5 * a[i-1]; x = x + a[i]; y = 0.5 * a[i]; x = x + 0.5 * a[i+1]; b[i] = x; ..

A box of 125 elements whose weights repeat takes 64 operations a point in place of 124 where a thread has four points,
and 20 registers for values in place of 42. Only where additions may come in another order; each block is compared with
what it was before by the normal forms of its sums.
"""

from __future__ import annotations

from dataclasses import replace

from polytile.codegen.ordering.build_graph import NotStraightError, build_graph
from polytile.codegen.ordering.emit import emit
from polytile.codegen.ordering.normal_forms import same_sums
from polytile.codegen.ordering.reassociation import best_reassociation, score
from polytile.codegen.ordering.value_graph import is_order
from polytile.codegen.passes.basic_blocks import Body, each_block, is_large, is_small
from polytile.codegen.passes.plan import DISTRIBUTE, SHARE, Context, LoweredPlan
from polytile.diagnostics import InternalError
from polytile.ir.expr import Declare
from polytile.ir.expr_trees import statements
from polytile.ir.kernel import Kernel
from polytile.recursion_limit import deep_recursion

CLEARLY = 0.9  # of the score that a block had


def reassociate_sums(kernel: Kernel, _: LoweredPlan, context: Context) -> Kernel:
    """Reorder sums of large bodies so that they share their parts and take few registers."""

    def changed(run: Body, behind: Body) -> Body:
        key = (kernel.name, run, behind)
        found: Body | None = context.remembered.get(key)
        if found is None:
            found = context.remembered[key] = _changed(kernel, run, behind, context)
        context.names.taken.update(stmt.name for stmt in statements(*found) if isinstance(stmt, Declare))
        return found

    with deep_recursion():
        return replace(kernel, body=each_block(kernel.body, changed))


def _changed(kernel: Kernel, run: Body, behind: Body, context: Context) -> Body:
    """Change the sums of one block; leave it as it is where the new ones are not clearly better."""
    if is_small(run):
        return run
    try:
        block = build_graph(kernel, run, behind)
    except NotStraightError:
        return run
    if not is_large(block.graph):
        return run
    few = context.machine.tuning.points.values
    left_out = context.without
    best = best_reassociation(
        block.graph, few, distribute=DISTRIBUTE not in left_out, sharing=SHARE not in left_out
    )
    if best is None or best.score(few) > CLEARLY * score(block.graph, block.graph.order, few):
        return run
    ordered = is_order(best.graph, best.sequence)
    made = (*block.integers, *emit(best.graph, best.sequence, context.names)) if ordered else ()
    if not same_sums(block.graph, build_graph(kernel, made).graph):
        raise InternalError(f"kernel {kernel.name}: a block with shared sums computes something else")
    return made
