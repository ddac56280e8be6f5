#!/usr/bin/env bash
# islpy 2026.2.2 (its isl).
#
# Guess: no element of a set comes behind its lexicographic maximum.
# Seen: one does, where a set has remainders and its first coordinates are known. The maximum has an element of the set,
# so that nothing looks wrong.
#
#   set     { [m = 7, k = 2, i, j] : (-1 + i) mod 3 = 0 and 0 <= i <= 6 and 0 <= j <= 6 and 3*floor((-i)/3) < -i }
#   lexmax  { [m = 7, k = 2, i = 1, j = 6] }
#   behind  { [m = 7, k = 2, i, j] : (-1 + i) mod 3 = 0 and 2 <= i <= 6 and 0 <= j <= 6 and 3*floor((-i)/3) < -i },
#           which are [7, 2, 4, 0] to [7, 2, 4, 6]
#
# polytile therefore takes last elements as those that none comes behind (polytile/ir/lexicographic.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet islpy==2026.2.2
"$folder/venv/bin/python" - <<'PYTHON'
import islpy as isl

box = "0 <= i < m and 0 <= j < m and k <= m"
some = isl.Set(f"{{ [m, k, i, j] : {box} and i mod 3 = 1 and (-i) mod 3 != 0 and m = 7 and k = 2 }}")
last = some.lexmax()
behind = some.intersect(last.apply(isl.Map.lex_lt(some.get_space())))
print("set    ", some)
print("lexmax ", last)
print("behind ", behind)
assert last.is_equal(isl.Set("{ [7, 2, 1, 6] }"))
assert behind.is_equal(isl.Set("{ [7, 2, 4, j] : 0 <= j <= 6 }"))
PYTHON
