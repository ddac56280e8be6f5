"""What a kernel takes, as its body uses it.

before: k(int n, int m, double *A, double *t)  { const int bi = block.x; ... A[0] = 0; }
after:  k(double *A)                           { A[0] = 0; }
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polytile.codegen.passes.plan import Context, LoweredPlan
from polytile.ir.expr import Access, Name
from polytile.ir.expr_trees import walk
from polytile.ir.kernel import Kernel, KernelParameter
from polytile.ir.memory import Storage


def prune_signature(kernel: Kernel, _: LoweredPlan, __: Context) -> Kernel:
    """Leave out storage, parameters and coordinates that the body does not use."""
    return pruned(kernel)


def pruned(kernel: Kernel) -> Kernel:
    """Drop storage, parameters and coordinates that a kernel's body does not use."""
    arrays = {n.array for n in kernel.nodes if isinstance(n, Access)}
    storage = tuple(s for s in kernel.storage if s.array in arrays)
    names = {n.name for n in kernel.nodes if isinstance(n, Name)}
    needed = names | _layout(storage)

    def takes(parameter: KernelParameter) -> bool:
        home = next((s for s in kernel.storage if s.name == parameter.name), None)
        return parameter.name in needed if home is None else home in storage

    parameters = tuple(p for p in kernel.parameters if takes(p))
    coordinates = tuple(c for c in kernel.coordinates if c.name in names)
    return replace(kernel, storage=storage, parameters=parameters, coordinates=coordinates)


def _layout(storage: Iterable[Storage]) -> set[str]:
    """Return the names in the extents that address arrays: all but the outermost."""
    extents = (e for home in storage for e in home.extents[1:] if e is not None)
    return {n.name for extent in extents for n in walk(extent) if isinstance(n, Name)}
