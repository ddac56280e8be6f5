"""Which GPU this machine has, asked without CuPy: what measured times hold for."""

from __future__ import annotations

import ctypes
from functools import cache

from polytile.dataclass import dataclass
from polytile.runtime.driver import driver_arch, driver_version

_LONGEST = 256  # bytes of a name


@dataclass(frozen=True, slots=True)
class GpuIdentity:
    """The name of a GPU and the version of NVIDIA's driver: `NVIDIA H200`, `580.65.06`; "" where it is not known."""

    name: str
    driver: str


@cache
def gpu_identity() -> GpuIdentity | None:
    """Return what the first GPU is that the driver can use; None where there is none."""
    if driver_arch() is None:
        return None
    cuda = ctypes.CDLL("libcuda.so.1")  # which driver_arch has initialised
    device, name = ctypes.c_int(), ctypes.create_string_buffer(_LONGEST)
    failed = cuda.cuDeviceGet(ctypes.byref(device), 0) or cuda.cuDeviceGetName(name, _LONGEST, device)
    return GpuIdentity("" if failed else name.value.decode(errors="replace"), driver_version())
