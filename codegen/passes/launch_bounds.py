"""How many registers a thread of a kernel with batches may have, as its launch bounds say.

before: __global__ void k(...)                         ptxas saves registers, and so loads one element after another
after:  __global__ void __launch_bounds__(256, 2) k(...)                                              128 registers

Less is worth more where all that a batch loads fits: twice as many threads wait at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from polytile.codegen.passes.interleave_reductions import meets
from polytile.codegen.passes.iteration_loads import targets
from polytile.codegen.passes.plan import Context, LoweredPlan
from polytile.ir.expr import Access, Assign, Declare, For, If, Scope, Stmt
from polytile.ir.expr_trees import statements, walk
from polytile.ir.gpu_ops import Load, WarpReduce
from polytile.ir.kernel import Kernel
from polytile.tuning import RegisterTuning


def launch_bounds(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Bound the registers of a thread by what its loads under way need: so many blocks run at once."""
    if plan.min_blocks:
        return replace(kernel, min_blocks=plan.min_blocks)
    if not kernel.wanted_registers:
        return kernel
    machine = context.machine
    fitting = machine.registers_per_sm // (kernel.wanted_registers * prod(kernel.block))
    return replace(kernel, min_blocks=min(fitting, machine.blocks_per_sm), wanted_registers=0)


def register_limit(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Limit the registers of a thread to as many as were asked for, in place of other bounds."""
    most = context.machine.most_registers(prod(kernel.block))
    return replace(kernel, max_registers=min(plan.registers, most), min_blocks=0)


def registers(batches: Sequence[For], kept: frozenset[str], tuning: RegisterTuning) -> int:
    """Return the registers that these loops want; `kept` are the arrays that live inside the kernel."""
    vectors = [_of_vectors(n, kept, tuning) for n in batches]
    widest = [min(tuning.max_registers, max(vectors))] if any(vectors) else []
    return min([*widest, *(_of(n, kept, tuning) for n, own in zip(batches, vectors, strict=True) if not own)])


def _of_vectors(loop: For, kept: frozenset[str], tuning: RegisterTuning) -> int:
    """Return the registers that a batch of vectors wants; 0 where it has none.

    They are enough for all that it loads, and some more, but no more than each of half the threads can have, where it
    fits into those.
    """
    inside = _with_vectors(loop.body)
    found = [s for s in inside if isinstance(s, Load)]
    if not found:
        return 0
    beside = [s for s in inside if isinstance(s, Declare) and isinstance(s.value, Access)]
    size = sum(t.type.size for n in found for t in n.targets) + sum(s.type.size for s in beside)
    updated = {n.target for n in statements(*inside) if isinstance(n, Assign) and n.op}
    sums = [t for t in updated if not isinstance(t, Access) or t.array in kept]
    live = tuning.half_spare + (size + sum(t.type.size for t in sums)) // 4
    return tuning.half_registers if live <= tuning.half_registers else tuning.vector_spare + size // 4


def _with_vectors(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Return the statements that a batch runs where its vectors are aligned; none where it has no vectors."""
    if any(isinstance(s, Load) for s in body):
        return body
    inner = (s.then if isinstance(s, If) else s.body if isinstance(s, Scope) else () for s in body)
    return next((found for b in inner if (found := _with_vectors(b))), ())


def _of(loop: For, kept: frozenset[str], tuning: RegisterTuning) -> int:
    """Return the registers that a batch without vectors wants."""
    if not meets(*loop.body):
        stores = any(target.array not in kept for s in loop.body for target in targets(s))
        return tuning.storing_registers if stores else tuning.max_registers
    declared = [s for s in loop.body if isinstance(s, Declare)]
    loads = [s for s in declared if any(isinstance(n, Access) and n.array not in kept for n in walk(s))]
    joined = any(isinstance(n, WarpReduce) and n.more for n in walk(*loop.body))
    return tuning.reducing_spare + sum(s.type.size for s in loads) // 4 if joined else tuning.reducing_registers
