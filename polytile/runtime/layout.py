"""How the arrays of a Scop lie in memory for given parameters: shapes, NumPy types, and what is indexed below zero."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError, UserError
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import CType
from polytile.ir.scop import Array, Scop
from polytile.ir.struct_fields import offsets
from polytile.runtime.array_bounds import index_range

_FLOATS: dict[int, np.dtype[Any]] = {4: np.dtype(np.float32), 8: np.dtype(np.float64)}
LARGEST = (1 << 63) - 1


def scalar_dtype(ctype: CType) -> np.dtype[Any]:
    """Return the NumPy type of a C scalar type."""
    if ctype.name == "_Bool":
        return np.dtype(np.bool_)
    if ctype.kind == "float":
        return _FLOATS[ctype.size]
    return np.dtype(f"{'i' if ctype.signed else 'u'}{ctype.size}")


def element_dtype(array: Array) -> np.dtype[Any]:
    """Return the NumPy type of an element.

    A struct becomes a structured type laid out as C does, with addresses as integers of 64 bits.
    """
    if array.element.kind != "struct":
        return scalar_dtype(array.element)
    numbers = [(name, scalar_dtype(t)) for name, t in array.members or array.fields]
    natural = structured(numbers)
    if array.offsets and (array.offsets, array.element.size) != (_offsets_of(natural), natural.itemsize):
        return placed(numbers, array.offsets, array.element.size)
    if natural.itemsize != array.element.size:
        raise UserError(
            f"{array.name}: {array.element} has members besides numbers and pointers, so polytile cannot fill it",
            location=array.location,
        )
    return natural


def complex_dtype(array: Array) -> np.dtype[Any] | None:
    """Return the NumPy type with the layout of a complex number of C, or None where the elements are not complex."""
    name = {"struct double_complex": "c16", "struct float_complex": "c8"}.get(str(array.element))
    return None if name is None else np.dtype(name)


def structured(fields: Sequence[tuple[str, np.dtype[Any]]]) -> np.dtype[Any]:
    """Return the NumPy type of a struct of these numbers.

    Those in arrays and structs inside it are called "v[0]", "at.x".
    """
    places, size, _ = offsets([(name, dtype.itemsize) for name, dtype in fields])
    parts = {"names": [n for n, _ in fields], "formats": [t for _, t in fields], "offsets": places, "itemsize": size}
    return np.dtype(parts, align=True)  # type: ignore[call-overload, no-any-return]


def placed(fields: Sequence[tuple[str, np.dtype[Any]]], offsets: Sequence[int], size: int) -> np.dtype[Any]:
    """Return the NumPy type of a struct whose numbers lie at these offsets."""
    parts = {"names": [n for n, _ in fields], "formats": [t for _, t in fields], "offsets": offsets, "itemsize": size}
    return np.dtype(parts)  # type: ignore[call-overload, no-any-return]


def _offsets_of(dtype: np.dtype[Any]) -> tuple[int, ...]:
    return tuple(dtype.fields[name][1] for name in dtype.names or ())  # type: ignore[index]


def flattened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Flatten a structured type with arrays and structs inside to one of numbers, at the same offsets.

    before: [("id", "i4"), ("v", "f8", (2,))]    after: [("id", "i4"), ("v[0]", "f8"), ("v[1]", "f8")]
    """
    if dtype.names is None:
        return dtype
    numbers = list(_numbers("", dtype, 0))
    names, formats, places = (list(column) for column in zip(*numbers, strict=True))
    parts = {"names": names, "formats": formats, "offsets": places, "itemsize": dtype.itemsize}
    return np.dtype(parts, align=dtype.isalignedstruct)  # type: ignore[call-overload, no-any-return]


def _numbers(way: str, dtype: np.dtype[Any], at: int) -> Iterator[tuple[str, np.dtype[Any], int]]:
    if dtype.names is not None:
        for name in dtype.names:
            inner, offset = dtype.fields[name][:2]  # type: ignore[index]
            yield from _numbers(f"{way}.{name}" if way else name, inner, at + offset)
    elif dtype.subdtype is not None:
        base, shape = dtype.subdtype
        for k, index in enumerate(np.ndindex(shape)):
            yield from _numbers(way + "".join(f"[{i}]" for i in index), base, at + k * base.itemsize)
    else:
        yield way, dtype, at


def c_type(dtype: np.dtype[Any]) -> Any:
    """Return the ctypes type of a number's NumPy type (for arguments passed by value)."""
    return ctypes.c_longdouble if dtype == np.dtype(np.longdouble) else np.ctypeslib.as_ctypes_type(dtype)


@dataclass(frozen=True, slots=True)
class Layout:
    """One array in memory: `shape` elements of `dtype`, of which `lead` come before the element that C calls 0."""

    array: Array
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    lead: int = 0

    @property
    def elements(self) -> int:
        total = 1
        for extent in self.shape:
            total *= extent
        return total


def as_bytes(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """View the bytes of an array in one row: CuPy has no structs."""
    return np.asarray(data.reshape(-1).view(np.uint8))


def layouts(scop: Scop, values: Mapping[str, int]) -> dict[str, Layout]:
    """Return the layout of every external array, in the order of the entry point."""
    return {a.name: _layout(scop, a, values) for a in scop.external_arrays}


def _layout(scop: Scop, array: Array, values: Mapping[str, int]) -> Layout:
    dtype = element_dtype(array)
    if array.rank == 0:
        return Layout(array, dtype, ())
    inner = tuple(max(0, evaluate(e, values)) for e in array.extents[1:] if e is not None)
    if len(inner) != array.rank - 1:
        raise InternalError(f"{array.name} has an unknown inner extent")
    stated = array.extents[0]
    if stated is None:
        low, high = index_range(scop, array.name, values)
        rows, lead_rows = high + 1, max(0, -low)
    else:
        rows, lead_rows = max(0, evaluate(stated, values)), 0
    pitch = int(np.prod(inner, dtype=object)) if inner else 1
    _check_size(array, (rows + lead_rows) * pitch * dtype.itemsize)
    return Layout(array, dtype, (rows + lead_rows, *inner), lead_rows * pitch)


def _check_size(array: Array, size: int) -> None:
    if size > LARGEST:
        raise UserError(
            f"the size of {array.name} overflows: {size} bytes",
            location=array.location,
            hint="give smaller sizes with --param",
        )
