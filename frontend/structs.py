"""The struct types of a SCoP as C text that stands on its own."""

from __future__ import annotations

from collections.abc import Iterable

from polytile.diagnostics import Location, UserError
from polytile.frontend.trees import text_of
from polytile.frontend.type_shapes import Shape, StructType, layout, natural_layout, struct_layout, struct_shape


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
    """C text, also valid C++, that defines the structs with their layout; pointers become `void *`. What is not where
    the members' alignments put it is put there by padding, and by attributes that the compilers of kernels know.

    before: typedef double real; typedef struct { real x; struct other *next; } cell;
    after:  struct cell {
              double x;
              void *next;
            };
    before: #pragma pack(2)
            struct record { char kind; double x; };
    after:  struct __attribute__((packed, aligned(2))) record {
              char kind;
              char polytile_padding0[1];
              double x;
            };
            typedef char polytile_size_of_record[sizeof(struct record) == 10 ? 1 : -1];
    """
    return "\n".join(_definition(struct) for struct, _ in structs if struct.name)


def _definition(struct: StructType) -> str:
    members, attributes = _members(struct)
    name = struct.name.removeprefix("struct ")
    text = "\n".join([f"struct {attributes}{name} {{", *(f"  {member};" for member in members), "};"])
    if not attributes and len(members) == len(struct.members):
        return text
    size = struct_layout(struct)[0]
    return f"{text}\ntypedef char polytile_size_of_{name}[sizeof({struct.name}) == {size} ? 1 : -1];"


def _members(struct: StructType) -> tuple[list[str], str]:
    """The members, with padding where their alignments do not put them where they are; and the attributes, which stand
    before the tag: NVRTC leaves out those behind the brace, with a warning."""
    known, natural = struct.layout, natural_layout(struct)
    if known is None or (natural is not None and known.agrees(natural)):
        return [_member(m.name, m.shape) for m in struct.members], ""
    placed = [(m, known.offsets[str(m.name)], *layout(m.shape)) for m in struct.members if str(m.name) in known.offsets]
    placed = [p for p in placed if p[2]]
    widest = max([alignment for *_, alignment in placed], default=1)
    packed = widest > known.alignment or any(offset % alignment for _, offset, _, alignment in placed)
    found: list[str] = []
    end = 0
    for member, offset, size, alignment in placed:
        if offset > (end if packed else _rounded_up(end, alignment)):
            found.append(f"char polytile_padding{len(found)}[{offset - end}]")
        found.append(_member(member.name, member.shape))
        end = offset + size
    natural_alignment = 1 if packed else widest
    if known.size > _rounded_up(end, known.alignment) or (packed and known.size > end):
        found.append(f"char polytile_padding{len(found)}[{known.size - end}]")
    words = [*(["packed"] if packed else []), *_aligned(known.alignment, natural_alignment)]
    return found, f"__attribute__(({', '.join(words)})) " if words else ""


def _aligned(alignment: int, natural: int) -> list[str]:
    return [f"aligned({alignment})"] if alignment != natural else []


def _member(name: str | None, shape: Shape) -> str:
    pointer = next((k for k, layer in enumerate(shape.layers) if layer.pointer), None)
    arrays = shape.layers if pointer is None else shape.layers[:pointer]
    extents = "".join(f"[{text_of(layer.extent)}]" for layer in arrays if layer.extent is not None)
    if pointer is not None:
        return f"void *{name}{extents}"
    if shape.struct is not None and not shape.struct.name:
        members, attributes = _members(shape.struct)
        inner = " ".join(f"{member};" for member in members)
        return f"struct {attributes}{{ {inner} }}{f' {name}{extents}' if name else ''}"
    return f"{shape.base} {name}{extents}"


def _rounded_up(number: int, to: int) -> int:
    return -(-number // to) * to
