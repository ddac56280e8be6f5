"""A loop cut into batches, whatever a batch is.

before: for (c = 0; c <= c_last; ++c) body(c)
after:  for (c = 0; c <= c_last - 7; c += 8) batch(c, 8)                           whole ones
        for (c_rest = (c_last + 1) / 8 * 8; c_rest <= c_last; c_rest += 4) batch(c_rest, 4)       what they leave
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from polytile.ir.expr import Binary, Expr, For, Literal, Name, Stmt
from polytile.ir.fold import folded
from polytile.ir.name_supply import Names
from polytile.tuning import LoadTuning

Batch = Callable[[Name, int, int], tuple[Stmt, ...]]  # from a first iteration on, so many, of which some surely run


def in_batches(
    loop: For, batch: Batch, many: int, last: Name, names: Names, tuning: LoadTuning, *, small: bool = False
) -> Iterator[Stmt]:
    """Yield whole batches, which `batch` makes, and small ones.

    With `small`, only small ones, where all of it may be less than one.
    """
    iterator, integer = Name(loop.iterator, loop.type), loop.type
    rest, start, few = iterator, loop.lower, min(many, tuning.few_iterations)
    if not small:
        whole_one = reaches(iterator, many, last)
        yield replace(loop, condition=whole_one, step=many, body=batch(iterator, many, many), unroll=1)
        if many == 1:
            return
        count = Binary("+", Binary("-", last, loop.lower, integer), Literal("1"), integer)
        whole = Binary("*", Binary("/", count, Literal(str(many)), integer), Literal(str(many)), integer)
        rest = Name(names.shared(f"{loop.iterator}_rest"), integer)
        few = min(many // 2, tuning.max_remainder_iterations)
        start = folded(Binary("+", loop.lower, whole, integer))
    yield For(rest.name, start, reaches(rest, 1, last), few, batch(rest, few, 1), integer, loop.location, unroll=1)


def reaches(first: Expr, count: int, last: Name) -> Expr:
    """Build the test that `count` iterations from the first on do not go beyond the last."""
    return Binary("<=", first, folded(Binary("-", last, Literal(str(count - 1)), last.type)))


def iterations(size: int, most: int, in_flight: int) -> int:
    """Return the number of iterations of a batch, a power of two.

    The bytes that one loads, that often, are in flight at the same time.
    """
    room = min(most, max(in_flight, 0) // size) if size else 0
    return 1 << room.bit_length() - 1 if room else 0
