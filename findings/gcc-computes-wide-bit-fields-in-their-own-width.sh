#!/usr/bin/env bash
# gcc 12.2.0, the system's, for x86-64 (the script ends with 2 where gcc and g++ are not of version 12).
#
# Guess: a bit-field `unsigned long long x : 40` is computed with as unsigned long long, in C as in C++.
# Seen: g++ does so, and gcc does not: in C a bit-field that is wider than int has a type of its own 40 bits, and so
# have sums, products and shifts of it. `s.x << 8` loses what is above bit 39, though it is put into 64 bits, and
# s.x + s.x is 0. `s.x + 0ull` has 64 bits. sizeof says 8 for all of them.
#
#   C      0 0 1099511627776 8
#   C++    140737488355328 1099511627776 1099511627776 8
#
# CUDA is C++. polytile refuses SCoPs that touch bit-fields (frontend/scope.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for compiler in gcc g++; do
    if ! "$compiler" --version | grep -q "Free Software Foundation" || [[ $("$compiler" -dumpversion) != 12* ]]; then
        echo "needs gcc and g++ 12, and $compiler is not" >&2
        exit 2
    fi
done
cat >"$folder/f.c" <<'C'
#include <stdio.h>

struct s { unsigned long long x : 40; };

int main(void)
{
    struct s s = {1ull << 39};
    unsigned long long shifted = s.x << 8, doubled = s.x + s.x, wide = (s.x + 0ull) * 2;
    printf("%llu %llu %llu %zu\n", shifted, doubled, wide, sizeof(s.x + s.x));
    return 0;
}
C
gcc -std=c17 -Wall -Wextra -o "$folder/c" "$folder/f.c"
g++ -x c++ -std=c++17 -Wall -Wextra -o "$folder/c++" "$folder/f.c"
in_c=$("$folder/c") in_cpp=$("$folder/c++")
echo "C      $in_c"
echo "C++    $in_cpp"
[[ $in_c == "0 0 1099511627776 8" ]]
[[ $in_cpp == "140737488355328 1099511627776 1099511627776 8" ]]
