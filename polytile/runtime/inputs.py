"""Inputs to validate with: sizes for parameters that have none, and random memory on which the program stays finite."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import islpy as isl
import numpy as np

from polytile.diagnostics import UsageError
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.scop import Parameter, Scop
from polytile.runtime.compare import leaves, raw_bits
from polytile.runtime.interpret import integer_range
from polytile.runtime.layout import Layout, point

Array = np.ndarray[Any, Any]
OPERATIONS = 100_000  # of isl, to see for which parameters one statement runs
MOST_REGIONS = 20  # of parameters for which statements run, that are kept
SIZES = (13, 17, 11, 19, 7, 23, 5, 3, 2, 1, 0)  # primes first: no size divides a tile or another size
POISON_FLOAT = 0xFF  # every byte of what the program must not read: a NaN in each floating type,
POISON_OTHER = 0xA5  # and a value that no input has in the others


class Style(Enum):
    """How random floating values are drawn; tried in this order until the sequential program stays finite."""

    SIGNED = "signed"
    POSITIVE = "positive"
    SMALL = "small"


def new_seed() -> int:
    return secrets.randbits(32)


def check_parameters(parameters: Iterable[Parameter], given: Mapping[str, int]) -> None:
    """Raise UsageError for a parameter that does not exist or a value that its C type cannot hold."""
    known = {p.name: p for p in parameters}
    for name, value in given.items():
        if name not in known:
            raise UsageError(
                f"there is no parameter {name!r}", hint=f"the parameters are {', '.join(known) or '(none)'}"
            )
        low, high = integer_range(known[name].type)
        if not low <= value <= high:
            raise UsageError(f"{name}={value} does not fit its type, {known[name].type}", hint=f"from {low} to {high}")


def choose_parameters(scop: Scop, given: Mapping[str, int]) -> dict[str, int]:
    """A value for every parameter: those given, else small ones that the SCoP's context allows and that run something.

    Raises UsageError when the given values contradict the context.
    """
    values = {p.name: given[p.name] for p in scop.parameters if p.name in given}
    allowed = _bounded(scop).intersect_params(point(values))
    if allowed.is_empty():
        raise UsageError(
            f"{_shown(values)} contradicts what is known of the parameters of {scop.name}: {scop.context}",
            location=scop.location,
            hint="change --param, or the assumption in the source",
        )
    allowed = _busy(scop, allowed)
    free = [p.name for p in scop.parameters if p.name not in values]
    for number, name in enumerate(free):
        value = _choice(allowed, name, number)
        values[name] = value
        allowed = allowed.intersect_params(point({name: value}))
    return {p.name: values[p.name] for p in scop.parameters}


def _busy(scop: Scop, allowed: isl.Set) -> isl.Set:
    """Those of the allowed values for which statements run, as many of them as can be found without much work."""
    for statement in scop.statements:
        try:
            with budget(OPERATIONS):
                busy = allowed.intersect(statement.domain.params()).coalesce()
                allowed = busy if not busy.is_empty() and busy.n_basic_set() <= MOST_REGIONS else allowed
        except OverBudgetError:
            continue
    return allowed


def _bounded(scop: Scop) -> isl.Set:
    """The context, within the range of each parameter's type."""
    allowed = scop.context.params()
    for p in scop.parameters:
        low, high = integer_range(p.type)
        allowed = allowed.intersect_params(isl.Set(f"[{p.name}] -> {{ : {low} <= {p.name} <= {high} }}"))
    return allowed


def _choice(allowed: isl.Set, name: str, number: int) -> int:
    start = number % 4
    for value in (*SIZES[start:4], *SIZES[:start], *SIZES[4:]):
        if not allowed.intersect_params(point({name: value})).is_empty():
            return value
    return _least(allowed, name)


def _least(allowed: isl.Set, name: str) -> int:
    """The value of `name` closest to zero that `allowed` contains."""
    values = isl.Set.from_params(allowed)
    position = values.find_dim_by_name(isl.dim_type.param, name)
    values = values.move_dims(isl.dim_type.set, 0, isl.dim_type.param, position, 1)
    above = values.intersect(isl.Set("{ [x] : x >= 0 }"))
    bound = above.dim_min_val(0) if not above.is_empty() else values.dim_max_val(0)
    return int(bound.to_python())


def _shown(values: Mapping[str, int]) -> str:
    return " ".join(f"{n}={v}" for n, v in values.items()) or "no value"


def random_memory(scop: Scop, layouts: Mapping[str, Layout], seed: int, style: Style) -> dict[str, Array]:
    """Fresh memory for every external array: random where it is live in, poisoned elsewhere."""
    generator = np.random.default_rng(seed)
    memory = {}
    for name, layout in layouts.items():
        live = layout.array.live_in
        memory[name] = _fill(layout, generator, style) if live else poisoned(layout.shape, layout.dtype)
    return memory


def poisoned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Memory that holds nothing a program may use: NaNs, and in integers a pattern that stands out."""
    data = np.empty(shape, dtype)
    if dtype.names is None:
        raw = data.reshape(-1).view(np.uint8)
        raw[...] = POISON_FLOAT if dtype.kind == "f" else POISON_OTHER
    else:
        for name in dtype.names:
            data[name] = poisoned(shape, dtype[name])
    return data


def untouched(data: Array) -> Array:
    """Where an array still holds what `poisoned` put there."""
    same = np.ones(data.shape, np.bool_)
    fresh = poisoned(data.shape, data.dtype)
    for (_, _, values), (_, _, poison) in zip(leaves("", data), leaves("", fresh), strict=True):
        same &= raw_bits(values) == raw_bits(poison)
    return same


def _fill(layout: Layout, generator: np.random.Generator, style: Style) -> Array:
    if layout.dtype.names is None:
        return _values(layout.shape, layout.dtype, generator, style)
    data = np.zeros(layout.shape, layout.dtype)
    for name in layout.dtype.names:
        data[name] = _values(layout.shape, layout.dtype[name], generator, style)
    return data


def _values(shape: tuple[int, ...], dtype: np.dtype[Any], generator: np.random.Generator, style: Style) -> Array:
    if dtype.kind == "f":
        return np.asarray(_floats(shape, generator, style), dtype)
    return np.asarray(generator.integers(0, 2, shape) if dtype.kind == "b" else generator.integers(1, 10, shape), dtype)


def _floats(shape: tuple[int, ...], generator: np.random.Generator, style: Style) -> Array:
    """Values of magnitude 0.5 to 1.5; vectors scaled to a sum of about 1, square matrices with a dominant diagonal.

    So that factorisations and solvers stay finite: a triangular solve divides by the diagonal, Durbin's recursion
    needs small coefficients.
    """
    values = np.asarray(generator.uniform(0.5, 1.5, shape))
    if style is Style.SIGNED:
        values = values * generator.choice((-1.0, 1.0), shape)
    elif style is Style.SMALL:
        values = values * 2.0**-10
    if len(shape) == 1:
        values = values / max(1, shape[0])
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        diagonal = np.arange(shape[-1])
        values[..., diagonal, diagonal] = np.abs(values[..., diagonal, diagonal]) + 2.0 * shape[-1]
    return values
