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


def address(data: Any) -> int:
    """Return the address of the first element of a NumPy or CuPy array."""
    return int(data.ctypes.data if isinstance(data, np.ndarray) else data.data.ptr)


def load(library: Path) -> ctypes.CDLL:
    """Load a shared library; raises DeviceError with the loader's message."""
    try:
        return ctypes.CDLL(str(library))
    except OSError as error:
        raise DeviceError(f"cannot load {library.name}: {error}") from error


def function(library: ctypes.CDLL, name: str, result: Any) -> Any:
    """Return the function `name` of a loaded library, with the ctypes result type `result` (None: void).

    It keeps the library open, and the library does not keep it.
    """
    try:
        found = library[name]
    except AttributeError as error:
        raise InternalError(f"the compiled code has no function {name}") from error
    found.restype = result
    return found


def arguments(
    scop: Scop,
    layouts: Mapping[str, Layout],
    values: Mapping[str, int],
    memory: Mapping[str, Any],
) -> list[Any]:
    """Return the ctypes arguments of an entry point: parameters by value, then scalars by value and pointers.

    A pointer is to the element that C calls 0, behind the `lead` elements of its layout.
    """
    result: list[Any] = [c_type(scalar_dtype(p.type))(values[p.name]) for p in scop.parameters]
    for array in scop.external_arrays:
        data = memory[array.name]
        if scop.by_value(array) and not array.fields:
            host = data if isinstance(data, np.ndarray) else data.get()
            result.append(c_type(host.dtype).from_buffer_copy(host.tobytes()))
        else:
            layout = layouts[array.name]
            size = data.dtype.itemsize if isinstance(data, np.ndarray) else layout.dtype.itemsize
            result.append(ctypes.c_void_p(address(data) + layout.lead * size))
    return result
