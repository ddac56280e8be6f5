#!/usr/bin/env bash
# islpy 2026.2.2.
#
# Guess: islpy pickles its sets and maps by isl's text, so that whatever isl prints and reads can be pickled.
# Seen: where two dimensions have the same name, be it one of the domain and one of the range, or a dimension and a
# parameter, isl prints the second one with a prime and reads it back as an equal map; pickling it raises RuntimeError,
# "non-unique var name". Such names come from renaming, or from two maps that are put together. Schedules and values
# raise AttributeError, as they have no names of dimensions, while affine functions and unions of these maps are fine.
#
#   { S[i] -> A[i' = i] }           RuntimeError: non-unique var name 'i' encountered
#   [n] -> { S[n' = n] }            RuntimeError: non-unique var name 'n' encountered
#   the union map of the first      pickled, equal
#   a schedule, a value             AttributeError: .. has no attribute 'get_var_dict'
#
# polytile therefore pickles sets and maps by their text itself (polytile/ir/scop.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet islpy==2026.2.2
"$folder/venv/bin/python" - <<'PYTHON'
import pickle

import islpy as isl

kind = isl.dim_type
twice = isl.Map("{ S[i] -> A[j] : j = i }").set_dim_name(kind.out, 0, "i")
parameter = isl.Set("[n] -> { S[i] : i = n }").set_dim_name(kind.set, 0, "n")
for points in (twice, parameter):
    assert type(points)(str(points)).is_equal(points)
    try:
        pickle.dumps(points)
        raise SystemExit(f"{points} is pickled now")
    except RuntimeError as error:
        print(f"{points!s:30} RuntimeError: {error}")
        assert "non-unique var name" in str(error)
union = isl.UnionMap.from_map(twice)
assert pickle.loads(pickle.dumps(union)).is_equal(union)
print("union map                      pickled, equal")
for other in (isl.Schedule('{ domain: "{ S[i] }" }'), isl.Val(3)):
    try:
        pickle.dumps(other)
        raise SystemExit(f"{other} is pickled now")
    except AttributeError as error:
        print(f"{type(other).__name__:30} AttributeError: {error}")
PYTHON
