"""Equal nodes have equal hashes, wherever they stand in the source."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polytile.diagnostics import Location
from polytile.ir.expr import Assign, Break, Literal, Stmt, While


def assigned(text: str, location: Location) -> Stmt:
    return Assign(Literal("x"), "", Literal(text), location=location)


@pytest.mark.parametrize(
    "made",
    [
        lambda at: Break(location=at),
        lambda at: While(Literal("1"), (Break(location=at),), location=at),
        lambda at: assigned("1", at),
    ],
    ids=["nothing-to-compare", "inside-another", "assignment"],
)
def test_places_do_not_count(made: Callable[[Location], Stmt]) -> None:
    first, second = made(Location("a.c", 1, 2)), made(Location("b.c", 3, 4))
    assert first == second
    assert hash(first) == hash(second)
