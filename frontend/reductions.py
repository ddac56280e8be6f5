"""Recognising reductions: `x op= e`, where e does not read the array of x and op can be reordered."""

from __future__ import annotations

from polytile.ir.expr import Access, Assign, Binary, Call, Expr, If, Stmt, Ternary, walk
from polytile.ir.scop import Reduction

_COMPOUND = {"+": "+", "-": "+", "*": "*", "&": "&", "|": "|", "^": "^"}
_CALLS = {"min": "min", "fmin": "min", "fminf": "min", "max": "max", "fmax": "max", "fmaxf": "max"}
_LESS, _GREATER = ("<", "<="), (">", ">=")


def reduction(body: tuple[Stmt, ...]) -> Reduction | None:
    """The reduction that a statement body performs, if it is one.

    `x += e`, `x -= e`, `x = x * e`, `x = e + x`, `x = fmax(x, e)`, `x = x > e ? x : e`, `if (e > x) x = e;`
    """
    match body:
        case (Assign(target=Access() as x, op="", value=value),):
            return _plain(x, value)
        case (Assign(target=Access() as x, op=op, value=value),) if op in _COMPOUND:
            return _accept(x, _COMPOUND[op], value)
        case (If(condition=condition, then=(Assign(target=Access() as x, op="", value=e),), otherwise=()),):
            chosen = _chosen(condition, e, x)
            return _accept(x, chosen, e) if chosen else None
    return None


def _plain(x: Access, value: Expr) -> Reduction | None:
    match value:
        case Binary(op="-", left=left, right=right) if left == x:
            return _accept(x, "+", right)
        case Binary(op=op, left=left, right=right) if op in _COMPOUND and op != "-":
            if left == x:
                return _accept(x, op, right)
            if right == x:
                return _accept(x, op, left)
        case Call(function=function, arguments=(a, b)) if function in _CALLS and x in (a, b):
            return _accept(x, _CALLS[function], b if a == x else a)
        case Ternary(condition=condition, then=a, otherwise=b) if x in (a, b):
            chosen = _chosen(condition, a, b)
            return _accept(x, chosen, b if a == x else a) if chosen else None
    return None


def _chosen(condition: Expr, then: Expr, otherwise: Expr) -> str | None:
    """min or max where `condition` compares exactly the two values: `a < b ? a : b` is min."""
    if not (isinstance(condition, Binary) and condition.op in _LESS + _GREATER):
        return None
    if (condition.left, condition.right) == (then, otherwise):
        return "min" if condition.op in _LESS else "max"
    if (condition.left, condition.right) == (otherwise, then):
        return "max" if condition.op in _LESS else "min"
    return None


def _accept(x: Access, op: str, e: Expr) -> Reduction | None:
    if any(isinstance(n, Access) and n.array == x.array for n in walk(e)):
        return None
    return Reduction(op, x.array)
