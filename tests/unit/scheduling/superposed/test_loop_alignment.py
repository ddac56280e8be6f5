"""The search for serial rows: which it finds, and how often it looks at the edges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from polytile.scheduling.strategies.superposed import loop_alignment
from polytile.scheduling.strategies.superposed.loop_tree import Row

MANY = 6


@dataclass(frozen=True)
class Distances:
    """An edge with the least distances for the iterators of its ends, 1 for others."""

    source: str
    sink: str
    least: dict[tuple[int, int], int] = field(default_factory=dict, hash=False)

    def least_distance(self, rows: dict[str, Row]) -> int:
        a, b = rows[self.source], rows[self.sink]
        return self.least.get((a.iterator, b.iterator), 1) + b.shift - a.shift


def test_choices_round_a_cycle_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """a and b wait for each other in loops through their first iterators, whatever the other statements take."""
    others = [f"s{k}" for k in range(MANY)]
    edges: list[Any] = [Distances("a", "b", {(0, 0): -1}), Distances("b", "a", {(0, 0): 0, (1, 1): -3})]
    edges += [Distances("b", name) for name in others]
    choices = {name: [(0, 1), (1, 1)] for name in ("a", "b", *others)}
    looked, whole = [], loop_alignment.least_shifts

    def counted(*given: Any) -> Any:
        looked.append(1)
        return whole(*given)

    monkeypatch.setattr(loop_alignment, "least_shifts", counted)
    found = list(loop_alignment.serial_rows(["a", "b", *others], edges, choices))
    assert len(found) == 2 * 2**MANY  # (0, 1) and (1, 0) of a and b
    assert all(rows[0].iterator != rows[1].iterator for rows in found)
    assert len(looked) == len(found) + 2
