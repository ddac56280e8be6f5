"""Sums, counts and extremes of what a loop also stores: each is a reduction, and reads what it would read in C."""

from __future__ import annotations

import pytest

import polytile
from polytile.runtime.emulator.instrument import CHECKS
from tests.every_schedule import same_in_every_schedule, source

pytestmark = pytest.mark.usefixtures("emulator")

SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 301, "m": 5})
PROGRAMS = {
    "two sums of what is stored": (
        "double x[n], double r[n], double o[3]",
        "for (int i = 1; i < n; i++) { double d = x[i] - x[i-1]; r[i] = d; s += d; q += d * d; }",
    ),
    "a sum of a factor of what changes": (
        "double x[n], double o[3]",
        "for (int i = 0; i < n; i++) { double w = 1.0 / (i + 1); x[i] *= w; s += w; }",
    ),
    "extremes of what is clamped": (
        "float A[n][m], double o[3]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { float v = 2 * A[i][j]; if (v < 0) v = 0;"
        " if (v > 1) v = 1; A[i][j] = v; if (v > s) s = v; if (v < q) q = v; }",
    ),
    "what is stored in another type": (
        "double x[n], float y[n], double o[3]",
        "for (int i = 0; i < n; i++) { double v = x[i] / 3; y[i] = v; s += v; q += v * v; }",
    ),
    "what is stored elsewhere meanwhile": (
        "double x[n + 1], double o[3]",
        "for (int i = 0; i < n; i++) { double v = x[i]; x[i + 1] = v / 2; s += v; q += x[i]; }",
    ),
    "a place that changes": (
        "int p[n], double x[n], double y[n + m], double o[3]",
        "for (int i = 0; i < n; i++) { int k = i; double v = x[k]; k = i / 2; s += v; q += v * x[k]; y[k + m] = v; }",
    ),
    "windows that are counted": (
        "int A[n][m], int B[n][m], double o[3]",
        "for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++) { int k = 0; for (int a = -1; a < 2; a++)"
        " for (int b = -1; b < 2; b++) k += A[i + a][j + b] & 1; B[i][j] = k > 4; c += B[i][j]; }",
    ),
    "counts on both sides of a store": (
        "double x[n], double o[3]",
        "for (int i = 0; i < n; i++) { if (x[i] < -0.2) { x[i] = -0.2; c++; } if (x[i] > 0.3) { x[i] /= 2; c++; }"
        " if (x[i] > 0.4) c -= 3; }",
    ),
    "a count that is read between": (
        "int x[n], int y[n], double o[3]",
        "for (int i = 0; i < n; i++) { c += x[i] & 7; y[i] = c; c += 10; }",
    ),
    "a count that is read behind": (
        "double x[n], double y[n], double o[3]",
        "for (int i = 0; i < n; i++) { if (x[i] < -0.2) { x[i] = 0; c++; } if (x[i] > 0.2) { x[i] = 1; c += 2; }"
        " y[i] = c; s += c; }",
    ),
    "a count that is read in another loop": (
        "int x[n], int y[n][m], double o[3]",
        "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) { c += x[i] & 3; y[i][j] = j; c++; } x[i] = c; }",
    ),
    "counts of a time loop": (
        "double x[n], double o[3]",
        "for (int t = 0; t < m; t++) for (int i = 0; i < n; i++) { if (x[i] > 0.5) c++; x[i] /= 2;"
        " if (x[i] > 0.4) c += 2; }",
    ),
}  # fmt: skip
SERIAL = (
    "a count that is read between",
    "a count that is read behind",
    "a count that is read in another loop",
    "what is stored elsewhere meanwhile",
    "a place that changes",
    "counts of a time loop",
)


def text(name: str) -> str:
    arguments, loop = PROGRAMS[name]
    return source(arguments, f"double s = 0, q = 0; int c = 0; {loop} o[0] = s; o[1] = q; o[2] = c;")


@pytest.mark.quick
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in SERIAL])
def test_they_run_in_many_threads(name: str) -> None:
    (scop,) = polytile.compile(text(name), name="f.c", raise_bugs=True).scops
    said = [remark.message for remark in scop.remarks]
    assert scop.program is not None and not [message for message in said if "one GPU thread" in message], said
    names = {p.name for p in scop.compilation.scop.parameters}
    for sizes in SIZES[2:]:
        scop.validate(on="emulator", parameters={k: v for k, v in sizes.items() if k in names}, sanitize=CHECKS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_schedule_computes_what_c_does(name: str) -> None:
    same_in_every_schedule(text(name), SIZES)


def test_chunks_of_two_loops_are_added_up_by_many_threads() -> None:
    body = (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
        " { double d = A[i][j] - B[i][j]; B[i][j] = A[i][j]; o[0] += d * d; }"
    )
    (scop,) = polytile.compile(source("double A[n][n], double B[n][n], double o[1]", body), name="f.c").scops
    assert scop.program is not None
    (last,) = [kernel for kernel in scop.program.kernels if "over all sums" in " ".join(kernel.summary)]
    assert last.block == (128, 1, 1)
    scop.validate(on="emulator", parameters={"n": 1100}, sanitize=CHECKS)


def test_sums_of_few_terms_are_made_by_who_gets_them() -> None:
    """A window's nine terms are no work for a warp, also where the results are added up."""
    (scop,) = polytile.compile(text("windows that are counted"), name="f.c").scops
    made = {split.statement for split in scop.compilation.scop.privatised}
    texts = {s.name: s.text for s in scop.compilation.source.statements}
    assert ["B[i][j]" in texts[name] for name in made] == [True]
