#!/usr/bin/env bash
# islpy 2026.2.2 (isl with imath).
#
# Guess: n' is another parameter than n, or is refused; whatever isl prints as two names is two names when it is read.
# Seen: a prime is no part of a name. It is read without an error, printed only where the same name was there before, and
# forgotten: a set over n' alone is the set over n, so that sets which "differ by the prime" are equal, and what is said
# of n is said of n'. Two parameters of one set may both be named n, are printed with a prime, are kept apart when
# others are aligned with them, and neither is found under the name that is printed.
#
#   [n'] -> { [i] : i = n' }                      is [n] -> { [i = n] }, equal to the set over n
#   [n, n'] -> { : n = 3 and n' = 5 }             not empty; both are named n; n' is found nowhere
#   { [i] -> [i'] : .. } of maps                  the same for dimensions: both are named i
#
# polytile therefore marks the bounds of a neighbour's part by letters (polytile/check/rank_messages.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet islpy==2026.2.2
"$folder/venv/bin/python" - <<'PYTHON'
import islpy as isl

kind = isl.dim_type
plain, primed = isl.Set("[n] -> { [i] : i = n }"), isl.Set("[n'] -> { [i] : i = n' }")
print("read over n':", primed)
assert primed.is_equal(plain) and primed.get_dim_name(kind.param, 0) == "n"
five = primed.intersect_params(isl.Set("[n] -> { : n = 5 }"))
print("with n = 5:", five)
assert five.is_equal(isl.Set("[n] -> { [5] : n = 5 }"))

both = isl.Set("[n, n'] -> { [i] : n = 3 and n' = 5 and i = n' }")
names = [both.get_dim_name(kind.param, k) for k in range(both.dim(kind.param))]
print("over both:", both, "names:", names)
assert names == ["n", "n"] and not both.is_empty() and "n'" in str(both)
assert both.find_dim_by_name(kind.param, "n'") == -1
aligned = both.intersect(isl.Set("[m] -> { [i] : m = 1 }"))
print("with m = 1:", aligned)
assert aligned.dim(kind.param) == 3 and not aligned.is_empty()

copied = isl.Map("[n] -> { [i] -> [i'] : i' = n }")
assert copied.get_dim_name(kind.in_, 0) == copied.get_dim_name(kind.out, 0) == "i"
print("map:", copied, "has two dimensions named i")
PYTHON
