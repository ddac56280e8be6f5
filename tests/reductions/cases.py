"""Operators and types of reductions, with values for which every order of a reduction gives the same bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Data = npt.NDArray[Any]

TYPES: dict[str, type[np.generic]] = {
    "float": np.float32,
    "double": np.float64,
    "int": np.int32,
    "unsigned": np.uint32,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "char": np.int8,
    "unsigned char": np.uint8,
    "short": np.int16,
    "unsigned short": np.uint16,
}
FLOATS = ("float", "double")


@dataclass(frozen=True)
class Operator:
    """One spelling of a reduction, with X for the result and E for what is added."""

    name: str
    text: str
    ufunc: Callable[..., Any]
    floats: bool = True
    integers: bool = True


    def statement(self, result: str, element: str, ctype: str) -> str:
        """The C of one accumulation."""
        text = self.text.replace("fmin", "fminf").replace("fmax", "fmaxf") if ctype == "float" else self.text
        return text.replace("X", result).replace("E", element)


OPERATORS = (
    Operator("sum", "X += E;", np.add),
    Operator("difference", "X -= E;", np.add),
    Operator("product", "X *= E;", np.multiply),
    Operator("min", "X = E < X ? E : X;", np.minimum),
    Operator("max", "if (E > X) X = E;", np.maximum),
    Operator("fmin", "X = fmin(X, E);", np.minimum, integers=False),
    Operator("fmax", "X = fmax(E, X);", np.maximum, integers=False),
    Operator("and", "X &= E;", np.bitwise_and, floats=False),
    Operator("or", "X |= E;", np.bitwise_or, floats=False),
    Operator("xor", "X ^= E;", np.bitwise_xor, floats=False),
)


def values(operator: Operator, element: str, shape: tuple[int, ...], seed: int) -> Data:
    """Random elements. Sums of them are exact, products powers of two that stay in range."""
    random, kind = np.random.default_rng(seed), TYPES[element]
    if operator.name in ("sum", "difference"):
        low = 0 if element.startswith("unsigned") else -8
        return random.integers(low, 9, shape).astype(kind)
    if operator.name == "product":
        if element in FLOATS:
            signs, powers = random.choice([-1.0, 1.0], shape), np.ones(shape)
            for k in range(min(6, shape[-1])):
                powers[..., (7 * k) % shape[-1]] *= (2.0, 0.5)[k % 2]
            return (signs * powers).astype(kind)
        found = np.ones(shape, kind)
        found[..., :: max(1, shape[-1] // 5)] = 3
        return found
    if element in FLOATS:
        return random.normal(size=shape).astype(kind)
    limits = np.iinfo(kind)
    found = random.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)
    if operator.name == "and":
        found |= random.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)
        found |= ~(kind(1) << random.integers(0, limits.bits - 1, shape).astype(kind))
    if operator.name == "or":
        found &= kind(1) << random.integers(0, limits.bits - 1, shape).astype(kind)
    return found


def expected(operator: Operator, before: Data, elements: Data, axis: int) -> Data:
    """The results that the reduction leaves: those before, combined with the elements along an axis."""
    sign = -1 if operator.name == "difference" else 1
    with np.errstate(over="ignore"):
        total = operator.ufunc.reduce(elements, axis=axis, dtype=elements.dtype) * elements.dtype.type(1)
        moved = total if sign == 1 else np.negative(total)
        return np.asarray(operator.ufunc(before, moved), elements.dtype)
