#!/usr/bin/env bash
# gcc 12.2.0, the system's, for x86-64 (the script ends with 2 where gcc is not of version 12).
#
# Guess: the time to compile `*out = c0 * A[(t * nx + i + 0) * nz + j + 0] + c1 * A[...] + ...`, one straight sum of n
# loads, is linear in n at -O1, as it is for `c0 * A[0] + c1 * A[1] + ...`.
# Seen: it is quadratic in the combiner, as -ftree-ter (part of -O1) hands it the subscripts of all terms as one
# expression: 800 terms take 7 s. -fno-tree-ter, which costs nothing elsewhere, takes a fortieth of it; constant
# subscripts were linear all the time. The 729 terms of a box stencil of radius 4 took 12 s, and 0.8 s without.
#
#   400 terms: 1703 ms, without -ftree-ter 91 ms; 800 terms: 6913 ms
#
# polytile compiles kernels for its emulator with -fno-tree-ter (runtime/emulator/build.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! gcc --version | grep -q "Free Software Foundation" || [[ $(gcc -dumpversion) != 12* ]]; then
    echo "needs gcc 12" >&2
    exit 2
fi
stencil() {  # TERMS
    printf 'void f(int t, int nx, int nz, int i, int j, const double *A, double *out)\n{\n    *out = 0.5'
    for ((k = 0; k < $1; k++)); do
        printf '\n        + 0.%03d * A[((long long)(t %% 2) * nx + i + %d) * nz + j + %d]' "$k" $((k % 9)) $((k / 9))
    done
    printf ';\n}\n'
}
milliseconds() {  # FILE FLAGS..., of processor time, the best of three
    local best=
    for _ in 1 2 3; do
        TIMEFORMAT=%3U
        local took
        took=$({ time gcc -O1 -ffp-contract=off -fPIC "${@:2}" -c "$1" -o "$folder/f.o"; } 2>&1)
        took=$((10#${took/./}))
        if [[ -z $best || $took -lt $best ]]; then best=$took; fi
    done
    echo "$best"
}
stencil 400 >"$folder/400.c"
stencil 800 >"$folder/800.c"
plain=$(milliseconds "$folder/400.c")
twice=$(milliseconds "$folder/800.c")
without=$(milliseconds "$folder/400.c" -fno-tree-ter)
echo "400 terms: $plain ms, without -ftree-ter $without ms; 800 terms: $twice ms"
((plain > 5 * without))
((twice > 3 * plain))
