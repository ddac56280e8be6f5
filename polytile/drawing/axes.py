"""Where statement instances are drawn: in space by the element that they write, in time by their other iterators.

    for (t < T) { for (i) B[i] = f(A[i-1], A[i], A[i+1]);   S0[t, i]: place [i], row (S0, t)
                  for (i) A[i] = g(B[i-1], B[i], B[i+1]); } S1[t, i]: place [i], row (S1, t)

Subscripts of loops that carry dependences alone (`A[t + 1][i]`) are time too, unless a statement has no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import maps
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.source_loops import nest_of

IN, OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, slots=True)
class Axes:
    """Where the instances of one statement are drawn: `place` is `{ S[i] -> [x..] }`, and rows differ in the iterators
    `keys`."""

    place: isl.Map = field(compare=False)
    names: tuple[str, ...]
    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Subscript:
    value: isl.PwAff
    iterators: tuple[int, ...]  # that it depends on


def axes_of(scop: Scop, dependences: Dependences) -> dict[str, Axes]:
    """Compute the axes of each statement; all have places of one rank."""
    serial = serial_loops(scop, dependences)
    written = {s.name: _written(s) for s in scop.statements}
    in_space = {name: _in_space(found, serial[name]) for name, found in written.items()}
    if all(in_space[name] or not found for name, found in written.items()):
        written = in_space
    if not any(written.values()):
        written = {s.name: _iterators(s)[-1:] for s in scop.statements}
    rank = max(1, max((len(found) for found in written.values()), default=1))
    return {s.name: _axes(s, written[s.name], rank) for s in scop.statements}


def serial_loops(scop: Scop, dependences: Dependences) -> dict[str, frozenset[int]]:
    """Find the iterators of each statement whose loop carries a dependence from or to it."""
    nest = nest_of(scop)
    found: dict[str, set[int]] = {s.name: set() for s in scop.statements}
    for pairs in maps(dependences.all):
        names = pairs.get_tuple_name(IN), pairs.get_tuple_name(OUT)
        for k in range(len(nest.shared(*names))):
            for carried in (pairs.order_lt(IN, k, OUT, k), pairs.order_gt(IN, k, OUT, k)):
                if not carried.is_empty():
                    for name in names:
                        found[name].add(k)
            pairs = pairs.equate(IN, k, OUT, k)
    return {name: frozenset(loops) for name, loops in found.items()}


def _written(statement: Statement) -> tuple[_Subscript, ...]:
    """Return the subscripts of the element that an instance writes first."""
    for access in statement.accesses:
        relation = access.relation.intersect_domain(statement.domain)
        if access.kind is AccessKind.WRITE and relation.is_single_valued():
            values = isl.PwMultiAff.from_map(relation)
            return tuple(_subscript(statement, values.get_at(k)) for k in range(values.dim(OUT)))
    return _iterators(statement)[-2:]


def _subscript(statement: Statement, value: isl.PwAff) -> _Subscript:
    values: list[isl.Aff] = []
    value.foreach_piece(lambda _, aff: values.append(aff))
    uses = (k for k in range(len(statement.iterators)) if any(aff.involves_dims(IN, k, 1) for aff in values))
    return _Subscript(value, tuple(uses))


def _iterators(statement: Statement) -> tuple[_Subscript, ...]:
    space = isl.LocalSpace.from_space(statement.domain.get_space())
    values = (isl.Aff.var_on_domain(space, isl.dim_type.set, k) for k in range(len(statement.iterators)))
    return tuple(_Subscript(isl.PwAff.from_aff(value), (k,)) for k, value in enumerate(values))


def _in_space(subscripts: tuple[_Subscript, ...], serial: frozenset[int]) -> tuple[_Subscript, ...]:
    return tuple(s for s in subscripts if not s.iterators or not serial.issuperset(s.iterators))


def _axes(statement: Statement, subscripts: tuple[_Subscript, ...], rank: int) -> Axes:
    """Return the axes of a statement, whose places have `rank` dimensions, the missing ones in front."""
    place = isl.Map.from_domain(statement.domain).add_dims(OUT, rank - len(subscripts))
    for k in range(rank - len(subscripts)):
        place = place.fix_val(OUT, k, 0)
    for subscript in subscripts:
        place = place.flat_range_product(isl.Map.from_pw_aff(subscript.value))
    place = place.intersect_domain(statement.domain)
    names = ("",) * (rank - len(subscripts)) + tuple(_name(statement, s) for s in subscripts)
    used = {k for s in subscripts for k in s.iterators}
    return Axes(place, names, _distinct(statement, place, used))


def names_along(statement: Statement, place: isl.Map) -> tuple[str, ...]:
    """Name the iterators that each coordinate of a place depends on."""
    values = isl.PwMultiAff.from_map(place)
    return tuple(_name(statement, _subscript(statement, values.get_at(k))) for k in range(values.dim(OUT)))


def _name(statement: Statement, subscript: _Subscript) -> str:
    return ", ".join(statement.iterators[k] for k in subscript.iterators)


def _distinct(statement: Statement, place: isl.Map, used: set[int]) -> tuple[int, ...]:
    """Select the iterators that are not in a place, and as many others as distinguish the instances at one place."""
    everything = range(len(statement.iterators))
    keys = [k for k in everything if k not in used]
    for k in (k for k in everything if k in used):
        if place.flat_range_product(key_map(statement.domain, tuple(keys))).is_injective():
            break
        keys.append(k)
    return tuple(sorted(keys))


def key_map(domain: isl.Set, keys: tuple[int, ...]) -> isl.Map:
    """Return `{ S[t, i] -> [t] }`: the values of some iterators."""
    identity = domain.identity().reset_tuple_id(OUT)
    dropped = [k for k in range(domain.dim(isl.dim_type.set)) if k not in keys]
    for k in reversed(dropped):
        identity = identity.project_out(OUT, k, 1)
    return identity


def axis_names(axes: Mapping[str, Axes]) -> tuple[str, ...]:
    """Name the iterators that run along each axis, in all statements."""
    rank = len(next(iter(axes.values())).names)
    named = (dict.fromkeys(a.names[k] for a in axes.values() if a.names[k]) for k in range(rank))
    return tuple(", ".join(found) or "element" for found in named)
