"""Random programs as trees: what can be dropped, replaced and printed without knowing C.

Every tree is a program whose subscripts stay inside its arrays, because extents and offsets are not in the tree: they
are computed from the subscripts when it is printed (`ranges.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

SIZES = ("n", "m")  # at least 0
OFFSET = "k"  # of any sign, within OFFSET_RANGE
OFFSET_RANGE = (-3, 5)


# Index expressions: integers that are affine in iterators and parameters ----------------------------------------------
@dataclass(frozen=True, slots=True)
class Num:
    value: int


@dataclass(frozen=True, slots=True)
class Name:
    name: str


@dataclass(frozen=True, slots=True)
class Sum:
    left: Index
    right: Index


@dataclass(frozen=True, slots=True)
class Minus:
    left: Index
    right: Index


@dataclass(frozen=True, slots=True)
class Times:
    factor: int
    inner: Index


@dataclass(frozen=True, slots=True)
class Quotient:
    inner: Index
    by: int


@dataclass(frozen=True, slots=True)
class Remainder:
    inner: Index
    by: int


@dataclass(frozen=True, slots=True)
class Extreme:
    """The smaller (`<`) or the larger (`>`) of two."""

    op: str
    left: Index
    right: Index
    macro: bool = False


Index = Num | Name | Sum | Minus | Times | Quotient | Remainder | Extreme


# Values ---------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Literal:
    text: str


@dataclass(frozen=True, slots=True)
class Element:
    """An element of an array, or a scalar: no subscripts."""

    array: str
    subscripts: tuple[Index, ...] = ()
    field: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A call of a function of the file on the first `count` elements of a row."""

    function: str
    array: str
    subscripts: tuple[Index, ...]
    count: Index


@dataclass(frozen=True, slots=True)
class Position:
    """An index expression used as a value."""

    index: Index


@dataclass(frozen=True, slots=True)
class Apply:
    """`form` with {0}, {1} replaced by the arguments, which it parenthesises where it must."""

    form: str
    arguments: tuple[Value, ...]


Value = Literal | Element | Row | Position | Apply


# Conditions -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Compare:
    left: Index
    op: str
    right: Index


@dataclass(frozen=True, slots=True)
class DataCompare:
    left: Value
    op: str
    right: Value


@dataclass(frozen=True, slots=True)
class Not:
    inner: Condition


@dataclass(frozen=True, slots=True)
class Junction:
    """`&&` or `||`."""

    op: str
    left: Condition
    right: Condition


Condition = Compare | DataCompare | Not | Junction


# Statements -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Assign:
    """`target = value`, or with several targets `a = b = value`."""

    targets: tuple[Element, ...]
    value: Value


@dataclass(frozen=True, slots=True)
class Update:
    """`target op= value`; op is an operator of C, `min` or `max`, and `spelling` says how it is written."""

    target: Element
    op: str
    value: Value
    spelling: str = "compound"


@dataclass(frozen=True, slots=True)
class Sweep:
    """A call of a function of the file that writes the first `count` elements of a row."""

    function: str
    array: str
    subscripts: tuple[Index, ...]
    count: Index


@dataclass(frozen=True, slots=True)
class Declare:
    """A scalar that is declared where it stands."""

    name: str
    type: str
    value: Value


@dataclass(frozen=True, slots=True)
class DeclareArray:
    """An array that is declared where it stands and filled at once."""

    name: str
    type: str
    rank: int
    value: Value


@dataclass(frozen=True, slots=True)
class If:
    condition: Condition
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Loop:
    """`low <= iterator < high`, every `step`-th from the low end or, counting down, from the high end.

    `form` is `<`, `<=`, `flipped` (`high > i`), `!=` (step 1 from 0 only), `>=` or `>` (these two count down).
    """

    iterator: str
    low: Index
    high: Index
    step: int = 1
    form: str = "<"
    body: tuple[Statement, ...] = ()
    also: Condition | None = None  # joined to the bound with &&
    type: str = "int"  # empty: declared at the top of the function


Statement = Assign | Update | Sweep | Declare | DeclareArray | If | Loop


# Programs -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Array:
    """An array or, with rank 0, a scalar, outside the SCoPs.

    `form`: arrays are `vla`, `pointer`, `restrict`, `flat` (written `A[i * m + j]`), `static`, or `own` (of the
    function); scalars are `parameter`, `local`, `dead` (local, not used afterwards) or `static`.
    """

    name: str
    type: str
    rank: int
    form: str
    written: bool = True  # may statements write it?


@dataclass(frozen=True, slots=True)
class Function:
    """`parts` are its SCoPs."""

    name: str
    parts: tuple[tuple[Statement, ...], ...]


@dataclass(frozen=True, slots=True)
class Program:
    arrays: tuple[Array, ...]
    functions: tuple[Function, ...]
    fixed: tuple[tuple[str, int], ...] = ()  # sizes that are macros
    assumptions: tuple[Condition, ...] = ()
    autodetect: bool = False  # written without pragmas
    size_type: str = "int"

    def array(self, name: str) -> Array | None:
        return next((a for a in self.arrays if a.name == name), None)


STRUCT_FIELDS = {"x": "double", "y": "float", "k": "int"}
_FLOATING = ("float", "double")


def kind(ctype: str) -> str:
    """`f` for floating types, `u` for unsigned and `i` for other integers."""
    if ctype in _FLOATING:
        return "f"
    return "u" if ctype.startswith("unsigned") else "i"


# Trees in general -----------------------------------------------------------------------------------------------------
Path = tuple[str | int, ...]


def walk(node: Any) -> Iterator[Any]:
    """The node and all below it, outermost first; tuples are passed through."""
    if isinstance(node, tuple):
        for item in node:
            yield from walk(item)
    elif is_dataclass(node):
        yield node
        for f in fields(node):
            yield from walk(getattr(node, f.name))


def positions(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every node and every tuple below `node` with the way to it: names of fields and numbers of items."""
    if isinstance(node, tuple):
        yield path, node
        for number, item in enumerate(node):
            yield from positions(item, (*path, number))
    elif is_dataclass(node):
        yield path, node
        for f in fields(node):
            yield from positions(getattr(node, f.name), (*path, f.name))


def replaced(node: Any, path: Path, new: Any) -> Any:
    """The tree with what lies at `path` exchanged."""
    if not path:
        return new
    step, *rest = path
    if isinstance(step, int):
        return (*node[:step], replaced(node[step], tuple(rest), new), *node[step + 1 :])
    return replace(node, **{step: replaced(getattr(node, step), tuple(rest), new)})


def substituted(node: Any, name: str, by: Index) -> Any:
    """The tree with the iterator `name` replaced by an expression."""
    if isinstance(node, Name):
        return by if node.name == name else node
    if isinstance(node, tuple):
        return tuple(substituted(item, name, by) for item in node)
    if is_dataclass(node) and not isinstance(node, type):
        return replace(node, **{f.name: substituted(getattr(node, f.name), name, by) for f in fields(node)})
    return node
