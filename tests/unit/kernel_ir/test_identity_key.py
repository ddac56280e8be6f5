"""What is remembered by identity is forgotten again: thousands of programs may be compiled in one process."""

from __future__ import annotations

import gc
import weakref

from polytile.ir.identity_key import MOST_REMEMBERED, remembered


class Value:
    """What a weak reference can be to."""


def test_objects_are_forgotten_in_time() -> None:
    asked: list[int] = []

    @remembered
    def number(value: Value) -> int:
        asked.append(id(value))
        return len(asked)

    first = Value()
    assert number(first) == number(first) == 1
    known = weakref.ref(first)
    del first
    gc.collect()
    assert known() is not None  # no other object has its identity
    kept = [Value() for _ in range(MOST_REMEMBERED)]
    assert [number(value) for value in kept] == list(range(2, MOST_REMEMBERED + 2))
    gc.collect()
    assert known() is None
    assert number(kept[-1]) == len(asked)
