"""Arrays that may not be given: tests of pointers are conditions on numbers that the call passes."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

import polytile
from polytile.cli.main import main
from polytile.runtime.emulator.instrument import CHECKS

PROGRAMS: Mapping[str, str] = {
    "a choice": "for (int i = 0; i < n; i++) a[i] += (b != NULL) ? b[i] : 1;",
    "a condition": "for (int i = 0; i < n; i++) { if (b) a[i] += b[i]; else a[i] = 3; }",
    "none": "for (int i = 0; i < n; i++) if (!b || n > 5) a[i] *= 2;",
    "equal to 0": "for (int i = 0; i < n; i++) { double t = b == 0 ? 2.0 : b[i]; if (0 != b && t > 0) a[i] = t; }",
    "behind data": (
        "for (int i = 0; i < n; i++) { if (a[i] > 0.4 && b != NULL && b[i] < 2) a[i] += b[i]; else a[i] = 3; }"
        " for (int i = 0; i < n; i++) { if (a[i] > 0.4 || !b) a[i] += 1; else a[i] = b[i]; }"
        " for (int i = 0; i < n; i++) a[i] = a[i] < 3 && b ? b[i] : 7;"
    ),
    "a sum": (
        "double s = 0; for (int i = 0; i < n; i++) { if (b != NULL) s += b[i]; }"
        " for (int i = 0; i < n; i++) a[i] = s;"
    ),
}


def text(name: str) -> str:
    head = "#include <stddef.h>\nvoid f(int n, double *a, const double *b)"
    return f"{head}\n{{\n#pragma scop\n{PROGRAMS[name]}\n#pragma endscop\n}}\n"


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_with_and_without(name: str) -> None:
    (scop,) = polytile.compile(text(name), name="f.c").scops
    assert scop.program is not None and dict(scop.scop.passed) == {"b_given": "(b != 0)"}
    for n in (0, 1, 5, 300):
        for given in (0, 1):
            assert scop.validate(on="emulator", parameters={"n": n, "b_given": given}, sanitize=CHECKS, seed=n)


@pytest.mark.parametrize("name", ["a choice", "a condition", "a sum", "behind data"])
def test_the_program_runs_without_the_array(name: str, tmp_path: Path) -> None:
    """Nothing is copied from a null pointer."""
    calls = "double a[7] = {1}, b[7] = {1, 2, 3}; f(7, a, NULL); f(7, a, b);"
    shown = 'for (int i = 0; i < 7; i++) printf("%g ", a[i]);'
    source = tmp_path / "f.c"
    source.write_text(f"#include <stdio.h>\n{text(name)}\nint main(void) {{ {calls} {shown} return 0; }}\n")
    subprocess.run(["gcc", str(source), "-o", str(tmp_path / "plain")], check=True)
    built = ["--build", str(tmp_path / "made"), "--on", "emulator", "-q", "-o", str(tmp_path / "out")]
    assert main([str(source), *built]) == 0
    printed = [
        subprocess.run([str(tmp_path / name)], check=True, capture_output=True).stdout for name in ("plain", "made")
    ]
    assert printed[0] == printed[1] and printed[0]
