"""Sums, minima, maxima and counts over all ranks: exact where they can be, and the same bits for all grids of ranks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.ranks import sums
from tests.ranks.mpirun import mpirun

pytestmark = pytest.mark.usefixtures("emulator")
MOST = 100  # units in the last place, that additions one after another are off


@pytest.mark.slow
def test_sums_on_up_to_eight_ranks() -> None:
    done = mpirun(8, "tests.ranks.sums", timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == sum(len(list(sums.cases(program))) for program in sums.PROGRAMS)
    assert {case["ranks"] for case in found} == {1, 2, 3, 4, 6, 8} and {case["mode"] for case in found} == {*sums.MODES}
    for program in sums.PROGRAMS:
        own = [case for case in found if case["program"] == program.name]
        assert len({case["bits"] for case in own}) == 1, own
        for case in own:
            assert max(case["errors"].values()) <= (0 if program.strict else MOST) and case["counted"], case
