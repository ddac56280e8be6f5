"""What the lanes of a warp differ in, in an index: whether vectors may be aligned in all of them at once.

before: int j = 2 * t + 64 * b;     A[i][j], A[i][j + 1]       t along x, in blocks of 32 x 8 threads
after:  2 * t: two neighbours may be aligned in all lanes; of A[i][t], A[i][t + 1] they are in every second lane
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import prod

from polytile.dataclass import dataclass
from polytile.ir.expr import Declare, Expr, For
from polytile.ir.kernel import Kernel
from polytile.ir.polynomial import Polynomial, polynomial, times, total
from polytile.ir.verify.uniform import AXES, differing_names, differs
from polytile.machine import WARP_SIZE


@dataclass(frozen=True, slots=True)
class WarpLanes:
    """The names that may differ between lanes of a warp, and the values of those that are declared, in other names. An
    iterator counts as its first value: lanes run the same iteration at a time."""

    differing: frozenset[str] = frozenset()
    values: Mapping[str, Polynomial] = field(default_factory=dict)

    def exclude(self, index: Polynomial, count: int) -> bool:
        """Return whether threads of a warp are certainly not all at a multiple of `count` at once.

        That is where they are a constant apart that is no multiple. Nothing is known of what a size multiplies, as the
        rows of a matrix.
        """
        return any(factor % count for factor in self._of(index).values())

    def _of(self, index: Polynomial) -> Polynomial:
        """Return the terms that differ between threads of a warp, in names whose values are not known."""
        found: Polynomial = {}
        for key, factor in index.items():
            if len(key) == 1 and key[0] in self.differing:
                value = self.values.get(key[0])
                found = total(found, times({(): factor}, {key: 1} if value is None else self._of(value)))
        return found


def warp_lanes(kernel: Kernel) -> WarpLanes:
    """Find what the threads of the kernel's warps differ in."""
    axes = next((AXES[: k + 1] for k in range(len(AXES)) if prod(kernel.block[: k + 1]) % WARP_SIZE == 0), AXES)
    differing = differing_names(kernel, axes)
    values: dict[str, Polynomial] = {}
    unknown = set(kernel.changing)
    for node in kernel.nodes:
        name, value = _first_value(node)
        if value is None or name not in differing:
            continue
        known = polynomial(value) if differs(kernel, value, differing, axes) else {}
        if known is None or values.setdefault(name, known) != known:
            unknown.add(name)
    return WarpLanes(differing, {name: value for name, value in values.items() if name not in unknown})


def _first_value(node: object) -> tuple[str, Expr | None]:
    match node:
        case Declare(name=name, value=value):
            return name, value
        case For(iterator=name, lower=lower):
            return name, lower
    return "", None
