"""Accumulators: an element that a serial loop updates again and again stays in a register until the loop ends.

before: for (k = 0; k < n; ++k) C[i][j] += A[i][k] * B[k][j];
after:  if (0 < n) { double C_acc = C[i][j]; for (k = 0; k < n; ++k) C_acc += A[i][k] * B[k][j]; C[i][j] = C_acc; }

Compilers do this by themselves only where they can tell that nothing else in the loop touches the element, which they
cannot when the loop reads other elements of the same array. The dependences can. No other thread touches the element
meanwhile, as nothing orders it with this loop; the guard keeps that true when the loop does not run at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.def_use import only_store, straight, value_names
from polytile.ir.expr import Access, Assign, Binary, Declare, Execution, Expr, For, If, Literal, Name, Scope, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.name_supply import Names
from polytile.ir.scop import AccessKind, Scop
from polytile.ir.substitute import with_part


@dataclass(frozen=True, slots=True)
class ElementUpdate:
    """What an iteration of a loop does to the element `target`, which only iterators of the statement that are not
    among those `varying` tell from others; names that are `moving` change from iteration to iteration."""

    assign: Assign
    target: Access
    varying: frozenset[str]
    moving: frozenset[str]


def accumulation(loop: For, execution: Execution) -> ElementUpdate | None:
    """Return what an execution in a loop updates; None where that is not one element that the loop keeps."""
    assign = only_store(execution.body)
    if assign is None or not isinstance(assign.target, Access):
        return None
    target = assign.target
    varying = frozenset(
        iterator
        for iterator, value in zip(execution.iterators, execution.values, strict=True)
        if loop.iterator in value_names(value)
    )
    parts = straight(execution.body)
    named = {s.target.name for s in parts if isinstance(s, Assign) and isinstance(s.target, Name)}
    moving = varying | {loop.iterator} | named
    updates = assign.op != "" or any(n == target for n in walk(assign.value))
    if not updates or target.field is not None or moving & value_names(target):
        return None
    return ElementUpdate(assign, target, varying, moving)


def accumulate(loop: For, execution: Execution, names: Names) -> Stmt:
    """Build the loop around one execution, with the element that this updates in a register."""
    found = accumulation(loop, execution)
    if found is None:
        raise InternalError(f"the loop {loop.label} updates no element that could stay in a register")
    loop = replace(loop, body=execution.body)
    name = names.shared(f"{found.target.array}_acc")
    return _rewritten(loop, found.assign, found.target, name, found.moving)


def is_alone(scop: Scop, execution: Execution, found: ElementUpdate) -> bool:
    """Return whether no other access of the statement meets the target's element.

    That is, where only varying iterators change.
    """
    statement, target, varying = scop.statement(execution.statement), found.target, found.varying
    parts = [s.value for s in straight(execution.body) if isinstance(s, Assign | Declare) and s.value is not None]
    write = next((a.relation for a in statement.accesses if a.kind is AccessKind.WRITE), None)
    writes = [a for a in statement.accesses if a.writes]
    if write is None or len(writes) != 1 or writes[0].array != target.array:
        return False
    domain = statement.domain.intersect_params(scop.context)
    write = write.intersect_domain(domain)
    same_array = (a.relation for a in statement.relations(AccessKind.READ) if a.array == target.array)
    reads = [relation.intersect_domain(domain) for relation in same_array]
    others = _distinct([read for read in reads if not read.is_equal(write)])
    spelt = {n for n in walk(*parts) if isinstance(n, Access) and n.array == target.array and n != target}
    if len(spelt) != len(others):  # the element itself, spelt in another way
        return False
    for read in others:
        meeting = write.apply_range(read.reverse())
        for i, iterator in enumerate(statement.iterators):
            if iterator not in varying:
                meeting = meeting.equate(isl.dim_type.in_, i, isl.dim_type.out, i)
        if not meeting.is_empty():
            return False
    return True


def _distinct(relations: list[isl.Map]) -> list[isl.Map]:
    found: list[isl.Map] = []
    for relation in relations:
        if not any(relation.is_equal(other) for other in found):
            found.append(relation)
    return found


def _rewritten(loop: For, assign: Assign, target: Access, name: str, moving: frozenset[str]) -> Stmt:
    register = Name(name, target.type)
    parts = straight(loop.body)
    fixed = _fixed(parts, moving)
    inner = tuple(with_part(s, target, register) for s in parts if s not in fixed)
    store = Assign(target, "", register, assign.location)
    body = replace(loop, body=inner)
    return guarded(loop, (*fixed, Declare(name, target.type, target, assign.location), body, store))


def guarded(loop: For, body: tuple[Stmt, ...]) -> Stmt:
    """Guard what only happens where a loop runs at least once."""
    runs: Expr = with_part(loop.condition, Name(loop.iterator, loop.type), loop.lower)
    return Scope(body) if _always(runs) else If(runs, body)


def _always(condition: Expr) -> bool:
    """Return whether a comparison of constants holds."""
    match condition:
        case Binary(op="<=", left=Literal(text=left), right=Literal(text=right)):
            return int(left) <= int(right)
        case Binary(op="<", left=Literal(text=left), right=Literal(text=right)):
            return int(left) < int(right)
    return False


def _fixed(parts: Sequence[Stmt], moving: frozenset[str]) -> list[Stmt]:
    """Return the declarations that do not change from iteration to iteration."""
    declared = (s for s in parts if isinstance(s, Declare) and s.name not in moving)
    return [d for d in declared if d.value is None or not moving & value_names(d.value)]
