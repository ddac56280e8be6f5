"""One entry point for two programs of a SCoP, one of which is faster where the host finds that a condition holds.

before: the programs of both
after:  near_sizes = 1000 <= n && n <= 4000 ? 1 : 0;
        if (near_sizes != 0) { the tuned kernels } else { the others }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from polytile.ir.arith import both, compare, lift, select
from polytile.ir.def_use import declared_names
from polytile.ir.expr import LLONG, Declare, Expr, If, Name, Stmt
from polytile.ir.expr_trees import rewrite
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Comment, Launch
from polytile.ir.name_supply import fresh
from polytile.ir.size_limits import both_limits


def with_version(
    general: HostProgram, other: HostProgram, bound: Name, head: Sequence[Stmt], condition: Expr, where: str
) -> HostProgram | None:
    """Return the program that takes `other` where `condition` holds behind `head`, which declares `bound`, and
    `general` elsewhere; None where they do not take and copy the same."""
    buffers = {b.array.name: b for b in other.buffers} | {b.array.name: b for b in general.buffers}
    same = (general.name, general.parameters, general.arguments, general.by_value, general.external)
    if same != (other.name, other.parameters, other.arguments, other.by_value, other.external):
        return None
    if any(buffers[b.array.name] != b for b in other.buffers) or general.checked != other.checked:
        return None
    return replace(
        general,
        buffers=tuple(buffers.values()),
        kernels=(*other.kernels, *general.kernels),
        body=(*head, If(condition, other.body, general.body)),
        summary=(*general.summary, *(f"{line} for {where}" for line in other.summary)),
        limits=both_limits(general.limits, other.limits),
        bounds=(bound.name, *general.bounds, *other.bounds),
        asks_memory=general.asks_memory or other.asks_memory,
    )


def fresh_bound(name: str, *programs: HostProgram) -> Name:
    """Make a name that no program has."""
    taken = {p.name for program in programs for p in program.parameters}
    taken |= {a.name for program in programs for a in program.arguments}
    taken |= {name for program in programs for name in declared_names(*program.body)}
    taken |= {k.name for program in programs for k in program.kernels}
    return Name(fresh(name, taken), LLONG)


def for_sizes(
    general: HostProgram, other: HostProgram, ranges: Sequence[tuple[str, int, int]], where: str
) -> HostProgram | None:
    """Return the program that takes `other` where sizes are in ranges, names with their least and largest values."""
    types = {p.name: p.type for p in general.parameters}
    asked = [
        compare(order, Name(name, types[name]), lift(value))
        for name, least, most in ranges
        if name in types
        for order, value in ((">=", least), ("<=", most))
    ]
    bound = fresh_bound("near_sizes", general, other)
    head = (
        Comment("Near the sizes that they were measured with, the tuned kernels are faster."),
        Declare(bound.name, LLONG, select(both(*asked), lift(1), lift(0))),
    )
    made = with_version(general, other, bound, head, compare("!=", bound, lift(0)), where)
    return None if made is None else replace(made, graphs=general.graphs or other.graphs)


def renamed_kernels(program: HostProgram, others: HostProgram, ending: str) -> HostProgram:
    """Return a program whose kernels have other names than those of another one.

    before: launch f_k0 <<<..>>>
    after:  launch f_k0_tuned <<<..>>>
    """
    taken = {kernel.name for kernel in (*program.kernels, *others.kernels)}
    names: dict[str, str] = {}
    for kernel in program.kernels:
        names[kernel.name] = fresh(f"{kernel.name}{ending}", taken)
        taken.add(names[kernel.name])

    def renamed(node: Any) -> Any:
        return replace(node, kernel=names[node.kernel]) if isinstance(node, Launch) else node

    return replace(
        program,
        kernels=tuple(replace(kernel, name=names[kernel.name]) for kernel in program.kernels),
        body=tuple(rewrite(stmt, renamed) for stmt in program.body),
    )
