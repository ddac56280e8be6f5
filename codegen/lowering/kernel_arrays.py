"""The arrays of a Scop as kernels that a plan makes whole have them, outside of isl's loops: storage and parameters.

before: double A[n][m], read; double B[n][m], written; double c, a scalar that nothing writes
after:  const double *__restrict__ A, double *__restrict__ B, double c
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from polytile.ir.expr import CType
from polytile.ir.kernel import KernelParameter
from polytile.ir.memory import Space, Storage
from polytile.ir.scop import Scop, Statement


def array_storage(scop: Scop, written: Collection[str]) -> tuple[Storage, ...]:
    """Return the storage of all arrays in device memory, or in parameters for scalars that come by value.

    A kernel writes the arrays in `written`.
    """
    return tuple(
        Storage(
            array.name,
            Space.VALUE if scop.by_value(array) else Space.GLOBAL,
            array.element,
            array.extents,
            array.name,
            read_only=array.name not in written,
        )
        for array in scop.arrays
    )


def parameters_of(
    integers: Iterable[str], storage: Iterable[Storage], integer: CType
) -> tuple[KernelParameter, ...]:
    """Return the parameters of a kernel: sizes and places first, then the arrays."""
    sizes = [KernelParameter(name, integer) for name in integers]
    arrays = [
        KernelParameter(s.name, s.element, None if s.space is Space.VALUE else s.array, s.read_only) for s in storage
    ]
    return (*sizes, *arrays)


def statement_lines(statements: Iterable[Statement]) -> list[str]:
    """Return the place of each statement in the source and its text, for the comment above a kernel."""
    return [f"{s.location.short if s.location.line else s.name}: {s.text}" for s in statements]
