#!/usr/bin/env bash
# NVRTC 13.5.37 and 12.4.127.
#
# Guess: the loads with a cache hint, `__ldcs` and its kin, take the types that CUDA's vectors have: `long2` as
# `longlong2`, which has the same 16 bytes, as they take `long` beside `long long`.
# Seen: they take `long`, `unsigned long` and `longlong2`, and neither `long2` nor `ulong2`.
#
#   both   long2:     error: no instance of overloaded function "__ldcs" matches the argument list
#          ulong2:    the same
#          longlong2: compiles
#          long:      compiles
#
# polytile loads vectors of `long` as those of `long long` (codegen/targets/cuda/device_text.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-deps nvidia-cuda-nvrtc==13.5.37 nvidia-cuda-nvrtc-cu12==12.4.127
"$folder/venv/bin/python" - <<'PYTHON'
import ctypes
import sys
import sysconfig
from pathlib import Path

packages = Path(sysconfig.get_path("purelib"), "nvidia")


def refused(library: str, type: str) -> str:
    """What NVRTC says of a kernel that loads the type past the cache; nothing where it takes it."""
    nvrtc, program, size = ctypes.CDLL(packages / library), ctypes.c_void_p(), ctypes.c_size_t()
    text = f'extern "C" __global__ void f({type} *to, const {type} *from) {{ *to = __ldcs(from); }}'
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"f.cu", 0, None, None) == 0
    good = nvrtc.nvrtcCompileProgram(program, 1, (ctypes.c_char_p * 1)(b"-arch=compute_90")) == 0
    assert nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size)) == 0
    log = ctypes.create_string_buffer(size.value)
    assert nvrtc.nvrtcGetProgramLog(program, log) == 0
    return "" if good else log.value.decode()


held = True
for name, library in (("13.5.37", "cu13/lib/libnvrtc.so.13"), ("12.4.127", "cuda_nvrtc/lib/libnvrtc.so.12")):
    for type, taken in (("long2", False), ("ulong2", False), ("longlong2", True), ("long", True)):
        said = refused(library, type)
        print(f"NVRTC {name}, {type}: {said.splitlines()[0] if said else 'compiles'}")
        held &= (said == "") == taken and (taken or "no instance of overloaded function" in said)
sys.exit(0 if held else 1)
PYTHON
