"""`polybench/ranks.py` in the emulator: all numbers of ranks have the same bits."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.ranks.mpirun import REPOSITORY, launcher


def measured(ranks: int, *words: str) -> dict[str, object]:
    command = [str(launcher()), "-n", str(ranks), sys.executable, "-m", "polybench.ranks", *words]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "runs"), [("double", ((1, "1"), (2, "1"), (4, "2"))), ("float", ((1, "1"), (2, "2")))]
)
def test_bits_are_those_of_one_rank(dtype: str, runs: tuple[tuple[int, str], ...]) -> None:
    sizes = ["--param", "tsteps=5", "--param", "nx=14", "--param", "ny=13", "--param", "nz=12"]
    words = ["cluster/stencil-7pt", *sizes, "--dtype", dtype, "--on", "emulator", "--runs", "1"]
    found = [measured(ranks, *words, "--steps-per-exchange", steps) for ranks, steps in runs]
    assert len({f["digest"] for f in found}) == 1
    assert [f["grid"] for f in found] == [[1, 1, 1], [2, 1, 1], [2, 2, 1]][: len(runs)]
    assert found[0]["exchange"] == "overlap" and found[0]["transport"] == "host"
