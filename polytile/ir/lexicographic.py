"""First and last elements, also where isl does not find them.

isl's `lexmin` and `lexmax` are now and then empty for sets that are not, or miss the first or last element, where
conditions have remainders by several numbers (islpy 2026.2.2). There the elements are taken that none comes before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import islpy as isl

MOST_TRUSTED = 1  # remainders of a set
Elements = TypeVar("Elements", isl.Set, isl.Map)


def lexmin(elements: Elements) -> Elements:
    """Return the lexicographically first element; of a map the first one for each element of its domain."""
    return _without(elements, isl.Map.lex_lt) if _is_doubted(elements) else elements.lexmin()


def lexmax(elements: Elements) -> Elements:
    """Return the lexicographically last element; of a map the last one for each element of its domain."""
    return _without(elements, isl.Map.lex_gt) if _is_doubted(elements) else elements.lexmax()


def have_several_remainders(parts: Iterable[isl.BasicSet | isl.BasicMap]) -> bool:
    """Return whether the conditions have several remainders, for which isl may miss elements."""
    return any(part.dim(isl.dim_type.div) > MOST_TRUSTED for part in parts)


def _is_doubted(elements: isl.Set | isl.Map) -> bool:
    parts = elements.get_basic_sets() if isinstance(elements, isl.Set) else elements.get_basic_maps()
    return have_several_remainders(parts)


def _without(elements: Elements, earlier: Callable[[isl.Space], isl.Map]) -> Elements:
    """Return the elements that no other one comes `earlier` than."""
    if isinstance(elements, isl.Set):
        return elements.subtract(elements.apply(earlier(elements.get_space())))
    return elements.subtract(elements.apply_range(earlier(elements.get_space().range())))
