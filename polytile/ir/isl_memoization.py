"""Memoization of what isl computes in the compilation that runs: candidates, and their proof, often ask the same again.

Whoever asks states the whole question, and gets what isl found for relations and trees that are written alike, whoever
asked before. So a proof that is answered this way has assumed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from itertools import zip_longest
from typing import ParamSpec, TypeVar

import islpy as isl

from polytile.ir.isl_util import maps, sets

P = ParamSpec("P")
R = TypeVar("R")

_Known = dict[tuple[object, ...], list[tuple[tuple[object, ...], object]]]
_KNOWN: ContextVar[_Known | None] = ContextVar("answers of isl", default=None)


@contextmanager
def memoizing() -> Iterator[None]:
    """Keep the answers to questions that are `memoized`, until the end of the block; those of a block around this
    one are not seen."""
    token = _KNOWN.set({})
    try:
        yield
    finally:
        _KNOWN.reset(token)


def memoized(question: Callable[P, R]) -> Callable[P, R]:
    """Memoize a function of isl's objects and numbers alone, while answers are kept.

    Arguments (relations, sets, trees, functions, sequences of these) go by position. What raises is asked again.
    """

    @wraps(question)
    def answer(*arguments: P.args, **named: P.kwargs) -> R:
        known = _KNOWN.get()
        if known is None:
            return question(*arguments, **named)
        assert not named, "arguments by name would make another key"
        key = (question, *map(_hash, arguments))
        for before, found in known.get(key, ()):
            if all(map(_is_same, before, arguments)):
                return found  # type: ignore[return-value]  # what this question gave
        found = question(*arguments, **named)
        known.setdefault(key, []).append((arguments, found))
        return found

    return answer


def _hash(value: object) -> int:
    """Return a hash that is equal for what is the same.

    isl hashes relations as they are written; of trees the instances count here, of functions nothing.
    """
    if isinstance(value, isl.Schedule):
        return hash(value.get_domain())
    if isinstance(value, isl.MultiUnionPwAff):
        return 0
    if isinstance(value, Sequence):
        return hash(tuple(map(_hash, value)))
    return hash(value)


def _is_same(one: object, other: object) -> bool:
    """Return whether isl writes both alike: then it finds the same for both."""
    if one is other:
        return True
    if isinstance(one, Sequence) and isinstance(other, Sequence):
        return len(one) == len(other) and all(map(_is_same, one, other))
    match one, other:
        case isl.Schedule(), isl.Schedule():
            return bool(one.plain_is_equal(other))
        case isl.MultiUnionPwAff(), isl.MultiUnionPwAff():
            return bool(one.plain_is_equal(other))
        case isl.Map(), isl.Map():
            return bool(one.plain_is_equal(other))
        case isl.Set(), isl.Set():
            return bool(one.plain_is_equal(other))
        case isl.UnionMap(), isl.UnionMap():
            if one.n_map() != other.n_map():
                return False
            relations = zip_longest(maps(one), maps(other))
            return all(a is not None and b is not None and a.plain_is_equal(b) for a, b in relations)
        case isl.UnionSet(), isl.UnionSet():
            parts = zip_longest(sets(one), sets(other))
            return all(a is not None and b is not None and a.plain_is_equal(b) for a, b in parts)
    return isinstance(one, int) and one == other
