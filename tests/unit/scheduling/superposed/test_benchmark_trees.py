"""Both loop trees of every benchmark program keep the order of all that meet in memory, and say rightly what loops
carry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polytile.scheduling.strategies.superposed.two_level_trees import loop_trees

SUITE = Path(__file__).resolve().parents[4] / "polybench"
PROGRAMS = [
    f"{folder}/{file.name}" for folder in ("polybench", "polyast") for file in sorted((SUITE / folder).glob("*.c"))
]


@pytest.mark.slow(but="polybench/ludcmp.c")
@pytest.mark.parametrize("path", PROGRAMS)
def test_trees_are_legal(path: str, program: Callable[..., Any], check: Callable[..., None]) -> None:
    for found in program(path):
        trees = loop_trees(found.scop, found.dependences)
        for tree in (trees.thread, trees.block):
            check(found, tree)


@pytest.mark.slow(but="polyast/sp-xsolve-1.c")
@pytest.mark.parametrize("path", PROGRAMS)
def test_trees_without_relaxed_reductions(path: str, program: Callable[..., Any], check: Callable[..., None]) -> None:
    for found in program(path):
        trees = loop_trees(found.scop, found.dependences, relax=False)
        for tree in (trees.thread, trees.block):
            check(found, tree, relax=False)
