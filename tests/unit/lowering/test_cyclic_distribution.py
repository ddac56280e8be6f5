"""Loops of thread bands: each thread has the values that equal it modulo the block's size."""

from __future__ import annotations

import pytest

from polytile.codegen.lowering.cyclic_distribution import distribute_to_threads, thread_labels
from polytile.codegen.lowering.isl_ast import Instance
from polytile.ir.expr import INT, Binary, Call, Expr, For, If, Literal, Name, Stmt

(LABEL,) = thread_labels(1)
INDEX, THREAD = Name("i", INT), Name("ti", INT)


def value(expr: Expr, known: dict[str, int]) -> int:
    match expr:
        case Literal(text=text):
            return int(text)
        case Name(name=name):
            return known[name]
        case Call(function=name, arguments=(left, right)):
            a, b = value(left, known), value(right, known)
            return a // b if name == "floord" else a % b
        case Binary(op=op, left=left, right=right):
            a, b = value(left, known), value(right, known)
            return {"+": a + b, "-": a - b, "*": a * b, "<=": int(a <= b), "==": int(a == b)}[op]
    raise AssertionError(expr)


def run(body: tuple[Stmt, ...], known: dict[str, int]) -> list[int]:
    found: list[int] = []
    for stmt in body:
        match stmt:
            case For():
                at = value(stmt.lower, known)
                while value(stmt.condition, known | {stmt.iterator: at}):
                    found += run(stmt.body, known | {stmt.iterator: at})
                    at += stmt.step if isinstance(stmt.step, int) else value(stmt.step, known)
            case If():
                found += run(stmt.then if value(stmt.condition, known) else stmt.otherwise, known)
            case Instance(values=(one,)):
                found.append(value(one, known))
    return found


@pytest.mark.parametrize("first", [-9, -1, 0, 3, 17])
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 5, 40])
def test_each_thread_has_its_own(first: int, step: int, count: int) -> None:
    last = first + step * (count - 1) if count else first - 1
    condition = Binary("<=", INDEX, Literal(str(last), INT), INT)
    loop = For("i", Literal(str(first), INT), condition, step, (Instance("S", (INDEX,)),), INT, label=LABEL)
    shared = distribute_to_threads((loop,), (("ti", "x"),), (8, 1, 1), INT)
    for thread in range(8):
        expected = [i for i in range(first, last + 1, step) if i % 8 == thread]
        assert run(shared, {"ti": thread}) == expected


def test_a_loop_from_zero_starts_at_the_thread() -> None:
    loop = For("i", Literal("0", INT), Binary("<=", INDEX, Literal("9", INT), INT), 1, (), INT, label=LABEL)
    (shared,) = distribute_to_threads((loop,), (("ti", "x"),), (8, 1, 1), INT)
    assert isinstance(shared, For)
    assert (shared.lower, shared.step, shared.label) == (THREAD, 8, "")


def test_other_loops_stay() -> None:
    loop = For("i", Literal("0", INT), Binary("<=", INDEX, Literal("9", INT), INT), 1, (), INT, label="step")
    assert distribute_to_threads((loop,), (("ti", "x"),), (8, 1, 1), INT) == (loop,)
