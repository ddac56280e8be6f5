"""Executing host programs from Python, with C's meaning of every operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polytile.diagnostics import InternalError
from polytile.ir.evaluate import evaluator, wrap
from polytile.ir.expr import Declare, Expr, For, If, Scope, Stmt
from polytile.ir.identity_key import remembered
from polytile.ir.kernel import Comment, Launch

Launcher = Callable[[str, tuple[int, int, int], Mapping[str, int]], None]
Run = Callable[[Mapping[str, int], Launcher], None]
_Step = Callable[[dict[str, int], Launcher], None]


def execute(body: tuple[Stmt, ...], values: Mapping[str, int], launch: Launcher) -> None:
    """Run the body of a host program, calling `launch(kernel, grid, values)` for each launch that is not empty."""
    _prepared(body)(values, launch)


def prepared(body: tuple[Stmt, ...]) -> Run:
    """Compile the body to a function of its values, for one that is run often."""
    steps = [_step(statement) for statement in body]

    def run(values: Mapping[str, int], launch: Launcher) -> None:
        scope = dict(values)
        for step in steps:
            step(scope, launch)

    return run


def _step(statement: Stmt) -> _Step:
    match statement:
        case Launch():
            return _launch(statement)
        case For():
            return _loop(statement)
        case If(condition=c, then=then, otherwise=otherwise):
            return _branch(c, prepared(then), prepared(otherwise))
        case Declare():
            return _declaration(statement)
        case Scope(body=body):
            return prepared(body)
        case Comment():
            return lambda scope, launch: None
    raise InternalError(f"a host program cannot hold {type(statement).__name__}")


def _launch(statement: Launch) -> _Step:
    x, y, z = map(evaluator, statement.grid)

    def step(scope: dict[str, int], launch: Launcher) -> None:
        grid = (x(scope), y(scope), z(scope))
        if min(grid) > 0:
            launch(statement.kernel, grid, scope)

    return step


def _branch(condition: Expr, then: Run, otherwise: Run) -> _Step:
    holds = evaluator(condition)

    def step(scope: dict[str, int], launch: Launcher) -> None:
        (then if holds(scope) else otherwise)(scope, launch)

    return step


def _declaration(statement: Declare) -> _Step:
    value = None if statement.value is None else evaluator(statement.value)

    def step(scope: dict[str, int], launch: Launcher) -> None:
        scope[statement.name] = 0 if value is None else wrap(value(scope), statement.type)

    return step


def _loop(loop: For) -> _Step:
    lower, condition, body = evaluator(loop.lower), evaluator(loop.condition), prepared(loop.body)
    iterator, given = loop.iterator, loop.step
    length = (lambda scope: given) if isinstance(given, int) else evaluator(given)

    def step(scope: dict[str, int], launch: Launcher) -> None:
        inner, past = dict(scope), length(scope)
        inner[iterator] = lower(scope)
        while condition(inner):
            body(inner, launch)
            inner[iterator] += past

    return step


_prepared = remembered(prepared)  # programs are run often, each on a body of its own
