"""Makes a failing case small: greedy delta debugging on its tree."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from polytile.fuzz.case import Case
from polytile.fuzz.outcome import Outcome
from polytile.fuzz.simplify import cost, simpler
from polytile.fuzz.wellformed import well_formed

Oracle = Callable[[Case], Outcome]


def shrink(case: Case, seen: Outcome, oracle: Oracle, seconds: float) -> Case:
    """Find the smallest case within `seconds` for which `oracle` still gives the failure that was seen.

    Each round tries all variants of the best case so far and goes on from the first that still fails, until none does.
    """
    deadline = time.monotonic() + seconds
    case = _only_what_failed(case, seen, oracle)
    tried: set[str] = set()
    while True:
        smaller = _next(case, seen, oracle, deadline, tried)
        if smaller is None:
            return case
        case = smaller


def _only_what_failed(case: Case, seen: Outcome, oracle: Oracle) -> Case:
    """Keep the sizes and the strategy at which the failure was seen, where those suffice."""
    alone = case
    if seen.sizes is not None:
        alone = replace(alone, sizes=(case.sizes[seen.sizes],))
    if seen.strategy:
        alone = replace(alone, strategies=(seen.strategy,))
    return alone if alone != case and oracle(alone).same_as(seen) else case


def _next(case: Case, seen: Outcome, oracle: Oracle, deadline: float, tried: set[str]) -> Case | None:
    limit = cost(case)
    for variant in simpler(case):
        if time.monotonic() > deadline:
            return None
        key = repr(variant)
        if key in tried or not well_formed(variant.program) or cost(variant) >= limit:
            continue
        tried.add(key)
        if oracle(variant).same_as(seen):
            return variant
    return None
