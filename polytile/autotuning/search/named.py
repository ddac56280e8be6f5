"""Searches by name: what `--search` chooses from."""

from __future__ import annotations

from polytile.autotuning.search.exhaustive import Enumeration
from polytile.autotuning.search.search import Estimates, Search
from polytile.autotuning.space import Space
from polytile.diagnostics import UsageError

EXHAUSTIVE = "exhaustive"
RANDOM = "random"
MODEL = "model"
SEARCHES = (EXHAUSTIVE, RANDOM, MODEL)
MOST_EXHAUSTIVE = 200  # points; larger spaces are searched by the model


def default_search(space: Space) -> str:
    """The name of the search of a space for which none is named."""
    return EXHAUSTIVE if len(space.points) <= MOST_EXHAUSTIVE else MODEL


def search_named(name: str, space: Space, seed: int, estimates: Estimates) -> Search:
    """A search of a space; equal seeds and outcomes give equal points. Without a name it is `default_search`'s.

    Raises UsageError for a name that there is none of.
    """
    name = name or default_search(space)
    if name == EXHAUSTIVE:
        return Enumeration(name, space)
    if name in (RANDOM, MODEL):
        return Enumeration(name, space, seed)
    raise UsageError(f"unknown search {name!r}", hint=f"one of {', '.join(SEARCHES)}")
