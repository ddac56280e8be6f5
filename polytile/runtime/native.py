"""Calling compiled entry points (the reference, the emulator's, nvcc's) on NumPy memory.

All of them share one calling convention: the parameters, then the external arrays (see Scop.external_arrays).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from polytile.diagnostics import DeviceError, InternalError
from polytile.ir.scop import Scop
from polytile.runtime.layout import Layout, c_type, scalar_dtype

Memory = Mapping[str, np.ndarray[Any, Any]]


def load(library: Path) -> ctypes.CDLL:
    """Load a shared library; raises DeviceError with the loader's message."""
    try:
        return ctypes.CDLL(str(library))
    except OSError as error:
        raise DeviceError(f"cannot load {library.name}: {error}") from error


def function(library: ctypes.CDLL, name: str, result: Any) -> Any:
    """The function `name` of a loaded library, returning the ctypes type `result` (None: void)."""
    try:
        found = getattr(library, name)
    except AttributeError as error:
        raise InternalError(f"the compiled code has no function {name}") from error
    found.restype = result
    return found


def arguments(
    scop: Scop, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Memory
) -> list[Any]:
    """The ctypes arguments of an entry point: parameters by value, then scalars by value and pointers.

    A pointer is to the element that C calls 0, behind the `lead` elements of its layout.
    """
    result: list[Any] = [c_type(scalar_dtype(p.type))(values[p.name]) for p in scop.parameters]
    for array in scop.external_arrays:
        data = memory[array.name]
        if scop.by_value(array):
            result.append(c_type(data.dtype).from_buffer_copy(np.ascontiguousarray(data).tobytes()))
        else:
            offset = layouts[array.name].lead * data.dtype.itemsize
            result.append(ctypes.c_void_p(data.ctypes.data + offset))
    return result
