"""What is measured on a GPU is launched as the host program launches it, and can be built and run anywhere."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from polytile.diagnostics import UsageError
from polytile.runtime.compilers import nvcc

from .measure import launch_of, unit, write
from .measure_cases import contractions

pytestmark = pytest.mark.slow  # what they share is slow to make

FIRST = next(contractions())


def test_a_block_for_each_tile_of_the_product() -> None:
    blocks = [launch_of(FIRST.program, problem).blocks for problem in FIRST.problems]
    assert blocks == [16 * 18, 32 * 32]
    arguments = launch_of(FIRST.program, FIRST.problems[0]).arguments
    assert arguments == ("2000", "2300", "2600", "2600", "2300", "2300", "1.5", "1.2", "A", "B", "C")


def test_units_name_their_problems() -> None:
    assert unit(FIRST).count(f"{FIRST.program.kernels[0].name}<<<") == len(FIRST.problems)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two kernels are gemm_tensor_nn"):
        write(tmp_path, [FIRST, FIRST])
    with pytest.raises(UsageError, match="has units already"):
        write(tmp_path, [])


@pytest.mark.skipif(nvcc() is None, reason="requires nvcc")
def test_units_print_a_line_of_json_for_each_problem(tmp_path: Path) -> None:
    """With a GPU or without one."""
    assert write(tmp_path, [FIRST]) == len(FIRST.problems)
    subprocess.run(["make", f"NVCC={nvcc()}", "-C", str(tmp_path)], check=True, capture_output=True, timeout=400)
    done = subprocess.run([tmp_path / "bin" / FIRST.name], check=True, capture_output=True, timeout=200)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["size"] for line in lines] == [problem.told["size"] for problem in FIRST.problems]
    assert all("error" in line or line["bad"] == 0 for line in lines)
