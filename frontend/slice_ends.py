"""Loops that look for the extremes of sums which grow or shrink evenly need their first and last iteration.

before: for (j = 0; j < m; j++) { polytile_visit(p[i] * m + j); }
after:  for (j = 0; j < m; j = j < m - 1 ? m - 1 : m) { polytile_visit(p[i] * m + j); }
"""

from __future__ import annotations

from pycparser import c_ast

from polytile.frontend.parse import nodes_below
from polytile.frontend.trees import copied, variables_in, written_name


def only_ends(loop: c_ast.For) -> c_ast.For:
    """The loop with a step to its last iteration, where all that it does is to visit sums of that kind."""
    iterator = _counted(loop)
    if iterator is None or not _even(loop.stmt, iterator) or _has(loop.cond.right, iterator):
        return loop
    one, bound = c_ast.Constant("int", "1"), copied(loop.cond.right)
    up_to = loop.cond.op == "<="
    end, last = (c_ast.BinaryOp("+", bound, one), bound) if up_to else (bound, c_ast.BinaryOp("-", bound, one))
    before_last = c_ast.BinaryOp("<", c_ast.ID(iterator), last)
    step = c_ast.TernaryOp(before_last, copied(last), copied(end))
    loop.next = c_ast.Assignment("=", c_ast.ID(iterator), step)
    return loop


def _has(node: c_ast.Node, name: str) -> bool:
    return any(use.name == name for use in variables_in(node))


def _counted(loop: c_ast.For) -> str | None:
    """The iterator of `for (i = lower; i < upper; i++)`, also `<=`."""
    step, condition = loop.next, loop.cond
    if not isinstance(step, c_ast.UnaryOp) or step.op not in ("++", "p++"):
        return None
    if not isinstance(condition, c_ast.BinaryOp) or condition.op not in ("<", "<="):
        return None
    name = written_name(step)
    plain = isinstance(condition.left, c_ast.ID) and condition.left.name == name
    return name if plain else None


def _even(body: c_ast.Node, iterator: str) -> bool:
    """Whether a body visits what grows evenly with the iterator, and uses it for nothing else."""
    for node in nodes_below(body):
        match node:
            case c_ast.Break() | c_ast.While() | c_ast.DoWhile():
                return False
            case c_ast.If(cond=condition) if _has(condition, iterator):
                return False
            case c_ast.For(init=init, cond=condition, next=step):
                if any(_has(part, iterator) for part in (init, condition, step) if part is not None):
                    return False
            case c_ast.FuncCall(args=arguments) if not all(_linear(a, iterator) for a in arguments.exprs):
                return False
    headers = (p for n in nodes_below(body) if isinstance(n, c_ast.For) for p in (n.init, n.next) if p is not None)
    inner = {id(n) for part in headers for n in nodes_below(part)}
    return not any(_sets(n) and id(n) not in inner for n in nodes_below(body))


def _sets(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.Decl) or written_name(node) is not None


def _linear(node: c_ast.Node, name: str) -> bool:
    """Whether an expression is a sum of a multiple of `name` by what does not depend on it, and such."""
    match node:
        case c_ast.ID():
            return True
        case c_ast.UnaryOp(op="-" | "+", expr=inner):
            return _linear(inner, name)
        case c_ast.BinaryOp(op="+" | "-", left=left, right=right):
            return _linear(left, name) and _linear(right, name)
        case c_ast.BinaryOp(op="*", left=left, right=right):
            return (_linear(left, name) and not _has(right, name)) or (_linear(right, name) and not _has(left, name))
    return not _has(node, name)
