"""Calls from Python that differ from an earlier one in addresses and in numbers passed by value alone.

What shapes, types, strides and sizes decide is decided once, by `binding.bind`; a repeated call looks at addresses,
asks whether arrays overlap, and launches. Whatever is not known to be alike is bound anew.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.runtime.binding import Call, names_by_position
from polytile.runtime.cupy_engine import CupyEngine, SizedRun, require_cupy
from polytile.runtime.layout import element_dtype

MOST = 64  # kinds of calls that are kept, the latest ones


@dataclass(frozen=True, slots=True)
class _Reader:
    """How a type of arrays is read: what of an array decides how it is bound (None: not known), and its address."""

    kind: Callable[[Any], Hashable]
    address: Callable[[Any], int]
    on_device: bool


@dataclass(frozen=True, slots=True)
class _Passed:
    """An array of a call: its place among the arguments, and its size in bytes."""

    name: str
    place: int
    reader: _Reader
    size: int


@dataclass(frozen=True, slots=True)
class _Known:
    """What calls of one kind have in common; `apart` are pairs of `arrays` that must not overlap, by number."""

    run: SizedRun
    arrays: tuple[_Passed, ...]
    numbers: tuple[tuple[str, int, Callable[[Any], np.generic]], ...]
    apart: tuple[tuple[int, int], ...]


class RepeatedCalls:
    """The calls of one SCoP on a GPU, by kind."""

    def __init__(self, scop: Scop) -> None:
        self.scop = scop
        self.positional = scop.positional
        self.by_value = frozenset(a.name for a in scop.external_arrays if scop.by_value(a))
        self.readers: dict[type, _Reader] = {}
        self.found: dict[Hashable, _Known] = {}

    def run(self, on: str, arguments: tuple[Any, ...], named: Mapping[str, Any], *, wait: bool) -> bool:
        """Run a call of a known kind; False, and nothing has happened, for any other. Raises DeviceError."""
        known = self.found.get(self._kind(on, arguments, named)) if self.found else None
        if known is None:
            return False
        given = (*arguments, *named.values())
        addresses = [passed.reader.address(given[passed.place]) for passed in known.arrays]
        for k, other in known.apart:
            here, there = addresses[k], addresses[other]
            if here < there + known.arrays[other].size and there < here + known.arrays[k].size:
                return False
        try:
            numbers = {name: number(given[place]) for name, place, number in known.numbers}
        except OverflowError:
            return False
        resident, host = {}, {}
        for passed, address in zip(known.arrays, addresses, strict=True):
            if passed.reader.on_device:
                resident[passed.name] = address
            else:
                host[passed.name] = given[passed.place]
        known.run.run(resident, host, numbers, wait=wait)
        return True

    def remember(
        self, on: str, arguments: tuple[Any, ...], named: Mapping[str, Any], call: Call, engine: object
    ) -> None:
        """Keep what `call`, which these arguments were bound to, has in common with others of its kind, where `engine`,
        which ran it, is a GPU's."""
        if not isinstance(engine, CupyEngine) or self.scop.optional:
            return
        self.readers = _readers()
        key = self._kind(on, arguments, named)
        if key is None:
            return
        by_position = names_by_position(self.scop, len(arguments))[: len(arguments)]
        places = {name: k for k, name in enumerate((*by_position, *named))}
        given = (*arguments, *named.values())
        arrays = tuple(
            _Passed(a.name, places[a.name], self.readers[type(given[places[a.name]])], call.memory[a.name].nbytes)
            for a in self.scop.external_arrays
            if a.name not in self.by_value
        )
        by_value = [(name, places[name], element_dtype(self.scop.array(name))) for name in engine.program.by_value]
        if not all(dtype.kind == "f" or (dtype.kind in "iu" and type(given[k]) is int) for _, k, dtype in by_value):
            return
        numbers = tuple((name, place, _converter(dtype)) for name, place, dtype in by_value)
        self.found[key] = _Known(
            engine.sized(call.layouts, call.values), arrays, numbers, tuple(self._must_be_apart(arrays))
        )
        for old in list(self.found)[:-MOST]:
            self.found.pop(old, None)  # another thread may have been faster

    def _kind(self, on: str, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Hashable:
        """Return all of a call but addresses and numbers that are passed by value; None where what decides is not
        known."""
        by_position = self.positional
        if len(arguments) > len(by_position):
            by_position = names_by_position(self.scop, len(arguments))
            if len(arguments) > len(by_position):
                return None
        kinds: list[Hashable] = [on, *named]
        for name, value in zip(by_position, arguments, strict=False):
            kinds.append(self._kind_of(name, value))
        for name, value in named.items():
            kinds.append(self._kind_of(name, value))
        return None if None in kinds else tuple(kinds)

    def _kind_of(self, name: str, value: Any) -> Any:
        found = type(value)
        if (found is int or found is float) and name in self.by_value:
            return found
        if found is int:
            return value
        reader = self.readers.get(found)
        return None if reader is None else reader.kind(value)

    def _must_be_apart(self, arrays: Sequence[_Passed]) -> Iterator[tuple[int, int]]:
        for (k, one), (other, another) in combinations(enumerate(arrays), 2):
            same_side = one.reader.on_device == another.reader.on_device
            written = self.scop.written(one.name) or self.scop.written(another.name)
            if same_side and written and one.size and another.size:
                yield k, other


def _converter(dtype: np.dtype[Any]) -> Callable[[Any], np.generic]:
    """Makes a number of this type of Python's; raises OverflowError for integers that do not fit."""
    if dtype.kind == "f":
        return dtype.type
    limits = np.iinfo(dtype)

    def checked(value: int) -> np.generic:
        if not limits.min <= value <= limits.max:
            raise OverflowError
        found: np.generic = dtype.type(value)
        return found

    return checked


def _readers() -> dict[type, _Reader]:
    found = {
        np.ndarray: _Reader(
            lambda a: (a.shape, a.dtype, a.flags.c_contiguous, a.flags.writeable), lambda a: a.ctypes.data, False
        ),
        require_cupy().ndarray: _Reader(
            lambda a: (a.shape, a.dtype, a.flags.c_contiguous), lambda a: a.data.ptr, True
        ),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        found[torch.Tensor] = _Reader(_kind_of_tensor, lambda t: t.data_ptr(), True)
    return found


def _kind_of_tensor(tensor: Any) -> Hashable:
    """Those of the host are converted in each call."""
    if not tensor.is_cuda:
        return None
    lazy = tensor.requires_grad, tensor.is_conj(), tensor.is_neg()
    return tensor.shape, tensor.dtype, tensor.device, tensor.layout, tensor.is_contiguous(), lazy
