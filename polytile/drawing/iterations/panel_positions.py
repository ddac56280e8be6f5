"""Where instances are in a panel: at the values of the iterators along its axes, those of several statements at one
place beside each other.

    for (i) { x[i] = b[i]; for (j < i) x[i] -= ...; }      S0[i] beside the loop over j, S1[i, j] in column j and row i
"""

from __future__ import annotations

from collections.abc import Mapping

from polytile.drawing.instances import points
from polytile.drawing.iterations.model import At
from polytile.drawing.iterations.view import View
from polytile.drawing.model import Instance
from polytile.ir.scop import Scop

MOST_SLOTS = 9  # points in one place
NEAR = 8  # values of each loop at which it is looked how many there are
Positions = dict[str, dict[Instance, At]]  # of the instances of each statement


def positions_of(scop: Scop, view: View, values: Mapping[str, int]) -> tuple[Positions, frozenset[int]]:
    """Return the column and row of each instance, and which columns are beside a loop."""
    found: Positions = {}
    beside: list[str] = []
    for name, own in view.shown(scop, values).items():
        depth = len(scop.statement(name).iterators)
        if len(view.axes) == 2 and depth <= view.axes[1]:
            beside.append(name)
        found[name] = {(name, p): _at(p, view.axes) for p in points(own)}
    columns = [column for name, own in found.items() if name not in beside for column, _ in own.values()]
    if not beside or not columns:
        return found, frozenset()
    margins = set()
    for name in beside:
        column = min(columns) - 1 if _first(view, name, beside) else max(columns) + 1
        margins.add(column)
        found[name] = {instance: (column, row) for instance, (_, row) in found[name].items()}
    return found, frozenset(margins)


def _at(iterators: tuple[int, ...], axes: tuple[int, ...]) -> At:
    """Place an instance: one loop runs to the right; of two the outer one upwards."""
    values = [iterators[k] if k < len(iterators) else 0 for k in axes]
    row = values[0] if len(values) == 2 else 0
    return (values[-1] if values else 0), row


def _first(view: View, name: str, beside: list[str]) -> bool:
    """Return whether a statement comes before those that both loops are around."""
    inside = (k for k, other in enumerate(view.statements) if other not in beside)
    return view.statements.index(name) < max(inside, default=0)


def slots_of(places: Positions) -> dict[str, int]:
    """Assign numbers to statements, different ones to those which meet in a place."""
    taken: list[set[At]] = []
    found = {}
    for name, own in places.items():
        where = set(own.values())
        slot = next((k for k, used in enumerate(taken) if not used & where), len(taken))
        if slot == len(taken):
            taken.append(set())
        taken[slot] |= where
        found[name] = slot
    return found


def most_in_one_place(scop: Scop, view: View, values: Mapping[str, int]) -> int:
    """Count the statements that meet in one place at most, where loops begin."""
    return max(slots_of(positions_of(scop, view.within(scop, values, NEAR), values)[0]).values(), default=0) + 1


def slot_grid(count: int) -> tuple[int, int]:
    """Return columns and rows of the points in one place: two on top of each other, as time runs upwards."""
    columns = 1
    while columns * (columns + 1) < count:
        columns += 1
    return columns, -(-count // columns)
