"""The tile and the instance that a picture highlights, and the cone of instances whose values the latter needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

import islpy as isl

from polytile.drawing.instances import points
from polytile.drawing.model import Cell, Cone, Instance, Tile
from polytile.ir.isl_util import maps, sets

MAX_CONE = 60_000  # instances in the boxes around what is reached step by step
IN, OUT, SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set


def chosen_tile(cells: Iterable[Cell]) -> Tile:
    """Choose the tile to highlight: one of most rows, late, and in the middle of its launch."""
    rows: dict[Tile, set[int]] = defaultdict(set)
    sizes: dict[Tile, int] = defaultdict(int)
    for cell in cells:
        rows[cell.tile].add(cell.row)
        sizes[cell.tile] += 1
    tallest = max(len(found) for found in rows.values())
    launch = max(tile.launch for tile, found in rows.items() if len(found) == tallest)
    largest = max(sizes[tile] for tile in rows if tile.launch == launch)
    full = sorted(tile for tile in rows if tile.launch == launch and 10 * sizes[tile] >= 9 * largest)
    return full[len(full) // 2]


def cone_of(
    cells: tuple[Cell, ...], flow: isl.UnionMap, tile: Tile, time: Callable[[Instance], int]
) -> Cone | None:
    """Compute the cone of the middle instance in a tile's last row, or its latest part; None if it needs no other."""
    own = [cell for cell in cells if cell.tile == tile]
    last = max(cell.row for cell in own)
    top = [cell for cell in own if cell.row == last]
    focus = min(top, key=lambda c: (_from_middle(c, top), c.place)).instance
    around, beyond = _boxes(focus, flow)
    needs = _sources(flow.intersect_range(around))
    reached: set[Instance] = set()
    waiting = [focus]
    while waiting:
        found = set(needs.get(waiting.pop(), ())) - reached
        reached |= found
        waiting += found
    since = max((time(i) for i in _instances(beyond)), default=-1)  # what is beyond needs nothing that is later
    late = frozenset(i for i in reached if time(i) > since)
    return Cone(focus, frozenset(needs[focus]), late, beyond.is_empty()) if reached else None


def _instances(found: isl.UnionSet) -> list[Instance]:
    return [(s.get_tuple_name(), p) for s in sets(found) for p in points(s)]


def _from_middle(cell: Cell, among: list[Cell]) -> int:
    """Compute twice the distance from the middle of some cells."""
    spans = ((min(c.place[k] for c in among), max(c.place[k] for c in among)) for k in range(len(cell.place)))
    return sum(abs(2 * x - low - high) for x, (low, high) in zip(cell.place, spans, strict=True))


def _boxes(focus: Instance, flow: isl.UnionMap) -> tuple[isl.UnionSet, isl.UnionSet]:
    """Return boxes around what is needed directly, by that in turn, and so on; and where there is more."""
    back = flow.reverse()
    latest = isl.UnionSet(f"{{ {focus[0]}[{', '.join(map(str, focus[1]))}] }}")
    total, count = latest, 1
    while True:
        boxes = [_box(s) for s in sets(back.intersect_domain(latest).range()) if not s.is_empty()]
        latest = isl.UnionSet("{ }")
        for box, size in boxes:
            latest = latest.union(isl.UnionSet.from_set(box))
            count += size
        latest = latest.subtract(total)
        if latest.is_empty() or count > MAX_CONE:
            return total, latest
        total = total.union(latest).coalesce()


def _box(found: isl.Set) -> tuple[isl.Set, int]:
    """Return the box around a bounded set, and how many points it has."""
    box, size = isl.Set.universe(found.get_space()), 1
    for k in range(found.dim(SET)):
        low, high = found.dim_min_val(k), found.dim_max_val(k)
        box = box.lower_bound_val(SET, k, low).upper_bound_val(SET, k, high)
        size *= high.to_python() - low.to_python() + 1
    return box, size


def _sources(flow: isl.UnionMap) -> dict[Instance, list[Instance]]:
    """Map each instance to those whose values it reads."""
    found: dict[Instance, list[Instance]] = defaultdict(list)
    for pairs in maps(flow):
        source, sink = pairs.get_tuple_name(IN), pairs.get_tuple_name(OUT)
        n = pairs.dim(IN)
        for p in points(pairs.wrap()):
            found[sink, p[n:]].append((source, p[:n]))
    return found
