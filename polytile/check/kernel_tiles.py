"""Tiles that blocks keep for a whole launch, with all uses of their array there.

Such a tile changes no value of a tree whose conflicting instances are ordered (which the checker asks for as well): in
a launch the values of an element change by one block's uses alone, and its cell takes part in these in its place. Each
element that a block uses must have a cell of its own; each read must be of what was filled, or was surely written by
the block before; what is written is drained, and what else is drained was filled, and so goes back as it was; elements
must be there, within the box around all that is used, and no block may drain what others of its launch fill or drain.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.check.copies import WHOLE, Key, Loop
from polytile.check.relations import IN, OUT, Check, accesses, maps, union, value_flow

Relations = dict[str, isl.UnionMap]


def is_of_kernel(placement: Check, others: Sequence[Check], loops: dict[Key, Loop], program: Check) -> bool:
    """Return whether a placement has the form of a tile that blocks keep for a whole launch."""
    loop = loops[placement["kernel"], WHOLE]
    copies = [copy for kind in ("fill", "drain") if (copy := placement.get(kind))]
    plain = all(c["at"] == WHOLE and not c.get("ahead") and c.get("mode", "plain") == "plain" for c in copies)
    same = [p for p in others if (p["array"], p["kernel"]) == (placement["array"], placement["kernel"])]
    alone = len(same) == 1 and placement.get("level", WHOLE) == WHOLE and placement["owner"] == "block"
    inside = {str(m.get_tuple_name(IN)) for m in maps(loop.iterations)}
    uses = [
        [name, number]
        for name, statement in program["statements"].items()
        for number, access in enumerate(statement["accesses"])
        if name in inside and access["array"] == placement["array"] and access["kind"] != "kill"
    ]
    named = [list(use) for use in placement.get("uses") or uses]
    return bool(copies) and plain and alone and not placement.get("through") and all(use in named for use in uses)


def holds(placement: Check, loop: Loop, hosts: int, program: Check, context: isl.Set) -> bool:
    """Return whether a tile changes no value; places of different launches differ in their first `hosts`
    coordinates."""
    array, place = placement["array"], without_quotients(loop.iterations.intersect_params(context).reverse())
    kinds = ("read", "write", "may-write")
    of = {kind: accesses(program, array, kind).intersect_params(context) for kind in kinds}
    uses = {kind: place.apply_range(of[kind].domain_map().reverse()) for kind in kinds}  # [place] -> [S[i] -> A[e]]
    elements = {kind: found.range_factor_range() for kind, found in uses.items()}
    filled, drained = (_copied(placement.get(kind)) for kind in ("fill", "drain"))
    written = elements["write"].union(elements["may-write"])
    used = union([*elements.values(), filled], isl.UnionMap)
    known = union([relation.range() for relation in of.values()], isl.UnionSet)
    unset = drained.subtract(elements["write"]).subtract(filled)
    return (
        written.is_subset(drained)
        and unset.is_empty()
        and filled.range().is_subset(_box(known))
        and _has_cells(placement, used)
        and _others(drained, drained.union(filled), hosts).is_empty()
        and _left(uses, filled, array, program, of).is_empty()
    )


def _box(used: isl.UnionSet) -> isl.UnionSet:
    """Return the elements each of whose subscripts lies between two that are used."""
    total = isl.UnionSet("{ }")
    for elements in maps(used.identity()):
        array, rank = elements.get_tuple_name(IN), elements.dim(IN)
        mine, others = (", ".join(f"{letter}{k}" for k in range(rank)) for letter in "eo")
        box = isl.UnionSet(f"{{ {array}[{mine}] }}")
        for k in range(rank):
            for order in (f"e{k} <= o{k}", f"o{k} <= e{k}"):
                beside = isl.UnionMap(f"{{ {array}[{others}] -> {array}[{mine}] : {order} }}")
                box = box.intersect(used.apply(beside))
        total = total.union(box)
    return total.coalesce()


def _copied(copy: Check | None) -> isl.UnionMap:
    """Return what is copied at any place: blocks that run nothing else may copy."""
    return isl.UnionMap(copy["elements"] if copy else "{ }")


def _has_cells(placement: Check, used: isl.UnionMap) -> bool:
    """Return whether each place has a cell within the extents for each element, and no cell for two."""
    cell, pairs = isl.UnionMap(placement["cell"]), used.wrap()
    names = [f"c{k}" for k in range(len(placement["extents"]))]
    bounds = " and ".join(f"0 <= {c} < {e}" for c, e in zip(names, placement["extents"], strict=True))
    box = isl.UnionSet(f"{{ [{', '.join(names)}] : {bounds or 'true'} }}")
    found = cell.intersect_domain(pairs)
    inside = pairs.is_subset(cell.domain()) and found.range().is_subset(box)
    return bool(inside and found.curry().range_reverse().uncurry().is_single_valued())


def _others(mine: isl.UnionMap, theirs: isl.UnionMap, hosts: int) -> isl.UnionMap:
    """Return the pairs of places of one launch, of which one uses elements of the other."""
    total = isl.UnionMap("{ }")
    for pairs in maps(mine.apply_range(theirs.reverse())):
        for k in range(hosts):
            pairs = pairs.equate(IN, k, OUT, k)
        total = total.union(isl.UnionMap.from_map(pairs.subtract(isl.Map.identity(pairs.get_space()))))
    return total


def _left(uses: Relations, filled: isl.UnionMap, array: str, program: Check, of: Relations) -> isl.UnionMap:
    """Return the reads, `{ [place] -> [S[i] -> A[e]] }`, of what was neither filled nor surely written before by the
    block."""
    reads = uses["read"]
    left = reads.subtract(filled.apply_range(of["read"].range_map().reverse()))
    kills = accesses(program, array, "kill")
    flow = value_flow(isl.Schedule(program["order"]), of["read"], of["write"], of["may-write"], kills)
    same = of["read"].range().identity()
    return left.subtract(uses["write"].apply_range(flow.product(same)))


def without_quotients(executions: isl.UnionMap) -> isl.UnionMap:
    """Return `{ [place] -> S[i] }` without quotients that are coordinates of the place: isl compares them faster."""
    total = isl.UnionMap("{ }")
    for relation in maps(executions):
        for part in relation.get_basic_maps():
            total = total.union(isl.UnionMap.from_map(isl.Map.from_basic_map(_without(part))))
    return total


def _without(part: isl.BasicMap) -> isl.BasicMap:
    if not part.dim(isl.dim_type.div):
        return part
    lifted = part.wrap().lift().unwrap()  # { [[place] -> S[i]] -> [quotients] }
    for quotient in range(lifted.dim(OUT)):
        for coordinate in range(part.dim(IN)):
            equation = isl.Constraint.equality_alloc(lifted.get_local_space())
            equation = equation.set_coefficient_val(OUT, quotient, isl.Val(1))
            equal = lifted.add_constraint(equation.set_coefficient_val(IN, coordinate, isl.Val(-1)))
            if lifted.is_subset(equal):
                lifted = equal
                break
    return lifted.domain().unwrap()
