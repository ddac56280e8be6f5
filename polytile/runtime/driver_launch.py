"""The CUDA driver's cuLaunchKernelEx: for launches that CuPy cannot make, and for those that are repeated often."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

PROGRAMMATIC = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION


class Attribute(ctypes.Structure):
    """CUlaunchAttribute: which, and a union of 64 bytes."""

    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60))


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    )


def launch_config(
    grid: tuple[int, int, int], block: tuple[int, int, int], shared: int, stream: int, attribute: int | None
) -> Config:
    """Fill in the configuration of a launch in a stream, with one attribute that is set to 1 or with none; `shared` in
    bytes."""
    config = Config((ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block), shared, stream)
    if attribute is not None:
        config.attributes = ctypes.pointer(Attribute(id=attribute, value=1))
        config.count = 1
    return config


@cache
def driver_launch() -> Any:
    """Return cuLaunchKernelEx(config, function, pointers to arguments, nullptr) of the driver in use, None where it has
    none."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            call = ctypes.CDLL(name).cuLaunchKernelEx
        except (OSError, AttributeError):
            continue
        call.argtypes = (ctypes.POINTER(Config), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        return call
    return None
