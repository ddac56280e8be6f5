"""Statements that set what nothing reads are left out, as the variables of generated loops are; others are kept."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import polytile
from polytile.frontend.program import read_program
from polytile.ir.scop import Scop
from polytile.runtime.emulator.instrument import CHECKS
from tests.bitwise import same_as_c

SIZES = (0, 1, 7, 1031)
WITHOUT: Mapping[str, tuple[str, int]] = {
    "iterators of another order": ("k = i - 1; l = 2 * i + k; y[i] = x[i] + 1;", 1),
    "through one another": ("k = k + i; l = k * k; k = l + 1; y[i] = x[i] + 1;", 1),
    "data": ("t = x[i] * x[i]; u = t + u; if (u > 2) v = u; y[i] = x[i] + 1;", 1),
    "declared inside": ("{ real w = x[i] * x[i]; int m = w > 2; y[i] = x[i] + 1; t = w + m; }", 1),
    "an accumulation": ("s += t; t += x[i]; u *= t; v += u;", 2),
}


def extracted(program: str) -> Scop:
    found = read_program("f.c", program)
    assert not found.refusals, found.refusals[0].error
    return found.scops[0]


def text(body: str, real: str) -> str:
    return (
        f"typedef {real} real;\nvoid f(int n, const real x[n], real y[n], real *out)\n{{\n"
        "real s = 0, t = 1, u = 1, v = 0; int k = 0, l = 0;\n"
        f"#pragma scop\nfor (int i = 0; i < n; i++) {{ {body} }}\n#pragma endscop\nout[0] = s;\n}}\n"
    )


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("name", WITHOUT)
def test_what_nothing_reads_is_left_out(name: str, real: str) -> None:
    body, statements = WITHOUT[name]
    (scop,) = polytile.compile(text(body, real), name="f.c", raise_bugs=True, strict=True).scops
    assert len(extracted(text(body, real)).statements) == statements
    same_as_c(scop, [{"n": n} for n in SIZES])
    if scop.program is not None:
        assert scop.validate(on="emulator", parameters={"n": 1031}, seed=1, sanitize=CHECKS)


KEPT: Mapping[str, str] = {
    "read after the SCoP": (
        "void f(int n, double *x) {{ int last = 0;\n{} for (int i = 0; i < n; i++) last = i;\n{} x[0] = last; }}"
    ),
    "a global variable": "int last; void f(int n, double *x) {{\n{} for (int i = 0; i < n; i++) last = i;\n{} }}",
    "its address is known": (
        "void g(int *); void f(int n) {{ int last = 0; g(&last);\n{} for (int i = 0; i < n; i++) last = i;\n{} }}"
    ),
    "the next round reads it": (
        "void f(int n, double x[n]) {{ double last = 0; for (int t = 0; t < 9; t++) {{\n"
        "{} for (int i = 0; i < n; i++) {{ x[i] = last; last = i; }}\n{} }} }}"
    ),
    "through a pointer": "void f(int n, int *last) {{\n{} for (int i = 0; i < n; i++) *last = i;\n{} }}",
}


@pytest.mark.quick
@pytest.mark.parametrize("name", KEPT)
def test_what_may_be_seen_is_kept(name: str) -> None:
    program = KEPT[name].format("#pragma scop\n", "#pragma endscop\n")
    assert "last" in {a.array for s in extracted(program).statements for a in s.accesses if a.writes}


def test_a_scop_of_which_nothing_is_seen_stays_as_it_is() -> None:
    loop = "for (int i = 0; i < n; i++) t += x[i];"
    program = f"void f(int n, double x[n]) {{ double t = 0;\n#pragma scop\n{loop}\n#pragma endscop\n}}\n"
    assert len(extracted(program).statements) == 1


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("array", ["const double *z", "const double z[n]", "const double (*z)[2]"])
def test_what_reads_an_array_that_nothing_else_uses_is_kept(array: str) -> None:
    """The sequential C has the statement, too, and reads the array."""
    element = "z[i][1]" if "(" in array else "z[i]"
    program = (
        f"double exp(double);\nvoid f(int n, double *x, {array})\n{{\ndouble t = 0;\n#pragma scop\n"
        f"for (int i = 0; i < n; i++) {{ t = exp({element}); t = t * t; x[i] = i; }}\n#pragma endscop\n}}\n"
    )
    (scop,) = polytile.compile(program, name="f.c", raise_bugs=True, strict=True).scops
    assert "z" in {a.name for a in scop.scop.arrays}
    same_as_c(scop, [{"n": n} for n in SIZES])
