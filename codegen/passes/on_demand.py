"""Passes of some strategies, each imported with the first plan that asks for it: they are a third of all."""

from __future__ import annotations

from polytile.codegen.passes.plan import Context, LoweredPlan
from polytile.ir.kernel import Kernel


def scalar_replacement(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Elements that a loop updates again and again stay in registers until it ends."""
    from polytile.codegen.passes import tile_scalar_replacement

    return tile_scalar_replacement.scalar_replacement(kernel, plan, context)


def place_arrays(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Arrays that live inside the kernel have the cells that are planned, and no more."""
    from polytile.codegen.passes import place_arrays

    return place_arrays.place_arrays(kernel, plan, context)


def loop_carry(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Values that the next iteration of a loop reads back from memory stay in registers."""
    from polytile.codegen.passes import loop_carry

    return loop_carry.loop_carry(kernel, plan, context)


def unroll_loads_first(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Loops whose loads come first run in batches: the loads of several iterations, then what these do."""
    from polytile.codegen.passes import unroll_loads_first

    return unroll_loads_first.unroll_loads_first(kernel, plan, context)


def early_loads(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Elements that a thread updates after a reduction of threads are loaded at the start of the kernel."""
    from polytile.codegen.passes import early_loads

    return early_loads.early_loads(kernel, plan, context)


def cache_hints(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """What nobody reads again is loaded so that it leaves the cache first."""
    from polytile.codegen.passes import cache_hints

    return cache_hints.cache_hints(kernel, plan, context)


def forward_shared(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """What threads of a block forward to one another goes through copies in shared memory."""
    from polytile.codegen.passes import shared_forwarding

    return shared_forwarding.forward_shared(kernel, plan, context)


def launch_bounds(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """A thread may have the registers that its loads under way need: so many blocks run on a multiprocessor."""
    from polytile.codegen.passes import launch_bounds

    return launch_bounds.launch_bounds(kernel, plan, context)


def register_limit(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """A thread may have so many registers at most as were asked for, in place of other bounds."""
    from polytile.codegen.passes import launch_bounds

    return launch_bounds.register_limit(kernel, plan, context)


def wide_copies(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Tiles without guards are filled by vectors, where these are aligned."""
    from polytile.codegen.passes import wide_copies

    return wide_copies.wide_copies(kernel, plan, context)


def reassociate_sums(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Sums of large bodies share their parts and take few registers, in another order of additions."""
    from polytile.codegen.passes import reassociate_sums

    return reassociate_sums.reassociate_sums(kernel, plan, context)


def order_statements(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Large bodies without branches are put in an order that takes few registers."""
    from polytile.codegen.passes import order_statements

    return order_statements.order_statements(kernel, plan, context)
