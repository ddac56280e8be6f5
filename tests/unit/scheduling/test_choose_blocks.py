"""Blocks that move less between device memory and L2: where they are chosen, and what kernels with them compute."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.ir.schedule import nodes, thread_sizes
from polytile.scheduling.cost import block_layers
from polytile.scheduling.strategies import choose_blocks
from polytile.tuning import BlockTuning
from tests.every_schedule import source

REORDER = Path(__file__).parents[3] / "polybench" / "reorder"
LARGE = {"nx": 304, "ny": 304, "nz": 304}
STAR = source(
    "int n, int m, int l, double A[n][m][l], double B[n][m][l]",
    "for (int i = 2; i < n - 2; i++) for (int j = 1; j < m - 1; j++) for (int k = 0; k < l; k++)"
    " B[i][j][k] = A[i - 2][j][k] + A[i][j - 1][k] + A[i][j + 1][k] + A[i + 2][j][k];",
)


def compiled(program: Path | str, **settings: Any) -> polytile.Scop:
    (scop,) = polytile.compile(program, schedule="classic", **settings).scops
    return scop


def blocks(scop: polytile.Scop) -> list[tuple[int, ...]]:
    schedule = scop.compilation.schedule
    assert schedule is not None
    return [sizes for node in nodes(schedule.tree) if (sizes := thread_sizes(node))]


@pytest.mark.slow
@pytest.mark.parametrize(("macros", "lanes"), [({}, 16), ({"DATA_TYPE": "float"}, 32)])
def test_many_arrays_with_neighbours_along_the_outermost_loop_take_flat_blocks(
    macros: dict[str, str], lanes: int
) -> None:
    """derivative, 304^3, H100: 2.85 and 1.63 ms with 2 x 4 x 32 threads, 2.12 with 8 x 1 x 16, 1.50 with 8 x 1 x 32."""
    derivative = REORDER / "derivative.c"
    chosen = compiled(derivative, parameters=LARGE, defines=macros)
    assert blocks(chosen) == [(8, 1, lanes)]
    assert f"kernel 0 (classic (fused)): blocks of 8 x 1 x {lanes}: " in "\n".join(chosen.compilation.considered)
    asked = compiled(derivative, parameters=LARGE, defines=macros, block=(8, 1, lanes))
    assert chosen.program is not None and asked.program is not None
    assert [k.body for k in chosen.program.kernels] == [k.body for k in asked.program.kernels]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("derivative", {}),  # sizes that nobody knows
        ("derivative", {"parameters": LARGE, "block": (2, 4, 32)}),
        ("rhs4th3fort", {"parameters": LARGE, "defines": {"DATA_TYPE": "float"}}),  # 1.73 ms, 1.83 with 8 x 1 x 32
        ("3d27pt", {"parameters": {"nx": 514, "ny": 514, "nz": 514}}),  # 0.92 ms, 1.02 with 8 x 1 x 32
    ],
)
def test_others_keep_the_default(name: str, settings: dict[str, Any]) -> None:
    assert blocks(compiled(REORDER / f"{name}.c", **settings)) == [(2, 4, 32)]


@pytest.fixture
def _whenever_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_layers, "KEPT", 0.0)
    monkeypatch.setattr(choose_blocks._Choice, "tuning", replace(BlockTuning(), clearly=9.0))


@pytest.mark.slow(but=("None-5", "points1-4"))
@pytest.mark.usefixtures("emulator", "_whenever_possible")
@pytest.mark.parametrize("n", [4, 5, 12, 21])
@pytest.mark.parametrize("points", [None, (2, 1, 1)])
def test_kernels_with_other_blocks_compute_what_c_does(n: int, points: tuple[int, ...] | None) -> None:
    sizes = {"n": n, "m": 11, "l": 37}
    scop = compiled(STAR, parameters=sizes, strict=True, **({"points": points} if points else {}))
    assert blocks(scop) == [(2, 4, 32) if points or n <= 5 else (8, 1, 32)]
    for result in scop.validate(on="emulator", parameters=sizes, seed=n, sanitize=("address", "undefined", "race")):
        assert "bitwise equal" in result.line
