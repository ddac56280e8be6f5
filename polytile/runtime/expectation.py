"""What the sequential C computes for one set of inputs, and how far from it rounding alone may lead.

The tolerance comes from the sequential program's own rounding error, measured by running it in `long double` too: a
correct program that adds in another order is about as far from the exact result as the sequential one is.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import islpy as isl
import numpy as np

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError, UserError
from polytile.ir.scop import Scop
from polytile.runtime.compare import Comparison, compare, differences, finite, leaves, magnitude
from polytile.runtime.inputs import Style, random_memory, untouched
from polytile.runtime.layout import Layout, layouts
from polytile.runtime.native import Memory
from polytile.runtime.padding import padded_copy
from polytile.runtime.parameters import point
from polytile.runtime.reference import Reference, reference, wide_dtype, wide_reference

OWN_ERRORS = 8.0  # how many times the sequential program's rounding error is allowed
FLOOR = 4.0  # units of rounding that are always allowed, times the square root of the steps of a chain
FLOOR_UNMEASURED = 64.0  # the same where the rounding error could not be measured
GROWTH = 1000.0  # results larger than this times the elements times the inputs have exploded
WIDE_SECONDS = 300.0  # a reference slower than this is not run again in long double

Data = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Expectation:
    """Inputs (`before`), the sequential result (`after`) and the tolerance of each array, for one set of parameters.
    Tolerances are measured when one is asked for: where bits must be equal none is, nor where results differ by no more
    than `least_tolerances`, which no measurement makes smaller."""

    scop: Scop
    values: Mapping[str, int]
    seed: int
    style: Style
    layouts: Mapping[str, Layout]
    before: Memory
    after: Memory
    tolerances: Mapping[str, float]
    least_tolerances: Mapping[str, float]

    def inputs(self) -> dict[str, Data]:
        """Copy the inputs afresh, for one run of generated code."""
        return {name: padded_copy(data) for name, data in self.before.items()}

    def check(self, memory: Memory, *, bitwise: bool) -> tuple[Comparison, ...]:
        """Compare all of the memory that the SCoP can leave behind, and what it must not touch."""
        return tuple(
            self._compared(name, memory[name], exact=bitwise or not self.scop.written(name))
            for name, layout in self.layouts.items()
            if layout.array.live_out and not self.scop.by_value(layout.array)
        )

    def _compared(self, name: str, found: Data, *, exact: bool) -> Comparison:
        expected = self.after[name]
        ignore = None if self.layouts[name].array.live_in else untouched(expected)
        tolerance = 0.0 if exact else self.least_tolerances[name]
        compared = compare(name, expected, found, tolerance=tolerance, ignore=ignore)
        if exact or not compared.mismatch:
            return compared
        return compare(name, expected, found, tolerance=self.tolerances[name], ignore=ignore)


def expect(scop: Scop, text: str, values: Mapping[str, int], seed: int) -> Expectation:
    """Run the sequential program `text` on random inputs for which, if possible, its result stays tame.

    Where values explode, a tolerance that fits the largest ones says nothing about the others.
    """
    run = reference(scop, text)
    shapes = layouts(scop, values)
    _check_memory(scop, shapes, values)
    attempts = (_attempt(run, shapes, values, seed, style) for style in Style)
    found = next((a for a in attempts if _tame(scop, a)), None)
    attempt = found or _attempt(run, shapes, values, seed, Style.SIGNED)
    most = wide_seconds()
    units = _WhenAsked(lambda: _units(scop, values, attempt.after))

    def measured() -> dict[str, float]:
        errors = _own_errors(scop, text, shapes, values, attempt) if attempt.seconds < most else None
        if errors is None:
            return {name: FLOOR_UNMEASURED * unit for name, unit in units.items()}
        return {name: OWN_ERRORS * errors[name] + FLOOR * unit for name, unit in units.items()}

    least = _WhenAsked(lambda: {name: FLOOR * unit for name, unit in units.items()})
    made = attempt.before, attempt.after, _WhenAsked(measured), least
    return Expectation(scop, values, seed, attempt.style, shapes, *made)


def _check_memory(scop: Scop, shapes: Mapping[str, Layout], values: Mapping[str, int]) -> None:
    """Refuse sizes at which the arrays alone are larger than this machine's memory."""
    needed = sum(shape.elements * shape.dtype.itemsize for shape in shapes.values())
    if needed > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        sizes = ", ".join(f"{name}={value}" for name, value in values.items())
        raise UserError(
            f"with {sizes} the arrays of {scop.name} take {needed / 2**30:.0f} GB, which this machine does not have",
            location=scop.location,
            hint="give smaller sizes with --param",
        )


class _WhenAsked(Mapping[str, float]):
    """A mapping that is made when something is looked up in it."""

    def __init__(self, make: Callable[[], Mapping[str, float]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[str, float]:
        return self._make()

    def __getitem__(self, name: str) -> float:
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


@dataclass(frozen=True, slots=True)
class _Attempt:
    style: Style
    before: dict[str, Data]
    after: dict[str, Data]
    seconds: float


def _attempt(
    run: Reference, shapes: Mapping[str, Layout], values: Mapping[str, int], seed: int, style: Style
) -> _Attempt:
    before = random_memory(run.scop, shapes, values, seed, style)
    after = {name: padded_copy(data) for name, data in before.items()}
    start = time.perf_counter()
    run(shapes, values, after)
    return _Attempt(style, before, after, time.perf_counter() - start)


def _tame(scop: Scop, attempt: _Attempt) -> bool:
    """Return whether the results are finite and not much larger than sums and products over the inputs make them."""
    results = _results(scop, attempt.after)
    elements = max((data.size for data in attempt.before.values()), default=1)
    before = max((_magnitude(data) for data in attempt.before.values()), default=0.0)
    limit = GROWTH * max(1, elements) * max(1.0, before)
    return all(finite(data) and _magnitude(data) <= limit for data in results)


def _magnitude(data: Data) -> float:
    """Return the largest finite magnitude of a floating value."""
    return max((magnitude(v) for _, _, v in leaves("", data) if v.dtype.kind == "f"), default=0.0)


def _results(scop: Scop, memory: Memory) -> list[Data]:
    return [
        memory[a.name][~untouched(memory[a.name])] if not a.live_in else memory[a.name] for a in scop.external_arrays
    ]


def _own_errors(
    scop: Scop, text: str, shapes: Mapping[str, Layout], values: Mapping[str, int], attempt: _Attempt
) -> dict[str, float] | None:
    """Measure the sequential program's rounding error in each array: the largest distance from a `long double` run."""
    wide = wide_reference(scop, text)
    if wide is None:
        return None
    exact = {name: padded_copy(data.astype(wide_dtype(data.dtype))) for name, data in attempt.before.items()}
    wide(shapes, values, exact)
    return {
        name: _distance(name, data, exact[name], shapes[name].array.live_in) for name, data in attempt.after.items()
    }


def wide_seconds() -> float:
    """Return how slow the sequential program may be for its rounding error to be measured; raises UsageError."""
    text = os.environ.get("POLYTILE_WIDE_SECONDS") or str(WIDE_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise UsageError(f"POLYTILE_WIDE_SECONDS is no number of seconds: {text}", hint="for example 600")
    return seconds


def _distance(name: str, data: Data, exact: Data, live_in: bool) -> float:
    ignore = np.zeros(data.shape, np.bool_) if live_in else untouched(data)
    worst = 0.0
    for (_, _, values), (_, _, other) in zip(leaves(name, data), leaves(name, exact), strict=True):
        if values.dtype.kind == "f":
            error = differences(values, other)
            worst = max(worst, float(np.max(error[np.isfinite(error) & ~ignore], initial=0.0)))
    return worst


def _units(scop: Scop, values: Mapping[str, int], results: Memory) -> dict[str, float]:
    """Compute units of rounding of each array's largest element, times the square root of the steps of a chain."""
    steps = math.sqrt(chain_length(scop, values))
    return {name: _coarsest_unit(scop) * _magnitude(data) * steps for name, data in results.items()}


def _coarsest_unit(scop: Scop) -> float:
    """Return the unit of rounding of the narrowest floating type that the SCoP stores."""
    types = [t for a in scop.arrays for t in ([t for _, t in a.fields] or [a.element])]
    narrow = any(t.kind == "float" and t.size == 4 for t in types)
    return float(np.finfo(np.float32 if narrow else np.float64).eps)


def chain_length(scop: Scop, values: Mapping[str, int]) -> float:
    """Estimate how many instances follow one another in computing one element: the longest sum, the time steps."""
    here = point(values)
    longest = 1.0
    for statement in scop.statements:
        instances = _box(statement.domain.intersect_params(here))
        for access in statement.accesses:
            if access.writes and instances:
                written = access.relation.intersect_domain(statement.domain).intersect_params(here).range()
                longest = max(longest, instances / max(1.0, _box(written)))
    return longest


def _box(points: isl.Set) -> float:
    """Compute the volume of the bounding box of a set without free parameters."""
    volume = 1.0
    if points.is_empty():
        return 0.0
    for position in range(points.dim(isl.dim_type.set)):
        low, high = points.dim_min_val(position), points.dim_max_val(position)
        if low.is_int() and high.is_int():
            volume *= float(high.to_python() - low.to_python() + 1)
    return volume


def describe(expectation: Expectation) -> str:
    """Print the sizes and the seed, such as `N=13 T=17, seed 12345`."""
    sizes = " ".join(f"{name}={value}" for name, value in expectation.values.items()) or "no parameters"
    return f"{sizes}, seed {expectation.seed}"
