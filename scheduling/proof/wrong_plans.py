"""What proofs of kernels that follow a plan of their own raise; the proofs are imported where there are such plans."""

from __future__ import annotations

from polytile.diagnostics import InternalError


class WrongStreamError(InternalError):
    """Kernels that run several iterations at once would not compute what the source does, or that is not known."""


class WrongSplitError(InternalError):
    """Kernels of tiles in registers would not compute what the source does, or that is not known."""
