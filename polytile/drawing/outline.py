"""Shapes on a grid of cells: the rectangles that cover some cells, and the lines between those that differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping

At = tuple[int, int]  # column and row
Rectangle = tuple[int, int, int, int]  # column, row, width, height
Line = tuple[int, int, int, int]  # from a corner of cells to another


def rectangles(cells: Iterable[At]) -> list[Rectangle]:
    """Cover the cells by disjoint rectangles: runs within rows, joined where they are the same in the next row."""
    columns: dict[int, list[int]] = defaultdict(list)
    for x, y in cells:
        columns[y].append(x)
    found: list[Rectangle] = []
    open_: dict[tuple[int, int], Rectangle] = {}
    for y in sorted(columns):
        runs = {run: open_.get(run) for run in _runs(columns[y])}
        kept = {run: old for run, old in runs.items() if old and old[1] + old[3] == y}
        found += [old for run, old in open_.items() if run not in kept]
        open_ = {
            (x, end): (x, kept[x, end][1], end - x, kept[x, end][3] + 1) if (x, end) in kept else (x, y, end - x, 1)
            for x, end in runs
        }
    return sorted([*found, *open_.values()], key=lambda r: (r[1], r[0]))


def _runs(values: Iterable[int]) -> list[tuple[int, int]]:
    """Split values into runs: `1, 2, 3, 7` as [1, 4) and [7, 8)."""
    found: list[tuple[int, int]] = []
    for value in sorted(values):
        if found and found[-1][1] == value:
            found[-1] = found[-1][0], value + 1
        else:
            found.append((value, value + 1))
    return found


def borders(groups: Mapping[At, Hashable]) -> list[Line]:
    """Return the lines between cells of different groups, and around all cells."""
    return _lines(groups, between=True)


def inner_lines(groups: Mapping[At, Hashable]) -> list[Line]:
    """Return the lines between cells of one group."""
    return _lines(groups, between=False)


def _lines(groups: Mapping[At, Hashable], *, between: bool) -> list[Line]:
    upright: dict[int, set[int]] = defaultdict(set)
    level: dict[int, set[int]] = defaultdict(set)
    for (x, y), group in groups.items():
        for dx in (-1, 1):
            if (groups.get((x + dx, y)) != group) is between:
                upright[x + (dx > 0)].add(y)
        for dy in (-1, 1):
            if (groups.get((x, y + dy)) != group) is between:
                level[y + (dy > 0)].add(x)
    found = [(x, start, x, end) for x, ys in sorted(upright.items()) for start, end in _runs(ys)]
    return [*found, *((start, y, end, y) for y, xs in sorted(level.items()) for start, end in _runs(xs))]
