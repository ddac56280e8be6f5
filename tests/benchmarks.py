"""Programs of the suite, compiled once for all tests of a process that ask for the same."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import polytile

POLYBENCH = Path(__file__).resolve().parents[1] / "polybench" / "polybench"


@lru_cache(maxsize=64)
def compiled(name: str, schedule: str = "auto") -> polytile.Program:
    """`polybench/NAME.c` for sizes that are not known, without other options."""
    return polytile.compile(POLYBENCH / f"{name}.c", schedule=schedule)
