"""Executing host programs from Python, with C's meaning of every operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polytile.diagnostics import InternalError
from polytile.ir.evaluate import evaluate, wrap
from polytile.ir.expr import Declare, For, If, Scope, Stmt
from polytile.ir.kernel import Comment, Launch

Launcher = Callable[[str, tuple[int, int, int], Mapping[str, int]], None]


def execute(body: tuple[Stmt, ...], values: Mapping[str, int], launch: Launcher) -> None:
    """Run the body of a host program, calling `launch(kernel, grid, values)` for each launch that is not empty."""
    scope = dict(values)
    for statement in body:
        _step(statement, scope, launch)


def _step(statement: Stmt, scope: dict[str, int], launch: Launcher) -> None:
    match statement:
        case Launch(kernel=kernel, grid=(x, y, z)):
            grid = (evaluate(x, scope), evaluate(y, scope), evaluate(z, scope))
            if min(grid) > 0:
                launch(kernel, grid, scope)
        case For():
            _loop(statement, scope, launch)
        case If(condition=c, then=then, otherwise=otherwise):
            execute(then if evaluate(c, scope) else otherwise, scope, launch)
        case Declare(name=name, type=ctype, value=value):
            scope[name] = wrap(evaluate(value, scope), ctype) if value is not None else 0
        case Scope(body=body):
            execute(body, scope, launch)
        case Comment():
            pass
        case _:
            raise InternalError(f"a host program cannot hold {type(statement).__name__}")


def _loop(loop: For, scope: dict[str, int], launch: Launcher) -> None:
    inner = dict(scope)
    inner[loop.iterator] = evaluate(loop.lower, scope)
    step = loop.step if isinstance(loop.step, int) else evaluate(loop.step, scope)
    while evaluate(loop.condition, inner):
        execute(loop.body, inner, launch)
        inner[loop.iterator] += step
