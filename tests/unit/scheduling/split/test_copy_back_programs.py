"""Split tiles of stencils that are copied back: the bits of C after any number of steps, whatever the borders hold."""

from __future__ import annotations

import re
from math import prod
from typing import Any

import numpy as np
import pytest

import polytile
from polytile.api import CompiledScop
from polytile.runtime.binding import bind
from tests.reading import shared

HEIGHT = 3
INNER = "for (int i = 1; i < N - 1; i++)"
ONE = f"""
    for (int t = 0; t < T; t++) {{
        {INNER} B[i] = 0.3 * (A[i - 1] + A[i] + A[i + 1]);
        {INNER} A[i] = B[i];
    }}"""
PROGRAMS = {
    "one dimension": ONE,
    "steps from one": ONE.replace("t = 0; t < T", "t = 1; t <= T"),
    "steps from a parameter": ONE.replace("t = 0; t < T", "t = s; t < T + s"),
    "a local": ONE.replace("B[i] = 0.3 * (A[i - 1] + A[i]", "{ real l = A[i - 1] + A[i]; B[i] = 0.3 * (l")
    .replace("A[i + 1]);", "A[i + 1]); }"),
    "read behind the copy": ONE.replace("    }", f"        {INNER} C[i] = 0.5 * C[i] + A[i - 1];\n    }}"),
    "two dimensions": """
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 2; j < N - 1; j++)
                E[i][j] = 0.2 * (D[i][j] + D[i][j - 2] + D[i - 1][j] + D[i + 1][j - 1]);
        for (int i = 1; i < N - 1; i++)
            for (int j = 2; j < N - 1; j++)
                D[i][j] = E[i][j];
    }""",
}


def text(body: str, ctype: str = "double") -> str:
    arrays = "real A[N], real B[N], real C[N], real D[N][N], real E[N][N]"
    scop = f"#pragma scop{body}\n#pragma endscop"
    return f"typedef {ctype} real;\nvoid f(int T, int N, int s, {arrays})\n{{\n{scop}\n}}\n"


@shared
def compiled(body: str, ctype: str = "double", **settings: Any) -> CompiledScop:
    tile = (12, 12) if "D[i]" in body else (16,)
    found = polytile.compile(text(body, ctype), schedule="split", strict=True, time_tile=HEIGHT, tile=tile, **settings)
    (scop,) = found.scops
    return scop


pytestmark = pytest.mark.usefixtures("emulator")


def settings_of(scop: CompiledScop, steps: int, size: int, first: int) -> dict[str, int]:
    known = {p.name for p in scop.compilation.scop.parameters}
    return {k: v for k, v in (("T", steps), ("N", size), ("s", first)) if k in known}


@pytest.mark.slow(but="one dimension")
@pytest.mark.parametrize("name", PROGRAMS)
def test_copies_back_are_gone_and_results_are_those_of_c(name: str) -> None:
    scop = compiled(PROGRAMS[name])
    state = scop.compilation
    assert state.schedule is not None and state.schedule.strategy == "split"
    assert state.proof is not None and state.proof.proven
    assert any("has two versions in turns" in remark.message for remark in state.remarks)
    for steps in (0, 1, HEIGHT - 1, HEIGHT, HEIGHT + 1, 2 * HEIGHT + 1):
        for size in (3, 23):
            (found,) = scop.validate(on="emulator", parameters=settings_of(scop, steps, size, 1), seed=steps + size)
            assert found.bitwise, (steps, size)


@pytest.mark.slow(but="one dimension")
@pytest.mark.parametrize("name", ["one dimension", "two dimensions"])
def test_their_kernels_pass_all_checks(name: str) -> None:
    scop = compiled(PROGRAMS[name], "float")
    scop.validate(on="emulator", parameters=settings_of(scop, 4, 21, 0), seed=1, sanitize="all")


LOWER = """
    for (int t = 1; t < 3; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                E[i][j] = 0.25 * (D[0][0] + D[i + 1][j - 1] + D[i + 1][j]);
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                D[i][j] = E[i][j];
    }"""


@pytest.mark.slow(but="float")
@pytest.mark.parametrize("ctype", ["float", "double"])
def test_tiles_of_versions_are_filled_with_what_is_read(ctype: str) -> None:
    """Row 1, which is only written, has no first value in either version."""
    (scop,) = polytile.compile(text(LOWER, ctype), schedule="split", strict=True, time_tile=1, block=(3, 5)).scops
    assert "__shared__" in scop.cuda
    for size in (1, 3, 8, 70):
        (found,) = scop.validate(on="emulator", parameters={"N": size}, seed=size, sanitize="all")
        assert found.bitwise


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("first", [-3, -2, 0, 5])
def test_steps_may_begin_anywhere(first: int) -> None:
    scop = compiled(PROGRAMS["steps from a parameter"])
    (found,) = scop.validate(on="emulator", parameters={"T": 5, "N": 19, "s": first}, seed=1)
    assert found.bitwise


@pytest.mark.parametrize("steps", [0, 1, 4, 5])
def test_borders_keep_what_they_held(steps: int) -> None:
    """Those of both arrays, which differ; without steps everything does."""
    a, b = np.arange(20.0) ** 2, -np.arange(20.0) - 1
    borders, before = b[[0, -1]].copy(), b.copy()
    want = a.copy()
    for _ in range(steps):
        want[1:-1] = 0.3 * (want[:-2] + want[1:-1] + want[2:])
    scop = compiled(ONE)
    scop.run(bind(scop.scop, (), {"T": steps, "N": 20, "A": a, "B": b}), on="emulator")
    np.testing.assert_allclose(a, want)
    np.testing.assert_array_equal(b[[0, -1]], borders)
    np.testing.assert_array_equal(b[1:-1], a[1:-1] if steps else before[1:-1])


def test_their_schedules_can_be_saved_and_loaded() -> None:
    scop = compiled(ONE)
    again = polytile.compile(text(ONE), load_schedule=scop.schedule)
    state = again.scops[0].compilation
    assert state.schedule is not None and state.schedule.strategy == "loaded"
    assert [s.name for s in state.scop.statements] == [s.name for s in scop.compilation.scop.statements]


@pytest.mark.slow
def test_both_versions_fit_into_shared_memory() -> None:
    """As do two arrays in turns, with the same steps."""
    inner = "for (int i = 1; i < N - 1; i++) for (int j = 1; j < N - 1; j++)"
    body = f"for (int t = 0; t < T; t++) {{ {inner} E[i][j] = D[i][j - 1] + D[i + 1][j]; {inner} D[i][j] = E[i][j]; }}"
    for size in (8_000, 32_000):
        found = polytile.compile(text(f"\n{body}"), schedule="split", max_shared_memory=size).scops[0].compilation
        cuts = next(re.findall(r"tiles (\d+) x (\d+) wide", line) for line in found.considered if "wide" in line)
        assert 2 * 8 * prod(int(width) + 1 for width in cuts[0]) <= size
