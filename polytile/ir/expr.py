"""Statement bodies and index expressions: one small language for the C that comes in and the CUDA that goes out.

Every node is frozen and carries its type (values) or its source location (statements). Nodes that read memory are
`Access`; everything else is a pure value. The frontend builds these from C, the code generator prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field as _field
from dataclasses import fields, replace
from operator import attrgetter, is_not
from typing import TYPE_CHECKING, Any, TypeVar

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
    """The least and the greatest value of an integer type."""
    if ctype.name == "_Bool":
        return 0, 1
    bits = 8 * ctype.size - ctype.signed
    return (-(2**bits) if ctype.signed else 0), 2**bits - 1


def includes(ctype: CType, other: CType) -> bool:
    """Whether an integer type has all values of another one."""
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
                _COMPARED[kind] = attrgetter(*(f.name for f in fields(kind) if f.compare))
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
_Stmt = TypeVar("_Stmt", bound=Stmt)
_NODES = (Expr, Stmt)  # a tuple: tests against a union, which is made anew each time, take twice as long
_ONE = {"Expr", "Access", "Access | Name"}  # annotations
_EXPRESSIONS = {"tuple[Expr, ...]", "tuple[Access, ...]"}
_MORE = {"tuple[Stmt, ...]", *_EXPRESSIONS}
_PLAIN = ("str", "int", "bool", "CType", "Location", "str | None", "int | None")  # of what holds no node
_Children = Callable[[Any], tuple[Any, ...]]
_PARTS: dict[type, tuple[tuple[str, str], ...]] = {}  # by class of node: fields that may hold nodes, with annotations
_FIELDS: dict[type, tuple[str, ...]] = {}  # of classes that are made of them
_CHILDREN: dict[type, _Children | None] = {}
_BLOCKS: dict[type, tuple[str, ...]] = {}  # fields that may hold statements


def _parts(kind: Any) -> tuple[tuple[str, str], ...]:
    """The fields of a class of nodes that may hold other nodes, with their annotations."""
    if kind not in _PARTS:
        own = (f for f in fields(kind) if f.type not in _PLAIN and f.metadata.get("nodes", True))
        _PARTS[kind] = tuple((f.name, str(f.type)) for f in own)
    return _PARTS[kind]


def children(node: Node) -> tuple[Any, ...]:
    """The direct sub-nodes of an expression or statement, in source order."""
    below = _children_of(type(node))
    return () if below is None else below(node)


def _children_of(kind: Any) -> _Children | None:
    """What finds the direct sub-nodes of such nodes; None for those that have none."""
    if kind not in _CHILDREN:
        _CHILDREN[kind] = _finder(_parts(kind))
    return _CHILDREN[kind]


def _finder(parts: tuple[tuple[str, str], ...]) -> _Children | None:
    if not parts:
        return None
    names = [name for name, _ in parts]
    if len(parts) == 1 and parts[0][1] in _MORE:
        return attrgetter(*names)
    if len(parts) > 1 and all(annotation in _ONE for _, annotation in parts):
        return attrgetter(*names)

    def found(node: Any) -> tuple[Any, ...]:
        below: list[Any] = []
        for name, annotation in parts:
            value = getattr(node, name)
            if annotation in _MORE:
                below += value
            elif isinstance(value, _NODES):
                below.append(value)
            elif type(value) is tuple:
                below += [item for item in value if isinstance(item, _NODES)]
        return tuple(below)

    return found


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions of a statement itself, not those of the statements inside it."""
    step = (stmt.step,) if isinstance(stmt, For) and isinstance(stmt.step, Name) else ()
    return (*(part for part in children(stmt) if isinstance(part, Expr)), *step)


def bodies(stmt: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The blocks of statements that a loop, branch or scope holds."""
    match stmt:
        case For(body=body) | While(body=body) | Scope(body=body) | Execution(body=body):
            return (body,)
        case If(then=then, otherwise=otherwise):
            return then, otherwise
    return ()


def with_bodies(stmt: _Stmt, change: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> _Stmt:
    """The statement with every block that it holds changed."""
    match stmt:
        case For(body=body) | While(body=body) | Scope(body=body) | Execution(body=body):
            return replace(stmt, body=change(body))
        case If(then=then, otherwise=otherwise):
            return replace(stmt, then=change(then), otherwise=change(otherwise))
    return stmt


def walk(*nodes: Node) -> Iterator[Node]:
    """The nodes and all below them, parents first."""
    waiting: list[Any] = list(reversed(nodes))
    while waiting:
        yield (node := waiting.pop())
        try:
            below = _CHILDREN[type(node)]
        except KeyError:
            below = _children_of(type(node))
        if below is not None:
            waiting += below(node)[::-1]


def statements(*nodes: Stmt) -> Iterator[Stmt]:
    """The statements and all inside of them, outer ones first: most nodes of a body are expressions."""
    waiting: list[Any] = list(reversed(nodes))
    while waiting:
        yield (node := waiting.pop())
        for name in _blocks(type(node)):
            value = getattr(node, name)
            if type(value) is tuple:
                waiting += [item for item in value[::-1] if isinstance(item, Stmt)]
            elif isinstance(value, Stmt):
                waiting.append(value)


def _blocks(kind: Any) -> tuple[str, ...]:
    """The fields of a class of nodes that may hold statements, the last one first."""
    if kind not in _BLOCKS:
        others = _ONE | _EXPRESSIONS | {"Expr | None"}
        _BLOCKS[kind] = tuple(name for name, annotation in _parts(kind)[::-1] if annotation not in others)
    return _BLOCKS[kind]


def with_children(node: Any, change: Callable[[Any], Any]) -> Any:
    """The node with each of its direct sub-nodes n replaced by change(n)."""
    changed = {}
    for name, annotation in _parts(type(node)):
        value = getattr(node, name)
        if annotation in _MORE:
            items = tuple(map(change, value))
            if any(map(is_not, items, value)):
                changed[name] = items
        elif isinstance(value, _NODES):
            new = change(value)
            if new is not value:
                changed[name] = new
        elif type(value) is tuple and value:
            items = tuple([change(i) if isinstance(i, _NODES) else i for i in value])
            if any(map(is_not, items, value)):
                changed[name] = items
    return _replaced(node, changed) if changed else node


def rewrite(node: Any, change: Callable[[Any], Any]) -> Any:
    """Rebuild a tree bottom-up, replacing each node n by change(n).

    before: Binary("+", Name("i"), Literal("1")), change = {Name("i") -> Name("c0")}
    after:  Binary("+", Name("c0"), Literal("1"))
    """

    def rewritten(node: Any) -> Any:
        return change(with_children(node, rewritten))

    return rewritten(node)


def _replaced(node: Any, changed: Mapping[str, Any]) -> Any:
    """What `dataclasses.replace` gives, in half of its time."""
    kind = type(node)
    if kind not in _FIELDS:
        plain = all(f.init and not f.kw_only for f in fields(kind)) and kind.__dataclass_params__.init
        _FIELDS[kind] = tuple(f.name for f in fields(kind)) if plain else ()
    names = _FIELDS[kind]
    if not names:
        return replace(node, **changed)
    return kind(*[changed[name] if name in changed else getattr(node, name) for name in names])
