"""Kernels whose warps keep strips in registers compute what C does, bit for bit."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from polytile.codegen.targets.cuda.cuda import print_kernels
from polytile.diagnostics import InternalError
from polytile.ir.expr import Ternary
from polytile.ir.expr_trees import walk
from polytile.ir.gpu_ops import Load, Shuffle
from polytile.ir.time_tile import Exchange
from polytile.runtime.compilers import nvcc

from .plans import Case
from .programs import STAR, examples, same_as_c

WARPS = [name for name, example in examples().items() if example.case.exchange is Exchange.WARP]


@pytest.mark.slow(but="line")
@pytest.mark.parametrize("name", WARPS)
def test_results_are_those_of_c(name: str, emulator: None, tmp_path: Path) -> None:
    same_as_c(examples()[name], tmp_path)


def test_strips_away_from_all_sides_test_nothing() -> None:
    _, made = Case(STAR, [("A", ("S0",))], 2, live=[1], chunk=16).lowered()
    for kernel in made.kernels:
        loops = [n for n in kernel.nodes if getattr(n, "iterator", "") == "group"]
        inside = [n for loop in loops for n in walk(loop)]
        assert len(loops) == 1 and inside
        assert not any(isinstance(n, Ternary) for n in inside)
        assert not any(isinstance(n, Load) and n.guard is not None for n in inside)
        assert sum(isinstance(n, Shuffle) for n in inside) == 2 * 2


def test_text_grows_with_steps_alone() -> None:
    few, many = (Case(STAR, [("A", ("S0",))], k, live=[1], chunk=16).text().count("\n") for k in (4, 12))
    assert many - few < 8 * 120


@pytest.mark.slow
@pytest.mark.skipif(nvcc() is None, reason="requires nvcc")
@pytest.mark.parametrize("steps, element", [(8, "double"), (12, "float")])
def test_values_stay_in_registers(steps: int, element: str, tmp_path: Path) -> None:
    text = re.sub(r"(0\.\d+)", r"\1f", STAR) if element == "float" else STAR
    case = Case(text.replace("double", element), [("A", ("S0",))], steps, threads=(4,), live=[1], chunk=256)
    source = tmp_path / "unit.cu"
    source.write_text("#include <cstdint>\n" + print_kernels(case.program()))
    flags = ["-arch=sm_90", "-std=c++17", "-O3", "-Xptxas", "-v", "-cubin", "-o", str(tmp_path / "kernel.cubin")]
    done = subprocess.run([str(nvcc()), *flags, str(source)], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") == 2


def test_integers_are_not_divided_by_garbage() -> None:
    text = STAR.replace("double", "int").replace("0.2 * A[t % 2][i - 1][j]", "5 / A[t % 2][i - 1][j]")
    case = Case(text, [("A", ("S0",))], 2, live=[1])
    with pytest.raises(InternalError, match="S0 divides integers by what steps make"):
        case.lowered()
