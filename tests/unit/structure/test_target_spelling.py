"""Only what prints CUDA knows how it spells the place of a thread in its grid; everything else has nodes for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("polytile", "frontend", "scheduling", "codegen")
SPELLING = re.compile(r"threadIdx|blockIdx|blockDim|gridDim|__syncthreads")
TARGETS = ROOT / "codegen" / "targets"
WORDS = {"reserved_names.py"}  # which no variable may be called


def sources() -> list[Path]:
    linked = {ROOT / "polytile" / folder for folder in FOLDERS}
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    own = (p for p in found if not linked & set(p.parents) and "emulator" not in p.parts)
    return sorted(p for p in own if TARGETS not in p.parents and p.name not in WORDS)


def spelled(text: str) -> list[tuple[int, str]]:
    """The lines of a module, its documentation included, that spell a coordinate as CUDA does."""
    return [(number, line) for number, line in enumerate(text.splitlines(), 1) if SPELLING.search(line)]


def test_no_coordinate_is_spelled_outside_the_printers() -> None:
    assert sources() and {str(path): found for path in sources() if (found := spelled(path.read_text()))} == {}


@pytest.mark.parametrize("line", ['x = "threadIdx.x"', 'f(f"blockIdx.{axis}")', 'if name.startswith("gridDim."): pass'])
def test_each_kind_is_found(line: str) -> None:
    assert spelled(line)
