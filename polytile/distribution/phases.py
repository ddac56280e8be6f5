"""The phases of a step: groups of statements that run on any boxes of positions, in any order of these.

for (t) { for (i, j) S: B = f(A); for (i, j) T: A = g(B); }       two phases: T reads B at other positions
for (t) { for (i, j) { S: B = f(A); T: C = h(B); } }              one, where h reads B at its own position alone
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UserError
from polytile.distribution.axes import CutAxis
from polytile.ir.isl_util import maps, sample
from polytile.ir.scop import Scop

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two statements of one iteration of the time loop of which one must come first, at positions that differ."""

    before: str
    behind: str
    array: str
    pair: isl.Map


def conflicts(
    scop: Scop, axes: Sequence[CutAxis], dependences: Mapping[str, isl.UnionMap], *, timed: bool
) -> tuple[Conflict, ...]:
    """Return what keeps statements of a step from running box by box together.

    `dependences` are by array: all, but of locals the flow alone, as each box has its own.
    """
    found = []
    for array, relation in dependences.items():
        for pairs in maps(relation):
            within = pairs.equate(_IN, 0, _OUT, 0) if timed else pairs
            names = pairs.get_tuple_name(_IN), pairs.get_tuple_name(_OUT)
            apart = elsewhere(within, axes)
            if not apart.is_empty():
                found.append(Conflict(*names, array, apart))
    return tuple(found)


def elsewhere(pairs: isl.Map, axes: Sequence[CutAxis]) -> isl.Map:
    """Return the pairs of instances that run at different positions of some axis."""
    found = isl.Map.empty(pairs.get_space())
    for axis in axes:
        first, then = (axis.positions.get(pairs.get_tuple_name(kind)) for kind in (_IN, _OUT))
        if first is None or then is None:
            continue
        same = first.apply_range(then.reverse())
        found = found.union(pairs.subtract(same))
    return found


def group_statements(
    scop: Scop,
    order: Sequence[str],
    found: Sequence[Conflict],
    alone: frozenset[str],
    receivers: frozenset[str],
    *,
    timed: bool,
) -> list[list[str]]:
    """Return the phases of a step: statements in the source's order.

    A new one begins where a statement conflicts with one of the last phase. Those of `alone` have phases of their own,
    and so have `receivers` together: the rank that owns their position runs them, and no other one.
    Raises UserError where an instance depends on another one of its step that a later phase would run.
    """
    between = {(c.before, c.behind): c for c in found}
    phases: list[list[str]] = []
    for name in order:
        if (name, name) in between:
            raise _inside(scop, between[name, name], timed)
        joins = phases and not {name, *phases[-1]} & alone
        joins = joins and (name in receivers) == (phases[-1][0] in receivers)
        if joins and not any((other, name) in between for other in phases[-1]):
            phases[-1].append(name)
        else:
            phases.append([name])
    for k, phase in enumerate(phases):
        for earlier in phases[: k + 1]:
            for behind, before in product(earlier, phase):
                if (before, behind) in between and (earlier is not phase or before != behind):
                    raise _inside(scop, between[before, behind], timed)
    return phases


def _inside(scop: Scop, conflict: Conflict, timed: bool) -> UserError:
    location = scop.statement(conflict.behind).location
    pair = sample(conflict.pair)
    shown = f": {_instance(*pair[:2])} before {_instance(*pair[2:4])}" if pair is not None else ""
    instances = "instances of one step" if timed else "instances"
    hint = "ranks can cut loops whose iterations are independent within one iteration of the time loop"
    if not timed:
        hint = "a time loop is one that counts upwards and is around all statements: put the pragma around it alone"
    return UserError(
        f"{scop.name} cannot be distributed: {instances} at different positions depend on each other through "
        f"{conflict.array}{shown}",
        location=location if location.line else Location(scop.location.file, scop.location.line, 0),
        hint=hint,
    )


def _instance(statement: str, iterators: tuple[int, ...]) -> str:
    return f"{statement}[{', '.join(map(str, iterators))}]"
