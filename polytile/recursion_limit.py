"""Python's limit on recursion, raised where trees of expressions are: a sum is as deep as it has terms."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from threading import Lock

from polytile.dataclass import dataclass

_DEPTH = 50_000


@dataclass(slots=True)
class _Blocks:
    """How many blocks recurse deeply: the limit is one for all threads, and the last block sets it back."""

    lock: Lock = field(default_factory=Lock)
    running: int = 0
    before: int = 0


_BLOCKS = _Blocks()


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let expressions of thousands of terms pass."""
    with _BLOCKS.lock:
        if _BLOCKS.running == 0:
            _BLOCKS.before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_BLOCKS.before, _DEPTH))
        _BLOCKS.running += 1
    try:
        yield
    finally:
        with _BLOCKS.lock:
            _BLOCKS.running -= 1
            if _BLOCKS.running == 0:
                sys.setrecursionlimit(_BLOCKS.before)
