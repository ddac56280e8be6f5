"""Loops that count several dimensions in one are a loop for each."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

import polytile
from polytile.cli.main import main
from polytile.diagnostics import UserError
from polytile.runtime.emulator.instrument import CHECKS

# Each is the body of f(int n, int m, int l, double *a, double *b, double *c), with N = n * m and W = m - 1 before it.
PROGRAMS: Mapping[str, str] = {
    "two": "for (int k = 0; k < n * m; k++) a[k % m * n + k / m] = b[k];",
    "a variable for the product": "for (int k = 0; k < N; k++) { int i = k / m, j = k % m; a[j * n + i] = b[k] + i; }",
    "the quotient": "for (int k = 0; k < n * m; k++) a[k] = b[k / m];",
    "the remainder": "for (int k = 0; k < m * n; k++) a[k] = 2 * b[k % m] + b[k];",
    "three": "for (int k = 0; k < n * m * l; k++) { int i = k / (m * l), j = k / l % m, h = k % l;"
    " a[(j * n + i) * l + h] = b[k]; }",
    "three by parts": "for (int k = 0; k < n * m * l; k++) a[k] = b[(k % (m * l) / l * n + k / (l * m)) * l"
    " + k % (m * l) % l];",
    "a sum": "for (int k = 0; k < n * W; k++) a[k / W * m + k % W + 1] = b[k];",
    "a sum in place": "for (int k = 0; k < n * (m - 1); k++) a[k / (m - 1) * m + k % (m - 1) + 1] = b[k];",
    "rows that are known": "for (int k = 0; k < 64 * m; k++) a[k % m * 64 + k / m] = k;",
    "blocks": "for (int k = 0; k < n * n; k++) { int p = 4 * (k / n), q = 4 * (k % n);"
    " for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) a[(p + i) * l + q + j] = b[(q + i) * l + p + j]; }",
    "in another loop": "for (int t = 0; t < 3; t++) { for (int k = 0; k < n * m; k++) b[k / m * m + k % m] = a[k] + t;"
    " for (int k = 0; k < n * m; k++) a[k] = b[k] * c[k % m]; }",
    "an iterator of the function": "int k; for (k = 0; k < n * m; ++k) { c[k] = a[k / m] * b[k % m]; }",
    "sums": "for (int k = 0; k < n * m; k++) a[k / m] += b[k];",
}
# Dimensions that change with the loops around, with NUMBER for the type of arrays; `w` and `all` are the function's.
VARYING: Mapping[str, str] = {
    "a square that shrinks": (
        "for (int o = 0; o < n - 4; o += 4) { w = (n - o - 4) / 4; all = w * w; for (int k = 0; k < all; k++) {"
        " int i = o + 4 * (1 + k / w), j = o + 4 * (1 + k % w);"
        " for (int r = 0; r < 4; r++) for (int s = 0; s < 4; s++) a[(i + r) * n + j + s] -= b[(o + r) * n + j + s]; } }"
    ),
    "a rectangle": (
        "for (int i = 0; i < n; i++) for (int k = 0; k < (n - i) * (i + 1); k++)"
        " a[(k / (i + 1)) * l + k % (i + 1)] += c[i];"
    ),
    "a triangle of rows of one length": (
        "for (int i = 0; i < n; i++) { int rows = n - i; for (int k = 0; k < rows * m; k++)"
        " a[(i + k / m) * l + k % m] += b[i * l + k % m] * c[k / m]; }"
    ),
    "in a nest": (
        "for (int i = 0; i < n; i++) for (int j = i; j <= n; j++) { int h = j - i; for (int k = 0; k < h * h; k++)"
        " a[(i + k / h) * l + k % h] = b[j * l + k % h]; }"
    ),
    "sizes with quotients": (
        "for (int k = 0; k < (n / 2) * (m / 3); k++) a[k / (m / 3) * l + k % (m / 3)] = b[k / (m / 3)] + k % (m / 3);"
    ),
}
# Up to a size of the function's own, K, of which the host asks whether it is whole rows; `p` is another length of rows.
COUNTED: Mapping[str, str] = {
    "sums of rows": "for (int k = 0; k < K; k++) a[k / m] += b[k];",
    "sums of columns": "for (int k = 0; k < K; k++) a[k % m] += b[k] * 3;",
    "whole rows": "for (int k = 0; k < K; k++) a[k % m * l + k / m] = b[k] + k;",
    "two lengths": "for (int k = 0; k < K; k++) a[k / p * l + k % m] = 2 * b[k / p] - c[k % m];",
    "and the size is used": (
        "for (int i = 0; i < K; i++) c[i] = i; for (int k = 0; k < K; k++) { int q = k / m, r = k % m;"
        " a[q * l + r] = b[q] + c[r]; }"
    ),
    "tiles": (
        "for (int k = 0; k < K; k++) { int r0 = 2 * (k / m), c0 = 2 * (k % m);"
        " for (int r = r0; r < r0 + 2; r++) for (int s = c0; s < c0 + 2; s++) a[r * l + s] = b[r * l + s] + 1; }"
    ),
    "twice": (
        "for (int k = 0; k < K; k++) a[k / m * l + k % m] = k; for (int k = 0; k < K; k++) b[k / m * l + k % m] -= k;"
    ),
}
OTHERS: Mapping[str, str] = {
    "a square that may be one of a number below 0": (
        "for (int i = 0; i < n; i++) for (int k = 0; k < (m - i) * (m - i); k++) a[k / (m - i) * l + k % (m - i)] = i;"
    ),
    "a dimension that is set twice": (
        "for (int i = 0; i < n; i++) { w = i; if (i > 3) w = 2; for (int k = 0; k < w * w; k++)"
        " a[k / w * l + k % w] += i; }"
    ),
    "a dimension that is set behind": (
        "for (int i = 0; i < n; i++) { for (int k = 0; k < w * w; k++) a[k / w * l + k % w] += i; w = i; }"
    ),
    "another size": "for (int k = 0; k < n * m; k++) b[k / l] = a[k];",
    "an unsigned iterator": "for (unsigned k = 0; k < n * m; k++) a[k / m * m + k % m] = b[k];",
    "a size that changes": (
        "for (int t = 0; t < 4; t++) { for (int k = 0; k < n * m; k++) a[k % m] = b[k / m]; m -= 1; }"
    ),
    "from one on": "for (int k = 1; k < n * m; k++) b[k / m] = a[k];",
}


def text(body: str) -> str:
    more = "int p, int K, " if "K" in body else ""
    return (
        f"void f({more}int n, int m, int l, double *restrict a, double *restrict b, double *restrict c)\n{{\n"
        f"int N = n * m, W = m - 1, w = n, all;\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    )


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_memory(name: str) -> None:
    (scop,) = polytile.compile(text(PROGRAMS[name]), name="f.c").scops
    assert scop.program is not None and scop.scop.checked
    for n, m, width in ((0, 2, 4), (1, 2, 4), (3, 5, 12), (7, 3, 40), (30, 13, 120)):
        n = max(n, int(name == "blocks"))  # whose rows are as long as there are rows
        sizes = {"n": n, "m": m, "l": width, "W": m - 1, "N": n * m}
        given = {p.name: sizes[p.name] for p in scop.scop.parameters if p.name in sizes}
        assert scop.validate(on="emulator", parameters=given, sanitize=CHECKS, seed=n) is not None


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("number", ["float", "double"])
@pytest.mark.parametrize("name", VARYING)
def test_dimensions_that_change(name: str, number: str) -> None:
    (scop,) = polytile.compile(text(VARYING[name]).replace("double", number), name="f.c").scops
    assert scop.program is not None
    for n, m in ((0, 3), (1, 3), (6, 3), (21, 13), (50, 7)):
        sizes = {"n": n, "m": m, "l": 64}
        given = {p.name: sizes[p.name] for p in scop.scop.parameters if p.name in sizes}
        if "n / 2" in VARYING[name] and n < 2:
            continue  # which the host leaves to the C
        assert scop.validate(on="emulator", parameters=given, sanitize=CHECKS, seed=n) is not None


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("number", ["float", "double"])
@pytest.mark.parametrize("name", COUNTED)
def test_rows_that_the_host_counts(name: str, number: str) -> None:
    (scop,) = polytile.compile(text(COUNTED[name]).replace("double", number), name="f.c").scops
    assert scop.program is not None
    for rows, m in ((0, 3), (1, 1), (7, 5), (30, 13)):
        sizes = {"m": m, "p": m, "l": 64, "k_rows": rows}
        given = {p.name: sizes[p.name] for p in scop.scop.parameters if p.name in sizes}
        for result in scop.validate(on="emulator", parameters=given, sanitize=CHECKS, seed=rows):
            assert "alone" not in result.line


@pytest.mark.parametrize("name", COUNTED)
def test_parts_of_rows_are_left_to_the_c(name: str, tmp_path: Path) -> None:
    calls = (
        "static double x[3][9000]; for (int i = 0; i < 9000; i++) { x[0][i] = i; x[1][i] = 2 * i - 7; x[2][i] = 1; }"
        " for (int k = -1; k < 13; k++) for (int m = 1; m < 5; m++) for (int p = 1; p < 4; p++)"
        " f(p, k, 1, m, 8, x[0] + 100, x[1] + 100, x[2] + 100); f(0, 0, 1, 0, 8, x[0], x[1], x[2]);"
        " f(3, 12, 1, 4, 30, x[0] + 100, x[1] + 100, x[2] + 100);"
        " f(-3, 6, 1, -3, 8, x[0] + 500, x[1] + 500, x[2] + 500);"
        ' for (int i = 0; i < 9000; i++) printf("%.17g %.17g %.17g\\n", x[0][i], x[1][i], x[2][i]);'
    )
    same_output(f"#include <stdio.h>\n{text(COUNTED[name])}int main(void) {{ {calls} return 0; }}\n", tmp_path)


@pytest.mark.parametrize("name", [*PROGRAMS, *VARYING])
def test_all_sizes(name: str, tmp_path: Path) -> None:
    """Sizes of 0, and of which both are below 0, are left to the C."""
    calls = (
        "static double x[3][9000]; for (int i = 0; i < 9000; i++) { x[0][i] = i; x[1][i] = 2 * i - 7; x[2][i] = 1; }"
        " for (int n = 0; n < 4; n++) for (int m = 1; m < 4; m++) f(n, m, 2, x[0] + 100, x[1] + 100, x[2] + 100);"
        " f(3, 0, 0, x[0] + 100, x[1] + 100, x[2] + 100); f(-1, 2, 1, x[0] + 100, x[1] + 100, x[2] + 100);"
        ' for (int i = 0; i < 9000; i++) printf("%.17g %.17g %.17g\\n", x[0][i], x[1][i], x[2][i]);'
    )
    function = text({**PROGRAMS, **VARYING}[name])
    same_output(f"#include <stdio.h>\n{function}int main(void) {{ {calls} return 0; }}\n", tmp_path)


def same_output(program: str, folder: Path) -> None:
    """The program prints the same whoever compiles it."""
    source = folder / "f.c"
    source.write_text(program)
    subprocess.run(["gcc", "-O1", "-ffp-contract=off", str(source), "-o", str(folder / "plain")], check=True)
    built = ["--build", str(folder / "made"), "--on", "emulator", "--fp", "strict", "-q", "-o", str(folder / "out")]
    assert main([str(source), *built]) == 0
    printed = [
        subprocess.run([str(folder / made)], check=True, capture_output=True).stdout for made in ("plain", "made")
    ]
    assert printed[0] == printed[1]


@pytest.mark.quick
@pytest.mark.parametrize("name", OTHERS)
def test_others_stay(name: str) -> None:
    with pytest.raises(UserError, match=r"not affine|wrap|changes"):
        polytile.compile(text(OTHERS[name]), name="f.c")
