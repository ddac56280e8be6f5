"""NVIDIA's run-time compiler, called as CuPy calls it: from memory, without headers; it needs no GPU."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest

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
    """Whether the text compiles, and its PTX, or what the compiler said."""
    program = ctypes.c_void_p()
    assert library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None) == SUCCESS
    flags = (ctypes.c_char_p * len(FLAGS))(*(flag.encode() for flag in FLAGS))
    good = library.nvrtcCompileProgram(program, len(FLAGS), flags) == SUCCESS
    what = "PTX" if good else "ProgramLog"
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    found = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, found)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return good, found.value.decode()


def ptx_of(text: str) -> str:
    """The PTX of kernels; skips the test where there is no compiler."""
    library = nvrtc()
    if library is None:
        pytest.skip("the package nvidia-cuda-nvrtc is not installed")
    good, found = compile_to_ptx(library, text)
    assert good, found
    return found
