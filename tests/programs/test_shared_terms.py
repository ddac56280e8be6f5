"""Scalars that several sums of a loop share: each sum is a reduction by itself."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import polytile
from polytile.runtime.emulator.instrument import CHECKS
from tests.bitwise import same_as_c

PROGRAMS: Mapping[str, str] = {
    "a sum and that of squares": "for (int i = 0; i < n; i++) { double t = x[i]; s += t; q += t * t; }",
    "over two loops": (
        "double t; for (int i = 0; i < n; i++) for (int j = 0; j < 9; j++) { t = a[i][j]; s += t; q += t * t; }"
    ),
    "one through another": (
        "for (int i = 0; i < n; i++) { double t = x[i] - 1, u = fabs(t); s += t; q = q + u * t; p *= 1 + u / 4096; }"
    ),
    "under a condition": (
        "for (int i = 0; i < n; i++) { double t = x[i]; if (t > 0) s += t; if (t < 0) { q -= t; } k += t > 0; }"
    ),
    "a scalar with two purposes": (
        "for (int i = 0; i < n; i++) { double t = x[i]; s += t; q += 2 * t; t = y[i]; s += t; q += t * t; }"
    ),
}


def text(body: str) -> str:
    return (
        "#include <math.h>\nvoid f(int n, const double x[n], const double y[n], double a[n][9], double *out)\n{\n"
        f"double s = 1, q = 2, p = 1; int k = 0;\n#pragma scop\n{body}\n#pragma endscop\n"
        "out[0] = s; out[1] = q; out[2] = p; out[3] = k;\n}\n"
    )


@pytest.mark.quick
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_sums_are_shared_out(name: str) -> None:
    (scop,) = polytile.compile(text(PROGRAMS[name]), name="f.c", raise_bugs=True).scops
    assert scop.program is not None
    for n in (0, 1, 7, 1031):
        assert scop.validate(on="emulator", parameters={"n": n}, seed=n, sanitize=CHECKS)


OTHERS: Mapping[str, str] = {
    "memory is written between": "for (int i = 1; i < n; i++) { double t = a[i][0]; s += t; a[i][0] = s; q += t; }",
    "a value has the sum in it": "for (int i = 0; i < n; i++) { double t = x[i] + s; s += t; q += t; }",
    "the sum is set again": "for (int i = 0; i < n; i++) { double t = x[i]; s = 0; s += t; q += t; a[i][1] = s; }",
    "counts inside a value": "for (int i = 0; i < n; i++) { double t = x[k]; s += t; k += t > 0; q += t; }",
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", OTHERS)
def test_what_a_copy_would_not_keep_is_not_copied(name: str) -> None:
    (scop,) = polytile.compile(text(OTHERS[name]), name="f.c", strict=True).scops
    assert "t_" not in {a.name for a in scop.scop.arrays}
    if scop.program is not None:
        same_as_c(scop, [{"n": n} for n in (0, 1, 7, 33)])
