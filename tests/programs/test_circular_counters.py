"""Counters that start again at 0, or at the end of their period, in their spellings and types."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import polytile
from polytile.api import CompiledScop
from tests.bitwise import same_as_c

SIZES = ({"n": 0, "m": 1}, {"n": 1, "m": 1}, {"n": 7, "m": 3}, {"n": 300, "m": 7})
UP = (
    "if (++k == m) k = 0;",
    "k++; if (k == m) k = 0;",
    "if (k == m - 1) k = 0; else k++;",
    "k = (k + 1) % m;",
    "k = k + 1 < m ? k + 1 : 0;",
    "if (m > ++k) ; else k = 0;",
    "if (k++ >= m - 1) k = 0;",
    "if (m - 1 != k++) ; else { k = 0; }",
)
DOWN = (
    "if (--k < 0) k = m - 1;",
    "if (k == 0) k = m; k--;",
    "k = (k + m - 1) % m;",
    "k = k ? k - 1 : m - 1;",
    "if (!k) k = m - 1; else --k;",
    "if (k-- == 0) k = m - 1;",
)
BY_MORE = (
    "k = (k + first) % m;",
    "k += first; if (k >= m) k -= m;",
    "k = (k + m - 2) % m;",
    "k = (k + 2) % m;",
    "k += 3; if (k >= m) k -= m;",
    "k = k + 2 >= m ? k + 2 - m : k + 2;",
)
LOOP = "for (int i = 0; i < n; i++) {{ x[i] = y[k] + i; {} }}"


def compiled(body: str, kind: str = "int", arguments: str = "double x[3 * n + 1], const double y[m]") -> CompiledScop:
    text = (
        f"#include <stddef.h>\n{kind} f(int n, {kind} m, {kind} first, {arguments})\n{{\n{kind} k;\n#pragma scop\n"
        f"k = 0; {body}\n#pragma endscop\nreturn k;\n}}\n"
    )
    (scop,) = polytile.compile(text, name="f.c", strict=True, raise_bugs=True).scops
    return scop


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("turn", [pytest.param(UP[0], marks=pytest.mark.quick), *UP[1:], *DOWN])
def test_each_spelling(turn: str) -> None:
    scop = compiled(LOOP.format(turn))
    assert scop.program is not None and scop.scop.checked in ("m >= 1", "m >= 1 && m <= 1073741824")
    same_as_c(scop, SIZES)


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("turn", BY_MORE)
def test_steps_beyond_one(turn: str) -> None:
    scop = compiled(LOOP.format(turn))
    assert scop.program is not None
    same_as_c(scop, [{**size, "first": 2} for size in SIZES[2:]])


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("kind", ["unsigned", "long", "size_t"])
@pytest.mark.parametrize("turn", [*UP[:4], DOWN[1]])
def test_other_types(turn: str, kind: str) -> None:
    scop = compiled(LOOP.format(turn), kind)
    assert scop.program is not None
    same_as_c(scop, SIZES)


@pytest.mark.parametrize("turn", [DOWN[0], "if (k > m - 2) k = 0; else k++;", "if (k - 1 == m) k = 0; k++;"])
def test_unsigned_comparisons_that_wrap_around_are_no_turns(turn: str) -> None:
    assert compiled(LOOP.format(turn), "unsigned").program is None


PLACES = {
    "set before it is read": "for (int i = 0; i < n; i++) { if (++k == m) k = 0; x[i] = y[k]; }",
    "between its halves": "for (int i = 0; i < n; i++) { k++; x[i] = y[k - 1]; if (k == m) k = 0; x[i] += y[k]; }",
    "a value": "for (int i = 0; i < n; i++) { x[i] = y[k] * k; k = (k + 1) % m; }",
    "a condition": "for (int i = 0; i < n; i++) { if (k == 0) x[i] = y[i % m]; k = (k + 1) % m; }",
    "from a size": "k = first; for (int i = 0; i < n; i++) { x[i] = y[k]; k = (k + 1) % m; }",
    "a loop downwards": "for (int i = n - 1; i >= 0; i--) { x[i] = y[k]; k = (k + 1) % m; }",
    "a loop in steps": "for (int i = 1; i <= n; i += 2) { x[i] = y[k]; if (++k == m) k = 0; }",
    "two loops": "for (int i = 0; i < n; i++) { x[i] = y[k]; if (++k == m) k = 0; }"
    " for (int i = 0; i < n; i++) { x[i] += y[k]; if (++k == m) k = 0; }",
    "through an inner loop": "for (int t = 0; t < 3; t++) for (int i = 0; i < n; i++)"
    " { x[n * t + i] = y[k]; if (++k == m) k = 0; }",
    "anew in each row": "for (int t = 0; t < 3; t++) { k = 0; for (int i = 0; i < n; i++)"
    " { x[n * t + i] = y[k]; if (++k == m) k = 0; } }",
    "a circular convolution": "for (int i = 0; i < m; i++) { double s = 0; k = i;"
    " for (int j = 0; j < m; j++) { s += y[j] * y[k]; if (++k == m) k = 0; } x[3 * n - (i % (3 * n))] = s; }",
    "a constant period": "for (int i = 0; i < n; i++) { x[i] = y[k % m]; if (++k == 5) k = 0; }",
    "a mask": "for (int i = 0; i < n; i++) { x[i] = y[0] * k; k = (k + 1) & 7; }",
    "written, of a constant period": "for (int i = 0; i < n; i++) { x[3 * (i / 3) + k] = y[0] * i; k = (k + 1) % 3; }",
    "its own remainder": "for (int i = 0; i < n; i++) { x[i] = y[k]; k++; k %= m; }",
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PLACES)
def test_each_place(name: str) -> None:
    scop = compiled(PLACES[name], arguments="double x[3 * n + 3], const double y[m]")
    assert scop.program is not None, [remark.message for remark in scop.remarks]
    same_as_c(scop, [{**size, "first": size["m"] - 1} for size in SIZES if size["n"]])


IN_ORDER = {
    "written through a period of any length": "for (int i = 0; i < n; i++) { x[k] = i; k = (k + 1) % m; }",
    "the end of a loop": "for (int i = 0; i < n; i++) { for (int j = 0; j < k; j++) x[j] += i; k = (k + 1) % m; }",
    "beyond the period at first": "k = 7; for (int i = 0; i < n; i++) { x[k] += y[0]; if (++k == 5) k = 0; }",
    "under a condition on data": "for (int i = 0; i < n; i++) if (y[0] > 0) { x[i] = y[k]; k = (k + 1) % m; }",
    "a period that changes": "for (int i = 0; i < n; i++) { x[0] += y[k]; if (++k >= i) k = 0; }",
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_what_stays_in_order(name: str) -> None:
    assert compiled(IN_ORDER[name], arguments="double x[3 * n + 9], const double y[m + n]").program is None


BEYOND = {  # the counter never meets a period of its type
    "unsigned char": "unsigned char m, double x[n]) { int k = 300; for (int i = 0; i < n; i++)"
    " { x[i] += k; if (++k == m) k = 0; } }",
    "int": "int m, double x[n]) { unsigned k = 4294967290u; for (int i = 0; i < n; i++)"
    " { x[i] += k; if (++k == (unsigned) m) k = 0; } }",
}


@pytest.mark.parametrize("kind", BEYOND)
def test_counters_that_begin_beyond_all_periods_are_those_of_c(kind: str) -> None:
    (scop,) = polytile.compile(f"void f(int n, {BEYOND[kind]}", name="f.c", autodetect=True, raise_bugs=True).scops
    assert scop.program is None


RING = """
#include <stdio.h>
int ring(int n, int m, int first, double x[n], const double Y)
{
    int k = first;
#pragma scop
    for (int i = 0; i < n; i++) { x[i] = y[k]; if (++k == m) k = 0; }
#pragma endscop
    return k;
}
int main(void)
{
    double x[20] = {0}, y[40];
    for (int i = 0; i < 40; i++) y[i] = i;
    for (int first = 0; first < 9; first++)
        for (int m = -1; m < 8; m++) {
            printf("%d:", ring(13, m, first, x, y));
            for (int i = 0; i < 14; i++) printf(" %g", x[i]);
        }
    return 0;
}
"""


def test_last_values_are_shown_without_widening() -> None:
    assert compiled(LOOP.format(UP[0])).scop.statements[-1].text == "k = ((n > 0) ? (n) : (0)) % m;"


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("y", ["y[40]", "*y"])
def test_the_c_runs_where_the_counter_does_not_turn(y: str, tmp_path: Path) -> None:
    """Where m is 0, nothing divides by it, nor does the host, which looks for the size of an array without one."""
    text = RING.replace("double Y", f"double {y}")
    program = polytile.compile(text, name="ring.c", strict=True)
    assert program.scops[0].program is not None
    (tmp_path / "ring.c").write_text(text)
    plain = tmp_path / "plain"
    subprocess.run(["gcc", "-std=c99", "-w", tmp_path / "ring.c", "-o", plain], check=True, timeout=60)
    built = program.build(tmp_path / "built", on="emulator")
    results = [subprocess.run([e], check=True, timeout=60, capture_output=True).stdout for e in (plain, built)]
    assert results[0] == results[1]
