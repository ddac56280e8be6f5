"""Every program of the suite as a user has it: built before and after, its outputs are the same; nvcc is content."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import polytile
from tests import benchmarks

SUITE = Path(__file__).parents[2] / "polybench" / "polybench"
PROGRAMS = sorted(p.stem for p in SUITE.glob("*.c"))
DEFINES = ("MINI_DATASET",)
NVCC = shutil.which("nvcc")


def run(*command: str | Path) -> str:
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def gcc() -> str:
    found = shutil.which("gcc") or shutil.which("cc")
    if found is None:
        pytest.skip("needs a C compiler")
    return found


@pytest.mark.slow(but="trisolv")
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_program_prints_the_same(program: str, gcc: str, tmp_path: Path) -> None:
    source = SUITE / f"{program}.c"
    before, after = tmp_path / "before", tmp_path / "after"
    defines = [f"-D{name}" for name in DEFINES]
    run(gcc, "-std=gnu99", "-O2", "-ffp-contract=off", *defines, source, "-o", before, "-lm")
    compiled = polytile.compile(source, defines=DEFINES, strict=True)
    assert compiled.programs
    assert not compiled.refusals
    compiled.build(after, on="emulator")
    expected = run(before)
    assert expected.strip()
    assert run(after) == expected


def differs_by_arch(program: str) -> bool:
    return "__CUDA_ARCH__ >= " in benchmarks.compiled(program).cuda


@pytest.mark.skipif(NVCC is None, reason="needs nvcc")
@pytest.mark.parametrize("archs", [(80, 90), (90,)], ids=str)
def test_nvcc_has_nothing_to_say(archs: tuple[int, ...], tmp_path: Path) -> None:
    """Of all programs whose text takes these architectures, at once: nvcc reads CUDA's headers longer than a program.
    Each is in a namespace of its own, behind the headers that it includes, and SCoPs of `main` have its name."""
    programs = [program for program in PROGRAMS if differs_by_arch(program) == (len(archs) > 1)]
    assert programs
    headers, parts = set(), []
    for program in programs:
        own = program.replace("-", "_")
        for path in benchmarks.compiled(program).write(tmp_path)[1:]:
            text = path.read_text()
            headers.update(re.findall(r"^#include <.*>$", text, re.MULTILINE))
            path.write_text(text.replace("main_scop", f"{own}_scop"))
        parts.append(f'namespace of_{own} {{\n#include "{program}_kernel.cu"\n}}\n')
    unit = tmp_path / "programs.cu"
    unit.write_text("\n".join([*sorted(headers), *parts]))
    targets = [f"-gencode=arch=compute_{arch},code=sm_{arch}" for arch in archs]
    command = [str(NVCC), *targets, "-std=c++17", "-Xcompiler=-Wall", "-fatbin", "-o", str(tmp_path / "all")]
    finished = subprocess.run([*command, str(unit)], capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout + finished.stderr == ""
