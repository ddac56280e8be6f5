"""Variables that registers hold: scalars, and the elements of small private arrays."""

from __future__ import annotations

from collections.abc import Hashable
from math import prod

from polytile.codegen.resources.instruction_costs import width
from polytile.ir.arith import known
from polytile.ir.expr import Access, Name
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Space

MOST_PRIVATE = 128  # registers of a private array; a larger one is in memory


def register_variable(kernel: Kernel, target: Access | Name) -> tuple[Hashable, int] | None:
    """Return the variable that registers hold, and how many of them; None for memory."""
    if isinstance(target, Name):
        return target.name, width(target.type)
    storage = kernel.storage_of(target.array)
    if storage.space is not Space.PRIVATE:
        return None
    constants = [known(s) for s in kernel.subscripts(target)]
    if None not in constants:
        return (target.array, *constants), width(target.type)
    sizes = [known(e) or 1 for e in storage.extents if e is not None]
    whole = prod(sizes) * width(target.type)
    return ((target.array,), whole) if whole <= MOST_PRIVATE else None
