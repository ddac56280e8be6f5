"""Whole kernels of a dozen programs: the diff shows what a change of the compiler does to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import polytile
from polybench.runner.digests.texts import program_texts
from polybench.runner.tables import load

KERNELS = (  # each shows something else
    ("polybench/gemm", "double", "auto"),  # tiles in registers
    ("polybench/atax", "float", "classic"),
    ("polybench/correlation", "float", "classic"),  # nine kernels, triangles
    ("polybench/doitgen", "double", "superposed"),  # a temporary that lives in the kernel
    ("polybench/mvt", "double", "superposed"),  # reductions over lanes and chunks
    ("polybench/lu", "double", "classic"),  # a loop on the host
    ("polybench/trisolv", "float", "classic"),
    ("polybench/jacobi-2d", "float", "auto"),
    ("polybench/fdtd-2d", "double", "superposed"),
    ("polybench/nussinov", "double", "classic"),  # integers, conditions
    ("an5d/star3d2r", "float", "classic"),
    ("polyast/symm-3.2", "float", "superposed"),
)


@pytest.mark.slow(but="polybench/fdtd-2d-double-superposed")
@pytest.mark.parametrize(("program", "dtype", "schedule"), KERNELS)
def test_whole_kernels(
    program: str, dtype: str, schedule: str, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = load()[program]
    monkeypatch.chdir(entry.path.parents[1])
    compiled = polytile.compile(Path(entry.file), defines=entry.defines("large", dtype), schedule=schedule)
    kernels = [text for part, text in program_texts(compiled).items() if part.startswith("kernel:")]
    golden(f"kernels/{entry.name}-{dtype}-{schedule}.cu", "\n".join(kernels))
