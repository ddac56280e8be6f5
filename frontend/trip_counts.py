"""How often a `for` loop runs and how far it has come, as C expressions."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.trees import copied, variables_in

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


@dataclass(frozen=True, slots=True)
class Count:
    """`for (name = first; condition; name += step)`. `declared` says that the loop declares the iterator."""

    name: str
    first: c_ast.Node
    step: int
    condition: c_ast.Node | None
    declared: bool


def count_of(loop: Any) -> Count | None:
    """The header of a loop that counts by a constant, or None."""
    match loop.init:
        case c_ast.DeclList(decls=[c_ast.Decl(init=first) as start]) if first is not None:
            name, declared = str(start.name), True
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=first):
            declared = False
        case _:
            return None
    step = increment(loop.next, name)
    return Count(str(name), first, step, loop.cond, declared) if step else None


def increment(node: c_ast.Node | None, name: str) -> int | None:
    """The constant that a statement adds to a variable, or None."""
    match node:
        case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--" as op, expr=c_ast.ID(name=found)) if found == name:
            return 1 if "+" in op else -1
        case c_ast.Assignment(op="+=" | "-=" as op, lvalue=c_ast.ID(name=found), rvalue=value) if found == name:
            constant = integer(value)
        case c_ast.Assignment(
            op="=", lvalue=c_ast.ID(name=found), rvalue=c_ast.BinaryOp(op="+" | "-" as op, left=left, right=right)
        ) if found == name:
            if op == "+" and isinstance(right, c_ast.ID):
                left, right = right, left
            constant = integer(right) if isinstance(left, c_ast.ID) and left.name == name else None
        case _:
            return None
    return None if constant is None else (constant if op[0] == "+" else -constant)


def integer(node: c_ast.Node) -> int | None:
    """The value of a decimal constant that an int can hold, be it of type int or long."""
    match node:
        case c_ast.Constant(value=text) if (digits := text.rstrip("lL")).isdigit():
            plain = (digits == "0" or digits[0] != "0") and int(digits) < 2**31
            return int(digits) if plain else None
        case c_ast.UnaryOp(op="-", expr=inner):
            value = integer(inner)
            return None if value is None else -value
    return None


def iterations_before(count: Count, here: c_ast.Node, first: c_ast.Node) -> c_ast.Node:
    """How many iterations came before the one of the iterator `here`."""
    low, high = (first, here) if count.step > 0 else (here, first)
    return divided(minus(high, low), abs(count.step))


def iterations(count: Count, first: c_ast.Node, last: c_ast.Node, op: str) -> c_ast.Node | None:
    """How many iterations there are, where the loop goes on while `iterator op last`."""
    up, size = count.step > 0, abs(count.step)
    if (op == "!=" and size > 1) or op[0] == (">" if up else "<"):
        return None
    whole = integer(first), integer(last)
    if whole[0] is not None and whole[1] is not None:
        distance = (whole[1] - whole[0]) * (1 if up else -1) + (op in ("<=", ">="))
        return number(max(-(-distance // size), 0))
    gap = minus(last, first) if up else minus(first, last)
    if op in ("<=", ">="):
        gap = plus(gap, 1)
    some = c_ast.BinaryOp(">", gap, c_ast.Constant("int", "0"))
    return c_ast.TernaryOp(some, divided(plus(copied(gap), size - 1), size), c_ast.Constant("int", "0"))


def bound(count: Count) -> tuple[str, c_ast.Node] | None:
    """The condition as (op, last): the iterator is on the left of `op`."""
    match count.condition:
        case c_ast.BinaryOp(op=op, left=c_ast.ID(name=name), right=last) if name == count.name and op in _MIRRORED:
            pass
        case c_ast.BinaryOp(op=op, left=last, right=c_ast.ID(name=name)) if name == count.name and op in _MIRRORED:
            op = _MIRRORED[op]
        case _:
            return None
    return None if any(use.name == count.name for use in variables_in(last)) else (op, last)


# Arithmetic -----------------------------------------------------------------------------------------------------------
def number(value: int) -> c_ast.Node:
    """A constant."""
    constant = c_ast.Constant("int", str(abs(value)))
    return c_ast.UnaryOp("-", constant) if value < 0 else constant


def plus(node: c_ast.Node, value: int) -> c_ast.Node:
    """The sum with a constant."""
    if not value:
        return node
    return c_ast.BinaryOp("+" if value > 0 else "-", node, number(abs(value)))


def minus(left: c_ast.Node, right: c_ast.Node) -> c_ast.Node:
    """The difference."""
    return left if integer(right) == 0 else c_ast.BinaryOp("-", left, right)


def scaled(node: c_ast.Node, factor: int | c_ast.Node) -> c_ast.Node:
    """The product with a constant, or with what an inner loop adds up."""
    if not isinstance(factor, int):
        return c_ast.BinaryOp("*", copied(factor), node)
    return node if factor == 1 else c_ast.BinaryOp("*", number(factor), node)


def divided(node: c_ast.Node, divisor: int) -> c_ast.Node:
    """The quotient by a constant."""
    return node if divisor == 1 else c_ast.BinaryOp("/", node, number(divisor))


def total(left: c_ast.Node, right: c_ast.Node) -> c_ast.Node:
    """The sum."""
    if integer(left) == 0:
        return right
    return left if integer(right) == 0 else c_ast.BinaryOp("+", left, right)
