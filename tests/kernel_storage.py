"""The storage that lowering makes of the placements of a compilation, by kernel and array, as tests look at it."""

from __future__ import annotations

from polytile.compilation import Compilation
from polytile.ir.placed_storage import Homes, forwarded, homes


def homes_of(state: Compilation) -> Homes:
    """Return the storage of arrays that live inside a kernel alone."""
    return homes(state.kernel_plans, state.run.scop)


def copies_of(state: Compilation) -> Homes:
    """Return the storage of copies that blocks have besides."""
    return forwarded(state.kernel_plans, state.run.scop)
