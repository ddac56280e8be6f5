"""Kernels that differ in nothing but the name of their statement have the loops that isl makes of one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl
import pytest

import polytile
from polytile.codegen.lowering import ast_generation

STEPS = """for (int t = 0; t < T; t++) {{
    for (int i = 1; i < n - 1; i++) B[i] = A[i - 1] + A[i + 1];
    for (int i = {first}; i < n - 1; i++) A[i] = 3 * B[i];
}}"""
ARGUMENTS = "int n, int T, double A[n], double B[n]"


def trees(monkeypatch: pytest.MonkeyPatch, first: str) -> list[isl.Schedule]:
    """The trees of kernels that isl is asked for."""
    asked: list[isl.Schedule] = []
    generate = ast_generation.generate

    def seen(tree: isl.Schedule, *others: Any) -> Any:
        asked.append(tree)
        return generate(tree, *others)

    monkeypatch.setattr(ast_generation, "generate", seen)
    text = f"void f({ARGUMENTS})\n{{\n#pragma scop\n{STEPS.format(first=first)}\n#pragma endscop\n}}\n"
    (scop,) = polytile.compile(text, name="test.c", schedule="classic").scops
    assert scop.program is not None
    assert len(scop.program.kernels) == 2
    return asked[1:]  # behind the host's


def test_isl_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(trees(monkeypatch, "1")) == 1


def test_other_bounds_make_other_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(trees(monkeypatch, "2")) == 2


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("first", ["1", "2"])
def test_each_kernel_has_its_own_statement(validated: Callable[..., Any], first: str) -> None:
    sizes = [{"n": n, "T": t} for n in (2, 3, 100) for t in (0, 3)]
    found = validated((ARGUMENTS, STEPS.format(first=first)), *sizes, schedule="classic")
    assert "A[i - 1]" in found.cuda
    assert "3 * B[i]" in found.cuda
