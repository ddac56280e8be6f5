"""The struct types of a SCoP as C text that stands on its own."""

from __future__ import annotations

from collections.abc import Iterable

from pycparser.c_generator import CGenerator

from polytile.diagnostics import Location, UserError
from polytile.frontend.scope import Shape, StructType, struct_shape


def structs_of(shapes: Iterable[Shape], location: Location) -> list[tuple[StructType, Shape]]:
    """The struct types in `shapes` with those they contain, each once, contained ones first.

    Raises UserError, for the SCoP at `location`, when two of them have one name.
    """
    found: dict[str, tuple[StructType, Shape]] = {}
    for shape in shapes:
        if shape.struct is not None and shape.base is not None:
            _collect(shape.struct, found, location)
    return list(found.values())


def _collect(struct: StructType, found: dict[str, tuple[StructType, Shape]], location: Location) -> None:
    if struct.name in found:
        if struct.name and _definition(struct) != _definition(found[struct.name][0]):
            raise UserError(
                f"the SCoP uses two types called '{struct.name}'",
                location=location,
                hint="give one of them another tag, and a variable of a struct without a tag another name",
            )
        return
    for member in struct.members:
        inner = member.shape.struct
        if inner is not None and not any(layer.pointer for layer in member.shape.layers):
            _collect(inner, found, location)
    found[struct.name] = (struct, struct_shape(struct))


def struct_definitions(structs: list[tuple[StructType, Shape]]) -> str:
    """C text, also valid C++, that defines the structs with their layout; pointers become `void *`.

    before: typedef double real; typedef struct { real x; struct other *next; } cell;
    after:  struct cell {
              double x;
              void *next;
            };
    """
    return "\n".join(_definition(struct) for struct, _ in structs if struct.name)


def _definition(struct: StructType) -> str:
    lines = [f"  {_member(m.name, m.shape)};" for m in struct.members]
    return "\n".join([f"{struct.name} {{", *lines, "};"])


def _member(name: str | None, shape: Shape) -> str:
    pointer = next((k for k, layer in enumerate(shape.layers) if layer.pointer), None)
    arrays = shape.layers if pointer is None else shape.layers[:pointer]
    extents = "".join(f"[{CGenerator().visit(layer.extent)}]" for layer in arrays if layer.extent is not None)
    if pointer is not None:
        return f"void *{name}{extents}"
    if shape.struct is not None and not shape.struct.name:
        inner = " ".join(f"{_member(m.name, m.shape)};" for m in shape.struct.members)
        return f"struct {{ {inner} }}{f' {name}{extents}' if name else ''}"
    return f"{shape.base} {name}{extents}"
