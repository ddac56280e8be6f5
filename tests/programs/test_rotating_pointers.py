"""Pointers that change places in a time loop: memory and pointers are as C leaves them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

import polytile
from polytile.cli.main import main
from polytile.diagnostics import UserError
from polytile.runtime.emulator.instrument import CHECKS

STEP = "for (int i = 1; i < n - 1; i++) b[i] = 0.5 * (a[i - 1] + a[i + 1]) + t;"
SWAP = "{ double *h = a; a = b; b = h; }".strip("{} ")
SAME = "for (int i = 1; i < n - 1; i++)"
# Each is the body of f(int n, int T, double *a, double *b, double *c, double *out), whose pointers main prints behind.
PROGRAMS: Mapping[str, str] = {
    "last": f"for (int t = 0; t < T; t++) {{ {STEP} {SWAP} }}",
    "first": f"for (int t = 0; t < T; t++) {{ {SWAP} {STEP} }}",
    "a helper of the function": f"for (int t = 0; t < T; t++) {{ {STEP} g = b; b = a; a = g; }}",
    "another first step": f"int t; for (t = 3; t <= T; ++t) {{ {STEP} {SWAP} }}",
    "do": f"int t = 0; do {{ {STEP} {SWAP} t++; }} while (t < T);",
    "while": f"int t = 1; while (t < T + 1) {{ {STEP} {SWAP} t++; }}",
    "three": f"for (int t = 0; t < T; t++) {{ {SAME} c[i] = 2 * b[i] - a[i] + b[i - 1] - b[i + 1] / 3;"
    " double *h = a; a = b; b = c; c = h; }",
    "three the other way": f"for (int t = 0; t < T; t++) {{ {SAME} c[i] = b[i - 1] - a[i + 1] / 4;"
    " double *h = c; c = b; b = a; a = h; }",
    "two of three": f"for (int t = 0; t < T; t++) {{ {SAME} b[i] = a[i - 1] + c[i + 1]; {SAME} c[i] = b[i]; {SWAP} }}",
    "what follows": (
        f"for (int t = 0; t < T; t++) {{ {STEP} {SWAP} }} for (int i = 0; i < n; i++) out[i] = a[i] - b[i];"
    ),
    "what goes before": f"for (int i = 0; i < n; i++) b[i] = 1; for (int t = 0; t < T; t++) {{ {STEP} {SWAP} }}",
    "a function": f"for (int t = 0; t < T; t++) {{ step(n, a, b); {SWAP} }}",
    "a sum of sizes": f"for (int t = 0; t < 2 * T - 1; t++) {{ {STEP} {SWAP} }}",
    "unsigned sizes": f"for (unsigned t = U; t < V; t++) {{ {STEP} {SWAP} }}",
}
REFUSED: Mapping[str, str] = {
    "in a loop inside": f"for (int k = 0; k < 3; k++) for (int t = 0; t < T; t++) {{ {STEP} {SWAP} }}",
    "under a condition": f"for (int t = 0; t < T; t++) {{ {STEP} if (t > 2) {{ {SWAP} }} }}",
    "in the middle": f"for (int t = 0; t < T; t++) {{ {STEP} {SWAP} {STEP} }}",
    "no rotation": f"for (int t = 0; t < T; t++) {{ {STEP} a = b; }}",
    "by two": f"for (int t = 0; t < T; t += 2) {{ {STEP} {SWAP} }}",
    "twice": f"for (int t = 0; t < T; t++) {{ {STEP} {SWAP} }} for (int t = 0; t < T; t++) {{ {STEP} {SWAP} }}",
    "set elsewhere": f"a = c; for (int t = 0; t < T; t++) {{ {STEP} {SWAP} }}",
    "the helper is used": f"for (int t = 0; t < T; t++) {{ {STEP} g[0] = 1; g = b; b = a; a = g; }}",
}


def text(body: str) -> str:
    return (
        "#include <stdio.h>\n"
        "static void step(int n, const double *x, double *y) { for (int i = 1; i < n - 1; i++) y[i] = x[i] * 3; }\n"
        "void f(int n, int T, unsigned U, unsigned V, double *a, double *b, double *c, double *out)\n"
        "{\ndouble *g = 0;\n"
        f"#pragma scop\n{body}\n#pragma endscop\n"
        'if (n > 2) printf("%.17g %.17g %.17g\\n", a[1], b[1], c[1]);\n}\n'
    )


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_memory(name: str) -> None:
    (scop,) = polytile.compile(text(PROGRAMS[name]), name="f.c").scops
    assert scop.program is not None and scop.scop.rotations
    for n in (0, 1, 8, 90):
        for steps in (0, 1, 2, 5):
            sizes = {"n": n, "T": steps, "U": 2, "V": 2 + steps}
            given = {p.name: sizes[p.name] for p in scop.scop.parameters}
            assert scop.validate(on="emulator", parameters=given, sanitize=CHECKS, seed=n)


@pytest.mark.parametrize("name", PROGRAMS)
def test_pointers(name: str, tmp_path: Path) -> None:
    """What the function prints behind the SCoP, through its pointers, is what it prints without kernels."""
    calls = (
        "for (int T = -2; T < 8; T++) { double x[4][9] = {{1, 2, 3, 4}, {5, 6, 7}, {9, 8, 7, 1, 4}};"
        ' f(9, T, 2, T < 0 ? 0 : T, x[0], x[1], x[2], x[3]); for (int k = 0; k < 36; k++) printf("%g ", x[0][k]); }'
    )
    source = tmp_path / "f.c"
    source.write_text(f"{text(PROGRAMS[name])}int main(void) {{ {calls} return 0; }}\n")
    subprocess.run(["gcc", "-O1", "-ffp-contract=off", str(source), "-o", str(tmp_path / "plain")], check=True)
    built = ["--build", str(tmp_path / "made"), "--on", "emulator", "--fp", "strict", "-q", "-o", str(tmp_path / "out")]
    assert main([str(source), *built]) == 0
    printed = [
        subprocess.run([str(tmp_path / made)], check=True, capture_output=True).stdout for made in ("plain", "made")
    ]
    assert printed[0] == printed[1] and printed[0].count(b"\n") == 10


@pytest.mark.quick
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(UserError, match=r"a pointer or a whole array is assigned to|pointers and functions cannot be"):
        polytile.compile(text(REFUSED[name]), name="f.c")


GLOBAL = """
#include <stdio.h>
double x[64], y[64];
double *a = x, *b = y;
%s
void f(int n, int T)
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = %s;
        double *h = a; a = b; b = h;
    }
#pragma endscop
}
"""


@pytest.mark.usefixtures("emulator")
def test_global_pointers() -> None:
    (scop,) = polytile.compile(GLOBAL % ("", "a[i - 1] + t"), name="f.c").scops
    assert len(scop.scop.rotations) == 1
    for steps in (0, 1, 4):
        assert scop.validate(on="emulator", parameters={"n": 9, "T": steps}, sanitize=CHECKS)


def test_functions_that_use_the_pointers_keep_theirs() -> None:
    function = "static double old(int i) { return a[i - 1]; }"
    with pytest.raises(UserError, match=r"a pointer or a whole array is assigned to|cannot be declared"):
        polytile.compile(GLOBAL % (function, "old(i)"), name="f.c")


def test_time_tiles() -> None:
    """Iterations that take turns are those of two planes for the schedules that tile time."""
    (scop,) = polytile.compile(text(PROGRAMS["last"]), name="f.c", schedule="split").scops
    assert any("split schedule" in r.message for r in scop.remarks)
