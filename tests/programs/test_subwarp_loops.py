"""Lanes of a warp share data-dependent loops that only add up, where additions may change their order."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import polytile
from polytile import pipeline
from polytile.machine import machine_of
from polytile.runtime.emulator.instrument import CHECKS
from tests.every_schedule import source

SIZES = ({"n": 0, "m": 9}, {"n": 1, "m": 1}, {"n": 1, "m": 700}, {"n": 130, "m": 3000}, {"n": 77, "m": 5000})
ROWS = "int row[n + 1], int col[m], {type} val[m], {type} x[n + 1], {type} y[n]"
SUM = (
    "for (int i = 0; i < n; i++) {{ {type} s = 0;"
    " for (int j = row[i]; j < row[i + 1]; j++) s += val[j] * x[col[j]]; y[i] = s; }}"
)
SHARED = {
    "double": (ROWS.format(type="double"), SUM.format(type="double")),
    "float": (ROWS.format(type="float"), SUM.format(type="float")),
    "int": (ROWS.format(type="int"), SUM.format(type="int")),
    "unsigned long": (ROWS.format(type="unsigned long"), SUM.format(type="unsigned long")),
    "in memory": (
        ROWS.format(type="double"),
        "for (int i = 0; i < n; i++) for (int j = row[i]; j < row[i + 1]; j++) y[i] += val[j] * x[col[j]];",
    ),
    "set and summed in memory": (
        ROWS.format(type="double"),
        "for (int i = 0; i < n; i++) { y[i] = 0.5;"
        " for (int j = row[i]; j < row[i + 1]; j++) y[i] -= val[j] * x[col[j]]; }",
    ),
    "with names and conditions": (
        ROWS.format(type="double"),
        "for (int i = 0; i < n; i++) for (int j = row[i]; j < row[i + 1]; j++)"
        " { int c = col[j]; double v = val[j] * x[c]; if (v > 0) y[i] += v; else y[i] -= 0.5 * v; }",
    ),
    "two sums and a maximum": (
        "int row[n + 1], float val[m], float y[n], int z[n], float w[n]",
        "for (int i = 0; i < n; i++) { float s = 0, t = -1; int c = 0; for (int j = row[i]; j <= row[i + 1] - 1; j++)"
        " { s += val[j]; t = t > val[j] ? t : val[j]; if (val[j] > 0) c++; } y[i] = s; z[i] = c; w[i] = t; }",
    ),
    "rows of given lengths": (
        "int len[n], double val[n][m], double y[n]",
        "for (int i = 0; i < n; i++) { double s = 0; for (int k = 0; k < len[i]; k += 2) s += val[i][k]; y[i] = s; }",
    ),
    "two loops": (
        ROWS.format(type="double"),
        "for (int i = 0; i < n; i++) { double s = 0; for (int j = row[i]; j < row[i + 1]; j++) s += val[j];"
        " double t = s; for (int j = row[i]; j < row[i + 1]; j++) t += s * x[col[j]]; y[i] = t; }",
    ),
}
ALONE = {
    "another order of steps": (
        ROWS.format(type="double"),
        "for (int i = 0; i < n; i++) for (int j = row[i]; j < row[i + 1]; j++) y[i] = 0.5 * y[i] + val[j];",
    ),
    "the last": (
        ROWS.format(type="double"),
        "for (int i = 0; i < n; i++) for (int j = row[i]; j < row[i + 1]; j++) y[i] = val[j];",
    ),
    "a break": (
        ROWS.format(type="double"),
        "for (int i = 0; i < n; i++) for (int j = row[i]; j < row[i + 1]; j++)"
        " { if (val[j] < 0) break; y[i] += val[j]; }",
    ),
    "an element that its thread has set": (
        "int row[n + 1], int val[m], int b[n], int y[n]",
        "for (int i = 0; i < n; i++) { b[i] = 3 * b[i]; int s = 0;"
        " for (int j = row[i]; j < row[i + 1]; j++) s += val[j] * b[i]; y[i] = s; }",
    ),
    "an element that another loop sums up": (
        "int row[n + 1], int val[m], int b[n], int y[n]",
        "for (int i = 0; i < n; i++) { for (int j = row[i]; j < row[i + 1]; j++) b[i] += val[j];"
        " for (int j = row[i]; j < row[i + 1]; j++) y[i] += val[j] * b[i]; }",
    ),
    "a bound that it changes": (
        "int row[n + 1], int val[m], int y[n]",
        "for (int i = 0; i < n; i++) { int e = row[i + 1];"
        " for (int j = row[i]; j < e; j++) { e -= 1; y[i] += val[j]; } }",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_lanes_share_the_loop(name: str) -> None:
    exact = name in ("int", "unsigned long")
    scop = polytile.compile(source(*SHARED[name]), name="f.c", strict=exact, raise_bugs=True).scops[0]
    assert set(re.findall(r"_lanes\d+", scop.cuda)) == {f"_lanes{k}" for k in (4, 16, 32, 128, 1024)}
    known = {p.name for p in scop.scop.parameters}
    for sizes in SIZES:
        given = {size: value for size, value in sizes.items() if size in known}
        for report in scop.validate(on="emulator", parameters=given, seed=2, sanitize=CHECKS):
            assert not report.note and (report.bitwise or not exact), report.line


@pytest.mark.parametrize("name", ("int", "two sums and a maximum", "two loops", "set and summed in memory"))
def test_threads_of_a_block_share_the_loop(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Warps show one another what they have, through shared memory: a thousand threads a row, 256, or one warp."""
    machine = machine_of("sm_90")
    rows = replace(machine.tuning.rows, lanes=((9, 1024), (4, 256), (1, 32)))
    machine = replace(machine, tuning=replace(machine.tuning, rows=rows))
    monkeypatch.setattr(pipeline, "machine_of", lambda _: machine)
    scop = polytile.compile(source(*SHARED[name]), name="f.c", raise_bugs=True).scops[0]
    known = {p.name for p in scop.scop.parameters}
    for sizes in ({"n": 0, "m": 3}, {"n": 2, "m": 150}, {"n": 2, "m": 700}, {"n": 3, "m": 2500}, {"n": 5, "m": 1300}):
        given = {size: value for size, value in sizes.items() if size in known}
        for report in scop.validate(on="emulator", parameters=given, seed=2, sanitize=CHECKS):
            assert not report.note, report.line


@pytest.mark.quick
@pytest.mark.parametrize("name", ALONE)
def test_one_thread_keeps_the_order(name: str) -> None:
    assert "_lanes" not in polytile.compile(source(*ALONE[name]), name="f.c").scops[0].cuda


def test_strict_additions_are_not_shared() -> None:
    assert "_lanes" not in polytile.compile(source(*SHARED["double"]), name="f.c", strict=True).scops[0].cuda
    assert "_lanes" in polytile.compile(source(*SHARED["int"]), name="f.c", strict=True).scops[0].cuda
