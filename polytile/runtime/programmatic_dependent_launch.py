"""Programmatic dependent launches, which may happen while the kernel before them ends, and which CuPy cannot make: by
the CUDA driver's own call.

The kernel waits for that one itself (codegen/passes/dependent_launch.py). In a stream that records a graph, the order
of both is kept by a programmatic edge.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polytile.runtime.driver_launch import PROGRAMMATIC, Config, driver_launch, launch_config

FIRST_CAPABILITY = 90  # of devices that know such launches, and of code that waits
FIRST_DRIVER = 12_030  # that can record them in graphs


def available(cupy: Any) -> bool:
    """Return whether kernels can be launched so on the current device, in graphs too."""
    if int(cupy.cuda.Device().compute_capability) < FIRST_CAPABILITY:
        return False
    return bool(cupy.cuda.runtime.driverGetVersion() >= FIRST_DRIVER) and driver_launch() is not None


def programmatic_launch(
    cupy: Any,
    function: int,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared: int,
    arguments: Sequence[np.generic],
) -> Callable[[], None]:
    """Prepare a launch of the driver's `function` in CuPy's current stream; `shared` in bytes.

    Raises CUDADriverError of CuPy when it fails.
    """
    call = driver_launch()
    values = [np.array(argument) for argument in arguments]  # each at an address of its own
    pointers = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))

    configs: dict[int, Config] = {}  # by stream: threads may launch at once, each in its own
    current_stream = cupy.cuda.get_current_stream

    def launch() -> None:
        stream = current_stream().ptr
        config = configs.get(stream)
        if config is None:
            config = configs[stream] = launch_config(grid, block, shared, stream, PROGRAMMATIC)
        if status := call(ctypes.byref(config), function, pointers, None):
            raise cupy.cuda.driver.CUDADriverError(status)
        _ = values  # alive until the last launch

    return launch
