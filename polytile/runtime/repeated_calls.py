"""Calls from Python that differ from an earlier one in addresses and in numbers passed by value alone.

What shapes, types, strides and sizes decide is decided once, by `binding.bind`; a repeated call looks at addresses,
asks whether arrays overlap, and launches. Whatever is not known to be alike is bound anew.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import combinations
from typing import Any

import numpy as np

from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.ir.scop import Scop
from polytile.runtime.binding import Call, names_by_position
from polytile.runtime.cuda_streams import as_current, handle_of
from polytile.runtime.cupy_engine import CupyEngine, SizedRun, device_failures, require_cupy
from polytile.runtime.layout import element_dtype
from polytile.runtime.prepared_launches import PreparedLaunches, prepared_launches

MOST = 64  # kinds of calls that are kept, the latest ones
MISFITS = (struct.error, OverflowError, TypeError, ValueError)  # of numbers that are not of their type


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
    """What calls of one kind have in common: `addresses` are the places of arrays among the arguments, with what reads
    their addresses, and `apart` pairs of these that must not overlap, by number, with their sizes in bytes.

    `numbers` are those that kernels get by value: their places, and how they are converted where `few` does not do
    that. With `in_place`, numbers of addresses and what is added to them, the run has no memory of its own.
    """

    run: SizedRun
    few: PreparedLaunches | None
    arrays: tuple[_Passed, ...]
    addresses: tuple[tuple[int, Callable[[Any], int]], ...]
    apart: tuple[tuple[int, int, int, int], ...]
    numbers: tuple[tuple[str, int, Callable[[Any], np.generic]], ...]
    in_place: tuple[tuple[int, int], ...] | None


class RepeatedCalls:
    """The calls of one SCoP on a GPU, by kind."""

    def __init__(self, scop: Scop) -> None:
        self.scop = scop
        self.positional = scop.positional
        self.by_value = frozenset(a.name for a in scop.external_arrays if scop.by_value(a))
        self.readers: dict[type, _Reader] = {}
        self.found: dict[Hashable, _Known] = {}

    def run(self, on: str, arguments: tuple[Any, ...], named: Mapping[str, Any], stream: Any = None) -> bool:
        """Run a call of a known kind, in a stream without waiting for its end where one is given; False, and nothing
        has happened, for any other. Raises DeviceError."""
        known = self.found.get(self._kind(on, arguments, named)) if self.found else None
        if known is None:
            return False
        given = (*arguments, *named.values()) if named else arguments
        addresses = [address(given[place]) for place, address in known.addresses]
        for k, other, size, other_size in known.apart:
            here, there = addresses[k], addresses[other]
            if here < there + other_size and there < here + size:
                return False
        if known.in_place is not None and known.few is not None:
            return _in_place(known, known.few, known.in_place, addresses, given, stream)
        return _around(known, addresses, given, stream)

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
        self.found[key] = self._known(engine.sized(call.layouts, call.values), arrays, by_value)
        for old in list(self.found)[:-MOST]:
            self.found.pop(old, None)  # another thread may have been faster

    def _known(
        self, run: SizedRun, arrays: tuple[_Passed, ...], by_value: Sequence[tuple[str, int, np.dtype[Any]]]
    ) -> _Known:
        number = {passed.name: k for k, passed in enumerate(arrays)}
        resident = all(b.name in number and arrays[number[b.name]].reader.on_device for b in run.buffers)
        return _Known(
            run,
            prepared_launches(run, [(name, dtype) for name, _, dtype in by_value]),
            arrays,
            tuple((passed.place, passed.reader.address) for passed in arrays),
            tuple(self._must_be_apart(arrays)),
            tuple((name, place, _converter(dtype)) for name, place, dtype in by_value),
            tuple((number[b.name], b.lead) for b in run.buffers) if resident else None,
        )

    def _kind(self, on: str, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Hashable:
        """Return all of a call but addresses and numbers that are passed by value; None where what decides is not
        known, and for such numbers in arrays."""
        if type(on) is not str:  # which is refused
            return None
        by_position = self.positional
        if len(arguments) > len(by_position):
            by_position = names_by_position(self.scop, len(arguments))
            if len(arguments) > len(by_position):
                return None
        readers, by_value = self.readers, self.by_value
        kinds: list[Hashable] = [on, *named]
        for names, values in ((by_position, arguments), (named, named.values())):
            for name, value in zip(names, values, strict=False):
                found: Any = type(value)
                if found is int or found is float:
                    if name in by_value:
                        kinds.append(found)
                    elif found is int:
                        kinds.append(value)
                    else:
                        return None
                    continue
                reader = readers.get(found)
                kind = None if reader is None or name in by_value else reader.kind(value)
                if kind is None:
                    return None
                kinds.append(kind)
        return tuple(kinds)

    def _must_be_apart(self, arrays: Sequence[_Passed]) -> Iterator[tuple[int, int, int, int]]:
        for (k, one), (other, another) in combinations(enumerate(arrays), 2):
            same_side = one.reader.on_device == another.reader.on_device
            written = self.scop.written(one.name) or self.scop.written(another.name)
            if same_side and written and one.size and another.size:
                yield k, other, one.size, another.size


def _in_place(
    known: _Known,
    few: PreparedLaunches,
    in_place: Sequence[tuple[int, int]],
    addresses: Sequence[int],
    given: Sequence[Any],
    stream: Any,
) -> bool:
    """Write addresses and numbers where the launches read them, and launch."""
    cupy = require_cupy()
    values = [addresses[k] + lead for k, lead in in_place]
    values += [given[place] for _, place, _ in known.numbers]
    handle = cupy.cuda.get_current_stream().ptr if stream is None else handle_of(stream)
    try:
        try:
            few.run(cupy, handle, values)
        except MISFITS:
            return False
        if stream is None:  # for the stream, not the device: another thread may be recording a graph
            cupy.cuda.runtime.streamSynchronize(handle)
    except device_failures() as error:
        raise DeviceError(f"running {known.run.engine.program.name} failed: {error}") from error
    return True


def _around(known: _Known, addresses: Sequence[int], given: Sequence[Any], stream: Any) -> bool:
    """Take memory, copy what lies on the host, and launch."""
    few, cupy = known.few, require_cupy()
    try:
        numbers = [number(given[place]) for _, place, number in known.numbers]
    except MISFITS:
        return False
    resident, host = {}, {}
    for passed, address in zip(known.arrays, addresses, strict=True):
        if passed.reader.on_device:
            resident[passed.name] = address
        else:
            host[passed.name] = given[passed.place]
    with nullcontext() if stream is None else as_current(stream):
        if few is None:
            by_name = {name: number for (name, *_), number in zip(known.numbers, numbers, strict=True)}
            known.run.run(resident, host, by_name, wait=stream is None)
        else:
            launches = few
            known.run.around(
                lambda handle, pointers: launches.run(cupy, handle, (*pointers, *numbers)),
                resident,
                host,
                wait=stream is None,
            )
    return True


def _converter(dtype: np.dtype[Any]) -> Callable[[Any], np.generic]:
    """Return a function that converts a number of Python to this type.

    It raises OverflowError for integers that do not fit.
    """
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
            lambda a: (a.shape, a.strides, a.dtype, a.flags.writeable), lambda a: a.ctypes.data, False
        ),
        require_cupy().ndarray: _Reader(lambda a: (a.shape, a.strides, a.dtype), lambda a: a.data.ptr, True),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        found[torch.Tensor] = _Reader(_kind_of_tensor, lambda t: t.data_ptr(), True)
    return found


def _kind_of_tensor(tensor: Any) -> Hashable:
    """Return the properties that equal tensors share; None for those of the host, which are converted in each call."""
    if not tensor.is_cuda:
        return None
    lazy = tensor.requires_grad, tensor.is_conj(), tensor.is_neg()
    return tensor.shape, tensor.dtype, tensor.device, tensor.layout, tensor.is_contiguous(), lazy
