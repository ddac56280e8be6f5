#!/usr/bin/env bash
# islpy 2026.2.2 (its isl).
#
# Guess: the lexicographic minimum and maximum of a set with elements have an element, and do not depend on how the set
# is written down.
# Seen: both are empty for a set of one element, where it has remainders by two numbers and its first coordinates are
# known. isl finds the element by sampling and counts it; read again from isl's own text the set has its minimum.
#
#   set            { [m = 6, k = 2, i] : (1 + i) mod 2 = 0 and 0 <= i <= 5 and 4*floor((-i)/4) >= -2 - i }
#   elements       1, e.g. { [6, 2, 3] }
#   lexmin, lexmax { [m, k, i] : false } { [m, k, i] : false }
#   read again     { [m = 6, k = 2, i = 3] }
#
# polytile therefore takes first elements as those that none comes before (polytile/ir/lexicographic.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet islpy==2026.2.2
"$folder/venv/bin/python" - <<'PYTHON'
import islpy as isl

one = isl.Set(
    "{ [m, k, i] : 0 <= i < m and k <= m and i mod 2 = 1 and (-i) mod 4 < 3 and m = 6 and k = 2 }"
)
first, last, again = one.lexmin(), one.lexmax(), isl.Set(str(one)).lexmin()
print("set           ", one)
print("elements      ", one.count_val(), "e.g.", one.sample_point())
print("lexmin, lexmax", first, last)
print("read again    ", again)
assert not one.is_empty() and one.is_equal(isl.Set("{ [6, 2, 3] }"))
assert first.is_empty() and last.is_empty() and again.is_equal(one)
PYTHON
