"""Inputs to validate with: random memory on which the program stays finite."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from polytile.ir.scop import Scop
from polytile.ir.struct_fields import way_of
from polytile.runtime.compare import leaves, raw_bits
from polytile.runtime.index_inputs import ascending, distinct, index_limits
from polytile.runtime.layout import Layout

Array = np.ndarray[Any, Any]
POISON_FLOAT = 0xFF  # every byte of what the program must not read: a NaN in each floating type,
POISON_OTHER = 0xA5  # and a value that no input has in the others
_ELEMENT = re.compile(r"(\w+)((?:\[\d+\])*)((?:\.\w+)?)")
_INDEX = re.compile(r"\[(\d+)\]")


class Style(Enum):
    """How random floating values are drawn; tried in this order until the sequential program stays finite."""

    SIGNED = "signed"
    POSITIVE = "positive"
    SMALL = "small"
    EVEN = "even"  # as small, but no matrix has a dominant diagonal: coefficients of each cell stay below 1


def new_seed() -> int:
    return secrets.randbits(32)


def random_memory(
    scop: Scop, layouts: Mapping[str, Layout], values: Mapping[str, int], seed: int, style: Style
) -> dict[str, Array]:
    """Allocate memory for every external array: random where it is live in, poisoned elsewhere.

    Subscripts are in range, and what the C sets before the SCoP is set as there.
    """
    generator = np.random.default_rng(seed)
    memory = {}
    for name, layout in layouts.items():
        live = layout.array.live_in
        memory[name] = _fill(layout, generator, style) if live else poisoned(layout.shape, layout.dtype)
    in_order, apart = ascending(scop), distinct(scop)
    for (name, field), (low, high) in index_limits(scop, layouts, values).items():
        if name not in memory or not layouts[name].array.live_in:
            continue
        for data in _numbers(memory[name], field):
            drawn: Array = np.asarray(generator.integers(low, max(high, low + 1), data.shape))
            if (name, field) in apart and data.size and data.shape[-1] <= high - low:
                rows = (generator.permutation(high - low)[: data.shape[-1]] for _ in range(data[..., 0].size))
                drawn = low + np.array(list(rows), drawn.dtype).reshape(data.shape)
            data[...] = np.sort(drawn) if (name, field) in in_order else drawn
    for name, number in scop.set_before:
        if name in memory and layouts[name].array.live_in and not layouts[name].shape:
            memory[name][...] = number
    for name, text in scop.passed:
        _agree(name, text, layouts, values, memory)
    return memory


def _agree(
    name: str, text: str, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Mapping[str, Array]
) -> None:
    """Give a scalar that the C reads from an element of an array, `B[1].k`, the value of the element; a size that is
    read there is left, and the element has its value."""
    place = _ELEMENT.fullmatch(text)
    array, field = (place[1], place[3].removeprefix(".")) if place else ("", "")
    if place is None or array not in memory or not layouts[array].array.live_in:
        return
    at = tuple(int(index) for index in _INDEX.findall(place[2]))
    data = memory[array]
    if len(at) != data.ndim or any(i >= n for i, n in zip(at, data.shape, strict=True)):
        return
    if field in (data.dtype.names or ("",)):
        element = data[field] if field else data
        if name in memory:
            memory[name][...] = element[at]
        elif name in values:
            element[at] = values[name]


def _numbers(memory: Array, way: str) -> list[Array]:
    """Return the numbers of structs that an access path names, `v[0]` and `v[1]` of `v[]`.

    Without a path, returns the elements themselves.
    """
    return [memory[name] for name in memory.dtype.names or () if way_of(name) == way] if way else [memory]


def poisoned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Allocate memory that holds nothing a program may use: NaNs, and in integers a pattern that stands out."""
    data = np.empty(shape, dtype)
    if dtype.names is None:
        raw = data.reshape(-1).view(np.uint8)
        raw[...] = POISON_FLOAT if dtype.kind == "f" else POISON_OTHER
    else:
        for name in dtype.names:
            data[name] = poisoned(shape, dtype[name])
    return data


def untouched(data: Array) -> Array:
    """Return where an array still holds what `poisoned` put there."""
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
    """Draw values of magnitude 0.5 to 1.5.

    Vectors are scaled to a sum of about 1, square matrices have a dominant diagonal.

    So that factorisations and solvers stay finite: a triangular solve divides by the diagonal, Durbin's recursion
    needs small coefficients. EVEN does without that diagonal: as coefficients of a cube of cells it lets a stencil
    grow a hundredfold in each step.
    """
    values = np.asarray(generator.uniform(0.5, 1.5, shape))
    if style is Style.SIGNED:
        values = values * generator.choice((-1.0, 1.0), shape)
    elif style in (Style.SMALL, Style.EVEN):
        values = values * 2.0**-10
    if len(shape) == 1:
        values = values / max(1, shape[0])
    if len(shape) >= 2 and shape[-1] == shape[-2] and style is not Style.EVEN:
        diagonal = np.arange(shape[-1])
        values[..., diagonal, diagonal] = np.abs(values[..., diagonal, diagonal]) + 2.0 * shape[-1]
    return values
