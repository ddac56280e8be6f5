"""Searches by name: what `--search` chooses from."""

from __future__ import annotations

from importlib.util import find_spec

from polytile.autotuning.search.exhaustive import Enumeration
from polytile.autotuning.search.search import Estimates, Search
from polytile.autotuning.space import Space
from polytile.diagnostics import UsageError

EXHAUSTIVE = "exhaustive"
RANDOM = "random"
MODEL = "model"
GAUSSIAN = "gaussian"
SEARCHES = (EXHAUSTIVE, RANDOM, MODEL, GAUSSIAN)
MOST_EXHAUSTIVE = 200  # points; larger spaces are searched by the cost model


def default_search(space: Space, evaluations: int | None = None) -> str:
    """Return the name of the search of a space for which none is named: all points where they are few and so many
    evaluations are enough for them."""
    points = len(space.points)
    if points <= MOST_EXHAUSTIVE and (evaluations is None or points <= evaluations):
        return EXHAUSTIVE
    return MODEL if find_spec("optuna") else GAUSSIAN


def search_named(name: str, space: Space, seed: int, estimates: Estimates) -> Search:
    """Create a search of a space; equal seeds and outcomes give equal points. Without a name it is `default_search`'s.

    Raises UsageError for a name that there is none of, and for `model` where Optuna is not installed: without a name
    it is `gaussian` then.
    """
    name = name or default_search(space)
    if name == EXHAUSTIVE:
        return Enumeration(name, space)
    if name == RANDOM:
        return Enumeration(name, space, seed)
    if name == MODEL:
        return _model_search(space, seed, estimates)
    if name == GAUSSIAN:
        return _gaussian_search(space, seed, estimates)
    raise UsageError(f"unknown search {name!r}", hint=f"one of {', '.join(SEARCHES)}")


def _model_search(space: Space, seed: int, estimates: Estimates) -> Search:
    from polytile.autotuning.search.model_search import ModelSearch  # imports NumPy

    return ModelSearch(space, seed, estimates)


def _gaussian_search(space: Space, seed: int, estimates: Estimates) -> Search:
    from polytile.autotuning.search.gaussian_search import GaussianSearch  # imports NumPy

    return GaussianSearch(space, seed, estimates)
