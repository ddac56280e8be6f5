"""Loops whose iterations the user promises to be independent run in parallel; what is false is found by a run."""

from __future__ import annotations

import json

import pytest

import polytile
from polytile.check.checker import problems
from polytile.diagnostics import FindingsError, UserError
from polytile.runtime.emulator.instrument import CHECKS
from tests.every_schedule import same_in_every_schedule, source

SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 301, "m": 5})
TRUE = {
    "scatter": ("double a[n], int p[n], double b[n]", "#pragma polytile independent(a)\n"
                "for (int i = 0; i < n; i++) a[p[i]] = b[i];"),
    "updates of floating elements": (
        "float a[n], int p[n], float b[n]",
        "#pragma polytile independent(a)\nfor (int i = 0; i < n; i++) a[p[i]] += b[i];",
    ),
    "PENCIL's": (
        "double a[n], double c[n], int p[n], double b[n]",
        "#pragma pencil independent\nfor (int i = 0; i < n; i++) { a[p[i]] = 2 * a[p[i]] + b[i]; c[p[i]] = i; }",
    ),
    "the inner loop": (
        "double a[n], int p[m][n], double b[n]",
        "for (int t = 0; t < m; t++)\n#pragma polytile independent(a)\n"
        "for (int i = 0; i < n; i++) a[p[t][i]] = a[p[t][i]] + b[i];",
    ),
    "several statements, and rows": (
        "double a[n][m], int p[n], double b[n]",
        "#pragma polytile independent(a)\nfor (int i = 0; i < n; i++) {\n"
        "for (int j = 0; j < m; j++) a[p[i]][j] = b[i];\nfor (int j = 1; j < m; j++) a[p[i]][j] += a[p[i]][j - 1]; }",
    ),
}  # fmt: skip
FALSE = {
    "an element for two": (
        "double a[n]", "#pragma polytile independent(a)\nfor (int i = 0; i < n; i++) a[i / 2] += i * 0.5;",
    ),
    "the element before": (
        "double a[n]", "#pragma polytile independent(a)\nfor (int i = 1; i < n; i++) a[i] = a[i - 1] + 1;",
    ),
    "fewer elements than iterations": (
        "double a[m], int p[n]", "#pragma pencil independent\nfor (int i = 0; i < n; i++) a[p[i]] = i;",
    ),
    "two indices": (
        "double a[n], int p[n], int q[n]",
        "#pragma polytile independent(a)\nfor (int i = 0; i < n; i++) a[p[i]] = a[q[i]];",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUE)
def test_independent_loops_are_parallel(name: str) -> None:
    text = source(*TRUE[name])
    assert not same_in_every_schedule(text, SIZES)
    found = json.loads(polytile.compile(text, name="f.c").certificate)["scops"][0]
    assert not list(problems(found))
    assert found["assumed"]["independent"][0]["loop"].startswith("f.c:")
    assert list(problems({k: v for k, v in found.items() if k != "assumed"}))


@pytest.mark.quick
@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_is_a_race(name: str) -> None:
    (scop,) = polytile.compile(source(*FALSE[name]), name="f.c").scops
    assert scop.program is not None
    known = {p.name for p in scop.scop.parameters}
    given = {size: value for size, value in {"n": 301, "m": 5}.items() if size in known}
    with pytest.raises(FindingsError, match="promised to be independent are not"):
        scop.validate(on="emulator", parameters=given, seed=1, sanitize=CHECKS)


def test_other_arrays_keep_their_order() -> None:
    """A promise is about the arrays that it names."""
    other = "#pragma polytile independent(b)\nfor (int i = 0; i < n; i++) a[p[i]] = b[i];"
    assert polytile.compile(source("double a[n], int p[n], double b[n]", other), name="f.c").scops[0].program is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#pragma polytile independent(a)\na[0] = 1;\nfor (int i = 0; i < n; i++) a[i] = i;", "no `for` follows"),
        ("#pragma polytile independent(z)\nfor (int i = 0; i < n; i++) a[i] = i;", "'z' is no array"),
        ("#pragma polytile independant(a)\nfor (int i = 0; i < n; i++) a[i] = i;", "unknown pragma"),
    ],
)
def test_wrong_promises_are_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        polytile.compile(source("double a[n]", text), name="f.c")
