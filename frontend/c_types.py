"""C's types and conversions: from declarations and literals to `CType`."""

from __future__ import annotations

from collections.abc import Mapping

from pycparser import c_ast

from polytile.diagnostics import Location, UserError
from polytile.ir.expr import (
    BOOL,
    CHAR,
    DOUBLE,
    FLOAT,
    INT,
    LLONG,
    LONG,
    SCHAR,
    SHORT,
    UCHAR,
    UINT,
    ULLONG,
    ULONG,
    USHORT,
    CType,
)
from polytile.ir.integer_constants import integer_value

FIXED_WIDTH = {
    "int8_t": SCHAR,
    "int16_t": SHORT,
    "int32_t": INT,
    "int64_t": LONG,
    "uint8_t": UCHAR,
    "uint16_t": USHORT,
    "uint32_t": UINT,
    "uint64_t": ULONG,
    "size_t": ULONG,
    "ssize_t": LONG,
    "ptrdiff_t": LONG,
    "intptr_t": LONG,
    "uintptr_t": ULONG,
    "bool": BOOL,
}


def where(node: c_ast.Node) -> Location:
    """The position of a node in the user's file."""
    coord = node.coord
    return Location(coord.file, coord.line, coord.column or 0) if coord else Location("<polytile>", 0)


def integer_type(size: int, signed: bool) -> CType:
    """The C type with this width: 4 bytes and unsigned give `unsigned int`."""
    return {
        (1, True): SCHAR,
        (1, False): UCHAR,
        (2, True): SHORT,
        (2, False): USHORT,
        (4, True): INT,
        (4, False): UINT,
        (8, True): LONG,
        (8, False): ULONG,
    }[size, signed]


def promote(t: CType) -> CType:
    """Integer promotion: `char` and `short` become `int`."""
    return INT if t.kind == "int" and t.size < INT.size else t


def usual(a: CType, b: CType) -> CType:
    """The usual arithmetic conversions: the type of `a + b`."""
    if "float" in (a.kind, b.kind):
        return DOUBLE if DOUBLE in (a, b) else FLOAT
    a, b = promote(a), promote(b)
    if a.size != b.size:
        return a if a.size > b.size else b
    return a if not a.signed else b


def type_named(names: list[str], types: Mapping[str, CType], location: Location) -> CType:
    """The type spelt by these specifiers: ["unsigned", "long"] gives `unsigned long`."""
    if len(names) == 1 and (found := types.get(names[0]) or FIXED_WIDTH.get(names[0])):
        return found
    if (basic := _basic(names)) is not None:
        return basic
    spelt = " ".join(names)
    raise UserError(
        f"the type `{spelt}` is not supported in a SCoP",
        location=location,
        hint="use C's integer types, float, double, or a struct with scalar fields that is declared before the SCoP",
    )


def _basic(names: list[str]) -> CType | None:
    words = sorted(n for n in names if n not in ("int", "signed"))
    signed = "unsigned" not in words
    words = [w for w in words if w != "unsigned"]
    if names.count("double") and "long" in words:
        return None
    match words:
        case []:
            return (INT if signed else UINT) if names else None
        case ["char"]:
            return UCHAR if not signed else SCHAR if "signed" in names else CHAR
        case ["short"]:
            return SHORT if signed else USHORT
        case ["long"]:
            return LONG if signed else ULONG
        case ["long", "long"]:
            return LLONG if signed else ULLONG
        case ["float"]:
            return FLOAT
        case ["double"]:
            return DOUBLE
        case ["_Bool"]:
            return BOOL
    return None


def declared_type(node: c_ast.Node, types: Mapping[str, CType]) -> tuple[CType, tuple[c_ast.Node | None, ...]]:
    """Element type and extents of a declaration: `double t[4][n]` gives (double, (4, n))."""
    extents: list[c_ast.Node | None] = []
    while isinstance(node, c_ast.ArrayDecl):
        extents.append(node.dim)
        node = node.type
    location = where(node)
    if not isinstance(node, c_ast.TypeDecl):
        raise UserError(
            "pointers and functions cannot be declared inside a SCoP",
            location=location,
            hint="use subscripts of the array, or a pointer that is set once, to an array and an offset",
        )
    inner = node.type
    if isinstance(inner, c_ast.IdentifierType):
        return type_named(inner.names, types, where(inner)), tuple(extents)
    if isinstance(inner, c_ast.Struct) and inner.name:
        return type_named([f"struct {inner.name}"], types, where(inner)), tuple(extents)
    if isinstance(inner, c_ast.Enum):
        return INT, tuple(extents)
    raise UserError("this type cannot be declared inside a SCoP", location=location, hint="declare it before the SCoP")


def literal_type(text: str) -> CType | None:
    """The type of a numeric constant: `1` int, `1u` unsigned int, `1.0f` float, `3000000000` long."""
    if "'" in text:
        return None  # of a character that compilers do not agree on
    value = integer_value(text)
    if value is None:
        if text[-1] in "lL":
            return None
        return FLOAT if text[-1] in "fF" else DOUBLE
    digits = text.rstrip("uUlL")
    suffix = text[len(digits) :].lower()
    signed = "u" not in suffix
    may_be_unsigned = not signed or digits.startswith("0")
    for size in (4, 8) if "l" not in suffix else (8,):
        if signed and value < 2 ** (8 * size - 1):
            return integer_type(size, True)
        if may_be_unsigned and value < 2 ** (8 * size):
            return integer_type(size, False)
    return None
