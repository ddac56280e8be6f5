"""NVIDIA's run-time compiler, called as CuPy calls it: from memory, without headers; it needs no GPU."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

SUCCESS = 0
FLAGS = ("-std=c++17", "--gpu-architecture=compute_90")  # as in cupy_engine, for the machine that all models are of


@cache
def nvrtc() -> ctypes.CDLL | None:
    """The library of the package nvidia-cuda-nvrtc, or None where it is not installed."""
    try:
        found = [Path(str(f.locate())) for f in files("nvidia-cuda-nvrtc") or () if f.name.startswith("libnvrtc.so")]
    except PackageNotFoundError:
        return None
    return ctypes.CDLL(str(found[0])) if found else None


def compile_to_ptx(library: ctypes.CDLL, text: str) -> tuple[bool, str]:
    """Whether the text compiles, and what the compiler said."""
    program = ctypes.c_void_p()
    assert library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None) == SUCCESS
    flags = (ctypes.c_char_p * len(FLAGS))(*(flag.encode() for flag in FLAGS))
    status = library.nvrtcCompileProgram(program, len(FLAGS), flags)
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return status == SUCCESS, log.value.decode()
