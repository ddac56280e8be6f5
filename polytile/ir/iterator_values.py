"""What the source calls the iterators of statements, and the values that it gives them.

A statement's iterator may be the number of an iteration where the source counts otherwise:

source:     for (i = 4; i < n; i += 3) S;
statement:  S[i], 0 <= i, of which iteration 2 is the one with i = 10
"""

from __future__ import annotations

from collections.abc import Mapping

from polytile.ir.evaluate import evaluate
from polytile.ir.expr import Expr, Name
from polytile.ir.expr_trees import walk
from polytile.ir.scop import Scop, SourceLoop, Statement


def loops_around(scop: Scop, statement: Statement) -> tuple[SourceLoop, ...]:
    """Return the source's loops of a statement's iterators; a loop of the iterator's name where it says none."""
    found = [SourceLoop(name, level, (statement.name,)) for level, name in enumerate(statement.iterators)]
    for loop in scop.loops:
        if statement.name in loop.statements and loop.level < len(found):
            found[loop.level] = loop
    return tuple(found)


def iterator_names(scop: Scop, statement: Statement) -> dict[str, str]:
    """Return the names that the user gives the iterators of a statement."""
    loops = loops_around(scop, statement)
    return {name: loop.iterator for name, loop in zip(statement.iterators, loops, strict=True)}


def iterator_values(scop: Scop, statement: Statement, numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the source's value of each iterator that has a number, by the statement's name for it.

    `numbers` holds the sizes as well. An iterator keeps its number where the value needs something without one.
    """
    loops = zip(statement.iterators, loops_around(scop, statement), strict=True)
    return {name: _value(loop.value, numbers, numbers[name]) for name, loop in loops if name in numbers}


def _value(value: Expr | None, numbers: Mapping[str, int], number: int) -> int:
    known = value is not None and all(n.name in numbers for n in walk(value) if isinstance(n, Name))
    return evaluate(value, numbers) if value is not None and known else number
