"""Names replaced by values, and what then is constant computed: subscripts, conditions, whole branches.

before: y = v == 0 ? l : x[v - 1]; if (v < 2) { A[2 * v + 1] = y; }         v is 0
after:  y = l; A[1] = y;
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import Any, Self, TypeVar

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.arith import known, zero
from polytile.ir.def_use import declares, written_names
from polytile.ir.expr import Access, Assign, Expr, For, If, Name, Scope, Stmt, While
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.fold import fold_node
from polytile.ir.gpu_ops import AsyncCopy, Load, Store

Body = tuple[Stmt, ...]
Values = Mapping[str, Expr]
_Node = TypeVar("_Node", Expr, Stmt)


def with_values(node: _Node, values: Values) -> _Node:
    """Return a statement or an expression with names replaced by values, and nothing else changed.

    before: 2 * c + t        with c = c0 + 1
    after:  2 * (c0 + 1) + t
    """
    if not values:
        return node
    result: _Node = rewrite(node, lambda n: values.get(n.name, n) if isinstance(n, Name) else n)
    return result


def with_part(node: _Node, old: Expr, new: Expr) -> _Node:
    """Return a statement or an expression with `new` wherever `old` was."""
    result: _Node = rewrite(node, lambda n: new if n == old else n)
    return result


def with_names(node: _Node, scalars: Container[str]) -> _Node:
    """Replace scalars that are arrays of rank 0 by names: Access("n") becomes Name("n")."""

    def change(n: Any) -> Any:
        named = isinstance(n, Access) and not n.subscripts and n.array in scalars
        return Name(n.array, n.type) if named else n

    result: _Node = rewrite(node, change)
    return result


class Context(ABC):
    """What is known at a point of a kernel: how a value is written there, and what is known elsewhere."""

    __slots__ = ()

    @abstractmethod
    def value(self, node: Any) -> Any:
        """Return an expression, or a statement that holds no others, as it is written here."""

    def behind(self, stmt: Stmt) -> Self:
        return self

    def where(self, condition: Expr, holds: bool) -> Self:
        return self

    def around(self, loop: For) -> Self:
        """Return the context in which the condition of a loop is tested."""
        return self

    def within(self, loop: For) -> Self:
        return self


@dataclass(frozen=True, slots=True)
class _Replacing(Context):
    values: Values

    def value(self, node: Any) -> Any:
        def change(n: Any) -> Any:
            return self.values.get(n.name, n) if isinstance(n, Name) else fold_node(n)

        return rewrite(node, change)


def substituted(body: Iterable[Stmt], values: Values) -> Body:
    """Return the statements with names replaced by values, folded.

    Raises InternalError where one is written or hidden.
    """
    statements = tuple(body)
    for name in written_names(*statements) if values else ():
        if name in values:
            raise InternalError(f"{name} is replaced by its value but not constant")
    return rewritten(statements, _Replacing(values))


def substituted_expr(expr: Expr, values: Values) -> Expr:
    """Return the expression with names replaced by values, folded."""
    return _Replacing(values).value(expr)  # type: ignore[no-any-return]


def block(body: Body) -> Body:
    """Return statements that can stand anywhere: in braces when they declare something."""
    return (Scope(body),) if declares(body) else body


def braces(body: Body) -> Body:
    """Return a scope of the body's own, or nothing for an empty body."""
    return (Scope(body),) if body else ()


def count_nodes(body: Iterable[Stmt]) -> int:
    """Count the nodes of some statements: how much code there is."""
    return sum(1 for _ in walk(*body))


def rewritten(body: Body, at: Context) -> Body:
    """Return the statements as they are written in a context, without branches and loops that then never run."""
    out: list[Stmt] = []
    for stmt in body:
        out += _statement(stmt, at)
        at = at.behind(stmt)
    return tuple(out)


def _statement(stmt: Stmt, at: Context) -> Body:
    match stmt:
        case If():
            return _branch(stmt, at)
        case For():
            return _loop(stmt, at)
        case While(condition=condition, body=body):
            condition = at.value(condition)
            return () if known(condition) == 0 else (replace(stmt, condition=condition, body=rewritten(body, at)),)
        case Scope(body=body):
            return braces(rewritten(body, at))
        case Load() | Store() | AsyncCopy():
            return _settled(at.value(stmt))
    return (at.value(stmt),)


def _branch(stmt: If, at: Context) -> Body:
    condition = at.value(stmt.condition)
    holds = known(condition)
    if holds is not None:
        body = stmt.then if holds else stmt.otherwise
        return block(rewritten(body, at.where(stmt.condition, bool(holds))))
    then = rewritten(stmt.then, at.where(stmt.condition, True))
    otherwise = rewritten(stmt.otherwise, at.where(stmt.condition, False))
    return (replace(stmt, condition=condition, then=then, otherwise=otherwise),) if then or otherwise else ()


def _loop(stmt: For, at: Context) -> Body:
    lower, condition = at.value(stmt.lower), at.around(stmt).value(stmt.condition)
    if known(at.value(substituted_expr(condition, {stmt.iterator: lower}))) == 0:
        return ()
    step = stmt.step
    if isinstance(step, Name):
        value = at.value(step)
        constant_step = known(value)
        if constant_step is None and not isinstance(value, Name):
            raise InternalError(f"the loop over {stmt.iterator} steps by {value}")
        step = value if isinstance(value, Name) else constant_step or 0
    body = rewritten(stmt.body, at.within(replace(stmt, lower=lower)))
    return (replace(stmt, lower=lower, condition=condition, step=step, body=body),)


def _settled(stmt: Load | Store | AsyncCopy) -> Body:
    """Resolve the guard of an access where it is known.

    The guard is dropped where it holds; else nothing is stored, and zeros are loaded. Asynchronous copies keep a guard
    that does not hold.
    """
    holds = None if stmt.guard is None else known(stmt.guard)
    if holds:
        return (replace(stmt, guard=None),)
    if holds is None or isinstance(stmt, AsyncCopy):
        return (stmt,)
    return () if isinstance(stmt, Store) else tuple(Assign(t, "", zero(t.type), stmt.location) for t in stmt.targets)
