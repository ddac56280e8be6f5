"""Accumulators of a tile: where a serial loop runs several instances of a statement, their elements stay in registers.

before: for (k = 0; k < n; ++k) { C[i][j] += A[i][k] * B[k][j]; if (i + 1 < m) C[i + 1][j] += A[i + 1][k] * B[k][j]; }
after:  if (0 < n) { double C_acc = C[i][j], C_acc1 = i + 1 < m ? C[i + 1][j] : 0;
            for (k = 0; k < n; ++k) { C_acc += A[i][k] * B[k][j]; if (i + 1 < m) C_acc1 += A[i + 1][k] * B[k][j]; }
            C[i][j] = C_acc; if (i + 1 < m) C[i + 1][j] = C_acc1; }

Nothing is stored in the loop then, so that what several instances read is loaded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import islpy as isl

from polytile.codegen.lowering.isl_ast import Instance
from polytile.codegen.passes.scalar_replacement import Accumulation, accumulation, guarded
from polytile.ir.arith import zero
from polytile.ir.def_use import value_names
from polytile.ir.expr import Access, Assign, Declare, Expr, For, If, Name, Stmt
from polytile.ir.fold import folded
from polytile.ir.linear_access import expanded
from polytile.ir.name_supply import Names
from polytile.ir.polynomial import constant_difference, linear
from polytile.ir.scop import Scop, Statement
from polytile.ir.substitute import with_part

Steps = tuple[int | None, ...]  # from one instance to another, by iterator; None: the loop makes it any


@dataclass(frozen=True, slots=True)
class _Element:
    """An instance in the loop, below these conditions, and what it updates there."""

    instance: Instance
    guard: tuple[Expr, ...]
    found: Accumulation
    element: Access  # the target, in terms of names outside the loop


def accumulate_tile(
    loop: For, body: Sequence[Stmt], bound: Callable[[Instance], tuple[Stmt, ...]], scop: Scop, names: Names
) -> tuple[Stmt, ...] | None:
    """A loop around instances of one statement, in any conditions that it keeps, rewritten; None where it does not
    apply. `body` has the instances, of which each is `bound` in the body of `loop`."""
    instances = list(_instances(body, (), loop.iterator))
    if len(instances) < 2 or None in instances:
        return None
    elements: list[_Element] = []
    for guard, instance in (pair for pair in instances if pair is not None):
        statement = scop.statement(instance.statement)
        found = accumulation(loop, bound(instance), statement, instance.values, scop)
        if found is None:
            return None
        values = dict(zip(statement.iterators, instance.values, strict=True))
        subscripts = tuple(folded(expanded(s, values)) for s in found.target.subscripts)
        elements.append(_Element(instance, guard, found, replace(found.target, subscripts=subscripts)))
    if len({e.instance.statement for e in elements}) > 1 or not _apart(scop, elements):
        return None
    return (_in_registers(loop, body, bound, elements, names),)


def _instances(
    body: Sequence[Stmt], guard: tuple[Expr, ...], iterator: str
) -> Iterator[tuple[tuple[Expr, ...], Instance] | None]:
    """The instances with the conditions around them; None for anything else, and conditions that the loop changes."""
    for stmt in body:
        match stmt:
            case Instance():
                yield guard, stmt
            case If(otherwise=()) if iterator not in value_names(stmt.condition):
                yield from _instances(stmt.then, (*guard, stmt.condition), iterator)
            case _:
                yield None


def _apart(scop: Scop, elements: Sequence[_Element]) -> bool:
    """Whether no instance touches what another one updates, in any iterations of the loop."""
    statement = scop.statement(elements[0].instance.statement)
    found = {_steps(statement, one, other) for one, other in combinations(elements, 2)}
    return all(steps is not None and never_meet(scop, statement, steps) for steps in found)


def _steps(statement: Statement, one: _Element, other: _Element) -> Steps | None:
    """How far an instance is from another; None where that is not constant."""
    found: list[int | None] = []
    for iterator, a, b in zip(statement.iterators, one.instance.values, other.instance.values, strict=True):
        if iterator in one.found.varying | other.found.varying:
            found.append(None)
            continue
        first, second = linear(a), linear(b)
        apart = None if first is None or second is None else constant_difference(second, first)
        if apart is None:
            return None
        found.append(apart)
    return tuple(found)


def never_meet(scop: Scop, statement: Statement, steps: Steps) -> bool:
    """Whether instances that are so far apart, one way or the other, touch nothing that one of them writes."""
    domain = statement.domain.intersect_params(scop.context)
    writes = [a for a in statement.accesses if a.writes]
    for write in writes:
        own = write.relation.intersect_domain(domain)
        for access in (a for a in statement.accesses if a.array == write.array):
            meeting = own.apply_range(access.relation.intersect_domain(domain).reverse())
            if any(not _by(meeting, signed).is_empty() for signed in (steps, _negated(steps))):
                return False
    return True


def _negated(steps: Steps) -> Steps:
    return tuple(None if s is None else -s for s in steps)


def _by(pairs: isl.Map, steps: Steps) -> isl.Map:
    """The pairs of instances that are so far apart."""
    space = isl.LocalSpace.from_space(pairs.get_space())
    for k, step in enumerate(steps):
        if step is not None:
            apart = isl.Constraint.alloc_equality(space)
            apart = apart.set_coefficient_val(isl.dim_type.in_, k, isl.Val(1))
            apart = apart.set_coefficient_val(isl.dim_type.out, k, isl.Val(-1)).set_constant_val(isl.Val(step))
            pairs = pairs.add_constraint(apart)
    return pairs


def _in_registers(
    loop: For,
    body: Sequence[Stmt],
    bound: Callable[[Instance], tuple[Stmt, ...]],
    elements: Sequence[_Element],
    names: Names,
) -> Stmt:
    """The loop between what loads the registers and what stores them, below the conditions of the instances."""
    registers = {one.instance: Name(names.shared(_name(one, k)), one.element.type) for k, one in enumerate(elements)}
    found = {one.instance: one for one in elements}
    declared = (Declare(r.name, r.type, zero(r.type), found[i].found.assign.location) for i, r in registers.items())

    def around(stmts: Sequence[Stmt], make: Callable[[Instance], tuple[Stmt, ...]]) -> Iterator[Stmt]:
        for stmt in stmts:
            if isinstance(stmt, If):
                yield replace(stmt, then=tuple(around(stmt.then, make)))
            elif isinstance(stmt, Instance):
                yield from make(stmt)

    def load(instance: Instance) -> tuple[Stmt, ...]:
        return (Assign(registers[instance], "", found[instance].element, found[instance].found.assign.location),)

    def update(instance: Instance) -> tuple[Stmt, ...]:
        target = found[instance].found.target
        return tuple(with_part(s, target, registers[instance]) for s in bound(instance))

    def store(instance: Instance) -> tuple[Stmt, ...]:
        return (Assign(found[instance].element, "", registers[instance], found[instance].found.assign.location),)

    inner = replace(loop, body=tuple(around(body, update)))
    return guarded(loop, (*declared, *around(body, load), inner, *around(body, store)))


def _name(one: _Element, number: int) -> str:
    return f"{one.element.array}_acc{number or ''}"
