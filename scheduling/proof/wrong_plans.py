"""What proofs of kernels that follow a plan of their own raise; the proofs are imported where there are such plans."""

from __future__ import annotations

from polytile.diagnostics import InternalError


class WrongTimeTileError(InternalError):
    """Kernels of time tiles would not compute what the source does, or that is not known."""
