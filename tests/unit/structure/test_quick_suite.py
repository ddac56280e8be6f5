"""`pytest -m "not slow"` has tests of every room, and the parameters that marks keep in it exist."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]
ROOMS = (
    *("emulator", "errors", "kernels", "reductions"),
    *(f"unit/{p.name}" for p in (TESTS / "unit").iterdir() if any(p.rglob("test_*.py"))),
)


def kept(file: Path) -> Iterator[str]:
    """The parameters that `slow(but=...)` keeps, as pytest names them."""
    for node in ast.walk(ast.parse(file.read_text())):
        for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.slow":
                names = ast.literal_eval(mark.keywords[0].value)
                for name in (names,) if isinstance(names, str) else names:
                    yield f"{file.relative_to(TESTS.parent)}::{node.name}[{name}]"


@pytest.mark.slow
def test_the_quick_suite_covers_every_room() -> None:
    options = ["-o", "addopts=--import-mode=importlib", "-p", "no:cacheprovider", "-m", "not slow", "--collect-only"]
    command = [sys.executable, "-m", "pytest", *options, "-q", str(TESTS)]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    found = set(done.stdout.splitlines())
    assert [room for room in ROOMS if not any(name.startswith(f"tests/{room}/") for name in found)] == []
    assert [name for file in TESTS.rglob("test_*.py") for name in kept(file) if name not in found] == []
