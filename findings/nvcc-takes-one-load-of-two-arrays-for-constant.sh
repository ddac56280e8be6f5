#!/usr/bin/env bash
# nvcc 13.5.37, NVRTC 13.5.37 and 12.4.127 (and those between), for sm_90.
#
# Guess: `c[i] ? y[i] : x[i - 1]` loads x as memory that the kernel writes, as it does, and at most y, which it only
# reads, by `ld.global.nc`: that instruction is for memory that nothing writes while the kernel runs.
# Seen: both loads become one, of an address that `selp.b64` chooses, and this one is `ld.global.nc`. It may find in x
# what stood there before this very thread wrote it.
#
#   nvcc 13.5.37     selp.b64 %rd14, %rd17, %rd16, %p2;  ld.global.nc.f64 %fd1, [%rd14];  st.global.f64 [%rd17+8], %fd1;
#   NVRTC 13.5.37    the same
#   NVRTC 12.4.127   the same
#
# Both pointers are `__restrict__` and no element is of both arrays. polytile leaves out `__restrict__` for such arrays
# (codegen/passes/merged_loads.py). nvcc needs a C++ compiler that it knows.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-deps nvidia-cuda-nvcc==13.5.37 nvidia-nvvm==13.5.37 \
    nvidia-cuda-crt==13.5.37 nvidia-cuda-runtime==13.5.37 nvidia-cuda-nvrtc==13.5.37 nvidia-cuda-nvrtc-cu12==12.4.127
cat >"$folder/f.cu" <<'CUDA'
extern "C" __global__ void f(int n, double *__restrict__ x, const double *__restrict__ y, const int *__restrict__ c)
{
#pragma unroll 1
    for (int i = 1; i < n; i++)
        x[i] = c[i] ? y[i] : x[i - 1];
}
CUDA
"$folder/venv/bin/python" - "$folder/f.cu" <<'PYTHON'
import ctypes
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

packages = Path(sysconfig.get_path("purelib"), "nvidia")
source = Path(sys.argv[1])


def by_nvcc() -> str:
    command = [packages / "cu13/bin/nvcc", "-arch=sm_90", "-ptx", "-o", "-", source]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def by_nvrtc(library: str) -> str:
    nvrtc, program, size = ctypes.CDLL(packages / library), ctypes.c_void_p(), ctypes.c_size_t()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.read_bytes(), b"f.cu", 0, None, None) == 0
    assert nvrtc.nvrtcCompileProgram(program, 1, (ctypes.c_char_p * 1)(b"-arch=compute_90")) == 0
    assert nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)) == 0
    text = ctypes.create_string_buffer(size.value)
    assert nvrtc.nvrtcGetPTX(program, text) == 0
    return text.value.decode()


for name, ptx in (
    ("nvcc 13.5.37", by_nvcc()),
    ("NVRTC 13.5.37", by_nvrtc("cu13/lib/libnvrtc.so.13")),
    ("NVRTC 12.4.127", by_nvrtc("cuda_nvrtc/lib/libnvrtc.so.12")),
):
    found = re.findall(r"(?:selp\.b64|(?:ld|st)\.global\S*f64)\s.*;", ptx)
    print(f"{name:16}", *(" ".join(line.split()) for line in found), sep="   ")
    chosen = re.findall(r"selp\.b64\s+(%rd\d+), %rd\d+, %rd\d+", ptx)
    loads = re.findall(r"ld\.(global\S*f64)\s+%fd\d+, \[(%rd\d+)", ptx)
    stores = re.findall(r"st\.global\.f64", ptx)
    assert len(chosen) == len(loads) == len(stores) == 1
    assert loads == [("global.nc.f64", chosen[0])]
PYTHON
