"""Kernels that may be launched while the one before them ends, and wait for it themselves.

before: run.launch("k0", k0, ...); run.launch("k1", k1, ...);    (k1 is launched when k0 has ended: some microseconds)
after:  both kernels begin with polytile_await_launches(), and run.early().launch(...)

A kernel that waits comes after all before it: the one before has waited too, or was launched when those had ended. The
first launch of a run is a plain one, so that nothing from before the run is still under way.

ptxas moves loads through pointers to constants that nothing aliases ahead of any barrier, and of this wait. That is
right of arrays that no kernel writes; the others lose their `__restrict__`. As ptxas then keeps their loads behind the
stores before them, a kernel whose loops do both is left as it is. In blocks of all points of a thread stores sink
behind loads (store_sinking.py), and a kernel where they cannot is left as it is, too. (The loops over single points, at
the sides, may load behind stores: few threads run them.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from polytile.codegen.passes.plan import LoweredPlan
from polytile.codegen.passes.store_sinking import with_sunk_stores
from polytile.ir.expr import Access, Assign, For, If, Scope, Stmt
from polytile.ir.expr_trees import statements, walk
from polytile.ir.gpu_ops import Atomic, AwaitLaunches, GridExtent, Load, Store
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel, Launch
from polytile.ir.memory import Space
from polytile.ir.schedule import REGISTER_TILE
from polytile.machine import Machine


def dependent_launch(program: HostProgram, _: Sequence[LoweredPlan], __: Machine) -> HostProgram:
    """Launch kernels while the one before them ends, for which they wait themselves."""
    if most_launches(program.body, {kernel.name for kernel in program.kernels}) < 2:
        return program
    written = {p.buffer for k in program.kernels for p in k.parameters if p.buffer is not None and not p.const}
    return replace(program, kernels=tuple(_early(k, written) for k in program.kernels))


def _early(kernel: Kernel, written: AbstractSet[str]) -> Kernel:
    """Return the kernel that waits: as it is, or with stores after loads, where either is as fast as before."""
    for one in (kernel, with_sunk_stores(kernel)):
        if _can_wait(one, written):
            return _waiting(one, written)
    return kernel


def _waiting(kernel: Kernel, written: AbstractSet[str]) -> Kernel:
    parameters = tuple(replace(p, restrict=False) if p.const and p.buffer in written else p for p in kernel.parameters)
    return replace(kernel, parameters=parameters, body=(AwaitLaunches(), *kernel.body))


def _can_wait(kernel: Kernel, written: AbstractSet[str]) -> bool:
    """Return whether not all blocks have to run at once, and no load wants to precede barriers or stores."""
    if any(isinstance(n, Load) and n.cache == "read-only" for n in kernel.nodes):
        return False
    changed = {p.buffer for p in kernel.parameters if p.const} & written
    loops = [n for n in kernel.nodes if isinstance(n, For) and not _is_over_blocks(n)]
    points = [loop for loop in loops if loop.label.startswith(REGISTER_TILE)]
    if any(_loads(*loop.body, of=changed) and _stores(kernel, *loop.body) for loop in loops if loop not in points):
        return False
    return not points or not any(_loads_behind_stores(kernel, body, changed) for body in _straight_bodies(kernel))


def _is_over_blocks(loop: For) -> bool:
    """Return whether a loop strides over what the grid's limits leave, so that one iteration is the rule."""
    return isinstance(loop.step, GridExtent)


def _loads(*body: Stmt, of: AbstractSet[str | None]) -> bool:
    return any(isinstance(n, Access) and n.array in of for n in walk(*body))


def _stores(kernel: Kernel, *body: Stmt) -> bool:
    targets = (s.target for s in statements(*body) if isinstance(s, Assign | Store | Atomic))
    return any(isinstance(t, Access) and kernel.storage_of(t.array).space is Space.GLOBAL for t in targets)


def _straight_bodies(kernel: Kernel) -> Iterator[tuple[Stmt, ...]]:
    """Yield the bodies of branches that have no branches and loops of their own."""
    for node in kernel.nodes:
        for body in (node.then, node.otherwise) if isinstance(node, If) else ():
            if not any(isinstance(s, If | For) for s in statements(*body)):
                yield body


def _loads_behind_stores(kernel: Kernel, body: Sequence[Stmt], arrays: AbstractSet[str | None]) -> bool:
    first = next((k for k, stmt in enumerate(body) if _stores(kernel, stmt)), len(body))
    return _loads(*body[first + 1 :], of=arrays)


def most_launches(body: Sequence[Stmt], kernels: AbstractSet[str]) -> int:
    """Count the launches of these kernels that a run of `body` can make, up to 2; a loop makes many."""
    return min(sum(_launches(stmt, kernels) for stmt in body), 2)


def _launches(stmt: Stmt, kernels: AbstractSet[str]) -> int:
    match stmt:
        case Launch(kernel=kernel):
            return int(kernel in kernels)
        case For(body=inner):
            return 2 * most_launches(inner, kernels)
        case If(then=then, otherwise=otherwise):
            return max(most_launches(then, kernels), most_launches(otherwise, kernels))
        case Scope(body=inner):
            return most_launches(inner, kernels)
    return 0
