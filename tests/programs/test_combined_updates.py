"""Loop bodies that update one element several times: together the updates are a reduction, which is shared out."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

import polytile
from polytile.check.checker import problems
from polytile.runtime.emulator.instrument import CHECKS
from tests.bitwise import same_as_c

SIZES = (0, 1, 7, 1031)
# Type, body, how many updates each sum that is shared out has.
PROGRAMS: Mapping[str, tuple[str, str, list[int]]] = {
    "two terms": ("double", "s += x[i]; s += y[i];", [2]),
    "a difference": ("float", "s += x[i]; s -= y[i];", [2]),
    "differences alone": ("double", "s -= x[i]; s = s - y[i];", [2]),
    "integers": ("int", "s += x[i]; s -= 3 * y[i]; s = x[i] + s;", [3]),
    "one under a condition": ("int", "if (x[i] > 0) s += x[i]; s -= y[i];", [2]),
    "all under conditions": ("float", "if (x[i] > 0) s += x[i]; if (y[i] > x[i]) s -= y[i];", [2]),
    "the same condition": ("double", "if (x[i] > 0) { s += x[i]; s += y[i]; }", [2]),
    "a guard around both": ("double", "if (i > 2) { s += x[i]; s += y[i]; } z[i] = 1;", [2]),
    "a guard of another statement": ("double", "if (i > 2) z[i] = x[i]; s += x[i]; s += y[i];", [2]),
    "a maximum": ("double", "s = fmax(s, x[i]); s = fmax(s, y[i]);", [2]),
    "a maximum by comparisons": ("float", "if (x[i] > s) s = x[i]; s = y[i] > s ? y[i] : s;", [2]),
    "a product": ("double", "s *= 1 + x[i] / 4096; s *= 1 - y[i] / 4096;", [2]),
    "bits": ("unsigned", "s ^= x[i]; s = s ^ (y[i] << 1);", [2]),
    "the same term twice": ("double", "s += x[i]; if (x[i] > 0) s += x[i]; s += x[i];", [3]),
    "the first moves down": ("double", "s += x[i]; z[i] = x[i]; s += z[i] * y[i];", [2]),
    "the last moves up": ("double", "s += z[i]; z[i] = x[i]; s += y[i];", [2]),
    "two sums in turns": ("double", "s += x[i]; q += y[i]; s += y[i]; q -= x[i];", [2, 2]),
    "a local of both": ("double", "double t = x[i] * 2; s += t; s += t * t;", [2]),
    "a local that changes between": ("float", "double t = x[i]; s += t; t += y[i]; s += t * t; z[i] = t;", [2]),
    "a local with three purposes": ("double", "double t = x[i]; s += t; t = y[i]; s += t; t = z[i]; s += t;", [3]),
    "elements": ("double", "for (int j = 0; j < 9; j++) { w[j] += a[i][j] * x[i]; w[j] -= y[i]; }", [2]),
}
FRONT = "for (int j = 0; j < 9; j++) { u[i] = y[i]; w[j] -= a[i][j]; w[j] += u[i]; u[i] = a[i][j]; w[j] -= a[i][j]; }"
NOT: Mapping[str, tuple[str, str]] = {
    "a value in between": ("double", "s += x[i]; z[i] = s; s += y[i];"),
    "a value behind": ("double", "s += x[i]; s += y[i]; z[i] = s;"),
    "another operation": ("double", "s += x[i]; s *= y[i];"),
    "other elements": ("double", "w[i % 9] += x[i]; w[(i + 1) % 9] += x[i];"),
    "terms that can move to neither": ("double", "s += z[i]; z[i] = x[i]; s += z[i];"),
    "an element for each iteration": ("double", "z[i] += x[i]; z[i] += y[i];"),
    "a sum that is kept in less precision": ("int", "s += x[i]; s += 0.5 * y[i];"),
}


def text(ctype: str, body: str) -> str:
    arrays = ", ".join(f"{ctype} {name}[n]" for name in "xyz")
    return (
        f"#include <math.h>\nvoid f(int n, {arrays}, {ctype} a[n][9], {ctype} w[9], {ctype} *out)\n{{\n"
        f"{ctype} s = 1, q = 2;\n#pragma scop\nfor (int i = 0; i < n; i++) {{ {body} }}\n#pragma endscop\n"
        "out[0] = s; out[1] = q;\n}\n"
    )


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_several_updates_are_one_reduction(name: str) -> None:
    ctype, body, updates = PROGRAMS[name]
    program = polytile.compile(text(ctype, body), name="f.c", raise_bugs=True)
    (scop,) = program.scops
    assert scop.program is not None
    source, after = scop.compilation.source, scop.compilation.scop
    writers = [s.name for s in source.statements if s.reduction is not None and s.reduction.array in "sqw"]
    sums = [len(set(after.statement(p.update).parts) & {*writers}) for p in after.privatised]
    assert sums == updates
    for n in SIZES:
        assert scop.validate(on="emulator", parameters={"n": n}, seed=n, sanitize=CHECKS)
    (certified,) = json.loads(program.certificate)["scops"]
    assert list(problems(certified)) == []


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_strict_sums_stay_in_order(name: str) -> None:
    ctype, body, _ = PROGRAMS[name]
    (scop,) = polytile.compile(text(ctype, body), name="f.c", raise_bugs=True, strict=True).scops
    assert not scop.compilation.scop.privatised
    if scop.program is not None:
        same_as_c(scop, [{"n": n} for n in SIZES])


@pytest.mark.quick
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", NOT)
def test_what_is_no_reduction_stays_apart(name: str) -> None:
    ctype, body = NOT[name]
    (scop,) = polytile.compile(text(ctype, body), name="f.c", raise_bugs=True).scops
    assert all(len(s.parts) < 2 for s in scop.compilation.scop.statements)
    if scop.program is not None:
        assert scop.validate(on="emulator", parameters={"n": 33}, seed=1, sanitize=CHECKS)


@pytest.mark.usefixtures("emulator")
def test_statements_that_are_added_have_no_name_of_one_that_moved_to_the_front() -> None:
    """Copies of the last values of u, which gets an element for each j."""
    text_of_u = text("unsigned", FRONT).replace("unsigned x[n]", "unsigned x[n], unsigned u[n]")
    (scop,) = polytile.compile(text_of_u, name="f.c", raise_bugs=True).scops
    after = scop.compilation.scop
    added = {*after.epilogue, *after.prologue}
    assert added and not added & {s.name for s in scop.compilation.source.statements}
    for n in SIZES:
        assert scop.validate(on="emulator", parameters={"n": n}, seed=n, sanitize=CHECKS)


@pytest.mark.usefixtures("emulator")
def test_threads_keep_elements_that_they_update_twice_in_registers() -> None:
    square = ", ".join(f"double {name}[n][n]" for name in "abcde")
    body = "c[i][j] += a[i][k] * b[k][j]; c[i][j] += d[i][k] * e[k][j];"
    loops = "".join(f"for (int {i} = 0; {i} < n; {i}++) " for i in "ijk")
    c = f"void f(int n, {square})\n{{\n#pragma scop\n{loops} {{ {body} }}\n#pragma endscop\n}}\n"
    for schedule in ("classic", "superposed", "tiled"):
        (scop,) = polytile.compile(c, name="f.c", raise_bugs=True, schedule=schedule).scops
        assert "c_acc" in scop.cuda
        assert scop.validate(on="emulator", parameters={"n": 37}, seed=1, sanitize=CHECKS)
