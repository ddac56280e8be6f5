"""Binding a Python call, `f(A=a, N=2000)`, to the parameters and arrays of a SCoP, with every check C leaves out."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import field
from math import prod
from typing import Any

import numpy as np

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.ir.evaluate import evaluate
from polytile.ir.isl_util import one_at_a_time
from polytile.ir.scop import Array, Scop
from polytile.ir.size_limits import SizeLimit
from polytile.runtime.array_bounds import check_bounds
from polytile.runtime.cupy_engine import require_cupy
from polytile.runtime.layout import Layout, complex_dtype, element_dtype, flattened, layouts
from polytile.runtime.native import address
from polytile.runtime.parameters import check_parameters, point, with_products
from polytile.runtime.signature import signature
from polytile.runtime.solve_sizes import Shapes, solve_sizes
from polytile.runtime.torch_tensors import check_tensor, is_tensor

CPU_DEVICES = (1, 3)  # DLPack's kDLCPU and kDLCUDAHost


@dataclass(frozen=True, slots=True)
class Call:
    """A checked call. `memory` holds flat or shaped NumPy arrays, or CuPy arrays where `on_device` names them."""

    values: Mapping[str, int]
    memory: Mapping[str, Any]
    layouts: Mapping[str, Layout]
    on_device: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sized:
    """What a call's sizes and shapes alone decide: a value for every parameter, and how the arrays lie."""

    values: Mapping[str, int]
    layouts: Mapping[str, Layout]


@dataclass(frozen=True, slots=True)
class KnownSizes:
    """What was decided for the sizes and shapes of earlier calls, the latest `most` of them: isl takes milliseconds.
    Sizes must be within `limits`."""

    limits: tuple[SizeLimit, ...] = ()
    most: int = 64
    found: dict[Hashable, Sized] = field(default_factory=dict)

    def sized(self, scop: Scop, sizes: Mapping[str, int], shapes: Shapes) -> Sized:
        """Return what an earlier call with these sizes and shapes decided, or decide it.

        Raises UsageError and UserError.
        """
        key = (tuple(sizes.items()), tuple(shapes.items()))
        found = self.found.pop(key, None) or self._decided(scop, sizes, shapes)
        self.found[key] = found  # the latest is last
        for old in list(self.found)[: -self.most]:
            self.found.pop(old, None)  # another thread may have been faster
        return found

    def _decided(self, scop: Scop, sizes: Mapping[str, int], shapes: Shapes) -> Sized:
        found = _sized(scop, sizes, shapes)
        check_limits(scop, self.limits, found.values)
        return found


def names(scop: Scop) -> tuple[str, ...]:
    """Return the names of all arguments."""
    return (*(p.name for p in scop.parameters), *(a.name for a in scop.external_arrays))


def names_by_position(scop: Scop, count: int) -> tuple[str, ...]:
    """Name what so many arguments by position are: those that the SCoP takes of the C function's, or all of the C
    function's where there are as many."""
    if scop.arguments is not None and count > len(scop.positional) and count == len(scop.arguments):
        return scop.arguments
    return scop.positional


def bind(scop: Scop, positional: tuple[Any, ...], keywords: Mapping[str, Any], known: KnownSizes | None = None) -> Call:
    """Check the arguments of a call and normalise them; raises UsageError that shows the signature.

    Sizes may be left out where the extents of arrays say them; arrays that the C tests for null may be None. What only
    the C function takes may be given as well, and is ignored. Calls that share `known` are cheap at equal sizes.
    """
    given = _with_tests(scop, _by_name(scop, positional, keywords))
    absent = [array for _, array in scop.optional if given[array] is None]
    sizes = {p.name: _integer(scop, p.name, given[p.name]) for p in scop.parameters if p.name in given}
    arrays = (array for array in scop.external_arrays if array.name not in absent)
    passed = {array.name: _array(scop, array, given[array.name]) for array in arrays}
    memory = {name: data for name, (data, _) in passed.items()}
    sized = (known or KnownSizes()).sized(scop, sizes, {name: tuple(data.shape) for name, data in memory.items()})
    for name in absent:  # memory for it that nobody uses
        memory[name] = np.zeros(sized.layouts[name].shape, sized.layouts[name].dtype)
    for name, layout in sized.layouts.items():
        _check(scop, layout, memory[name])
    on_device = frozenset(name for name, (_, device) in passed.items() if device)
    _check_overlap(scop, memory, on_device)
    return Call(sized.values, memory, sized.layouts, on_device)


@one_at_a_time
def _sized(scop: Scop, sizes: Mapping[str, int], shapes: Shapes) -> Sized:
    given = with_products(scop, sizes)
    check_parameters(scop.parameters, given)
    values = solve_sizes(scop, given, shapes)
    if scop.checked and scop.context.intersect_params(point(values)).is_empty():
        raise _wrong(scop, f"its kernels are for {scop.checked} alone, and the C for other sizes is not run here")
    check_bounds(scop, values)
    found = layouts(scop, values)
    for name, shape in shapes.items():
        _check_shape(scop, found[name], shape, values)
    return Sized(values, found)


def check_limits(scop: Scop, limits: Iterable[SizeLimit], values: Mapping[str, int]) -> None:
    """Raise UsageError for sizes with which kernels compute integers that overflow."""
    for limit in limits:
        if not limit.holds(values):
            given = ", ".join(f"{name}={values[name]}" for name in sorted(limit.names))
            message = f"integers of its kernels overflow for {given}, and the C is not run here"
            raise _wrong(scop, f"{message}: they need {limit}")


def _wrong(scop: Scop, message: str) -> UsageError:
    return UsageError(f"{scop.name}: {message}", hint=f"the call is {signature(scop)}")


def _by_name(scop: Scop, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> dict[str, Any]:
    known = names(scop)
    by_position = names_by_position(scop, len(positional))
    if len(positional) > len(by_position):
        raise _wrong(scop, f"{len(positional)} arguments given by position, {len(scop.positional)} expected")
    given = dict(zip(by_position, positional, strict=False))
    for name, value in keywords.items():
        if name not in known and name not in (scop.arguments or ()):
            raise _wrong(scop, f"there is no argument {name!r}")
        if name in given:
            raise _wrong(scop, f"the argument {name} is given twice")
        given[name] = value
    missing = [name for name in known if name not in given]
    if any(array.name in missing for array in scop.external_arrays):  # sizes alone may follow from the arrays
        raise _wrong(scop, f"missing: {', '.join(missing)}")
    return given


def _with_tests(scop: Scop, given: dict[str, Any]) -> dict[str, Any]:
    """Add to the arguments the numbers that say which of the arrays that the C tests for null are given."""
    found = dict(given)
    for number, array in scop.optional:
        if found.setdefault(number, int(given[array] is not None)) != 0 and given[array] is None:
            raise _wrong(scop, f"{array} is None, but {number} is {found[number]}")
    return found


def _integer(scop: Scop, name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise _wrong(scop, f"{name} must be an integer, not {type(value).__name__}") from None


def _array(scop: Scop, array: Array, value: Any) -> tuple[Any, bool]:
    """Return the argument as a NumPy or CuPy array that shares its memory, and whether that is on a GPU."""
    if isinstance(value, np.ma.MaskedArray):
        message = f"{array.name} is a masked array, and kernels know no masks"
        raise UsageError(f"{scop.name}: {message}", hint=f"pass {array.name}.data, if all of its elements count")
    if isinstance(value, np.ndarray):
        return _of_numbers(array, value), False
    if scop.by_value(array) and (isinstance(value, np.generic | int | float | complex | bool)):
        return _number(scop, array, value), False
    if is_tensor(value):
        check_tensor(scop, array, value)
    if hasattr(value, "__cuda_array_interface__"):
        return require_cupy().asarray(value), True
    if hasattr(value, "__dlpack_device__"):
        on_host = value.__dlpack_device__()[0] in CPU_DEVICES
        return (np.from_dlpack(value), False) if on_host else (require_cupy().from_dlpack(value), True)
    if array.rank == 0 and not scop.by_value(array):
        raise _wrong(scop, f"{array.name} is written: pass a NumPy array of one element, not {type(value).__name__}")
    raise _wrong(scop, f"{array.name} must be a NumPy, CuPy or DLPack array, not {type(value).__name__}")


def _of_numbers(array: Array, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """View the same memory as a struct of numbers, where fields are arrays or structs that are laid out as in C."""
    if value.dtype in _complex_dtypes(array):
        return value.view(element_dtype(array))
    if not array.fields or value.dtype.names is None:
        return value
    dtype, given = element_dtype(array), flattened(value.dtype)
    alike = dtype.fields == given.fields and dtype.itemsize == given.itemsize
    return value.view(dtype) if alike else value


def _complex_dtypes(array: Array) -> tuple[np.dtype[Any], ...]:
    """Return the complex type that an array may have, if any: NumPy's float64 is equal to None."""
    found = complex_dtype(array)
    return () if found is None else (found,)


def _number(scop: Scop, array: Array, value: Any) -> np.ndarray[Any, Any]:
    dtype = element_dtype(array)
    if complex_dtype(array) is not None:
        return np.array(complex(value), complex_dtype(array)).view(dtype)
    try:
        number = np.array(value, dtype)
    except (OverflowError, ValueError, TypeError):
        raise _wrong(scop, f"{array.name}={value} does not fit its type, {array.element}") from None
    if dtype.kind in "iub" and number != value:
        raise _wrong(scop, f"{array.name}={value} does not fit its type, {array.element}")
    return number


def _check(scop: Scop, layout: Layout, data: Any) -> None:
    array, written = layout.array, scop.written(layout.array.name)
    if data.dtype not in (layout.dtype, *_complex_dtypes(array)):
        raise UsageError(
            f"{scop.name}: {array.name} holds {data.dtype}, but the C element type is {array.element}",
            hint=_other_type(layout, written),
        )
    if not data.flags.c_contiguous:
        copied = f"{array.name} is written, and a copy would not reach you: allocate it in C's order, without a stride"
        hint = copied if written else "use numpy.ascontiguousarray"
        raise UsageError(f"{scop.name}: {array.name} is not contiguous", hint=hint)
    if written and isinstance(data, np.ndarray) and not data.flags.writeable:
        hint = "pass an array that can be written to"
        raise UsageError(f"{scop.name}: {array.name} is written, but the array is read-only", hint=hint)


def _check_shape(scop: Scop, layout: Layout, shape: tuple[int, ...], values: Mapping[str, int]) -> None:
    if not _fits(layout, shape, values):
        needed = "x".join(map(str, layout.shape)) or "1"
        raise UsageError(
            f"{scop.name}: {layout.array.name} has shape {shape}, but {needed} elements are needed",
            hint=f"the call is {signature(scop)}",
        )


def _other_type(layout: Layout, written: bool) -> str | None:
    """Say what to do about elements of another type; what is written must be the caller's own memory."""
    name, dtype = layout.array.name, (complex_dtype(layout.array) or layout.dtype).name
    if layout.dtype.names is not None and complex_dtype(layout.array) is None:
        return None
    if written:
        return f"{name} is written, and a converted copy would not reach you: allocate it with dtype={dtype!r}"
    return f"use {name}.astype({dtype!r})"


def _fits(layout: Layout, shape: tuple[int, ...], values: Mapping[str, int]) -> bool:
    """Return whether an array of `shape` fits the C array: the stated shape, or enough elements in one dimension.

    The outermost extent may be larger: C does not know it, or does not check it.
    """
    size = prod(shape)
    if layout.array.rank == 0:
        return size == 1
    if len(shape) == len(layout.shape) > 1:
        return shape[1:] == layout.shape[1:] and shape[0] >= layout.shape[0]
    stated = layout.array.extents[0]
    if len(shape) == 1 and layout.array.rank == 1 and stated is not None:
        return size >= max(layout.elements, evaluate(stated, values))
    return len(shape) == 1 and size >= layout.elements


def _check_overlap(scop: Scop, memory: Mapping[str, Any], on_device: frozenset[str]) -> None:
    """Raise when an array that is written shares memory with another one: the kernels assume that none does."""
    spans = {
        name: (start := address(data), start + data.nbytes)
        for name, data in memory.items()
        if not scop.by_value(scop.array(name)) and data.nbytes
    }
    for first, (low, high) in spans.items():
        for second, (other_low, other_high) in spans.items():
            apart = first == second or (first in on_device) != (second in on_device)
            if apart or not scop.written(first) or high <= other_low or other_high <= low:
                continue
            raise UsageError(f"{scop.name}: {first} and {second} share memory", hint="pass distinct arrays")
