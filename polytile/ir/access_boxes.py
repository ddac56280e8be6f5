"""Access relations that differ by constants, as in a stencil, united into few: a box of neighbours is one relation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import groupby

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.identity_key import remembered

Offset = tuple[int, ...]
Shape = tuple[object, ...]  # subscripts without the constants that are added to them
Box = tuple[tuple[int, int], ...]  # the least and the largest offset along each dimension

_OUT = isl.dim_type.out


@dataclass(slots=True)
class KnownFunctions:
    """The accesses of an array that are affine functions plus constants: by the text of the function and the constants,
    their numbers; one relation of each function. `same` are the functions that subscripts of a shape are, with what is
    added to the constants of these to have those of the function."""

    numbers: dict[str, dict[Offset, list[int]]] = field(default_factory=dict)
    relations: dict[str, tuple[isl.Map, Offset]] = field(default_factory=dict)
    same: dict[Shape, list[tuple[str, Offset]]] = field(default_factory=dict)


def united(relations: Sequence[isl.Map]) -> isl.Map:
    """Unite relations of one space; those that are one affine function plus constants become boxes.

    before: { S[i] -> A[i - 1] }, { S[i] -> B[2i] }, { S[i] -> A[i] }, { S[i] -> A[i + 1] }  for each array
    after:  { S[i] -> A[o] : i - 1 <= o <= i + 1 }
    """
    alike: dict[str, list[tuple[Offset, isl.Map]]] = {}
    for number, relation in enumerate(relations):
        shape, offset = taken_apart(relation) or (str(number), ())
        alike.setdefault(shape, []).append((offset, relation))
    parts = [part for members in alike.values() for part in _in_boxes(members)]
    total = parts[0]
    for part in parts[1:]:
        total = total.union(part)
    return total


@remembered
def taken_apart(relation: isl.Map) -> tuple[str, Offset] | None:
    """Split an affine relation into the text of its function without added constants, and these constants.

    Returns None where it is no affine function everywhere.
    """
    if not relation.is_single_valued():
        return None
    function = relation.as_pw_multi_aff()
    if not function.isa_multi_aff():
        return None
    columns = function.as_multi_aff()
    constants = columns.get_constant_multi_val()
    values = [constants.get_at(k) for k in range(constants.dim(_OUT))]
    if not all(v.is_int() for v in values):
        return None
    return str(columns.add_constant_multi_val(constants.neg())), tuple(int(v.to_python()) for v in values)


def moved(relation: isl.Map, by: Offset) -> isl.Map:
    """Return a relation with its elements moved by a constant offset."""
    if not any(by):
        return relation
    move = isl.MultiAff.identity_on_domain_space(relation.get_space().range())  # text takes longer: hundreds are made
    for k, distance in enumerate(by):
        if distance:
            move = move.set_at(k, move.get_at(k).add_constant_val(isl.Val(distance)))
    return relation.apply_range(isl.Map.from_multi_aff(move))


def _in_boxes(members: Sequence[tuple[Offset, isl.Map]]) -> list[isl.Map]:
    """Return the relations of one function, one for each box of offsets."""
    known = dict(members)
    if len(known) == 1:
        return [members[0][1]]
    return [_moved(known, box) for box in boxes(known)]


def _moved(known: dict[Offset, isl.Map], box: Box) -> isl.Map:
    """Return the relation of the first corner of a box, extended to all offsets of the box."""
    first = known[tuple(low for low, _ in box)]
    if all(low == high for low, high in box):
        return first
    names = [f"o{k}" for k in range(len(box))]
    sides = (f"{n} <= {n}' <= {n} + {high - low}" for n, (low, high) in zip(names, box, strict=True))
    there = ", ".join(f"{n}'" for n in names)
    move = isl.Map(f"{{ [{', '.join(names)}] -> [{there}] : {' and '.join(sides)} }}")
    name = first.get_tuple_name(_OUT)
    return first.apply_range(move.set_tuple_name(isl.dim_type.in_, name).set_tuple_name(_OUT, name))


def boxes(offsets: Iterable[Offset]) -> list[Box]:
    """Split offsets into disjoint boxes that hold exactly these.

    Runs along the last dimension come first, then what is equal next to each other along the one before it, and so on.

    before: (0, 0), (0, 1), (1, 0), (1, 1), (2, 0)     after: (0..1, 0..1), (2..2, 0..0)
    """
    found: list[Box] = [tuple((x, x) for x in offset) for offset in sorted(set(offsets))]
    for axis in reversed(range(len(found[0]) if found else 0)):
        found = _joined(found, axis)
    return found


def _joined(found: Sequence[Box], axis: int) -> list[Box]:
    """Join boxes that differ along one axis alone, where one begins right after the other ends."""

    def others(box: Box) -> Box:
        return (*box[:axis], *box[axis + 1 :])

    joined: list[Box] = []
    for _, group in groupby(sorted(found, key=lambda box: (others(box), box[axis])), key=others):
        runs: list[Box] = []
        for box in group:
            if runs and runs[-1][axis][1] + 1 == box[axis][0]:
                box = (*box[:axis], (runs.pop()[axis][0], box[axis][1]), *box[axis + 1 :])
            runs.append(box)
        joined += runs
    return joined
