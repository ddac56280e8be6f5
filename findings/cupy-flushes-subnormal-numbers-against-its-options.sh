#!/usr/bin/env bash
# CuPy 14.2.0 (cupy-cuda13x) with NVRTC 13.5.37.
#
# Guess: a RawModule is compiled with the options that it was given, which NVRTC reads from left to right; without any,
# float keeps subnormal numbers, as NVRTC does by itself, and surely with -ftz=false.
# Seen: CuPy adds -ftz=true behind the options of the caller, so that these lose, and kernels flush subnormal numbers.
# compile_using_nvrtc, which is public too, adds nothing.
#
#   RawModule, no options              mul.ftz.f32
#   RawModule, -ftz=false              mul.ftz.f32
#   compile_using_nvrtc, no options    mul.f32
#
# No GPU is needed: what RawModule calls, _compile_module_with_cache, runs with real NVRTC, and only what it would ask
# or tell a device is replaced. polytile compiles kernels of --fp strict by compile_using_nvrtc for that reason
# (polytile/runtime/cupy_engine.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-deps cupy-cuda13x==14.2.0 numpy==2.4.0 cuda-pathfinder==1.3.4 \
    nvidia-cuda-nvrtc==13.5.37
export CUPY_CACHE_IN_MEMORY=1 CUPY_COMPILE_WITH_PTX=1
"$folder/venv/bin/python" - <<'PYTHON'
from cupy.cuda import compiler, function

CODE = 'extern "C" __global__ void f(float *x) { *x *= 0.5f; }'


class Module:
    """In place of one that loads code onto a device."""

    def load(self, code: bytes) -> None:
        self.ptx = code.decode()

    def _set_mapping(self, names: object) -> None:
        pass


def products(ptx: str) -> list[str]:
    return [line.split()[0] for line in ptx.splitlines() if line.strip().startswith("mul.")]


function.Module = Module
compiler._get_arch_for_options_for_nvrtc = lambda arch=None: ("-arch=compute_90", "ptx")
for options in ((), ("-ftz=false",)):
    found = products(compiler._compile_module_with_cache(CODE, options, arch="90").ptx)
    print(f"{'RawModule, ' + (' '.join(options) or 'no options'):34}", *found)
    assert found == ["mul.ftz.f32"]
ptx, _ = compiler.compile_using_nvrtc(CODE, options=(), arch="90")
print(f"{'compile_using_nvrtc, no options':34}", *products(ptx.decode()))
assert products(ptx.decode()) == ["mul.f32"]
PYTHON
