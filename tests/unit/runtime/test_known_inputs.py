"""What validations of several schedules of one SCoP have in common: sizes, and what the C makes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import polytile
from polytile.execution import Execution
from polytile.frontend.program import read_program
from polytile.runtime import known_inputs
from polytile.runtime.known_inputs import KnownInputs

TEXT = """
void smooth(int t, int n, double A[n], double B[n])
{
#pragma scop
    for (int k = 0; k < t; k++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = A[i - 1] + A[i] + A[i + 1];
        for (int i = 1; i < n - 1; i++)
            A[i] = B[i] / 3;
    }
#pragma endscop
}
"""


def inputs(known: KnownInputs | None, seed: int = 1, **settings: Any) -> list[dict[str, int]]:
    """The sizes of the runs of a validation."""
    scop = polytile.compile_scop(read_program("smooth.c", TEXT).scops[0], **settings)
    return [dict(found.values) for found, _ in Execution(scop.compilation, {}, known).inputs(None, seed)]


def test_another_schedule_takes_known_sizes_that_do_as_well() -> None:
    known = KnownInputs()
    first = inputs(known, schedule="classic", block=(64,))
    assert first == inputs(None, schedule="classic", block=(64,)) and list(known.sizes) == first[:0:-1]
    kept = {key: found for key, (found, _) in known.found.items()}
    smaller, alone = (inputs(one, schedule="classic", block=(32,)) for one in (known, None))
    assert smaller == first and alone != first
    assert all(known.found[key][0] is found for key, found in kept.items()) and len(known.found) == len(kept)
    larger = inputs(known, schedule="classic", block=(256,))
    assert larger != first and len(known.found) > len(kept)


def test_what_is_known_of_other_inputs_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    known = KnownInputs()
    (sizes,) = inputs(known, schedule="classic")[1:2]
    scop = next(iter(known.found.values()))[0].scop
    assert known.get(scop, sizes, 1) is not None and known.get(scop, {**sizes, "n": 4}, 1) is None
    assert known.get(scop, sizes, 2) is None and known.get(replace(scop, source="another text"), sizes, 1) is None
    (a, b) = scop.arrays
    assert known.get(replace(scop, arrays=(replace(a, live_out=not a.live_out), b)), sizes, 1) is None
    monkeypatch.setattr(known_inputs, "MOST_BYTES", 1)
    found, note = known.found[tuple(sizes.items())]
    known.keep({**sizes, "n": 9}, found, note)
    assert known.sizes == ({**sizes, "n": 9},)
