"""polytile: C loop nests in, CUDA that is proven legal and validated out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polytile.version import __version__

if TYPE_CHECKING:
    from polytile.api import Array, CompiledScop, Program, compile, compile_scop, scop_from_isl
    from polytile.diagnostics import (
        DeviceError,
        IllegalSchedule,
        InternalError,
        PolytileError,
        UsageError,
        UserError,
        ValidationError,
    )
    from polytile.options import Options

_API = ("Array", "CompiledScop", "Program", "compile", "compile_scop", "scop_from_isl")
_ERRORS = (
    "DeviceError",
    "IllegalSchedule",
    "InternalError",
    "PolytileError",
    "UsageError",
    "UserError",
    "ValidationError",
)

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

    if name in _API:
        return getattr(import_module("polytile.api"), name)
    if name in _ERRORS:
        return getattr(import_module("polytile.diagnostics"), name)
    if name == "Options":
        return import_module("polytile.options").Options
    raise AttributeError(f"module 'polytile' has no attribute {name!r}")
