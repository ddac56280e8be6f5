"""The struct types of a SCoP as C text that stands on its own."""

from __future__ import annotations

from collections.abc import Iterable

from pycparser.c_generator import CGenerator

from polytile.frontend.scope import Shape, StructType, struct_shape


def structs_of(shapes: Iterable[Shape]) -> list[tuple[StructType, Shape]]:
    """The struct types in `shapes` with those they contain, each once, contained ones first."""
    found: dict[str, tuple[StructType, Shape]] = {}
    for shape in shapes:
        if shape.struct is not None and shape.base is not None:
            _collect(shape.struct, found)
    return list(found.values())


def _collect(struct: StructType, found: dict[str, tuple[StructType, Shape]]) -> None:
    if struct.name in found:
        return
    for member in struct.members:
        inner = member.shape.struct
        if inner is not None and not any(layer.pointer for layer in member.shape.layers):
            _collect(inner, found)
    found[struct.name] = (struct, struct_shape(struct))


def struct_definitions(structs: list[tuple[StructType, Shape]]) -> str:
    """C text, also valid C++, that defines the structs with their layout; pointers become `void *`.

    before: typedef double real; struct cell { real x; struct cell *next; };
    after:  struct cell {
              double x;
              void *next;
            };
    """
    return "\n".join(_definition(struct) for struct, _ in structs if struct.name)


def _definition(struct: StructType) -> str:
    lines = [f"  {_member(m.name, m.shape)};" for m in struct.members]
    if struct.name.startswith("struct "):
        return "\n".join([f"{struct.name} {{", *lines, "};"])
    return "\n".join(["typedef struct {", *lines, f"}} {struct.name};"])


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
