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
OTHERS: Mapping[str, str] = {
    "another size": "for (int k = 0; k < n * m; k++) a[k % l] = b[k / l];",
    "an unsigned iterator": "for (unsigned k = 0; k < n * m; k++) a[k / m * m + k % m] = b[k];",
    "a size that changes": (
        "for (int t = 0; t < 4; t++) { for (int k = 0; k < n * m; k++) a[k % m] = b[k / m]; m -= 1; }"
    ),
    "from one on": "for (int k = 1; k < n * m; k++) a[k % m] = b[k / m];",
}


def text(body: str) -> str:
    return (
        "void f(int n, int m, int l, double *restrict a, double *restrict b, double *restrict c)\n{\n"
        f"int N = n * m, W = m - 1;\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
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


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_sizes(name: str, tmp_path: Path) -> None:
    """Sizes of 0, and of which both are below 0, are left to the C."""
    calls = (
        "static double x[3][9000]; for (int i = 0; i < 9000; i++) { x[0][i] = i; x[1][i] = 2 * i - 7; x[2][i] = 1; }"
        " for (int n = 0; n < 4; n++) for (int m = 1; m < 4; m++) f(n, m, 2, x[0] + 100, x[1] + 100, x[2] + 100);"
        " f(3, 0, 0, x[0] + 100, x[1] + 100, x[2] + 100); f(-1, 2, 1, x[0] + 100, x[1] + 100, x[2] + 100);"
        ' for (int i = 0; i < 9000; i++) printf("%.17g %.17g %.17g\\n", x[0][i], x[1][i], x[2][i]);'
    )
    source = tmp_path / "f.c"
    source.write_text(f"#include <stdio.h>\n{text(PROGRAMS[name])}int main(void) {{ {calls} return 0; }}\n")
    subprocess.run(["gcc", "-O1", "-ffp-contract=off", str(source), "-o", str(tmp_path / "plain")], check=True)
    built = ["--build", str(tmp_path / "made"), "--on", "emulator", "--fp", "strict", "-q", "-o", str(tmp_path / "out")]
    assert main([str(source), *built]) == 0
    printed = [
        subprocess.run([str(tmp_path / made)], check=True, capture_output=True).stdout for made in ("plain", "made")
    ]
    assert printed[0] == printed[1]


@pytest.mark.parametrize("name", OTHERS)
def test_others_stay(name: str) -> None:
    with pytest.raises(UserError, match=r"not affine|wrap|changes"):
        polytile.compile(text(OTHERS[name]), name="f.c")
