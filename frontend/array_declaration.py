"""Arrays as callers of `scop_from_isl` declare them, in the words of C."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from pycparser import c_ast, c_parser

from polytile.dataclass import dataclass
from polytile.diagnostics import NOWHERE, UsageError, UserError
from polytile.frontend.c_types import integer_type, type_named
from polytile.ir import scop
from polytile.ir.expr import BOOL, DOUBLE, FLOAT, INT, Binary, CType, Expr, Literal, Name

Extent = int | str | None


@dataclass(frozen=True, slots=True)
class Array:
    """An array that a SCoP uses, or a scalar, which has no extents: `Array("A", "double", ("n", "m + 1"))`.

    `type` is a number's type in C or NumPy's. `extents`, outermost first, are numbers or sums of sizes with constant
    factors; the outermost may be None, where it is not known. `live_in`: the values that it has before the SCoP matter;
    `live_out`: those that it has afterwards do.
    """

    name: str
    type: Any
    extents: tuple[Extent, ...] = ()
    live_in: bool = True
    live_out: bool = True


def declared(arrays: Iterable[Array | scop.Array]) -> tuple[scop.Array, ...]:
    """The arrays of a Scop; raises UsageError that names the one which is wrong."""
    if isinstance(arrays, str) or not isinstance(arrays, Iterable):
        raise UsageError(f"arrays must be a list of polytile.Array, not {type(arrays).__name__}")
    found = tuple(_declared(array) for array in arrays)
    names = [array.name for array in found]
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise UsageError(f"arrays: {twice} is declared twice")
    return found


def _declared(array: object) -> scop.Array:
    if isinstance(array, scop.Array):
        return array
    if not isinstance(array, Array):
        hint = 'such as polytile.Array("A", "double", ("n", "n"))'
        raise UsageError(f"arrays must hold polytile.Array, not {type(array).__name__}", hint=hint)
    if not isinstance(array.name, str) or not (array.name.isidentifier() and array.name.isascii()):
        raise UsageError(f"arrays: {array.name!r} cannot be the name of an array", hint="use a C identifier")
    if isinstance(array.extents, str) or not isinstance(array.extents, tuple | list):
        hint = f'such as ("{array.extents}",)' if isinstance(array.extents, str) else 'such as ("n", "m")'
        raise UsageError(f"arrays: the extents of {array.name} must be a tuple, not {array.extents!r}", hint=hint)
    extents = tuple(_extent(array.name, extent, k) for k, extent in enumerate(array.extents))
    return scop.Array(array.name, _type(array), extents, live_in=array.live_in, live_out=array.live_out)


def _type(array: Array) -> CType:
    """Names mean what they mean in C, and else in NumPy: `float` has 4 bytes."""
    if isinstance(array.type, CType):
        return array.type
    if isinstance(array.type, str):
        with suppress(UserError):
            return type_named(array.type.split(), {}, NOWHERE)
    try:
        return _of_numpy(array.type)
    except (TypeError, KeyError):
        hint = 'a type of C such as "double", or one of NumPy such as "float32"'
        raise UsageError(f"arrays: {array.name} has no type of numbers: {array.type!r}", hint=hint) from None


def _of_numpy(name: Any) -> CType:
    import numpy as np  # who compiles C alone does without

    dtype = np.dtype(name)
    if dtype.kind == "b":
        return BOOL
    if dtype.kind == "f":
        return {4: FLOAT, 8: DOUBLE}[dtype.itemsize]
    if dtype.kind not in "iu":
        raise TypeError(name)
    return integer_type(dtype.itemsize, dtype.kind == "i")


def _extent(name: str, extent: object, position: int) -> Expr | None:
    if extent is None and position == 0:
        return None
    if isinstance(extent, Expr):
        return extent
    text = str(extent) if isinstance(extent, int | str) and not isinstance(extent, bool) else ""
    found = _affine(_parsed(text))
    if found is None:
        hint = "a number, a size, or a sum of sizes with constant factors; None for the outermost that is not known"
        raise UsageError(f"arrays: {name} has no extent {extent!r}", hint=hint)
    return found


def _parsed(text: str) -> c_ast.Node | None:
    try:
        tree = c_parser.CParser().parse(f"int extent[{text}];")
    except c_parser.ParseError:
        return None
    kind = tree.ext[0].type if len(tree.ext) == 1 else None
    return kind.dim if isinstance(kind, c_ast.ArrayDecl) and isinstance(kind.type, c_ast.TypeDecl) else None


def _affine(node: c_ast.Node | None) -> Expr | None:
    match node:
        case c_ast.ID():
            return Name(str(node.name))
        case c_ast.Constant(type="int") if str(node.value).isdecimal():
            return Literal(str(int(node.value)), INT)
        case c_ast.BinaryOp(op="+" | "-" | "*"):
            left, right = _affine(node.left), _affine(node.right)
            if left is None or right is None:
                return None
            return Binary(node.op, left, right, INT)
    return None
