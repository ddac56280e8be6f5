"""Programs that read what nothing has set: the read is named, and no program is blamed that may have set it."""

from __future__ import annotations

import pytest

import polytile
from polytile.diagnostics import UserError
from polytile.frontend.program import read_program
from polytile.fuzz.case import case_of
from polytile.fuzz.printing import c_text
from polytile.runtime.parameters import choose_parameters
from polytile.runtime.unset_reads import check_set

OUTSIDE = "void f(int n, double A[200], double B[200])\n{{\n    {declared}\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
SIZES = {"n": 7, "m": 9, "k": 2}  # random programs are defined for such
FIRST, LAST = "for (int i = 0; i < 100; i++)", "for (int i = 0; i < 200; i++)"


def checked(declared: str, body: str) -> None:
    """Check the read of one SCoP at small sizes."""
    program = read_program("unset.c", OUTSIDE.format(declared=declared, body=body))
    assert not program.refusals
    scop = program.scops[0]
    check_set(scop, choose_parameters(scop, {}))


CERTAIN = {
    "never": ("double t[200];", f"{LAST} B[i] = t[i];", "t[0]", "i = 0"),
    "the rest": ("double t[200];", f"{FIRST} t[i] = A[i];\n{LAST} B[i] = t[i];", "t[100]", "i = 100"),
    "declared inside": ("", f"double t[200];\n{FIRST} t[i] = A[i];\n{LAST} B[i] = t[i];", "t[100]", "i = 100"),
    "too late": ("double t[200];", f"{LAST} {{ B[i] = t[i];\nt[i] = A[i]; }}", "t[0]", "i = 0"),
    "row before the first": (
        "double t[20][30];",
        "for (int i = 1; i < 20; i++)\nfor (int j = 0; j < 30; j++)\n{ t[i][j] = t[i - 1][j] + A[j]; B[j] = t[i][j]; }",
        "t[0][0]",
        "i = 1, j = 0",
    ),
    "scalar": ("double s;", f"{LAST} s += A[i];\nB[0] = s;", "s", "i = 0"),
    "scalar inside": ("", f"{LAST} {{ double s;\nB[i] = A[i] * s; }}", "s", "i = 0"),
    "in a condition": ("double t[200];", f"{LAST} if (t[i] > 0) B[i] = A[i];", "t[0]", "i = 0"),
    "live afterwards": (
        "double t[200];",
        f"{LAST} t[i] += A[i];\n#pragma endscop\nB[0] = t[3];\n#pragma scop\nB[1] = 1;",
        "t[0]",
        "i = 0",
    ),
    "a field": ("struct { double x, y; } p[200];", f"{LAST} {{ p[i].x = A[i];\nB[i] = p[i].y; }}", "p[0].y", "i = 0"),
    "some sizes": ("double t[200];", "for (int i = n; i < 200; i++) t[i] = 1;\nB[0] = t[7];", "t[7]", "n = 13"),
}


@pytest.mark.parametrize(("declared", "body", "element", "at"), CERTAIN.values(), ids=CERTAIN)
def test_a_read_of_what_nothing_has_set_is_named(declared: str, body: str, element: str, at: str) -> None:
    with pytest.raises(UserError) as caught:
        checked(declared, body)
    assert caught.value.message.startswith(f"{element} is read before anything has set it ({at}")
    assert caught.value.hint is not None and caught.value.hint.startswith(f"set {element[0]} before it is read")
    text = OUTSIDE.format(declared=declared, body=body).splitlines()
    place = caught.value.location
    assert place is not None and text[place.line - 1][place.column - 1 :].startswith(element[0])


DEFINED = {
    "perhaps set": ("double t[200];", f"{LAST} if (A[i] > 0) t[i] = A[i];\n{LAST} if (A[i] > 0) B[i] = t[i];"),
    "perhaps set, always read": ("double t[200];", f"{LAST} if (A[i] > 0) t[i] = 1;\n{LAST} B[i] = t[i];"),
    "perhaps read": ("double t[200];", f"{LAST} if (A[i] > 0) B[i] = t[i];"),
    "read by one side": ("double t[200];", f"{LAST} B[i] = A[i] > 0 ? t[i] : A[i];"),
    "read behind and": ("double t[200];", f"{LAST} if (A[i] > 0 && t[i] > 0) B[i] = 1;"),
    "set in the same branch": ("", f"double s;\n{LAST} if (A[i] > 0) {{ s = A[i]; B[i] = s; }}"),
    "set by both sides": ("double s;", f"{LAST} {{ if (A[i] > 0) s = 1; else s = 2;\nB[i] = s; }}"),
    "set before": ("double t[200]; void g(double *); g(t);", f"{LAST} B[i] = t[i];"),
    "set with its declaration": ("double t[200] = {0};", f"{LAST} B[i] = t[i];"),
    "static": ("static double t[200];", f"{LAST} B[i] = t[i];"),
    "a parameter": ("", f"{LAST} B[i] = A[i];"),
    "no iteration": ("double t[200];", "for (int i = 0; i < 0 * n; i++) B[i] = t[i];\nB[0] = 1;"),
    "set around": ("double t[200];", f"{LAST} t[199 - i] = A[i];\n{LAST} B[i] = t[i];"),
    "a whole struct": (
        "struct c { double x, y; }; struct c p[200], q[200];",
        f"{LAST} p[i].x = A[i];\n{LAST} {{ q[i] = p[i];\nB[i] = q[i].x; }}",
    ),
    "other sizes": ("double t[200];", "for (int i = n - 13; i < 200; i++) t[i] = 1;\nB[0] = t[7];"),
}


@pytest.mark.parametrize(("declared", "body"), DEFINED.values(), ids=DEFINED)
def test_what_may_have_been_set_is_let_through(declared: str, body: str) -> None:
    checked(declared, body)


def test_what_an_outer_loop_may_have_set_is_let_through() -> None:
    text = "void f(double B[9]) { double s;\nfor (int k = 0; k < 3; k++) {\n#pragma scop\n"
    text += "for (int i = 0; i < 9; i++) B[i] = s;\ns = 1;\n#pragma endscop\n} }\n"
    (scop,) = read_program("around.c", text).scops
    check_set(scop, {})


@pytest.mark.slow(but="18")
@pytest.mark.parametrize("index", range(40))
def test_random_programs_read_what_they_have_set(index: int) -> None:
    for scop in read_program("random.c", c_text(case_of(11, index).program), autodetect=True).scops:
        given = {p.name: SIZES[p.name] for p in scop.parameters if p.name in SIZES}
        check_set(scop, choose_parameters(scop, given))


def test_validation_names_the_read_in_place_of_a_difference() -> None:
    text = OUTSIDE.format(declared="double t[200];", body=f"{LAST} B[i] = A[i] + t[i];")
    (scop,) = polytile.compile(text, name="sum.c").scops
    with pytest.raises(UserError, match=r"sum\.c:5:45: error: t\[0\] is read before anything has set it \(i = 0\)"):
        scop.validate(on="emulator", seed=1)
