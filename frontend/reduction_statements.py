"""Statements of C that only add to a variable, or keep its extreme, before anything is known of their values."""

from __future__ import annotations

from collections.abc import Iterator

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import mentions
from polytile.frontend.math_functions import is_known
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.trees import WRITING, block_items, variables_in
from polytile.frontend.trip_counts import count_of

_ACCUMULATES = ("+=", "-=", "*=", "&=", "|=", "^=")
_COUNTS = ("++", "p++", "--", "p--")
_COMPARISONS = ("<", "<=", ">", ">=")
_EXTREMES = ("fmin", "fminf", "fmax", "fmaxf")


def reduced_variables(loop: c_ast.For) -> frozenset[str]:
    """Find the variables that a loop only adds to, or of which it keeps the extreme.

    Elements count where several iterations of the loop around such a statement share them: s and y of
    `for (i) for (j) { s += A[i][j]; y[i] += x[j]; z[j] += 1; }`.
    """
    found = _Updates.of(loop)
    return found.all - {name for own in found.by_loop for name in own.of_each}


def scattered_variables(loop: c_ast.For) -> frozenset[str]:
    """Find the arrays of which an inner loop adds to an element that its iterations share, and to one of each: F of
    `for (i) for (j) { F[i] += x[j]; F[j] -= x[i]; }`"""
    found = _Updates.of(loop)
    return found.all & {name for own in found.by_loop for name in own.of_each & own.of_all}


@dataclass(frozen=True, slots=True)
class _Own:
    """What the statements of one loop, outside of loops in it, add to: elements of each iteration, or of all."""

    of_each: frozenset[str]
    of_all: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Updates:
    """The variables that a loop only adds to, or of which it keeps the extreme, and those of each loop in it."""

    all: frozenset[str]
    by_loop: tuple[_Own, ...]

    @classmethod
    def of(cls, loop: c_ast.For) -> _Updates:
        index = NodeIndex.of([loop])
        nodes = index.all(c_ast.Assignment, c_ast.UnaryOp, c_ast.If)
        found = {id(_innermost(node)): name for node in nodes if (name := reduced_variable(node)) is not None}
        others = {target(_written(n)) for n in index.all(c_ast.Assignment, c_ast.UnaryOp) if id(n) not in found}
        by_loop = []
        for inner in index.all(c_ast.For):
            count = count_of(inner)
            own = [n for n in _directly_in(inner) if id(n) in found]
            each = {id(n) for n in own if count is None or mentions(_written(n), count.name)}
            names = (frozenset(found[id(n)] for n in own if (id(n) in each) is of_each) for of_each in (True, False))
            by_loop.append(_Own(*names))
        return cls(frozenset(found.values()) - others - index.declared.keys(), tuple(by_loop))


def _directly_in(loop: c_ast.For) -> Iterator[c_ast.Node]:
    """The nodes of a loop's body that are in no loop within."""
    stack = [loop.stmt]
    while stack:
        node = stack.pop()
        yield node
        stack += [child for child in node if not isinstance(child, c_ast.For)]


def reduced_variable(node: c_ast.Node) -> str | None:
    """Return s of `s += e`, `s++`, `s = s + e`, `s = fmin(s, e)`, `s = e < s ? e : s`, of these under a condition, and
    of `if (e < s) s = e;`"""
    conditions = []
    while isinstance(node, c_ast.If) and node.iffalse is None and len(block_items(node.iftrue)) == 1:
        conditions.append(node.cond)
        (node,) = block_items(node.iftrue)
    name = target(_written(node))
    if name is None or isinstance(node, c_ast.UnaryOp):
        return name if name is not None and node.op in _COUNTS else None
    if node.op in _ACCUMULATES:
        return name
    kept = [*_operands(node.rvalue), *(_compared(conditions[-1]) if conditions else ())]
    return name if node.op == "=" and any(target(part) == name for part in kept) else None


def changes_nothing_else(node: c_ast.Node) -> bool:
    """Whether a value, or such a statement, changes nothing else and calls only functions that are known."""
    own = _innermost(node) if reduced_variable(node) is not None else None
    for n in nodes_below(node):
        changes = (isinstance(n, c_ast.UnaryOp) and n.op in (*WRITING, "&")) or isinstance(n, c_ast.Assignment)
        if changes and n is not own:
            return False
        if isinstance(n, c_ast.FuncCall) and not is_known(_called(n)):
            return False
    return True


def target(node: c_ast.Node | None) -> str | None:
    """Return x of `x`, `x[i][j]` and `*x`."""
    while isinstance(node, c_ast.ArrayRef) or (isinstance(node, c_ast.UnaryOp) and node.op == "*"):
        node = node.name if isinstance(node, c_ast.ArrayRef) else node.expr
    return str(node.name) if isinstance(node, c_ast.ID) else None


def changed_variables(node: c_ast.Node) -> set[str]:
    """Find the variables that a statement may change, but for those that calls of others change."""
    nodes = list(nodes_below(node))
    found = [n.lvalue for n in nodes if isinstance(n, c_ast.Assignment)]
    found += [n.expr for n in nodes if isinstance(n, c_ast.UnaryOp) and n.op in (*WRITING, "&")]
    names = {str(use.name) for part in found if target(part) is None for use in variables_in(part)}
    return names | {str(target(part)) for part in found if target(part) is not None}


def calls_others(node: c_ast.Node) -> bool:
    """Whether a statement calls a function that may use variables which are not passed to it."""
    return any(isinstance(n, c_ast.FuncCall) and not is_known(_called(n)) for n in nodes_below(node))


def _called(call: c_ast.FuncCall) -> str:
    return str(call.name.name) if isinstance(call.name, c_ast.ID) else ""


def _innermost(node: c_ast.Node) -> c_ast.Node:
    """The statement under conditions."""
    while isinstance(node, c_ast.If) and len(block_items(node.iftrue)) == 1:
        (node,) = block_items(node.iftrue)
    return node


def _written(node: c_ast.Node) -> c_ast.Node | None:
    if isinstance(node, c_ast.Assignment):
        found: c_ast.Node = node.lvalue
        return found
    return node.expr if isinstance(node, c_ast.UnaryOp) and node.op in WRITING else None


def _compared(condition: c_ast.Node) -> tuple[c_ast.Node, ...]:
    if isinstance(condition, c_ast.BinaryOp) and condition.op in _COMPARISONS:
        return (condition.left, condition.right)
    return ()


def _operands(value: c_ast.Node) -> tuple[c_ast.Node, ...]:
    """Those of a value's operands of which one may be what the variable was before."""
    match value:
        case c_ast.BinaryOp(op="-"):
            return (value.left,)
        case c_ast.BinaryOp() if f"{value.op}=" in _ACCUMULATES:
            return (value.left, value.right)
        case c_ast.TernaryOp():
            return (value.iftrue, value.iffalse)
        case c_ast.FuncCall() if isinstance(value.name, c_ast.ID) and str(value.name.name) in _EXTREMES:
            return tuple(value.args.exprs if value.args else ())
    return ()
