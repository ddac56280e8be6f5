"""Docstrings of functions begin with verbs: ruff's D401 sees nouns, and this what it takes for verbs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("polytile", "codegen", "scheduling", "polybench")
NO_VERBS = frozenset(
    ("Whether", "Those", "That", "What", "How", "Which", "Where", "When", "Who", "Each", "All", "Both", "Of", "Its")
)


def docstrings(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Yield name, line and docstring of each function that is no property."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            marks = {ast.unparse(mark).rpartition(".")[2] for mark in node.decorator_list}
            text = ast.get_docstring(node)
            if text and not marks & {"property", "cached_property", "overload", "setter"}:
                yield node.name, node.lineno, text


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_begin_with_verbs(room: str) -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}: {name}: {text.splitlines()[0]}"
        for file in sorted((ROOT / room).rglob("*.py"))
        if "frontend" not in file.parts
        for name, line, text in docstrings(ast.parse(file.read_text()))
        if text.split()[0].strip("`'\",.:;") in NO_VERBS
    ]
    assert found == []
