"""Accumulators of a tile: where a serial loop runs several instances of a statement, their elements stay in registers.

before: for (k = 0; k < n; ++k) { C[i][j] += A[i][k] * B[k][j]; if (i + 1 < m) C[i + 1][j] += A[i + 1][k] * B[k][j]; }
after:  if (0 < n) { double C_acc = C[i][j], C_acc1 = i + 1 < m ? C[i + 1][j] : 0;
            for (k = 0; k < n; ++k) { C_acc += A[i][k] * B[k][j]; if (i + 1 < m) C_acc1 += A[i + 1][k] * B[k][j]; }
            C[i][j] = C_acc; if (i + 1 < m) C[i + 1][j] = C_acc1; }

Nothing is stored in the loop then, so that what several instances read is loaded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import islpy as isl

from polytile.codegen.passes.plan import Context, LoweredPlan
from polytile.codegen.passes.scalar_replacement import ElementUpdate, accumulate, accumulation, guarded
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.arith import zero
from polytile.ir.def_use import value_names
from polytile.ir.expr import Access, Assign, Declare, Execution, Expr, For, If, Name, Stmt
from polytile.ir.expr_trees import with_bodies
from polytile.ir.fold import folded
from polytile.ir.kernel import Kernel
from polytile.ir.linear_access import expanded
from polytile.ir.name_supply import Names
from polytile.ir.polynomial import constant_difference, linear
from polytile.ir.scop import Scop, Statement
from polytile.ir.substitute import with_part

Steps = tuple[int | None, ...]  # from one instance to another, by iterator; None: the loop makes it any


@dataclass(frozen=True, slots=True)
class UpdatedElement:
    """An execution in the loop, below these conditions, and what it updates there."""

    execution: Execution
    guard: tuple[Expr, ...]
    found: ElementUpdate
    element: Access  # the target, in terms of names outside the loop


def scalar_replacement(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Keep elements that a loop updates again and again in registers until it ends."""

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(replaced_in(stmt) for stmt in body)

    def replaced_in(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Execution):
            return stmt
        stmt = with_bodies(stmt, block)
        if not isinstance(stmt, For) or stmt.label not in plan.promoted:
            return stmt
        (first, *others) = stmt.body
        if isinstance(first, Execution) and not others:
            return accumulate(stmt, first, context.names)
        return _in_registers(stmt, updated_elements(stmt) or [], context.names)

    return replace(kernel, body=block(kernel.body))


def updated_elements(loop: For) -> list[UpdatedElement] | None:
    """Return what a loop around executions of one statement, in any conditions that it keeps, updates.

    None where it does more than that, or has one execution only.
    """
    executions = list(_executions(loop.body, (), loop.iterator))
    if len(executions) < 2 or None in executions:
        return None
    elements: list[UpdatedElement] = []
    for guard, execution in (pair for pair in executions if pair is not None):
        found = accumulation(loop, execution)
        if found is None:
            return None
        values = dict(zip(execution.iterators, execution.values, strict=True))
        subscripts = tuple(folded(expanded(s, values)) for s in found.target.subscripts)
        elements.append(UpdatedElement(execution, guard, found, replace(found.target, subscripts=subscripts)))
    return elements if len({e.execution.statement for e in elements}) == 1 else None


def _executions(
    body: Sequence[Stmt], guard: tuple[Expr, ...], iterator: str
) -> Iterator[tuple[tuple[Expr, ...], Execution] | None]:
    """Yield the executions with the conditions around them.

    Yields None for anything else, and for conditions that the loop changes.
    """
    for stmt in body:
        match stmt:
            case Execution():
                yield guard, stmt
            case If(otherwise=()) if iterator not in value_names(stmt.condition):
                yield from _executions(stmt.then, (*guard, stmt.condition), iterator)
            case _:
                yield None


def are_apart(scop: Scop, elements: Sequence[UpdatedElement]) -> bool:
    """Return whether no execution touches what another one updates, in any iterations of the loop."""
    statement = scop.statement(elements[0].execution.statement)
    found = {_steps(statement, one, other) for one, other in combinations(elements, 2)}
    return all(steps is not None and never_meet(scop, statement, steps) for steps in found)


def _steps(statement: Statement, one: UpdatedElement, other: UpdatedElement) -> Steps | None:
    """Return how far an instance is from another; None where that is not constant."""
    found: list[int | None] = []
    for iterator, a, b in zip(statement.iterators, one.execution.values, other.execution.values, strict=True):
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
    """Return whether instances at this distance, one way or the other, touch nothing that one of them writes."""
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
    """Return the pairs of instances that are so far apart."""
    space = isl.LocalSpace.from_space(pairs.get_space())
    for k, step in enumerate(steps):
        if step is not None:
            apart = isl.Constraint.alloc_equality(space)
            apart = apart.set_coefficient_val(isl.dim_type.in_, k, isl.Val(1))
            apart = apart.set_coefficient_val(isl.dim_type.out, k, isl.Val(-1)).set_constant_val(isl.Val(step))
            pairs = pairs.add_constraint(apart)
    return pairs


def _in_registers(loop: For, elements: Sequence[UpdatedElement], names: Names) -> Stmt:
    """Build the loop between the loads and stores of the registers, below the conditions of the executions."""
    if not elements:
        raise InternalError(f"the loop {loop.label} updates no elements that could stay in registers")
    registers = {e.execution.values: Name(names.shared(_name(e, k)), e.element.type) for k, e in enumerate(elements)}
    found = {e.execution.values: e for e in elements}
    declared = (Declare(r.name, r.type, zero(r.type), found[v].found.assign.location) for v, r in registers.items())

    def around(stmts: Sequence[Stmt], make: Callable[[UpdatedElement, Name], tuple[Stmt, ...]]) -> Iterator[Stmt]:
        for stmt in stmts:
            if isinstance(stmt, If):
                yield replace(stmt, then=tuple(around(stmt.then, make)))
            elif isinstance(stmt, Execution):
                yield from make(found[stmt.values], registers[stmt.values])

    def load(one: UpdatedElement, register: Name) -> tuple[Stmt, ...]:
        return (Assign(register, "", one.element, one.found.assign.location),)

    def update(one: UpdatedElement, register: Name) -> tuple[Stmt, ...]:
        return tuple(with_part(s, one.found.target, register) for s in one.execution.body)

    def store(one: UpdatedElement, register: Name) -> tuple[Stmt, ...]:
        return (Assign(one.element, "", register, one.found.assign.location),)

    inner = replace(loop, body=tuple(around(loop.body, update)))
    return guarded(loop, (*declared, *around(loop.body, load), inner, *around(loop.body, store)))


def _name(one: UpdatedElement, number: int) -> str:
    return f"{one.element.array}_acc{number or ''}"
