#!/usr/bin/env bash
# gcc 12.2.0, the system's, for x86-64 (the script ends with 2 where gcc and g++ are not of version 12).
#
# Guess: -fsanitize=thread sees at -O0 every access to memory that it sees at -O1, and more.
# Seen: of `a[i] = id(b[i])`, with a struct of two doubles that id takes and returns by value, the load has a call of
# __tsan_read16 at -O0, but the store has none; at -O1, where id is inlined, both members are read and written.
#
#   -O0 reads 1 writes 0
#   -O1 reads 2 writes 2
#
# polytile's emulator finds races of kernels by these calls, also in elements that are vectors such as double2: it
# compiles checked kernels at -O1 (runtime/emulator/instrument.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! g++ --version | grep -q "Free Software Foundation" || [[ $(g++ -dumpversion) != 12* ]]; then
    echo "needs g++ 12" >&2
    exit 2
fi
cat >"$folder/f.cpp" <<'C'
struct pair { double x, y; };
static inline pair id(pair p) { return p; }
void copy(pair *a, pair *b, int i) { a[i] = id(b[i]); }
C
calls() {  # LEVEL, read or write: the instrumented accesses of the file
    g++ -std=c++17 "$1" -fsanitize=thread -S -o - "$folder/f.cpp" | grep -cE "call\s+__tsan_(unaligned_)?$2" || true
}
plain="reads $(calls -O0 read) writes $(calls -O0 write)"
inlined="reads $(calls -O1 read) writes $(calls -O1 write)"
echo "-O0 $plain"
echo "-O1 $inlined"
[[ $plain == "reads 1 writes 0" ]]
[[ $inlined == "reads 2 writes 2" ]]
