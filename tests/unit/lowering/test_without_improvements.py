"""An internal error in what only improves kernels leaves it out; one in what is needed leaves the SCoP in C."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile import pipeline
from polytile.cli.main import main
from polytile.codegen import passes
from polytile.codegen.passes.driver import improvements
from polytile.compilation import Compilation
from polytile.compiled_scop import CompiledScop
from polytile.diagnostics import EXIT_BUG, EXIT_DONE, InternalError
from polytile.frontend.program import read_program
from polytile.ir.atomic_updates import with_updates
from polytile.ir.expr import DOUBLE, Assign, Name
from polytile.ir.kernel import Kernel
from polytile.machine import machine_of
from polytile.options import Options
from polytile.stages import plain_programs

from .conftest import c_text

PRODUCT = (
    "int n, int m, double A[n][m], double B[m][m], double C[n][m]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { C[i][j] *= 3;"
    " for (int k = 0; k < m; k++) C[i][j] += A[i][k] * B[k][j]; }",
)
AGAIN = (
    "int n, int m, double A[n][m], double x[m], double t[n], double y[m]",
    "for (int j = 0; j < m; j++) y[j] = 0;"
    "for (int i = 0; i < n; i++) { t[i] = 0;"
    " for (int j = 0; j < m; j++) t[i] += A[i][j] * x[j];"
    " for (int j = 0; j < m; j++) y[j] += A[i][j] * t[i]; }",
)
HISTOGRAM = (
    "int n, int m, int p[n], int h[m]",
    "for (int i = 0; i < n; i++) h[p[i]] += 1;",
)
PROGRAMS = {  # that have what improves kernels
    "scalar-replacement": PRODUCT,
    "loop-carry": PRODUCT,
    "unroll-loads-first": PRODUCT,
    "early-loads": AGAIN,
    "cache-hints": AGAIN,
    "forward-shared": AGAIN,
    "wide-copies": PRODUCT,
    "order-statements": PRODUCT,
    "reassociate-sums": PRODUCT,
    "fold-triangular-grids": PRODUCT,
    "block-order": AGAIN,
    "cache-hints-across-kernels": AGAIN,
    "dependent-launch": AGAIN,
    "warp-aggregation": HISTOGRAM,
    "privatization": HISTOGRAM,
    "subwarp-loops": HISTOGRAM,
    "offset-addressing": PRODUCT,
}
TWO = (
    "void f(int n, double A[n]) {\n#pragma scop\nfor (int i = 0; i < n; i++) A[i] = 2 * A[i];\n#pragma endscop\n}\n"
    "void g(int n, double x[n]) {\n#pragma scop\nfor (int i = 0; i < n; i++) x[i] = 3 * x[i];\n#pragma endscop\n}\n"
)


def failing(*_: object, **__: object) -> Any:
    raise InternalError("a loop is lost")


def plant(patch: pytest.MonkeyPatch, name: str, work: Callable[..., Any] = failing) -> tuple[str, str]:
    """Have a pass do something else; returns a program that has it."""
    for listed in ("KERNEL_PASSES", "PROGRAM_PASSES"):
        asked = lambda _: True  # noqa: E731
        old = getattr(passes, listed)
        changed = (replace(one, asked=asked, run=work) if one.name == name else one for one in old)
        patch.setattr(passes, listed, tuple(changed))
    return PROGRAMS[name]


def nowhere(kernel: Kernel, *_: object) -> Kernel:
    """What gives a wrong kernel and does not notice."""
    return replace(kernel, body=(*kernel.body, Assign(Name("nowhere", DOUBLE), "", Name("nowhere", DOUBLE))))


def warnings(compiled: Any) -> list[str]:
    return [r.message for r in compiled.remarks if r.severity == "warning"]


def test_every_improvement_is_planted() -> None:
    assert {*PROGRAMS} == improvements()


@pytest.fixture(scope="module")
def proven() -> Callable[[tuple[str, str]], Compilation]:
    """`proven(program)`: all but its kernels, in which alone what improves them takes part."""

    @cache
    def state(program: tuple[str, str]) -> Compilation:
        scop = with_updates(read_program("test.c", c_text(*program)).scops[0], floating=False)
        found = Compilation(scop, options := Options(schedule="superposed"), machine_of(options.arch), scop)
        for name, stage in pipeline.STAGES:
            found = found if name == "ast" else stage(found)
        return found

    return state


@pytest.mark.slow(but="loop-carry")
@pytest.mark.parametrize("name", sorted(improvements()))
def test_kernels_are_right_without(
    emulator: None, proven: Callable[..., Compilation], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    state = proven(PROGRAMS[name])
    plant(monkeypatch, name)
    found = CompiledScop(pipeline.generate_program(state))
    assert warnings(found) == [f"f_scop0: compiled without {name}: internal error: a loop is lost"]
    assert all("please report it" in str(r.hint) for r in found.remarks if r.severity == "warning")
    for n, m in ((0, 3), (17, 70)):
        found.validate(on="emulator", parameters={"n": n, "m": m}, seed=1)


@pytest.mark.slow
def test_kernels_are_checked(compiled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found = compiled(*plant(monkeypatch, "cache-hints", nowhere), schedule="superposed")
    (warning,) = warnings(found)
    assert warning.startswith("f_scop0: compiled without cache-hints: internal error: kernel f_scop0_k")
    assert "nowhere" not in found.cuda


@pytest.mark.slow
def test_several_that_fail(emulator: None, compiled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "loop-carry")
    plant(monkeypatch, "block-order")
    found = compiled(*PRODUCT, schedule="superposed")
    assert warnings(found) == ["f_scop0: compiled without what improves kernels: internal error: a loop is lost"]
    found.validate(on="emulator", parameters={"n": 17, "m": 70}, seed=1)


@pytest.mark.slow
def test_every_kind_of_error(compiled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "loop-carry", lambda *_, **__: {}["x"])
    assert warnings(compiled(*PRODUCT)) == ["f_scop0: compiled without loop-carry: internal error: KeyError: 'x'"]


@pytest.mark.slow
def test_those_who_look_for_bugs_see_them(compiled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "loop-carry")
    with pytest.raises(InternalError, match="a loop is lost"):
        compiled(*PRODUCT, raise_bugs=True)
    monkeypatch.undo()
    plant(monkeypatch, "cache-hints", nowhere)
    with pytest.raises(InternalError, match="nowhere"):
        compiled(*AGAIN, raise_bugs=True)


# What is needed -------------------------------------------------------------------------------------------------------
@pytest.fixture
def without_g(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file of two functions, of which the second cannot be compiled."""
    real = plain_programs.lower

    def lowered(scop: Any, *rest: Any) -> Any:
        return failing() if scop.name.startswith("g") else real(scop, *rest)

    monkeypatch.setattr(plain_programs, "lower", lowered)
    (tmp_path / "two.c").write_text(TWO)
    return tmp_path / "two.c"


def test_the_rest_of_the_file_is_compiled(without_g: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(without_g), "-o", str(without_g.parent)]) == EXIT_BUG
    printed = capsys.readouterr()
    assert re.search(r"two\.c:7:\d+: error: internal error: a loop is lost", printed.err)
    assert "please report it" in printed.err and "f_scop0: " in printed.out
    assert [path.name for path in without_g.parent.iterdir()] == ["two.c"]  # an error writes nothing


def test_keep_going(without_g: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(without_g), "-o", str(without_g.parent), "--keep-going"]) == EXIT_DONE
    assert "warning: internal error: a loop is lost" in capsys.readouterr().err
    host = (without_g.parent / "two_host.c").read_text()
    assert "polytile_f_scop0(" in host and "x[i] = 3 * x[i];" in host and "polytile_g_scop0" not in host
    assert (without_g.parent / "two_kernel.cu").exists()


def test_where_it_happened(without_g: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(without_g), "-o", str(without_g.parent), "-v"]) == EXIT_BUG
    assert "Traceback" in (text := capsys.readouterr().err) and "in failing" in text


def test_library(without_g: Path) -> None:
    program = polytile.compile(without_g)
    assert [s.name for s in program.scops] == ["f_scop0"]
    assert [type(r) for r in program.refusals] == [InternalError]
    with pytest.raises(InternalError, match="a loop is lost"):
        polytile.compile(TWO[TWO.index("void g") :])
    with pytest.raises(InternalError, match="a loop is lost"):
        polytile.compile(without_g, raise_bugs=True)
