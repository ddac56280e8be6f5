"""The struct types of random programs, and the kinds of types."""

from __future__ import annotations

from polytile.dataclass import dataclass

_FLOATING = ("float", "double")


@dataclass(frozen=True, slots=True)
class Field:
    """A number in a struct, or an array of numbers; a plain type is one field without a name."""

    name: str
    type: str
    shape: tuple[int, ...] = ()

    @property
    def kind(self) -> str:
        return kind(self.type)


@dataclass(frozen=True, slots=True)
class Struct:
    """`text` is its definition; `fields` are the numbers in it, those of inner structs as `at.x`."""

    text: str
    fields: tuple[Field, ...]


STRUCTS = {
    "struct cell": Struct(
        """struct cell {
    double x;
    float y;
    int k;
};""",
        (Field("x", "double"), Field("y", "float"), Field("k", "int")),
    ),
    "struct site": Struct(
        """struct spot {
    float x, y;
};
struct site {
    double v[3];
    int hits[2];
    float w[2][2];
    struct spot at;
};""",
        (
            Field("v", "double", (3,)),
            Field("hits", "int", (2,)),
            Field("w", "float", (2, 2)),
            Field("at.x", "float"),
            Field("at.y", "float"),
        ),
    ),
}


TYPES = (
    *("double", "float", "int", "long", "short", "signed char", "long long"),
    *("unsigned", "unsigned char", "unsigned short", "unsigned long long"),
)
LAYOUTS = {
    "packed": "{name} {{ char tag; {type} v; short after; }} __attribute__((packed));",
    "pack2": "#pragma pack(push, 2)\n{name} {{ char tag; {type} v; }};\n#pragma pack(pop)",
    "close": "{name} {{ short tag; {type} v __attribute__((packed)); char after; }};",
    "apart": "{name} {{ char tag; {type} v __attribute__((aligned(16))); short after; }};",
    "alignas": "{name} {{ char tag; _Alignas(8) {type} v; char after[3]; }};",
    "wide": "{name} {{ char tag; {type} v; }} __attribute__((aligned(16)));",
    "enum": "{name} {{ char tag; {type} v; }} __attribute__((packed));",
}
ENUMS = {  # each has the size and the sign of its type
    "signed char": "enum __attribute__((packed)) {{ LEAST_{n} = -128, MOST_{n} = 127 }}",
    "unsigned char": "enum __attribute__((packed)) {{ MOST_{n} = 255 }}",
    "short": "enum __attribute__((packed)) {{ LEAST_{n} = -32768, MOST_{n} = 32767 }}",
    "int": "enum {{ LEAST_{n} = -1, MOST_{n} = 2147483647 }}",
    "unsigned": "enum {{ MOST_{n} = 4294967295u }}",
    "long": "enum {{ LEAST_{n} = -1, MOST_{n} = 9223372036854775807 }}",
    "unsigned long long": "enum {{ MOST_{n} = 18446744073709551615u }}",
}


def laid_out(layout: str, ctype: str) -> str:
    """Name the struct type with a field `v` of this type, or an enumeration like it, and a layout of its own."""
    return f"struct {layout}_{ctype.replace(' ', '_')}"


def _laid_out(layout: str, ctype: str) -> Struct:
    name = laid_out(layout, ctype)
    spelt = ENUMS[ctype].format(n=ctype.replace(" ", "_")) if layout == "enum" else ctype
    return Struct(LAYOUTS[layout].format(name=name, type=spelt), (Field("v", ctype),))


STRUCTS |= {
    laid_out(layout, t): _laid_out(layout, t) for layout in LAYOUTS for t in TYPES if layout != "enum" or t in ENUMS
}


def fields_of(ctype: str) -> tuple[Field, ...]:
    """Return the numbers in an element of this type."""
    return STRUCTS[ctype].fields if ctype in STRUCTS else (Field("", ctype),)


def field_of(ctype: str, name: str) -> Field:
    """Return the field of this name, of a plain type its only one; raises KeyError where there is none."""
    found = {f.name: f for f in fields_of(ctype)}
    return found[name]


def kind(ctype: str) -> str:
    """Return `f` for floating types, `u` for unsigned and `i` for other integers."""
    if ctype in _FLOATING:
        return "f"
    return "u" if ctype.startswith("unsigned") else "i"
