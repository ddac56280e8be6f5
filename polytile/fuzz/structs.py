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


def fields_of(ctype: str) -> tuple[Field, ...]:
    """The numbers in an element of this type."""
    return STRUCTS[ctype].fields if ctype in STRUCTS else (Field("", ctype),)


def field_of(ctype: str, name: str) -> Field:
    """The field of this name, of a plain type its only one; raises KeyError where there is none."""
    found = {f.name: f for f in fields_of(ctype)}
    return found[name]


def kind(ctype: str) -> str:
    """`f` for floating types, `u` for unsigned and `i` for other integers."""
    if ctype in _FLOATING:
        return "f"
    return "u" if ctype.startswith("unsigned") else "i"
