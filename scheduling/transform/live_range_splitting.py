"""Live ranges: a variable that the program uses for one purpose after another becomes one variable for each.

before: for (i) { w = A[i]; B[i] = w * w; }   for (j) { w = C[j]; D[j] = w + 1; }
after:  for (i) { w = A[i]; B[i] = w * w; }   for (j) { w_2 = C[j]; D[j] = w_2 + 1; }

Statements belong together when a value flows between them. Only the dependences between purposes go away; expansion can
then treat each on its own.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polytile.ir.digraph import connected
from polytile.ir.expr import Access, Expr, Stmt
from polytile.ir.expr_trees import rewrite
from polytile.ir.isl_util import maps
from polytile.ir.name_supply import fresh, names_of_scop
from polytile.ir.scop import Array, Origin, Scop, Statement
from polytile.scheduling.analysis.dependences import ArrayDependences, Dependences


def split_live_ranges(scop: Scop, dependences: Dependences) -> Scop:
    """Give every independent purpose of the SCoP's own variables a variable of its own."""
    for found in dependences.by_array:
        array = scop.array(found.array)
        # The first and the last value of what the user can see must stay in one place.
        if array.origin is Origin.EXTERNAL or array.fields or not found.uninitialised.is_empty():
            continue
        for number, group in enumerate(_purposes(scop, found)[1:], start=2):
            scop = _rename(scop, array, group, f"{array.name}_{number}")
    return scop


def _purposes(scop: Scop, found: ArrayDependences) -> list[list[str]]:
    """Group the statements that use an array by the flow of its values; groups in textual order."""
    users = [s.name for s in scop.statements if any(a.array == found.array for a in s.accesses)]
    values = [(m.get_tuple_name(isl.dim_type.in_), m.get_tuple_name(isl.dim_type.out)) for m in maps(found.flow)]
    groups = [[u for u in users if u in members] for members in connected(users, values)]
    return sorted(groups, key=lambda group: users.index(group[0]))


def _rename(scop: Scop, array: Array, group: list[str], wanted: str) -> Scop:
    wanted = fresh(wanted, names_of_scop(scop))
    statements = tuple(_renamed(s, array.name, wanted) if s.name in group else s for s in scop.statements)
    return replace(scop, arrays=(*scop.arrays, replace(array, name=wanted, holds=array.root)), statements=statements)


def _renamed(statement: Statement, old: str, new: str) -> Statement:
    def change(node: Expr | Stmt) -> Expr | Stmt:
        return replace(node, array=new) if isinstance(node, Access) and node.array == old else node

    accesses = tuple(
        replace(a, array=new, relation=a.relation.set_tuple_id(isl.dim_type.out, isl.Id(new))) if a.array == old else a
        for a in statement.accesses
    )
    reduction = statement.reduction
    if reduction is not None and reduction.array == old:
        reduction = replace(reduction, array=new)
    body = tuple(rewrite(s, change) for s in statement.body)
    updates = statement.renamed_updates(old, new)
    return replace(statement, body=body, accesses=accesses, reduction=reduction, updates=updates)
