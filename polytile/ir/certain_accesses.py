"""Which accesses of a statement happen whenever it runs: those that no condition on data stands in front of.

    if (b[i] > 0) a[i] = a[i - 1];     b[i] is certain; a[i - 1] and a[i] are not
    c[i] = d[i] ? e[i] : 0;            d[i] and c[i] are certain
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from polytile.diagnostics import PolytileError
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import Access, Address, Binary, Cast, Expr, For, If, Node, Scope, Stmt, Ternary, While
from polytile.ir.expr_trees import children, expressions, rewrite, walk
from polytile.ir.scop import Statement

Values = Mapping[str, int]


def touches_certainly(statement: Statement, array: str, values: Values, element: Sequence[int]) -> bool:
    """Return whether an instance accesses an element of an array whatever the data are.

    `values` are those of iterators and sizes.
    """
    own = (access for access in certain_accesses(statement) if access.array == array)
    return any(element_of(access, values) == tuple(element[: len(access.subscripts)]) for access in own)


def element_of(access: Access, values: Values) -> tuple[int, ...] | None:
    """Return the element that an access has where names have these values; None where data choose it."""
    try:
        return tuple(evaluate(_wrapping(subscript), values) for subscript in access.subscripts)
    except PolytileError:
        return None


def _wrapping(subscript: Expr) -> Expr:
    """Return a subscript with explicit conversions of its unsigned numbers where C converts.

    before: (i * 2654435761u) >> 28     after: (unsigned)((unsigned)((unsigned)i * (unsigned)2654435761u) >> 28)
    """

    def change(node: Node) -> Node:
        match node:
            case Binary(op=op, left=left, right=right, type=ctype) if ctype.kind == "int" and not ctype.signed:
                right = right if op in ("<<", ">>") else Cast(ctype, right)
                return Cast(ctype, Binary(op, Cast(ctype, left), right, ctype))
        return node

    wrapping: Expr = rewrite(subscript, change)
    return wrapping


def accesses_in(statement: Statement) -> Iterator[Access]:
    """Return the accesses in the body of a statement, in the order of the text."""
    return (node for node in walk(*statement.body) if isinstance(node, Access))


def certain_accesses(statement: Statement) -> Iterator[Access]:
    """Return the accesses that every instance makes, whatever the data are."""
    return _certain(statement.body)


def _certain(body: Iterable[Stmt]) -> Iterator[Access]:
    """Yield the accesses of some statements that run whenever these do."""
    for stmt in body:
        match stmt:
            case If(condition=condition) | While(condition=condition):
                yield from _evaluated(condition)
            case For(lower=lower, condition=condition):
                yield from _evaluated(lower)
                yield from _evaluated(condition)
            case Scope(body=inside):
                yield from _certain(inside)
            case _:
                for expr in expressions(stmt):
                    yield from _evaluated(expr)


def _evaluated(expr: Expr) -> Iterator[Access]:
    """Yield the accesses that are made whenever an expression is evaluated."""
    if isinstance(expr, Access):
        yield expr
    parts: Iterable[Node] = children(expr)
    match expr:
        case Address(target=target):  # which elements from there on are accessed is not known here
            parts = target.subscripts
        case Ternary(condition=condition):
            parts = (condition,)
        case Binary(op="&&" | "||", left=left):
            parts = (left,)
    for part in parts:
        if isinstance(part, Expr):
            yield from _evaluated(part)
