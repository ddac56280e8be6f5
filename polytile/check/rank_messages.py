"""Messages of ranks, and what is computed in front of them: boxes of positions, over the bounds of a part.

The rank in direction (1, 0) begins where this one ends along axis 0, and has the same bounds along axis 1. Along axes
with neighbours no part is thinner than `thickness`, which programs refuse when they run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polytile.check.relations import Check
from polytile.ir.name_supply import coordinates

SET, PARAM = isl.dim_type.set, isl.dim_type.param
THERE = "_there"  # behind the bounds of a neighbour
WAYS = ("at_once", "in_turn")  # all neighbours in one round; along one axis after another, a round each


def along(box: isl.Set, axis: int) -> isl.Set:
    """Project a box onto one axis."""
    rank = box.dim(SET)
    return box.project_out(SET, axis + 1, rank - axis - 1).project_out(SET, 0, axis)


def own_box(claim: Check) -> isl.Set:
    """Return the positions that a rank owns."""
    names = [name for pair in claim["bounds"] for name in pair]
    p = coordinates("p", len(claim["bounds"]), names)
    within = " and ".join(f"{low} <= {x} < {up}" for x, (low, up) in zip(p, claim["bounds"], strict=True))
    return isl.Set(f"[{', '.join(names)}] -> {{ [{', '.join(p)}] : {within} }}")


def elements(claim: Check, array: str, rank: int, box: isl.Set) -> isl.Set:
    """Return the elements of an array, which has `rank` subscripts, whose positions are in a box; those of dimensions
    that no axis cuts are all."""
    names = [f"e{d}" for d in range(rank)]
    found = isl.Set(f"{{ {array}[{', '.join(names)}] }}")
    for d, axis in enumerate(claim["arrays"][array]["axes"]):
        if axis is not None:
            subscript = isl.Map(f"{{ {array}[{', '.join(names)}] -> [{names[d]}] }}")
            found = found.intersect(subscript.intersect_range(along(box, axis)).domain())
    return found


def available(claim: Check, which: str, array: str, rank: int) -> isl.Set:
    """Return the elements that are right behind an exchange: those that a rank owns, and those that it receives, of
    planes in turns the one of the step that begins."""
    found = elements(claim, array, rank, own_box(claim))
    exchange, own = claim[which], coordinates("e", rank, [claim["start"]])
    names = ", ".join(own)
    planes = isl.Set(f"{{ {array}[{names}] }}")
    if array in exchange["planes"]:
        turns = exchange["planes"][array]["in_turn"]
        plane = own[exchange["planes"][array]["dimension"]]
        each = [
            f"({plane} = {p} and ({claim['start']} - {residue}) mod {len(turns)} = 0)"
            for residue, there in enumerate(turns)
            for p in there
        ]
        planes = isl.Set(f"[{claim['start']}] -> {{ {array}[{names}] : {' or '.join(each) or 'false'} }}")
    for box in _boxes(exchange["at_once"], "receives", array):
        found = found.union(elements(claim, array, rank, box).intersect(planes))
    return found.coalesce()


def _boxes(rounds: Sequence[Sequence[Check]], way: str, array: str) -> Iterator[isl.Set]:
    return (isl.Set(box) for one in rounds for message in one for name, box in message[way] if name == array)


def message_problems(claim: Check) -> Iterator[str]:
    """Yield where a rank sends what it has not, or other boxes than are received, and where sides are too thin."""
    for which in ("before", "between"):
        for way in WAYS:
            yield from _messages(claim, claim[which][way], f"{which}, {way}")
        yield from _less_in_turn(claim, which)
    yield from _sides(claim)


def _messages(claim: Check, rounds: Sequence[Sequence[Check]], what: str) -> Iterator[str]:
    own = own_box(claim)
    has: dict[str, isl.Set] = {}
    for messages in rounds:
        by_direction = {tuple(m["to"]): m for m in messages}
        for to, message in by_direction.items():
            back = by_direction.get(tuple(-d for d in to))
            if back is None or not _same(claim, to, message["sends"], back["receives"]):
                yield f"{what}: what is sent to {to} is not what is received there"
            for array, box in message["sends"]:
                sent = isl.Set(box).intersect_params(_thick(claim, to))
                if not sent.is_subset(own.union(has.get(array, own))):
                    yield f"{what}: {array} is sent to {to} beyond what the rank has"
        for array, box in (pair for m in messages for pair in m["receives"]):
            has[array] = has.get(array, own).union(isl.Set(box))


def _thick(claim: Check, to: Sequence[int]) -> isl.Set:
    """Return that a part is as thick as it must be along the axes on the way to a neighbour, and not empty."""
    names = ", ".join(name for pair in claim["bounds"] for name in pair)
    each = zip(claim["bounds"], claim["thickness"], to, strict=True)
    known = (f"{up} - {low} >= {max(thick if d else 1, 1)}" for (low, up), thick, d in each)
    return isl.Set(f"[{names}] -> {{ : {' and '.join(known)} }}")


def _same(claim: Check, to: Sequence[int], sent: Sequence[Sequence[str]], got: Sequence[Sequence[str]]) -> bool:
    """Return whether the boxes that are sent in a direction are those that the rank there receives, in their order."""
    if [array for array, _ in sent] != [array for array, _ in got]:
        return False
    beside = _neighbour(claim, to)
    return all(
        isl.Set(box).intersect_params(beside).is_equal(_renamed(claim, isl.Set(other)).intersect_params(beside))
        for (_, box), (_, other) in zip(sent, got, strict=True)
    )


def _neighbour(claim: Check, to: Sequence[int]) -> isl.Set:
    """Return where the part of the rank in a direction is."""
    known = []
    for (low, up), d in zip(claim["bounds"], to, strict=True):
        first, end = f"{low}{THERE}", f"{up}{THERE}"
        known += {0: [f"{first} = {low}", f"{end} = {up}"], 1: [f"{first} = {up}"], -1: [f"{end} = {low}"]}[d]
        known += [f"{low} < {up}", f"{first} < {end}"]
    names = ", ".join(f"{name}, {name}{THERE}" for pair in claim["bounds"] for name in pair)
    return isl.Set(f"[{names}] -> {{ : {' and '.join(known)} }}")


def _renamed(claim: Check, box: isl.Set) -> isl.Set:
    """Write a box with the bounds of a neighbour."""
    for name in (name for pair in claim["bounds"] for name in pair):
        if (at := box.find_dim_by_name(PARAM, name)) >= 0:
            box = box.set_dim_name(PARAM, at, f"{name}{THERE}")
    return box


def _less_in_turn(claim: Check, which: str) -> Iterator[str]:
    """Yield arrays of which less is received along axes in turn than from all neighbours at once."""
    exchange, part = claim[which], _thick(claim, [0 for _ in claim["bounds"]])
    for array in dict.fromkeys(name for one in exchange["at_once"] for m in one for name, _ in m["receives"]):
        at_once, in_turn = (_united(_boxes(exchange[way], "receives", array)) for way in WAYS)
        if at_once is not None and (in_turn is None or not at_once.intersect_params(part).is_subset(in_turn)):
            yield f"{which}: less of {array} is received along axes in turn"


def _united(boxes: Iterator[isl.Set]) -> isl.Set | None:
    found = None
    for box in boxes:
        found = box if found is None else found.union(box)
    return found


def _sides(claim: Check) -> Iterator[str]:
    """Yield where sides and interior are not the box of the phase that is split, each position once, and where they
    leave out what is sent in front of the interior. Parts that have no room for these boxes are one box."""
    last = claim["last"]
    parts = [isl.Set(box) for box in (*claim["sides"], claim["interior"])]
    whole, roomy = isl.Set(claim["phases"][last]["boxes"][0]), _thick(claim, [0 for _ in claim["bounds"]])
    for part in parts:
        roomy = roomy.intersect(part.params())
    for k, part in enumerate(parts):
        if any(not part.intersect(other).intersect_params(roomy).is_empty() for other in parts[k + 1 :]):
            yield "sides and interior overlap"
    total = _united(iter(parts))
    assert total is not None
    if not total.intersect_params(roomy).is_equal(whole.intersect_params(roomy)):
        yield "sides and interior are not the box of the last phase"
    sides = _united(iter(parts[:-1]))
    statements = claim["program"]["statements"]
    written = {a["array"] for s in claim["phases"][last]["statements"] for a in _writes(statements[s])}
    later = {a["array"] for p in claim["phases"][last + 1 :] for s in p["statements"] for a in _writes(statements[s])}
    for message in (m for one in claim["between"]["at_once"] for m in one):
        for array, box in message["sends"]:
            sent = isl.Set(box).intersect_params(roomy).intersect_params(_thick(claim, message["to"]))
            if array in later or (array in written and not (sides is not None and sent.is_subset(sides))):
                yield f"{array} is sent to {tuple(message['to'])} in front of what computes it"


def _writes(statement: Check) -> list[Check]:
    return [access for access in statement["accesses"] if access["kind"] in ("write", "may-write")]
