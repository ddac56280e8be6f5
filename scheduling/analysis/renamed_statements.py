"""Arrays that a rewritten Scop uses as the one it was made from does, by statements of other names."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.ir.scop import AccessKind, Scop, Statement

IN, OUT = isl.dim_type.in_, isl.dim_type.out


def renaming(source: Scop, program: Scop, array: str) -> isl.UnionMap | None:
    """Return the relation from the instances of `source` that access an array to those in their place in `program`.

    Returns None unless all that differs is the names of statements: their instances, the elements of each and the order
    are the same.

    before: S0: t = x[i]; S1: A[i] = t * t; S2: A[i + 1] = 0;
    after:  S1: { t = x[i]; A[i] = t * t; } S2: A[i + 1] = 0;       of A, { S1[i] -> S1[i]; S2[i] -> S2[i] }
    """
    holders = [a for a in program.arrays if a.root == array]
    if holders != [source.array(array)]:
        return None
    runs = {part: s for s in program.statements for part in s.parts or (s.name,)}
    pairs = [(s, runs.get(s.name)) for s in source.statements if _accesses(s, array)]
    found = [(one, other) for one, other in pairs if other is not None and _is_same(one, other, array)]
    targets = {other.name for _, other in found}
    users = {s.name for s in program.statements if _accesses(s, array)}
    if len(found) < len(pairs) or len(targets) < len(found) or targets != users:
        return None
    return _renamed(found) if _in_same_order(source, program, found) else None


def _accesses(statement: Statement, array: str) -> bool:
    return any(a.array == array for a in statement.accesses)


def _is_same(one: Statement, other: Statement, array: str) -> bool:
    """Return whether two statements have the same instances, and these access the same elements in the same ways."""
    if not one.domain.set_tuple_name(other.name).is_equal(other.domain):
        return False
    for kind in AccessKind:
        ours, theirs = (dict(s.united(kind, arrays=frozenset((array,)))) for s in (one, other))
        if ours.keys() != theirs.keys():
            return False
        if any(not r.set_tuple_name(IN, other.name).is_equal(theirs[name]) for name, r in ours.items()):
            return False
    return {u for u in one.updates if u.array == array} == {u for u in other.updates if u.array == array}


def _in_same_order(source: Scop, program: Scop, pairs: Sequence[tuple[Statement, Statement]]) -> bool:
    """Return whether the trees of both Scops are the same for these statements."""
    back = isl.UnionPwMultiAff.from_union_map(_renamed(pairs).reverse())
    ours = isl.UnionSet("{}")
    theirs = isl.UnionSet("{}")
    for one, other in pairs:
        ours = ours.union(isl.UnionSet.from_set(one.domain))
        theirs = theirs.union(isl.UnionSet.from_set(other.domain))
    tree = source.schedule.intersect_domain(ours).pullback_union_pw_multi_aff(back)
    return bool(tree.plain_is_equal(program.schedule.intersect_domain(theirs)))


def _renamed(pairs: Sequence[tuple[Statement, Statement]]) -> isl.UnionMap:
    total = isl.UnionMap("{}")
    for one, other in pairs:
        same = isl.Map.identity(one.domain.get_space().map_from_set()).set_tuple_name(OUT, other.name)
        total = total.union(isl.UnionMap.from_map(same))
    return total
