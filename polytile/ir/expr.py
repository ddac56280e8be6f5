"""Statement bodies and index expressions: one small language for the C that comes in and the CUDA that goes out.

Every node is frozen and carries its type (values) or its source location (statements). Nodes that read memory are
`Access`; everything else is a pure value. The frontend builds these from C, the code generator prints them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field as _field
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from polytile.dataclass import dataclass
from polytile.diagnostics import NOWHERE, Location


@dataclass(frozen=True, slots=True)
class CType:
    """A C scalar or struct type. `kind` is "int", "float" or "struct"; `size` in bytes (LP64)."""

    name: str
    kind: str
    size: int
    signed: bool = True

    def __post_init__(self) -> None:
        if self.kind not in ("int", "float", "struct"):
            raise ValueError(f"unknown kind of type: {self.kind}")

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


def value_range(ctype: CType) -> tuple[int, int]:
    """Return the least and the greatest value of an integer type."""
    if ctype.name == "_Bool":
        return 0, 1
    bits = 8 * ctype.size - ctype.signed
    return (-(2**bits) if ctype.signed else 0), 2**bits - 1


def includes(ctype: CType, other: CType) -> bool:
    """Return whether an integer type has all values of another one."""
    (low, high), (least, most) = value_range(ctype), value_range(other)
    return low <= least and most <= high


CHAR = CType("char", "int", 1)
SCHAR = CType("signed char", "int", 1)
UCHAR = CType("unsigned char", "int", 1, signed=False)
BOOL = CType("_Bool", "int", 1, signed=False)
SHORT = CType("short", "int", 2)
USHORT = CType("unsigned short", "int", 2, signed=False)
INT = CType("int", "int", 4)
UINT = CType("unsigned int", "int", 4, signed=False)
LONG = CType("long", "int", 8)
ULONG = CType("unsigned long", "int", 8, signed=False)
LLONG = CType("long long", "int", 8)
ULLONG = CType("unsigned long long", "int", 8, signed=False)
FLOAT = CType("float", "float", 4)
DOUBLE = CType("double", "float", 8)


class _Hashed:
    """What keeps its hash: nodes are keys of tables again and again, and may have hundreds of parts."""

    __slots__ = ("_hash",)
    _hash: int

    def __init_subclass__(cls) -> None:
        cls.__hash__ = _Hashed.__hash__  # type: ignore[method-assign]

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            kind: Any = type(self)
            if kind not in _COMPARED:
                names = [f.name for f in fields(kind) if f.compare]
                _COMPARED[kind] = attrgetter(*names) if names else lambda _: ()
            found = hash(_COMPARED[kind](self))
            object.__setattr__(self, "_hash", found)
            return found


_COMPARED: dict[Any, Callable[[Any], Any]] = {}  # what is compared, by class of node


@dataclass(frozen=True, slots=True)
class Expr(_Hashed):
    """Base of values."""

    if TYPE_CHECKING:

        @property
        def type(self) -> CType:
            """The C type of the value."""
            ...


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant, spelt as in the source: `0.33333`, `1.0f`, `3`."""

    text: str
    type: CType = INT


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """An iterator, a parameter, or a name declared in the enclosing statement tree; never an array."""

    name: str
    type: CType = INT


@dataclass(frozen=True, slots=True)
class Access(Expr):
    """An element of an array of the Scop: `A[i][j + 1]`, `p[i].x` (field "x"), or a scalar (no subscripts).

    Of fields that are arrays or structs, `field` is the way with `[]` for each of the subscripts `inside`:
    `p[i].cells[j].v[2]` has the field "cells[].v[]" and the subscripts (j, 2) inside.
    """

    array: str
    subscripts: tuple[Expr, ...] = ()
    type: CType = DOUBLE
    field: str | None = None
    location: Location = _field(default=NOWHERE, compare=False)
    inside: tuple[Expr, ...] = ()


UNARY = ("-", "+", "!", "~")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
TRUTHS = (*COMPARISONS, "&&", "||")  # operators whose value is 0 or 1
BINARY = ("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", *TRUTHS)


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    op: str
    operand: Expr
    type: CType = INT

    def __post_init__(self) -> None:
        if self.op not in UNARY:
            raise ValueError(f"unknown unary operator: {self.op}")


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    op: str
    left: Expr
    right: Expr
    type: CType = INT

    def __post_init__(self) -> None:
        if self.op not in BINARY:
            raise ValueError(f"unknown binary operator: {self.op}")


@dataclass(frozen=True, slots=True)
class IteratorValue(Binary):
    """`first + step * number`: the value of the iterator `called` in the iteration of a number."""

    called: str = _field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Ternary(Expr):
    condition: Expr
    then: Expr
    otherwise: Expr
    type: CType = INT


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    type: CType
    operand: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A pure function: C's math library under its C name and C types (`sqrt` takes and gives double, `sqrtf` float),
    or one of the index helpers `min`, `max`, `floord` (floor division by a positive constant) and `pmod()`
    (the non-negative remainder by a positive constant): no function of C has that name."""

    function: str
    arguments: tuple[Expr, ...]
    type: CType = DOUBLE


@dataclass(frozen=True, slots=True)
class Address(Expr):
    """`&target`, an argument of an `Invoke`: the function finds elements of the array from there on. Which it accesses
    is in the access relations of the statement; it writes some if `written`, and says that it writes none if `const`.
    """

    target: Access
    written: bool = False
    const: bool = False

    @property
    def type(self) -> CType:
        return self.target.type


@dataclass(frozen=True, slots=True)
class Stmt(_Hashed):
    """Base of statement trees."""


@dataclass(frozen=True, slots=True)
class Assign(Stmt):
    """`target op= value`; op is "" for a plain assignment. The target is an Access or a declared local Name."""

    target: Access | Name
    op: str
    value: Expr
    location: Location = _field(default=NOWHERE, compare=False)

    def __post_init__(self) -> None:
        if self.op not in ("", "+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^"):
            raise ValueError(f"unknown assignment operator: {self.op}=")


@dataclass(frozen=True, slots=True)
class Invoke(Stmt):
    """`target = function(arguments);`, a call of a function that is defined elsewhere and accesses arrays."""

    function: str
    arguments: tuple[Expr, ...]
    target: Access | Name | None = None
    location: Location = _field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Declare(Stmt):
    """`type name = value;` with a scope of the enclosing statement tree."""

    name: str
    type: CType
    value: Expr | None
    location: Location = _field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class If(Stmt):
    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()
    location: Location = _field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class For(Stmt):
    """`for (type iterator = lower; condition; iterator += step) body`. A kernel's grid-stride loops step by the
    grid's extent, which is a name."""

    iterator: str
    lower: Expr
    condition: Expr
    step: int | Name = _field(metadata={"nodes": False})
    body: tuple[Stmt, ...]
    type: CType = INT
    location: Location = _field(default=NOWHERE, compare=False)
    unroll: int | None = None  # by this factor, 0 fully; None leaves it to the compiler
    label: str = _field(default="", compare=False)  # by which a plan names a loop of a schedule

    def __post_init__(self) -> None:
        if self.step == 0:
            raise ValueError("a loop needs a step other than 0")
        if self.unroll is not None and self.unroll < 0:
            raise ValueError("a loop is unrolled by a positive factor, or fully (0)")


@dataclass(frozen=True, slots=True)
class While(Stmt):
    """`while (condition) body`: a loop whose number of iterations depends on data, in the body of a statement."""

    condition: Expr
    body: tuple[Stmt, ...]
    location: Location = _field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Break(Stmt):
    """The innermost `While` around ends; no `For` stands between."""

    location: Location = _field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Scope(Stmt):
    """`{ body }`: declarations inside end with it."""

    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Execution(Stmt):
    """The body of a statement's instance, whose `iterators` have these `values`; printed as its body.

    Lowering makes them for passes that ask which statement a loop runs; `clean up` leaves their bodies alone.
    """

    statement: str
    iterators: tuple[str, ...]
    values: tuple[Expr, ...]
    body: tuple[Stmt, ...]


Node = Expr | Stmt
