#!/usr/bin/env bash
# nvcc 13.5.37, for sm_90 and sm_100.
#
# Guess: `*(const anywhere *)p` with `typedef double anywhere __attribute__((aligned(1)))`, by which GNU C reads a double
# from any address, becomes loads of bytes, as loads from packed structs do: a GPU cannot load 8 bytes from an address
# that is no multiple of 8.
# Seen: nvcc knows the attribute, alignof(anywhere) is 1, and a member of that type is loaded byte by byte. Through a
# pointer it is one load of 8 bytes, here visibly from an odd address, without a warning; on a GPU the kernel would end
# with "misaligned address".
#
#   sm_90  member    ld.global.u8 eight times
#   sm_90  pointer   ld.global.f64  %fd1, [%rd4+1];
#   sm_100           the same, by ld.global.b8 and ld.global.b64
#
# NVRTC 13.5.37 does the same. polytile therefore refuses pointers to such elements (frontend/type_shapes.py). nvcc
# needs a C++ compiler that it knows.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-deps nvidia-cuda-nvcc==13.5.37 nvidia-nvvm==13.5.37 \
    nvidia-cuda-crt==13.5.37 nvidia-cuda-runtime==13.5.37
cat >"$folder/f.cu" <<'CUDA'
typedef double anywhere __attribute__((aligned(1)));
struct record { char kind; anywhere x; };
static_assert(alignof(anywhere) == 1 && sizeof(record) == 9, "the attribute is known");

extern "C" __global__ void member(double *result, const record *p) { *result = p->x; }
extern "C" __global__ void pointer(double *result, const char *p) { *result = *(const anywhere *)(p + 1); }
CUDA
for arch in sm_90 sm_100; do
    "$(find "$folder/venv" -path '*/bin/nvcc')" -arch=$arch -ptx -o "$folder/f.ptx" "$folder/f.cu"
    loads() { sed -n "/entry $1(/,/^}/p" "$folder/f.ptx" | grep -oE 'ld\.global.*;' | tr '\t' ' '; }
    loads member | sed "s/^/$arch member    /"
    loads pointer | sed "s/^/$arch pointer   /"
    [[ $(loads member | grep -cE 'ld\.global\.[ub]8') == 8 && $(loads member | wc -l) == 8 ]]
    [[ $(loads pointer) =~ ^ld\.global\.[fb]64.*\+1\]\;$ ]]
done
