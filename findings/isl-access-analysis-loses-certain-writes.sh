#!/usr/bin/env bash
# islpy 2026.2.2 (its isl).
#
# Guess: the dataflow that isl computes of reads and certain writes has a writer for each element that was written before
# it is read, and says of no such read that it has none.
# Seen: for m = 6 and k = 2 the instances S[4, j] write A[0..5] before T reads them. isl has no dependence at all, and
# tells that every read finds what stood in the array before. The pairs themselves, by composition, are right.
#
#   writes         [m, k] -> { S[i, j] -> A[j] : m = 6 and k = 2 and (i) mod 4 = 0 and 0 <= i <= 5 and 0 <= j <= 5
#                  and 6*floor((-i)/6) <= -2 - i }, equal to S[4, j] -> A[j] : m = 6 and k = 2 and 0 <= j <= 5
#   dependences    [m, k] -> {  }
#   reads without  [m, k] -> { T[x] -> A[x] : 0 <= x < m }
#   pairs          the same with T[x = j] in place of A[j]
#
# polytile therefore accounts for each pair where conditions have several remainders (scheduling/analysis/checked_flow.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet islpy==2026.2.2
"$folder/venv/bin/python" - <<'PYTHON'
import islpy as isl

box = "0 <= i < m and 0 <= j < m and k <= m"
writes = isl.UnionMap(
    f"[m, k] -> {{ S[i, j] -> A[j] : {box} and (-i) mod 4 = 0 and (-i) mod 6 >= 2 and m = 6 and k = 2 }}"
)
reads = isl.UnionMap("[m, k] -> { T[x] -> A[x] : 0 <= x < m }")
times = isl.UnionMap("{ S[i, j] -> [0, i, j]; T[x] -> [1, x, 0] }")
flow = isl.UnionAccessInfo.from_sink(reads).set_must_source(writes).set_schedule_map(times).compute_flow()
pairs = writes.apply_range(reads.reverse())
plain = isl.UnionMap("[m, k] -> { S[4, j] -> A[j] : m = 6 and k = 2 and 0 <= j <= 5 }")
print("writes       ", isl.UnionMap(str(writes)))
print("dependences  ", flow.get_may_dependence())
print("reads without", flow.get_must_no_source())
print("pairs        ", isl.UnionMap(str(pairs)))
assert writes.is_equal(plain)
assert pairs.is_equal(plain.apply_range(reads.reverse())) and not pairs.is_empty()
assert flow.get_may_dependence().is_empty() and flow.get_must_no_source().is_equal(reads)
PYTHON
