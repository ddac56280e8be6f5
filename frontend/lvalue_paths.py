"""Lvalues while they are taken apart: the variable, its subscripts, and the way to a number in a struct."""

from __future__ import annotations

from dataclasses import replace

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UserError
from polytile.frontend.c_types import where
from polytile.frontend.name_binding import Variable
from polytile.ir.expr import CType
from polytile.ir.struct_fields import way_of


@dataclass(slots=True)
class LvaluePath:
    """An lvalue as far as it was taken apart."""

    variable: Variable
    subscripts: list[c_ast.Node]
    offset: c_ast.Node | None = None  # of a pointer that was not dereferenced yet
    field: str | None = None  # its way, with `[]` for each of the subscripts inside
    inside: tuple[c_ast.Node, ...] = ()


def field_type(place: LvaluePath, location: Location) -> CType:
    """The type of the number that a way leads to; raises UserError where there is none."""
    way = place.field or ""
    for name, ctype in place.variable.fields:
        if way_of(name) == way:
            return ctype
    name = way.partition("[")[0]
    if place.inside:
        index = where(place.inside[0])
        raise UserError(f"the field `{name}` is not a scalar", location=index, hint=_instead_of(place, name))
    raise UserError(
        f"`{name}` is not a scalar field of `{place.variable.source}`",
        location=location,
        hint="a SCoP may use the numbers in a struct, and in arrays and structs inside it: give every subscript",
    )


def dereference(place: LvaluePath, subscript: c_ast.Node | None, star: c_ast.Node | None = None) -> LvaluePath:
    """`*place` and `place[subscript]`."""
    index = subscript
    if place.offset is not None:
        index = place.offset if index is None else c_ast.BinaryOp("+", place.offset, index, place.offset.coord)
    if index is None:
        index = c_ast.Constant("int", "0", star.coord if star else None)
    if place.field is not None:
        return replace(place, field=f"{place.field}[]", inside=(*place.inside, index))
    return LvaluePath(place.variable, [*place.subscripts, index])


def _instead_of(place: LvaluePath, name: str) -> str:
    """What to write for elements of a field that is a pointer or an array: those of one struct have one address."""
    if all(isinstance(subscript, c_ast.Constant) for subscript in place.subscripts):
        path = f"{place.variable.source}{'->' if place.subscripts else '.'}{name}"
        return f"set a pointer to it before the SCoP, `{name.rpartition('.')[2]} = {path}`, and use that"
    return "copy it to an array of its own"


def field_of(place: LvaluePath, node: c_ast.StructRef) -> LvaluePath:
    """`place.name`."""
    name = str(node.field.name)
    way = name if place.field is None else f"{place.field}.{name}"
    return replace(place, field=way)
