"""What the function sets before a SCoP is known in it, and inputs that a loop overwrites later are copied first."""

from __future__ import annotations

import pytest

import polytile
from polytile.choices import SCHEDULES
from polytile.runtime.emulator.instrument import CHECKS
from tests.bitwise import same_as_c
from tests.every_schedule import same_in_every_schedule

SIZES = [{"n": 2, "m": 0}, {"n": 3, "m": 1}, {"n": 9, "m": 5}, {"n": 70, "m": 33}]


def function(arguments: str, before: str, body: str, file: str = "") -> str:
    return f"{file}\nvoid f(int n, int m, {arguments})\n{{\n{before}\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


KNOWN = {
    "a step": ("double a[n]", "int step = 2 + 3;", "for (int i = 0; i < n; i += step) a[i] = i * step;"),
    "an offset": (
        "double a[n], const double b[n + 160]",
        "int k; long off = 40; k = 4 * off;",
        "for (int i = 0; i < n; i++) a[i] = b[i + k] + off;",
    ),
    "a plane": (
        "double a[2][n], const double b[n]",
        "int old = 0, now = 1;",
        "for (int i = 0; i < n; i++) { a[now][i] = a[old][i] + b[i]; }",
    ),
    "a last value": (
        "double a[n], const double b[n]",
        "int last = n - 1, half = n / 2;",
        "for (int i = 0; i < last; i++) a[i] = b[i + 1]; for (int i = 0; i < half; i++) a[i] += b[i + n - half];",
    ),
    "a number of blocks": (
        "double *a",
        "int blocks = (n + 7) / 8;",
        "for (int b = 0; b < blocks; b++) for (int i = 8 * b; i < 8 * b + 8; i++) if (i < n) a[i] = b;",
    ),
    "a step of a loop that counts": (
        "double a[n], const double b[n]",
        "long by = (9 - 1) / 2, i, k;",
        "for (i = 0; i < n; i = i + by) { k = i + 1; for (int j = 0; j < 3 && k < n; j++) a[k - 1] = b[k]; }",
    ),
    "an unsigned char": ("int a[n]", "unsigned char c = 257;", "for (int i = 0; i < n; i++) a[i] = c + i;"),
    "unsigned arithmetic": ("long a[n]", "unsigned one = 1;", "for (int i = 0; i < n; i++) a[i] = one - 2;"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_values_from_before(name: str) -> None:
    assert not same_in_every_schedule(function(*KNOWN[name]), SIZES)


COUNTED = {
    "a number": ("int c = 3;", "for (int i = 0; i < n; i++) a[c++] = b[i];"),
    "a size": ("int c; c = 2 * n - 1;", "for (int i = 0; i < n; i++) { a[c] = b[i]; c--; }"),
    "a choice": ("int c = n > 3 ? 4 : n;", "for (int i = 0; i < n; i++) { a[c] = b[i]; c++; } a[0] = c;"),
    "one of many": ("int c = 1; c = 4; int d = c;", "for (int i = 0; i < n; i++) { a[c++] = b[d--]; d++; }"),
    "wider": ("long c = 2;", "for (int i = 1; i < n; i++) { a[c] = b[i]; c += 2; }"),
}


@pytest.mark.parametrize("name", COUNTED)
def test_counters_from_before(name: str) -> None:
    before, body = COUNTED[name]
    text = function("double a[2 * n + 9], const double b[n + 9]", before, body)
    assert not same_in_every_schedule(text, SIZES)
    (scop,) = polytile.compile(text).scops
    assert not {"c", "d"} & {p.name for p in scop.scop.parameters}


def test_a_counter_from_before_that_is_read_after() -> None:
    text = (
        "int f(int n, double a[n + 9])\n{\nint c = 3;\n#pragma scop\nfor (int i = 0; i < n; i++) a[c++] = i;\n"
        "#pragma endscop\nreturn c;\n}\n"
    )
    (scop,) = polytile.compile(text, strict=True).scops
    assert [p.name for p in scop.scop.parameters] == ["n"]
    same_as_c(scop, SIZES)


def test_a_statement_that_never_runs_by_what_is_set_before() -> None:
    text = function(
        "double a[n + 3], const double b[n + 3]",
        "int first = 1;",
        "for (int i = first; i < n; i++) { a[i] = b[i]; if (i < -3) a[i] = b[i + 1]; }",
    )
    assert not same_in_every_schedule(text, SIZES)


@pytest.mark.usefixtures("emulator")
def test_validation_starts_with_what_is_set_before() -> None:
    text = (
        "int f(int n, double a[n + 3], const double b[n + 9])\n{\nint k = 3, e = 2;\n"
        "for (int i = 0; i < n; i++) a[i + k] = b[i];\nfor (int i = k; i < k + 2 && i < n; i++) a[i] += 1;\n"
        "for (int i = 0; i < n; i++) if (b[i] > 0) { a[e] = b[i]; e++; }\nreturn e;\n}\n"
    )
    (scop,) = polytile.compile(text, strict=True, autodetect=True).scops
    assert scop.scop.set_before == (("k", 3), ("e", 2))
    for seed in range(4):
        for report in scop.validate(on="emulator", seed=seed, sanitize=CHECKS):
            assert report.bitwise and " k=3" in report.line, report.line


def test_constants_of_the_file() -> None:
    body = "for (int i = 0; i < n; i += width) a[i] = width;"
    same_in_every_schedule(function("double a[n]", "", body, "static const int width = 3;"), SIZES)


UNKNOWN = {
    "set under a condition": "int k = 1; if (n > 5) k = 3;",
    "set by a call": "void g(int *); int k = 1; g(&k);",
    "counted": "int k = 1; k++;",
    "jumped over": "int k = m; if (n > 5) goto go; k = 1; go: ;",
    "set again around": "int k = 1; for (int t = 0; t < 3; t++) { k = k + t; }",
    "a parameter": "int k = m;",
}


JUMPS = {
    "before": "if (n > 7) goto on; m++; on: ; int k = 2;",
    "between": "int k = 2; if (n > 7) goto on; m++; on: ;",
    "a switch": "int k = 2; switch (n) { case 2: m++; break; default: m = 0; }",
}


@pytest.mark.parametrize("before", JUMPS.values(), ids=JUMPS)
def test_jumps_that_go_past(before: str) -> None:
    (scop,) = polytile.compile(function("double *a", before, "for (int i = 0; i < n; i++) a[i + k] = 0;")).scops
    assert "k" not in [p.name for p in scop.scop.parameters]


def test_jumps_inside_and_behind() -> None:
    text = (
        "void f(int n, double a[n + 3], const double b[n])\n{\nint k = 3, end = n;\n#pragma scop\n"
        "for (int i = 0; i < end; i++) { switch (i % 3) { case 0: a[i + k] = b[i]; break; default: a[i + k] = 1; }"
        " if (b[i] > 0) goto on; a[i + k] += 2; on: ; }\n#pragma endscop\n"
        "if (n > 3) goto done; a[0] = 1; k = 4; done: ;\n}\n"
    )
    assert not same_in_every_schedule(text, SIZES)


@pytest.mark.parametrize("before", UNKNOWN.values(), ids=UNKNOWN)
def test_what_may_have_changed_is_a_size(before: str) -> None:
    (scop,) = polytile.compile(function("double *a", before, "for (int i = 0; i < n; i++) a[i + k] = 0;")).scops
    assert "k" in [p.name for p in scop.scop.parameters]


AROUND = {
    "over by a case": "int k; switch (n) { case 2: k = 1; default: { %s } }",
    "back from behind": "int k = 1; again: ; { %s } k = n; if (a[0] > k) goto again;",
    "over from before": "int k = n; if (n > 3) goto on; k = 1; on: ; { %s }",
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_what_a_jump_may_have_gone_past_is_a_size(around: str) -> None:
    scop = "\n#pragma scop\nfor (int i = 0; i < n; i++) a[i + k] = 0;\n#pragma endscop\n"
    (made,) = polytile.compile(f"void f(int n, double *a)\n{{\n{around % scop}\n}}\n").scops
    assert "k" in [p.name for p in made.scop.parameters]


@pytest.mark.quick
def test_sizes_stay_sizes() -> None:
    """Kernels are for all sizes, also where the program has but one."""
    text = "void f(void)\n{\nint k = 50;\ndouble a[k];\n#pragma scop\nfor (int i = 0; i < k; i++) a[i] = k;\n"
    (scop,) = polytile.compile(f"{text}#pragma endscop\na[3] += a[4];\n}}\n").scops
    assert [p.name for p in scop.scop.parameters] == ["k"]


def test_another_variable_of_the_name() -> None:
    body = "for (int i = 0; i < n; i++) { int width = i; a[i] = width; }"
    same_in_every_schedule(function("int a[n]", "", body, "static const int width = 3;"), SIZES)
    same_in_every_schedule(function("int a[n]", "int k = 3;", body.replace("width", "k")), SIZES)


def test_in_a_loop_that_sets_it() -> None:
    text = (
        "void f(int n, double *a)\n{\nint k = 0;\nfor (int t = 0; t < 3; t++) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) a[i + k] = k;\n#pragma endscop\nk = n; }\n}\n"
    )
    (scop,) = polytile.compile(text).scops
    assert [p.name for p in scop.scop.parameters] == ["n", "k"]


OVERWRITTEN = {
    "a neighbour": ("double a[n + 1], const double b[n]", "for (int i = 0; i < n; i++) a[i] = a[i + 1] + b[i];"),
    "a neighbour and a copy": (
        "double a[n + 1], double b[n], const double c[n]",
        "for (int i = 0; i < n; i++) { a[i] = b[i] + c[i]; b[i] = a[i] + a[i + 1]; }",
    ),
    "rows below": (
        "double a[n + 1][n], const double b[n]",
        "for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) a[i][j] = a[i + 1][j] * b[i];",
    ),
    "five at once": (
        "float a[5 * n + 1], const float b[n]",
        "for (int i = 0; i < n; i++) { a[5 * i] = a[5 * i + 1] * a[5 * i];"
        " a[5 * i + 1] = a[5 * i + 2] * a[5 * i + 1]; a[5 * i + 4] = a[5 * i + 5] * b[i]; }",
    ),
}


@pytest.mark.parametrize("name", OVERWRITTEN)
def test_inputs_that_are_overwritten_later(name: str) -> None:
    arguments, body = OVERWRITTEN[name]
    text = function(arguments, "", body)
    (scop,) = polytile.compile(text, name="f.c", strict=True, raise_bugs=True).scops
    assert scop.program is not None and "_in" in scop.cuda
    assert len(same_in_every_schedule(text, SIZES)) < len(SCHEDULES)


def test_a_schedule_with_copies_is_loaded_again() -> None:
    text = function(OVERWRITTEN["a neighbour"][0], "", OVERWRITTEN["a neighbour"][1])
    first = polytile.compile(text, strict=True)
    (again,) = polytile.compile(text, strict=True, load_schedule=first.schedules).scops
    assert again.program is not None and "a_in" in again.cuda
    same_as_c(again, SIZES)
