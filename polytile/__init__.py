"""polytile: C loop nests in, CUDA that is proven legal and validated out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polytile.version import __version__

if TYPE_CHECKING:
    from polytile.api import CompiledScop, Program, compile, compile_scop
    from polytile.diagnostics import (
        DeviceError,
        IllegalSchedule,
        InternalError,
        PolytileError,
        UsageError,
        UserError,
        ValidationError,
    )
    from polytile.frontend.array_declaration import Array
    from polytile.frontend.isl_text import scop_from_isl
    from polytile.options import Options

_HOMES = {
    "Array": "polytile.frontend.array_declaration",
    "CompiledScop": "polytile.api",
    "DeviceError": "polytile.diagnostics",
    "IllegalSchedule": "polytile.diagnostics",
    "InternalError": "polytile.diagnostics",
    "Options": "polytile.options",
    "PolytileError": "polytile.diagnostics",
    "Program": "polytile.api",
    "UsageError": "polytile.diagnostics",
    "UserError": "polytile.diagnostics",
    "ValidationError": "polytile.diagnostics",
    "compile": "polytile.api",
    "compile_scop": "polytile.api",
    "scop_from_isl": "polytile.frontend.isl_text",
}

__all__ = [
    "Array",
    "CompiledScop",
    "DeviceError",
    "IllegalSchedule",
    "InternalError",
    "Options",
    "PolytileError",
    "Program",
    "UsageError",
    "UserError",
    "ValidationError",
    "__version__",
    "compile",
    "compile_scop",
    "scop_from_isl",
]


def __getattr__(name: str) -> Any:
    """Import the API on first use: `polytile --version` must not pay for isl."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'polytile' has no attribute {name!r}")
