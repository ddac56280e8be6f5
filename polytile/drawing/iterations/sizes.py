"""Sizes at which the points of a picture can be told apart, and several tiles are seen where possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polytile.diagnostics import UsageError
from polytile.ir.scop import Scop
from polytile.runtime.parameters import allowed_values, check_parameters, choose_parameters, point

MOST = 3000  # points of a picture
TRIED = (12, 16, 24, 33, 48)
SMALLER = (8, 5, 3, 2, 1, 0)  # where there are many statements
LARGER = (65, 100, 150, 257)  # where loops are not nested
TRIAL = 8
Values = dict[str, int]


def trial_sizes(scop: Scop, given: Mapping[str, int]) -> Values:
    """Choose small sizes, by which slices are chosen."""
    return all_at(scop, {name: min(value, TRIAL) for name, value in given.items()}, TRIAL) or dict(
        choose_parameters(scop, given)
    )


def all_at(scop: Scop, given: Mapping[str, int], size: int) -> Values | None:
    """Set the given sizes, and `size` for all other parameters; None where the SCoP does not allow that."""
    values = {p.name: given.get(p.name, size) for p in scop.parameters}
    try:
        allowed_values(scop, values)
    except UsageError:
        return None
    return values


def choose(
    scop: Scop,
    given: Mapping[str, int],
    count: Callable[[Values], int],
    tiled: Callable[[Values], bool],
    tried: tuple[int, ...],
) -> tuple[Values, tuple[str, ...]]:
    """Choose a value for each parameter, with notes on the choice: those that are given unless there are too many
    points then; else the least of those `tried` with which several tiles are seen."""
    check_parameters(scop.parameters, given)
    allowed_values(scop, given)
    if len(given) < len(scop.parameters):
        fitting = [v for size in tried if (v := all_at(scop, given, size)) and count(v) <= MOST]
        if fitting:
            return next((v for v in fitting if tiled(v)), fitting[0]), ()
        for size in SMALLER:
            smaller = all_at(scop, given, size)
            if smaller and count(smaller) <= MOST:
                return smaller, ()
    whole = choose_parameters(scop, given)
    smaller = _largest(scop, whole, count)
    return (whole, ()) if smaller in (None, whole) else (smaller, (_reduced(whole, smaller),))


def _largest(scop: Scop, whole: Values, count: Callable[[Values], int]) -> Values | None:
    """Find the largest sizes, at most these, with few enough points; None where there are none."""
    size, found = 1, None
    while True:
        values = {name: min(value, size) for name, value in whole.items()}
        if not scop.context.intersect_params(point(values)).is_empty():
            if count(values) > MOST:
                return found
            found = values
        if values == whole:
            return found
        size += 1 + size // 10


def _reduced(whole: Mapping[str, int], smaller: Mapping[str, int]) -> str:
    changed = ", ".join(f"{n} = {v} instead of {whole[n]}" for n, v in smaller.items() if v != whole[n])
    return f"{changed}: pictures have at most {MOST:,} points"
