"""Validation with checks: compiled programs are clean, and what is planted in one is reported at the line of the C."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import polytile
from polybench.runner import cli as runner
from polytile.api import CompiledScop
from polytile.cli import main
from polytile.diagnostics import EXIT_DONE, EXIT_USAGE, EXIT_VALIDATION, FindingsError, UsageError
from polytile.ir.expr import Access, Binary, Literal
from polytile.ir.expr_trees import rewrite
from polytile.ir.kernel import Barrier, Comment

pytestmark = pytest.mark.usefixtures("emulator")

ROWS = """void rows(int n, int T, double A[n][n], double B[n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int t = 0; t < T; t++) {
            for (int j = 0; j < n; j++)
                B[i][j] = A[i][n - 1 - j] + A[i][j];
            for (int j = 0; j < n; j++)
                A[i][j] = 0.5 * B[i][j] + 0.25 * B[i][n - 1 - j];
        }
#pragma endscop
}
"""
WRITES_B, WRITES_A = 7, 9
SIZES = {"n": 40, "T": 3}


@pytest.fixture(scope="module")
def rows() -> CompiledScop:
    return polytile.compile(ROWS, name="rows.c").scops[0]


def changed(scop: CompiledScop, change: Callable[[Any], Any]) -> CompiledScop:
    """The same SCoP, every node of its kernels changed."""
    assert scop.program is not None
    kernels = tuple(replace(k, body=tuple(rewrite(s, change) for s in k.body)) for k in scop.program.kernels)
    assert kernels != scop.program.kernels
    return CompiledScop(replace(scop.compilation, program=replace(scop.program, kernels=kernels)))


def without_barriers(scop: CompiledScop) -> CompiledScop:
    return changed(scop, lambda node: Comment("no barrier") if isinstance(node, Barrier) else node)


def findings(scop: CompiledScop, **options: Any) -> FindingsError:
    with pytest.raises(FindingsError) as caught:
        scop.validate(on="emulator", parameters=SIZES, seed=1, **options)
    return caught.value


@pytest.mark.slow
def test_a_correct_program_is_clean(rows: CompiledScop) -> None:
    (validation,) = rows.validate(parameters=SIZES, seed=1, sanitize="all")
    assert validation.label == "the emulator (address, undefined, race, uninitialised)"


@pytest.mark.slow
def test_a_dropped_barrier_is_a_race(rows: CompiledScop) -> None:
    error = findings(without_barriers(rows), sanitize=["race"])
    assert error.exit_status == EXIT_VALIDATION
    assert {finding.location.line for finding in error.findings if finding.location} <= {WRITES_B, WRITES_A}
    assert all(finding.message.startswith("race: kernel ") for finding in error.findings)
    assert "of A, which thread" in str(error) and "of B, which thread" in str(error)
    assert "rows.c:7:17: error: race: " in str(error)


@pytest.mark.slow
def test_an_index_beyond_an_array_is_found(rows: CompiledScop) -> None:
    def shift(node: Any) -> Any:
        if not isinstance(node, Access) or node.array != "B":
            return node
        first = node.subscripts[0]
        return replace(node, subscripts=(Binary("+", first, Literal("1"), first.type), *node.subscripts[1:]))

    error = findings(changed(rows, shift), sanitize="address")
    (finding,) = error.findings
    assert finding.location is not None and finding.location.line == WRITES_B
    assert "of B, 8 bytes beyond its end (12800 bytes) (rows" in finding.message


@pytest.mark.slow
def test_the_lines_of_the_cu_are_those_of_the_text(rows: CompiledScop) -> None:
    broken = without_barriers(rows)
    error = findings(broken, sanitize="race")
    text = broken.cuda.splitlines()
    number = int(error.findings[0].message.rpartition(f"({broken.name}_kernel.cu:")[2].split(")")[0].split(" ")[0])
    assert "[" in text[number - 1] and "=" in text[number - 1]


def test_unknown_checks_and_places_are_refused(rows: CompiledScop) -> None:
    with pytest.raises(UsageError, match="there is no check 'memory'"):
        rows.validate(on="emulator", sanitize="memory")
    with pytest.raises(UsageError, match="not the GPU"):
        rows.validate(on="gpu", sanitize="race")


OVERFLOWING = """void squares(int n, int A[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        A[i] = i * 1000000000;
#pragma endscop
}
"""


@pytest.fixture
def overflowing(tmp_path: Path) -> list[str]:
    (tmp_path / "squares.c").write_text(OVERFLOWING)
    return [str(tmp_path / "squares.c"), "-o", str(tmp_path / "out"), "--validate", "--on", "emulator"]


@pytest.mark.slow
@pytest.mark.usefixtures("checking_compiler")
def test_a_finding_ends_the_command(overflowing: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main.main([*overflowing, "--sanitize", "undefined,race"]) == EXIT_VALIDATION
    out, err = capsys.readouterr()
    assert "squares.c:5:9: error: undefined: kernel " in err
    assert "3 * 1000000000 does not fit in 'int' (squares_kernel.cu:" in err
    assert "nothing was written" in out and not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("checking_compiler")
def test_findings_in_json(overflowing: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([*overflowing, "--sanitize", "undefined", "--json"]) == EXIT_VALIDATION
    result = json.loads(capsys.readouterr().out)
    (message,) = (d for d in result["diagnostics"] if d["severity"] == "error")
    assert message["line"] == 5 and message["message"].startswith("undefined: kernel ")


@pytest.mark.slow
@pytest.mark.usefixtures("checking_compiler")
def test_without_the_check_the_program_agrees(overflowing: list[str]) -> None:
    assert main.main([*overflowing, "--sanitize", "race,address"]) == EXIT_DONE


@pytest.mark.parametrize(
    "words",
    [["--sanitize", "race"], ["--validate", "--on", "gpu", "--sanitize", "race"], ["--validate", "--sanitize", "fast"]],
)
def test_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["squares.c", *words]) == EXIT_USAGE
    assert "--sanitize" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("checking_compiler")
def test_benchmark_programs_are_clean(capsys: pytest.CaptureFixture[str]) -> None:
    programs = ["polybench/gemm", "polybench/lu", "polybench/jacobi-2d", "split/jacobi-1d-3pt"]
    words = ["run", *programs, "--on", "emulator", "--sanitize", "all", "--dtype", "double", "--jobs", "2"]
    assert runner.main(words) == EXIT_DONE, capsys.readouterr().out


def test_the_runner_checks_in_the_emulator_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["run", "gemm", "--on", "cpu", "--sanitize", "race"]) == EXIT_USAGE
    assert "--sanitize needs --on emulator" in capsys.readouterr().err


SEVERAL = """void several(int n, int A[n], int B[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        A[i] = i;
#pragma endscop
#pragma scop
    for (int i = 0; i < n; i++)
        B[i] = i * 1000000000;
#pragma endscop
}
"""


@pytest.mark.slow
def test_lines_in_a_file_with_several_scops() -> None:
    program = polytile.compile(SEVERAL, name="several.c")
    first, second = program.scops
    assert first.validate(on="emulator", seed=1, sanitize="undefined", unit=program.unit)
    with pytest.raises(FindingsError) as caught:
        second.validate(on="emulator", seed=1, sanitize="undefined", unit=program.unit)
    (finding,) = caught.value.findings
    assert finding.location is not None and finding.location.line == 9
    number = int(finding.message.rpartition("(several_kernel.cu:")[2].split(")")[0])
    assert "1000000000" in program.cuda.splitlines()[number - 1]
