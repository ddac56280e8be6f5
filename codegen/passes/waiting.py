"""Passes that no strategy asks for yet, as plans ask for them; tests build kernels and plans that do. Each is imported
with the first plan that asks for it."""

from __future__ import annotations

from polytile.codegen.passes.alignment import Alignment
from polytile.codegen.passes.plan import Context, LoweredPlan, Pass
from polytile.diagnostics import InternalError
from polytile.ir.expr import For
from polytile.ir.kernel import Kernel


def unroll_and_rotate(kernel: Kernel, _: LoweredPlan, __: Context) -> Kernel:
    """Replace loops that are to be unrolled by their iterations, and rotating registers by other names."""
    from polytile.codegen.passes.unroll import unroll

    return unroll(kernel)


def simplify_conditions(kernel: Kernel, _: LoweredPlan, __: Context) -> Kernel:
    """Fold guards, extremes, quotients and remainders that ranges decide."""
    from polytile.codegen.passes.simplify import simplify

    return simplify(kernel)


def partition_tiles(kernel: Kernel, plan: LoweredPlan, _: Context) -> Kernel:
    """Run full tiles without guards, partial ones with them."""
    from polytile.codegen.passes.partition_tiles import separate, separate_parts

    if plan.tiled:
        return separate_parts(kernel, plan.partitioned)
    if not plan.partitioned:
        return separate(kernel)
    for label in plan.partitioned:
        kernel = separate(kernel, iterator_of(kernel, label))
    return kernel


def software_pipeline(kernel: Kernel, plan: LoweredPlan, _: Context) -> Kernel:
    """Copy tiles to shared memory some iterations before they are used."""
    from polytile.codegen.passes.software_pipeline import pipeline

    for label, stages in plan.stages.items():
        kernel = pipeline(kernel, iterator_of(kernel, label), stages)
    return kernel


def place_barriers(kernel: Kernel, _: LoweredPlan, __: Context) -> Kernel:
    """Insert barriers where threads of a block use each other's elements."""
    from polytile.codegen.passes.insert_barriers import insert_barriers

    return insert_barriers(kernel)


def strength_reduction(kernel: Kernel, _: LoweredPlan, __: Context) -> Kernel:
    """Address elements in loops by running pointers."""
    from polytile.codegen.passes.strength_reduction import point

    return point(kernel)


def vectorise_neighbours(kernel: Kernel, plan: LoweredPlan, _: Context) -> Kernel:
    """Load and store neighbouring elements in one access, where these are known to be aligned."""
    from polytile.codegen.passes.vectorise import vectorise

    return vectorise(kernel, plan.alignment or Alignment())


def common_subexpressions(kernel: Kernel, _: LoweredPlan, __: Context) -> Kernel:
    """Name index arithmetic that several accesses share."""
    from polytile.codegen.passes.common_subexpressions import hoist

    return hoist(kernel)


def index_width(kernel: Kernel, _: LoweredPlan, __: Context) -> Kernel:
    """Compute products of indices in 64 bits where ranges do not exclude that they need them."""
    from polytile.codegen.passes.index_width import widen

    return widen(kernel)


def remove_redundant_barriers(kernel: Kernel, _: LoweredPlan, __: Context) -> Kernel:
    """Leave out barriers that nothing happens before."""
    from polytile.codegen.passes.insert_barriers import remove_barriers

    return remove_barriers(kernel)


def iterator_of(kernel: Kernel, label: str) -> str:
    """Return the iterator of the loops of a label.

    Raises InternalError where there is no such loop, or they have several iterators.
    """
    found = {n.iterator for n in kernel.nodes if isinstance(n, For) and n.label == label}
    if len(found) != 1:
        raise InternalError(f"kernel {kernel.name} has no loop {label} with one iterator")
    return found.pop()


def _partitions(plan: LoweredPlan) -> bool:
    """Return whether the plan asks for full tiles apart from partial ones.

    Of a kernel without such loops, all that follows its first declarations is.
    """
    return "partition-tiles" in plan.requested or plan.tiled or bool(plan.partitioned)


UP_TO_PARTITIONS: tuple[Pass, ...] = (
    Pass("unroll-and-rotate", lambda plan: "unroll-and-rotate" in plan.requested, unroll_and_rotate),
    Pass("simplify", lambda plan: "simplify" in plan.requested, simplify_conditions),
    Pass("partition-tiles", _partitions, partition_tiles),
)
BEHIND_PARTITIONS: tuple[Pass, ...] = (
    Pass("software-pipeline", lambda plan: bool(plan.stages), software_pipeline),
    Pass("insert-barriers", lambda plan: "insert-barriers" in plan.requested, place_barriers),
    Pass("strength-reduction", lambda plan: "strength-reduction" in plan.requested, strength_reduction),
    Pass("vectorise", lambda plan: plan.alignment is not None, vectorise_neighbours),
    Pass("common-subexpressions", lambda plan: "common-subexpressions" in plan.requested, common_subexpressions),
    Pass("index-width", lambda plan: "index-width" in plan.requested, index_width),
    Pass("remove-barriers", lambda plan: "remove-barriers" in plan.requested, remove_redundant_barriers),
)
PASSES = (*UP_TO_PARTITIONS, *BEHIND_PARTITIONS)
