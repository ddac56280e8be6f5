"""What is known where: facts along the statements of a kernel.

before: const int i = 32 * b + t; if (i >= n) leave;
after:  i = 32 * b + t, i <= n - 1
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polytile.codegen.passes.facts import Facts
from polytile.codegen.passes.trips import trips
from polytile.ir.device import Leave, PrivateArray
from polytile.ir.expr import CType, Declare, Expr, For, If, Stmt
from polytile.ir.ranges import Range


def start(ranges: Iterable[Range], changing: frozenset[str]) -> Facts:
    """What ranges say, but of `changing` names; several of one name all hold."""
    facts = Facts(changing=changing)
    for r in ranges:
        if r.name not in facts.order:
            facts = facts.with_range(r.name, r.least, r.most)
        else:
            beside = Facts(order=facts.order, changing=changing).with_range(r.name, r.least, r.most)
            facts = replace(facts, known=(*facts.known, *beside.known))
    return facts


def after(stmt: Stmt, facts: Facts) -> Facts:
    """What is known behind a statement."""
    match stmt:
        case Declare(name=name, value=value) if value is not None and name not in facts.changing:
            return facts.with_value(name, value) if _holds_exactly(stmt.type, value) else facts.without(name)
        case Declare(name=name) | PrivateArray(name=name):
            return facts.without(name)
        case If(condition=condition, then=(*_, Leave()), otherwise=()):
            return facts.where(condition, holds=False)
    return facts


def within(loop: For, facts: Facts) -> Facts:
    """What is known in the body of a loop."""
    run = trips(loop) if loop.type.signed else None
    if run is None:
        return facts.without(loop.iterator)
    first = (loop.lower, None) if run.step > 0 else (None, loop.lower)
    return facts.with_range(loop.iterator, *first).where(run.condition_of(1))


def _holds_exactly(ctype: CType, value: Expr) -> bool:
    """Whether a variable of this type has the value that it starts with."""
    return ctype.kind == value.type.kind == "int" and ctype.signed and ctype.size >= max(4, value.type.size)
