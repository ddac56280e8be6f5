"""What the headers of the loops around a place say of numbers there, where all are sums of iterators and sizes.

for (o = 0; o < n - 16; o += 16) { ... (n - o - 16) / 16 ... }      is 0 at least, since n - o - 16 is above 0
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import islpy as isl
from pycparser import c_ast

from polytile.frontend.name_binding import isl_reads, loop_iterator
from polytile.frontend.trees import conjuncts

_DECIMAL = r"0|[1-9]\d*"
_COMPARED = {"<": "lt_set", "<=": "le_set", ">": "gt_set", ">=": "ge_set"}


def is_never_negative(value: c_ast.Node, around: Sequence[c_ast.For], is_size: Callable[[str], bool]) -> bool:
    """Whether a sum of iterators of the loops `around`, outermost first, and of sizes, with quotients by constants, is
    0 at least wherever the innermost one gets; `is_size` says what nothing changes."""
    names = [str(i.name) for loop in around if (i := loop_iterator(loop)) is not None]
    if len(set(names)) != len(around):
        return False

    def linear(node: c_ast.Node) -> isl.PwAff | None:
        return _linear(node, lambda name: name in names or is_size(name))

    found = linear(value)
    if found is None:
        return False
    known = isl.Set("{ [] }").params()
    for loop in around:
        for fact in _facts(loop):
            sides = linear(fact.left), linear(fact.right)
            if sides[0] is not None and sides[1] is not None:
                known = known.intersect(getattr(sides[0], _COMPARED[fact.op])(sides[1]).params())
    return bool(known.intersect(found.lt_set(_number(0)).params()).is_empty())


def _facts(loop: c_ast.For) -> Iterator[c_ast.BinaryOp]:
    """Comparisons that hold in each iteration of a loop: from its first value on, and its condition."""
    iterator = loop_iterator(loop)
    first = iterator.init if isinstance(iterator, c_ast.Decl) else loop.init.rvalue
    if iterator is not None and _counts_up(loop.next):
        yield c_ast.BinaryOp(">=", c_ast.ID(iterator.name), first)
    for part in conjuncts(loop.cond):
        if isinstance(part, c_ast.BinaryOp) and part.op in _COMPARED:
            yield part


def _counts_up(step: c_ast.Node | None) -> bool:
    match step:
        case c_ast.UnaryOp(op="++" | "p++"):
            return True
        case c_ast.Assignment(op="+=", rvalue=c_ast.Constant(type="int", value=value)):
            return re.fullmatch(_DECIMAL, value) is not None
    return False


def _linear(node: c_ast.Node, known: Callable[[str], bool]) -> isl.PwAff | None:
    """An integer as a sum of those that are `known`; None for others."""
    match node:
        case c_ast.Constant(type="int", value=value) if re.fullmatch(_DECIMAL, value):
            return _number(int(value))
        case c_ast.ID(name=name) if known(name) and isl_reads(name):
            return isl.PwAff(f"[{name}] -> {{ [({name})] }}")
        case c_ast.UnaryOp(op="-", expr=inner):
            found = _linear(inner, known)
            return None if found is None else found.neg()
        case c_ast.BinaryOp(op="+" | "-" | "*" | "/" as op, left=left, right=right):
            one, other = _linear(left, known), _linear(right, known)
            return None if one is None or other is None else _combined(op, one, other)
    return None


def _combined(op: str, one: isl.PwAff, other: isl.PwAff) -> isl.PwAff | None:
    if op in "+-":
        return one.add(other) if op == "+" else one.sub(other)
    if op == "*":
        return one.mul(other) if one.is_cst() or other.is_cst() else None
    positive = other.is_cst() and other.gt_set(_number(0)).params().is_equal(isl.Set("{ [] }").params())
    return one.tdiv_q(other) if positive else None


def _number(value: int) -> isl.PwAff:
    return isl.PwAff(f"{{ [({value})] }}")
