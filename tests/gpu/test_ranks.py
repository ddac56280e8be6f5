"""Ranks of MPI that share a GPU, or have one each: the bits of the C, from Python and from C."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polytile.runtime.compilers import nvcc
from polytile.runtime.cupy_engine import cupy_available
from polytile.runtime.driver import driver_arch
from tests.ranks.c_programs import BY_NAME, Case, built, run
from tests.ranks.mpirun import mpirun
from tests.ranks.test_c_entry import MODES, SIZES

pytestmark = pytest.mark.skipif(driver_arch() is None, reason="no GPU that the CUDA driver can use")
PROGRAMS = ("stencil-7pt in time tiles", "himeno-19pt", "heat-3d", "fdtd-2d", "wave", "hexagons")


@pytest.mark.skipif(not cupy_available(), reason="CuPy cannot be used")
@pytest.mark.parametrize("transport", ["host", "ipc"])
@pytest.mark.parametrize("program", [pytest.param(PROGRAMS[0], marks=pytest.mark.quick), *PROGRAMS[1:]])
def test_python(program: str, transport: str) -> None:
    done = mpirun(4, "tests.ranks.programs", program, "--transport", transport, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {case["ranks"] for case in found} >= {1, 2, 4}
    assert [case for case in found if case["differ"] or not case["finite"]] == []
    assert {case["transport"] for case in found} == {transport}


@pytest.mark.skipif(nvcc() is None, reason="there is no nvcc")
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("name", ["heat", "himeno", "wave"])
def test_c_entry(name: str, steps: int, tmp_path: Path) -> None:
    cases = [Case(ranks, mode, "auto", SIZES[name]) for ranks in (1, 2, 4) for mode in MODES]
    done = run(built(BY_NAME[name], steps, tmp_path, "gpu"), cases)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["equal"] * len(cases), done.stderr[-2000:]
