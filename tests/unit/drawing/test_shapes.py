"""Programs of every shape have a picture, and a picture that fails costs no kernels."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import polytile
import polytile.drawing.build
import polytile.drawing.iterations
from polytile.cli.main import main
from tests.reading import shared

DOT = "double s; int f(int n, double x[n], double y[n]) {", "for (int i = 0; i < n; i++) s += x[i] * y[i];"
SHAPES = {
    "dot-product": DOT,
    "maximum": ("double s; int f(int n, double x[n]) {", "for (int i = 0; i < n; i++) if (x[i] > s) s = x[i];"),
    "two-sums": (
        "double s, t; int f(int n, double x[n]) {",
        "s = 0; t = 1; for (int i = 0; i < n; i++) { s += x[i]; t += x[i] * x[i]; }",
    ),
    "sum-of-a-matrix": (
        "double s; int f(int n, double a[n][n]) {",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) s += a[i][j];",
    ),
    "sums-of-columns": (
        "int f(int n, double a[n][n], double y[n]) {",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[j] += a[i][j];",
    ),
    "sum-over-three-loops": (
        "double s; int f(int n, double a[n][n][n]) {",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) s += a[i][j][k];",
    ),
    "one-statement-without-loops": ("double s, t; int f(int n, double x[n]) {", "s = t + 1; x[0] = s;"),
    "statement-then-loop": (
        "double s; int f(int n, double x[n]) {",
        "s = 2 * s; for (int i = 0; i < n; i++) x[i] *= s; s = 0;",
    ),
    "never-runs": ("int f(int n, double x[n]) {", "for (int i = 0; i < n - 1000000; i++) x[i] = 1;"),
    "runs-for-one-size": ("int f(int n, double x[n]) {", "if (n == 12345) for (int i = 0; i < n; i++) x[i] = 1;"),
    "one-loop": ("int f(int n, double x[n], double y[n]) {", "for (int i = 0; i < n; i++) y[i] = x[i];"),
    "even-and-odd": (
        "int f(int n, double x[2 * n]) {",
        "for (int i = 0; i < n; i++) { x[2 * i] = 1; x[2 * i + 1] = 2; }",
    ),
    "downwards": ("int f(int n, double x[n]) {", "for (int i = n - 1; i >= 0; i--) x[i] = i;"),
    "three-dimensions": (
        "int f(int n, double a[n][n][n]) {",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) a[i][j][k] = i + j * k;",
    ),
    "several-ranks": (
        "int f(int n, double a[n][n], double x[n], double *s) {",
        "*s = 0; for (int i = 0; i < n; i++) { x[i] = 1; for (int j = 0; j <= i; j++) a[i][j] = x[i] + j; }",
    ),
    "triangle": (
        "int f(int n, double a[n][n]) {",
        "for (int i = 0; i < n; i++) for (int j = i; j < n; j += 3) a[j][i] = 1;",
    ),
    "product-of-matrices": (
        "int f(int n, double a[n][n], double b[n][n], double c[n][n]) {",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { c[i][j] = 0;"
        " for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j]; }",
    ),
    "histogram": (
        "int f(int n, int p[n], double h[64]) {",
        "for (int i = 0; i < n; i++) h[p[i] & 63] += 1;",
    ),
    "scatter": ("int f(int n, int p[n], double x[n]) {", "for (int i = 0; i < n; i++) if (p[i] > 0) x[i] = p[i];"),
    "prefix-sum": ("int f(int n, double x[n]) {", "for (int i = 1; i < n; i++) x[i] += x[i - 1];"),
    "time-tiles": (
        "int f(int T, int n, double a[n], double b[n]) {",
        "for (int t = 0; t < T; t++) { for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1];"
        " for (int i = 1; i < n - 1; i++) a[i] = b[i]; }",
    ),
    "time-tiles-of-planes": (
        "int f(int T, int n, double a[2][n][n]) {",
        "for (int t = 0; t < T; t++) for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)"
        " a[(t + 1) % 2][i][j] = a[t % 2][i - 1][j] + a[t % 2][i][j + 1];",
    ),
    "sums-of-a-time-loop": (
        "double s; int f(int T, int n, double x[n]) {",
        "for (int t = 0; t < T; t++) { for (int i = 0; i < n; i++) s += x[i];"
        " for (int i = 0; i < n; i++) x[i] = 0.5 * x[i] + t; }",
    ),
}  # fmt: skip
FAILS = "this picture fails on purpose"


def source(name: str) -> str:
    head, body = SHAPES[name]
    return f"{head}\n#pragma scop\n{body}\n#pragma endscop\nreturn 0; }}\n"


@shared
def compiled(name: str) -> polytile.Program:
    return polytile.compile(source(name), name="f.c", raise_bugs=True)


@pytest.mark.slow(
    but=(  # quick ones
        "dot-product", "one-statement-without-loops", "statement-then-loop", "never-runs", "runs-for-one-size",
        "one-loop", "even-and-odd", "downwards", "three-dimensions", "several-ranks", "triangle", "histogram",
        "scatter", "prefix-sum", "time-tiles",
    )
)
@pytest.mark.parametrize("name", SHAPES)
def test_each_shape_has_a_picture(name: str) -> None:
    for scop in compiled(name).scops:
        assert ElementTree.fromstring(scop.draw()).tag.endswith("svg")


@pytest.mark.parametrize("schedule", ["auto", "split", "overlapped"])
@pytest.mark.parametrize("size", [1, 2, 500])
def test_lanes_that_write_nothing_are_not_drawn(schedule: str, size: int) -> None:
    (scop,) = polytile.compile(source("dot-product"), name="f.c", raise_bugs=True, schedule=schedule).scops
    assert "No picture of tiles" not in scop.draw({"n": size})


@pytest.mark.slow(but="tiles")
@pytest.mark.parametrize("failing", [("tiles",), ("iterations",), ("tiles", "iterations")], ids="-".join)
def test_a_picture_that_fails_costs_no_kernels(
    failing: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise TypeError(FAILS)

    places = {"tiles": polytile.drawing.build, "iterations": polytile.drawing.iterations}
    for name in failing:
        monkeypatch.setattr(places[name], "drawing_of", fail)
    (tmp_path / "f.c").write_text(source("dot-product"))
    options = ["--draw", str(tmp_path / "f.svg"), "--report", str(tmp_path / "f.html"), "-o", str(tmp_path)]
    assert main([str(tmp_path / "f.c"), *options]) == 0
    assert f"warning: {'no picture: ' if len(failing) == 2 else ''}internal error: TypeError: {FAILS}" in (
        capsys.readouterr().err
    )
    assert {path.name for path in tmp_path.iterdir()} == {
        "f.c", "f_host.c", "f_kernel.cu", "f_kernel.h", "f.html", *(["f.svg"] if len(failing) == 1 else [])
    }  # fmt: skip


@pytest.mark.parametrize("asked", ["certificate", "schedules", "page", "explain"])
def test_what_is_said_of_kernels_costs_none(
    asked: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise TypeError(FAILS)

    whole = asked in ("page", "explain")
    monkeypatch.setattr(polytile.Program, asked, fail if whole else property(fail))
    (tmp_path / "f.c").write_text(source("one-loop"))
    words = {"certificate": "--certificate", "schedules": "--save-schedule", "page": "--report"}
    target = tmp_path / "asked.html"
    options = [words[asked], str(target)] if asked in words else ["--explain"]
    assert main([str(tmp_path / "f.c"), "-o", str(tmp_path), *options]) == 0
    assert f"internal error: TypeError: {FAILS}" in capsys.readouterr().err
    assert (tmp_path / "f_kernel.cu").exists() and not target.exists()
