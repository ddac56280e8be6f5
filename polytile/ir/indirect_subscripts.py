"""Subscripts that read data: `x[2 * p[i] + 1]` gathers elements of x by the index p[i]."""

from __future__ import annotations

from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.ir.arith import known
from polytile.ir.expr import Access, Binary, Cast, Expr, Name


@dataclass(frozen=True, slots=True)
class Gathered:
    """`scale * index + shift` of an integer that is read, from memory or under a name."""

    index: Access | Name
    shift: int = 0
    scale: int = 1


def gathered(expr: Expr) -> Gathered | None:
    """Return an element or name, an integer, times a constant plus or minus one; None for anything else."""
    match expr:
        case Access(type=ctype) | Name(type=ctype):
            return Gathered(expr) if ctype.kind == "int" else None
        case Cast(type=ctype, operand=operand):
            holds = ctype.kind == "int" and ctype.size >= min(4, operand.type.size)  # every index of an array
            return gathered(operand) if holds else None
        case Binary(op="+" | "-" | "*" as op, left=left, right=right):
            left, right = (right, left) if op in "+*" and known(left) is not None else (left, right)
            constant, found = known(right), gathered(left)
            if constant is None or found is None:
                return None
            if op == "*":
                return replace(found, shift=found.shift * constant, scale=found.scale * constant) if constant else None
            return replace(found, shift=found.shift + (constant if op == "+" else -constant))
    return None
