#!/usr/bin/env bash
# islpy 2026.2.2 (its isl).
#
# Guess: a context of schedule constraints adds knowledge of the parameters. One that domain and validity imply already
# changes nothing; where a schedule is found without it, one is found with it.
# Seen: S[i] -> S[i + m], with m > 0 in the domain and in the relation, has the schedule [i] without a context. With the
# context m > 0 isl fails: "unable to carry dependences". It drops from the relations what the context says, and does not
# come back to that when it looks for a function that grows along m.
#
#   no context       { S[i] -> [(i)] }
#   context m > 0    failed: unable to carry dependences
#   context m >= 0   { S[i] -> [(i)] }: it leaves m > 0 in the relations
#
# polytile therefore asks again without the context (scheduling/strategies/pluto.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet islpy==2026.2.2
"$folder/venv/bin/python" - <<'PYTHON'
import islpy as isl

domain = isl.UnionSet("[n, m] -> { S[i] : 0 <= i < n and m > 0 }")
order = isl.UnionMap("[n, m] -> { S[i] -> S[i + m] : 0 <= i and i + m < n and m > 0 }")
expected = isl.UnionMap("[n, m] -> { S[i] -> [i] : 0 <= i < n and m > 0 }")


def schedule(context: str | None) -> str | None:
    constraints = isl.ScheduleConstraints.on_domain(domain).set_validity(order)
    if context is not None:
        constraints = constraints.set_context(isl.Set(f"[n, m] -> {{ : {context} }}"))
    try:
        found = constraints.compute_schedule()
    except isl.Error as error:
        print("context", context, "failed:", "unable to carry" in str(error))
        assert "unable to carry dependences" in str(error)
        return None
    print("context", context, found.get_map())
    assert found.get_map().intersect_domain(domain).is_equal(expected)
    return "scheduled"


assert schedule(None) == "scheduled"
assert schedule("m >= 0") == "scheduled"
assert schedule("m > 0") is None
PYTHON
