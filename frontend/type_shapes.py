"""Types of C, resolved: what is under pointers and arrays, and how structs are laid out."""

from __future__ import annotations

from dataclasses import field, replace

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.constants import Meanings, evaluate
from polytile.frontend.type_facts import StructLayout
from polytile.ir.expr import DOUBLE, FLOAT, CType

_LITERALS = Meanings(lambda _: None, lambda _: None, lambda _: None)  # extents are numbers already


@dataclass(frozen=True, slots=True)
class Layer:
    """One `*` or `[extent]` of a declarator."""

    pointer: bool
    extent: c_ast.Node | None = None
    restrict: bool = False
    least: bool = False  # `[static extent]` of a parameter: there may be more


@dataclass(frozen=True, slots=True)
class Field:
    name: str | None
    shape: Shape


@dataclass(frozen=True, slots=True)
class StructType:
    """A struct with its members in order; `node` is the definition. `layout` is the compiler's, where the table of
    x86-64 has none."""

    name: str
    members: tuple[Field, ...]
    node: c_ast.Struct = field(compare=False)
    layout: StructLayout | None = None
    reason: str = ""  # why there is none


@dataclass(frozen=True, slots=True)
class Shape:
    """A resolved C type: `layers`, outermost first, around `base`; `reason` says why there is no base."""

    base: CType | None
    layers: tuple[Layer, ...] = ()
    const: bool = False
    struct: StructType | None = None
    reason: str = ""
    void: bool = False
    function: bool = False
    incomplete: bool = False  # a struct that is not defined so far
    varies: bool = False  # a type whose size or sign flags and compilers choose: an enumeration, `char`
    refused: bool = False  # for an attribute
    alignment: int = 0  # of the base, where a `typedef` says it


def without_layer(shape: Shape | None) -> Shape | None:
    """The type of what an array has or a pointer leads to."""
    return replace(shape, layers=shape.layers[1:]) if shape is not None and shape.layers else None


def complex_type(part: CType) -> StructType:
    """Complex numbers are structs of their parts, which C lays out so: `struct double_complex`."""
    tag = f"{part}_complex"
    members = tuple(Field(name, Shape(part)) for name in ("re", "im"))
    return StructType(f"struct {tag}", members, c_ast.Struct(tag, None))


def is_complex(shape: Shape) -> bool:
    """Whether a type is one of complex numbers."""
    return shape.struct is not None and shape.struct in (complex_type(FLOAT), complex_type(DOUBLE))


def struct_shape(struct: StructType) -> Shape:
    """The shape of a struct; there is none when it holds what has no known size, or what may not be used."""
    size, _ = struct_layout(struct)
    refused = next((m.shape.reason for m in struct.members if m.shape.refused), "")
    if not size or struct.reason or refused:
        unknown = "its struct has a member of a type without a known size"
        known = struct.reason or refused
        return Shape(None, struct=struct, reason=known or unknown, refused=known != "")
    return Shape(CType(struct.name, "struct", size), struct=struct)


def struct_layout(struct: StructType) -> tuple[int, int]:
    """Size and alignment; (0, 1) when a member has no known size."""
    found = struct.layout or natural_layout(struct)
    return (0, 1) if found is None else (found.size, found.alignment)


def natural_layout(struct: StructType) -> StructLayout | None:
    """The layout by the sizes and alignments of members, as x86-64 has it; None when one has no known size."""
    end, widest, offsets = 0, 1, {}
    for member in struct.members:
        size, alignment = layout(member.shape)
        if not size:
            return None
        start = -(-end // alignment) * alignment
        offsets[str(member.name)] = start
        end, widest = start + size, max(widest, alignment)
    return StructLayout(-(-end // widest) * widest, widest, offsets)


def layout(shape: Shape) -> tuple[int, int]:
    """Size and alignment of a type on LP64; size 0 when it is not known."""
    if shape.layers and shape.layers[0].pointer:
        return 8, 8
    if shape.layers:
        inner = Shape(shape.base, shape.layers[1:], struct=shape.struct)
        size, alignment = layout(inner)
        extent = shape.layers[0].extent
        count = None if extent is None else evaluate(extent, _LITERALS)
        return (size * count.value if count else 0), alignment
    if shape.struct is not None:
        return struct_layout(shape.struct)
    return (shape.base.size, shape.base.size) if shape.base else (0, 1)


def with_alignment(shape: Shape, alignment: int | str | None) -> Shape:
    """The type with what a `typedef` says of its alignment, or why that is not known. Members of structs may have less
    than that of their type, as kernels know how structs are packed, and what a pointer leads to may not."""
    if isinstance(alignment, str):
        return replace(shape, base=None, struct=None, reason=alignment, refused=True)
    shape = replace(shape, alignment=alignment or shape.alignment)
    return loaded_whole(shape) if any(layer.pointer for layer in shape.layers) else shape


def loaded_whole(shape: Shape) -> Shape:
    """The type of a pointer, refused where what it leads to may lie where kernels cannot load it: CUDA compilers load
    all bytes of an element at once, whatever its alignment."""
    if not shape.layers or not 0 < shape.alignment < layout(replace(shape, layers=()))[1]:
        return shape
    reason = f"its elements lie at multiples of {shape.alignment} bytes, which is less than kernels need"
    return replace(shape, base=None, struct=None, reason=reason, refused=True)
