"""Programmatic dependent launches, which may happen while the kernel before them ends, and which CuPy cannot make: by
the CUDA driver's own call.

The kernel waits for that one itself (codegen/passes/dependent_launch.py). In a stream that records a graph, the order
of both is kept by a programmatic edge.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

_ALLOWED = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
FIRST_CAPABILITY = 90  # of devices that know such launches, and of code that waits
FIRST_DRIVER = 12_030  # that can record them in graphs


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: which, and a union of 64 bytes."""

    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60))


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


@cache
def _driver() -> Any:
    """cuLaunchKernelEx of the driver in use, None where it has none."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            call = ctypes.CDLL(name).cuLaunchKernelEx
        except (OSError, AttributeError):
            continue
        call.argtypes = (ctypes.POINTER(_Config), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        return call
    return None


def available(cupy: Any) -> bool:
    """Whether kernels can be launched so on the current device, in graphs too."""
    if int(cupy.cuda.Device().compute_capability) < FIRST_CAPABILITY:
        return False
    return bool(cupy.cuda.runtime.driverGetVersion() >= FIRST_DRIVER) and _driver() is not None


def programmatic_launch(
    cupy: Any,
    function: int,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared: int,
    arguments: Sequence[np.generic],
) -> Callable[[], None]:
    """A launch of the driver's `function` in CuPy's current stream; `shared` in bytes.

    Raises CUDADriverError of CuPy when it fails.
    """
    call = _driver()
    attribute = _Attribute(id=_ALLOWED, value=1)
    values = [np.array(argument) for argument in arguments]  # each at an address of its own
    pointers = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))

    def config_for(stream: int) -> _Config:
        sizes = (ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block), shared
        return _Config(*sizes, stream, ctypes.pointer(attribute), 1)

    configs: dict[int, _Config] = {}  # by stream: threads may launch at once, each in its own
    current_stream = cupy.cuda.get_current_stream

    def launch() -> None:
        stream = current_stream().ptr
        config = configs.get(stream)
        if config is None:
            config = configs[stream] = config_for(stream)
        if status := call(ctypes.byref(config), function, pointers, None):
            raise cupy.cuda.driver.CUDADriverError(status)
        _ = values  # alive until the last launch

    return launch
