"""What one GPU thread, or the C, runs in order: the remark, its estimate and the reason of each loop."""

from __future__ import annotations

import pytest

import polytile
from polytile.api import CompiledScop
from polytile.diagnostics import Diagnostic
from polytile.facts import LoopKind, Where

ROWS = """for (int i = 0; i < n; i++) {
 double t = 0;
 for (int j = 0; j < m; j++)
  t += A[i][j];
 s += t * x[i];
}
o[0] = s;"""
SCAN = "for (int i = 0; i < n; i++)\n x[i] *= 2;\nfor (int i = 1; i < n; i++)\n y[i] += y[i - 1] * x[i];"
TAPS = """for (int i = 0; i < n; i++)
 x[i] *= w[3];
for (int k = 1; k < 8; k++)
 w[k] += w[k - 1];
for (int i = 0; i < n; i++)
 y[i] = w[7] * x[i];"""


def compiled(arguments: str, body: str, **settings: object) -> CompiledScop:
    text = f"void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (scop,) = polytile.compile(text, name="why.c", raise_bugs=True, **settings).scops  # type: ignore[arg-type]
    return scop


def of_one_thread(scop: CompiledScop) -> list[Diagnostic]:
    return [remark for remark in scop.remarks if "one GPU thread" in remark.message]


def test_a_scan_beside_parallel_loops_says_what_keeps_it_in_order() -> None:
    scop = compiled("int n, double x[n], double y[n]", SCAN)
    (remark,) = of_one_thread(scop)
    assert remark.message.startswith("f_scop0_k1 runs in one GPU thread, ")
    assert "us by estimate with n=2000" in remark.message
    assert remark.location is not None and remark.location.line == 6
    assert remark.hint == "why.c:6: loop i is serial: y[i] written at i=1 is read at i=2"
    first, scan = scop.loops
    assert first.where == (Where.GRID, Where.BLOCK) and scan.where == (Where.ONE_THREAD,)


@pytest.mark.slow
def test_the_rest_of_a_row_that_strict_keeps_in_order_is_one_thread_in_the_mark_too() -> None:
    arguments, body = "int n, int m, double A[n][m], double x[n], double s, double o[1]", ROWS
    rows = compiled(arguments, body, strict=True).loops[0]
    assert rows.kind is LoopKind.REDUCTION and rows.where == (Where.GRID, Where.BLOCK, Where.ONE_THREAD)
    (remark,) = of_one_thread(compiled(arguments, body, strict=True))
    wanted = "why.c:4: loop i is a reduction into s, and --fp strict keeps the order of its roundings"
    assert remark.hint == wanted
    assert not of_one_thread(compiled(arguments, body))


def test_a_few_iterations_are_no_loop_over_data() -> None:
    scop = compiled("int n, double x[n], double y[n], double w[8]", TAPS)
    assert not of_one_thread(scop)
    assert scop.loops[1].where == (Where.ONE_THREAD,)


def test_the_last_value_of_a_loop_is_no_loop_over_data() -> None:
    body = "double t = 0;\nfor (int i = 0; i < n; i++) { t = 2 * x[i]; y[i] = t; }\no[0] = t;"
    scop = compiled("int n, double x[n], double y[n], double o[1]", body)
    assert scop.loops[0].kind is LoopKind.PARALLEL and not of_one_thread(scop)


def test_the_host_says_why_a_reduction_stays_there() -> None:
    body = "for (int i = 0; i < n; i++)\n s += x[i];\no[0] = s;"
    (remark,) = compiled("int n, double x[n], double s, double o[1]", body, strict=True).remarks
    assert remark.hint == "why.c:4: loop i is a reduction into s, and --fp strict keeps the order of its roundings"


@pytest.mark.parametrize("strict", [False, True])
def test_additions_in_several_statements_are_one_reduction(strict: bool) -> None:
    body = "for (int i = 0; i < n; i++)\n if (x[i] > 0) o[0] += 2; else o[0] -= x[i];"
    (loop,) = compiled("int n, double x[n], double o[1]", body, strict=strict).loops
    assert loop.kind is LoopKind.REDUCTION and loop.arrays == ("o",)


def test_different_operators_on_one_total_are_no_reduction() -> None:
    body = "for (int i = 0; i < n; i++)\n if (x[i] > 0) o[0] += 2; else o[0] *= x[i];"
    (loop,) = compiled("int n, double x[n], double o[1]", body).loops
    assert loop.kind is LoopKind.SERIAL


def test_witnesses_keep_to_assumptions() -> None:
    body = "__pencil_assume(n > 100);\nfor (int i = 0; i < n; i++)\n x[i] += x[i + n - 100];"
    (loop,) = compiled("int n, double x[2 * n]", body).loops
    assert loop.kind is LoopKind.PARALLEL and loop.arrays == ("x",)
    before = "__pencil_assume(n > 100);\nfor (int i = n; i < 2 * n; i++)\n x[i] += x[i - n + 100];"
    (loop,) = compiled("int n, double x[2 * n]", before).loops
    assert loop.witness is not None and dict(loop.witness.sizes)["n"] > 100
