"""Statements that copy elements of one array to another, and their loops.

    S3[e0, e1]:  A_in[e0][e1] = A[e0][e1]
"""

from __future__ import annotations

import re

import islpy as isl

from polytile.diagnostics import Location
from polytile.ir.expr import Access, Assign
from polytile.ir.name_supply import fresh, names_of_scop
from polytile.ir.scop import AccessKind, AccessRelation, Scop, Statement

Place = tuple[Access, isl.Map]  # an element, and which one it is of each instance


def copy_statement(
    name: str,
    iterators: tuple[str, ...],
    domain: isl.Set,
    into: Place,
    source: Place,
    location: Location,
    text: str,
) -> Statement:
    """Create the statement of this name that copies an element in each instance; `text` says what it is for."""
    places = (source, AccessKind.READ), (into, AccessKind.WRITE)
    accesses = tuple(AccessRelation(access.array, kind, element, location) for (access, element), kind in places)
    body = (Assign(into[0], "", source[0], location),)
    return Statement(name, iterators, domain, body, accesses, location, text=text)


def copy_iterators(scop: Scop, rank: int) -> tuple[str, ...]:
    """Return names for the iterators of a copy that nothing in the Scop has."""
    taken = names_of_scop(scop)
    return tuple(fresh(f"e{k}", taken) for k in range(rank))


def with_iterators(domain: isl.Set, iterators: tuple[str, ...]) -> isl.Set:
    """Name the dimensions of a domain."""
    for position, iterator in enumerate(iterators):
        domain = domain.set_dim_name(isl.dim_type.set, position, iterator)
    return domain


def unused_number(scop: Scop) -> int:
    """Return a number above all of statements that are in use, or have become part of others: instances are compared
    with those of the source by their statements' names."""
    names = (name for s in scop.statements for name in (s.name, *s.parts))
    return max((int(name[1:]) for name in names if re.fullmatch(r"S\d+", name)), default=-1) + 1


def copy_schedule(statement: Statement) -> isl.Schedule:
    """Build the copy's own loops, all parallel."""
    tree = isl.Schedule.from_domain(isl.UnionSet.from_set(statement.domain))
    rank = len(statement.iterators)
    if rank == 0:
        return tree
    space = statement.domain.get_space()
    identity = isl.MultiPwAff.identity(space.map_from_set()).reset_tuple_id(isl.dim_type.out)
    partial = isl.MultiUnionPwAff.from_multi_pw_aff(identity)
    return tree.insert_partial_schedule(partial)
