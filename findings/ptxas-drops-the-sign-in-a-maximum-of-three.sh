#!/usr/bin/env bash
# ptxas of CUDA 12.6 (V12.6.20) to 13.3 (V13.3.73), for sm_90, from -O1 up; 12.5 and 13.4 are right.
#
# Guess: the machine code of max(max(a, -n), b) has a negation, before the maximum or as a sign of its operand.
# Seen: it is that of max(max(a, n), b), instruction by instruction. sm_90 has the maximum of three in one instruction,
# VIMNMX3, and ptxas loses the sign when it puts the two together.
#
#   13.3 negated  LDG.E R0   LDG.E R5   LDG.E R4                       VIMNMX3 R5, R0, R5, R4, !PT   STG.E
#   13.3 plain    LDG.E R0   LDG.E R5   LDG.E R4                       VIMNMX3 R5, R0, R5, R4, !PT   STG.E
#   13.4 negated  LDG.E R4   LDG.E R0   LDG.E R5   IADD3 R4, -R4, ..   VIMNMX3 R5, R0, R4, R5, !PT   STG.E
#
# polytile therefore writes -n as ~n + 1 in the words of PTX, where integers are compared
# (codegen/targets/cuda/opaque_negation.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip() { "$folder/venv/bin/pip" install --quiet --no-deps --target "$folder/$1" "$2"; }
pip 12.6 nvidia-cuda-nvcc-cu12==12.6.20
pip 13.3 nvidia-cuda-nvcc==13.3.73
pip 13.4 nvidia-cuda-nvcc==13.4.59
pip tools nvidia-cuda-nvdisasm==13.5.37
kernel() {
    cat <<PTX
.version 8.4
.target sm_90
.address_size 64
.visible .entry kernel(.param .u64 data)
{
    .reg .b32 %r<7>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.s32 %r1, [%rd2];
    ld.global.s32 %r2, [%rd2+4];
    ld.global.s32 %r3, [%rd2+8];
    $1 %r4, %r2;
    max.s32 %r5, %r1, %r4;
    max.s32 %r6, %r5, %r3;
    st.global.s32 [%rd2+12], %r6;
    ret;
}
PTX
}
kernel neg.s32 >"$folder/negated.ptx"
kernel mov.b32 >"$folder/plain.ptx"
for cuda in 12.6 13.3 13.4; do
    ptxas=$(find "$folder/$cuda" -name ptxas)
    for name in negated plain; do
        "$ptxas" -arch=sm_90 "$folder/$name.ptx" -o "$folder/$name.cubin"
        "$folder/tools/nvidia/cu13/bin/nvdisasm" -c "$folder/$name.cubin" 2>"$folder/messages" |
            grep -oE '[A-Z][A-Z0-9.]+ .*;' | grep -E '^(IADD|IMAD|LDG|STG|VIMNMX)' >"$folder/$cuda.$name"
        echo "$cuda $name"
        sed 's/^/    /' "$folder/$cuda.$name"
        grep -q VIMNMX3 "$folder/$cuda.$name"
    done
done
cmp "$folder/12.6.negated" "$folder/12.6.plain"
cmp "$folder/13.3.negated" "$folder/13.3.plain"
cmp "$folder/13.4.plain" "$folder/13.3.plain"
grep -q -- '-R' "$folder/13.4.negated"
