"""What the CUDA driver says of this machine, asked without CuPy or nvcc."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path

_LOADED = Path("/proc/driver/nvidia/version")
_COMPUTE_CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR


@cache
def driver_arch() -> str | None:
    """`sm_90` for the first GPU of this machine, or None when there is none that the driver can use."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    device, count = ctypes.c_int(), ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
        return None
    if cuda.cuDeviceGet(ctypes.byref(device), 0):
        return None
    digits = []
    for attribute in _COMPUTE_CAPABILITY:
        value = ctypes.c_int()
        if cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device):
            return None
        digits.append(str(value.value))
    return "sm_" + "".join(digits)


def driver_version() -> str:
    """Return the version of NVIDIA's driver of this machine, such as `580.65.06`; "" where it does not say."""
    try:
        found = re.search(r"Kernel Module.*?(\d+\.\d[\d.]*)", _LOADED.read_text())
    except OSError:
        return ""
    return found[1] if found else ""
