"""NVIDIA's run-time compiler, called as CuPy calls it: from memory, without headers; it needs no GPU."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from polytile.diagnostics import DeviceError

SUCCESS = 0
FLAGS = ("-std=c++17", "--gpu-architecture=compute_90")  # as in cupy_engine, for the machine that all models are of


@cache
def nvrtc() -> ctypes.CDLL | None:
    """Load the library of the package nvidia-cuda-nvrtc; return None where it is not installed."""
    try:
        found = [Path(str(f.locate())) for f in files("nvidia-cuda-nvrtc") or () if f.name.startswith("libnvrtc.so")]
    except PackageNotFoundError:
        return None
    return ctypes.CDLL(str(found[0])) if found else None


def compile_to_ptx(library: ctypes.CDLL, text: str) -> tuple[bool, str]:
    """Compile the text: return whether it compiles, and its PTX, or what the compiler said.

    Raises DeviceError where the compilation does not start.
    """
    program = ctypes.c_void_p()
    if library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None) != SUCCESS:
        raise DeviceError("NVRTC takes no program")
    flags = (ctypes.c_char_p * len(FLAGS))(*(flag.encode() for flag in FLAGS))
    good = library.nvrtcCompileProgram(program, len(FLAGS), flags) == SUCCESS
    what = "PTX" if good else "ProgramLog"
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    found = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, found)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return good, found.value.decode()
