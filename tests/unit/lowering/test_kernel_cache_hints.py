"""Stores of what has left the cache before another kernel comes to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from polytile import pipeline
from polytile.codegen.passes import block_order
from polytile.codegen.passes.block_order import alternate
from polytile.ir.host import HostProgram
from polytile.machine import Machine, machine_of

ARGUMENTS = "int n, int m, double A[n][m], double u[n], double v[m], double x[n], double y[m], double z[n]"
CHANGING = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { A[i][j] += u[i] * v[j]; y[j] += A[i][j] * x[i]; }"
READING = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) z[i] += A[i][j] * y[j];"
LARGE = "((long long)n * m > 6291456)"


def turned(program: HostProgram) -> HostProgram:
    """The program with its kernels in the other direction."""
    before = tuple(alternate(replace(program, kernels=(kernel, kernel))).kernels[1] for kernel in program.kernels)
    return replace(program, kernels=before)


def with_a_small_cache(arch: str) -> Machine:
    machine = machine_of(arch)
    return replace(machine, tuning=replace(machine.tuning, resident_bytes=1024))


@pytest.mark.slow
def test_the_first_half_of_large_arrays(compiled: Callable[..., Any]) -> None:
    text = " ".join(compiled(ARGUMENTS, CHANGING + READING, schedule="superposed").cuda.split())
    assert f"bool leaving = (t0 + 8 * c_4 < n / 2) & {LARGE};" in text
    assert "if (leaving) { __stcs((double2 *)&A[" in text
    assert text.count("__stcs(") == text.count(" *(double2 *)&A[") > 0


@pytest.mark.slow
def test_the_other_half_where_blocks_run_backwards(
    compiled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_order, "alternate", turned)
    text = " ".join(compiled(ARGUMENTS, CHANGING, schedule="superposed").cuda.split())
    assert f"bool leaving = (n - (t0 + 8 * c_4) < n / 2) & {LARGE};" in text


def test_an_array_of_unknown_size(compiled: Callable[..., Any]) -> None:
    arguments = ARGUMENTS.replace("double A[n][m]", "double A[][m]")
    text = compiled(arguments, CHANGING, schedule="superposed").cuda
    assert "make_double2(" in text and "leaving" not in text


@pytest.mark.slow
@pytest.mark.parametrize("way", ["forwards", "backwards"])
@pytest.mark.parametrize("element", ["double", "float"])
def test_results_are_the_same(
    emulator: None, compiled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, way: str, element: str
) -> None:
    monkeypatch.setattr(pipeline, "machine_of", with_a_small_cache)
    if way == "backwards":
        monkeypatch.setattr(block_order, "alternate", turned)
    found = compiled(ARGUMENTS.replace("double", element), CHANGING + READING, schedule="superposed")
    for n, m in ((0, 4), (1, 4), (9, 0), (9, 8), (17, 516), (200, 64), (131, 259)):
        found.validate(on="emulator", parameters={"n": n, "m": m}, seed=1, sanitize=("address", "undefined", "race"))
