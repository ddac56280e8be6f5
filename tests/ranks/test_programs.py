"""Programs on ranks, in the emulator, against C: all counts of ranks, grids, modes and steps of a period, in pairs."""

from __future__ import annotations

import json

import pytest

from tests.ranks.mpirun import mpirun

pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.slow
def test_all_programs_on_up_to_eight_ranks() -> None:
    """Each result has C's bits, and each rank its box and halos alone."""
    done = mpirun(8, "tests.ranks.programs", timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for case in found:
        assert case["finite"] and case["differ"] == [], case
        assert case["array_bytes"] == case["expected_array_bytes"], case
        exchanges = 2 if case["ranks"] > 1 else 0
        assert case["exchanges"] == [exchanges] * case["ranks"], case
        assert case["messages"] == [exchanges * messages for messages in case["expected_messages"]], case
        assert case["bytes"] == [exchanges * size for size in case["expected_bytes"]], case
    assert len(found) == 74
    assert {len(case["shape"]) for case in found} == {2, 3}
    assert {case["program"] for case in found if case["at_once"]} == {
        "jacobi-2d in time tiles", "stencil-7pt in time tiles",
    }  # fmt: skip
