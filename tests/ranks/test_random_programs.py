"""Random stencils on random grids of ranks have the bits of C, and send what is counted."""

from __future__ import annotations

import json

import pytest

from tests.ranks.mpirun import mpirun

SEEDS = 10


@pytest.mark.slow
def test_random_programs(emulator: None) -> None:
    done = mpirun(8, "tests.ranks.random_programs", "100", str(100 + SEEDS), timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == SEEDS
    for case in found:
        assert case["finite"] and case["differ"] == [], case
        assert case["bytes"] == [n * size for n, size in zip(case["exchanges"], case["expected_bytes"], strict=True)]
