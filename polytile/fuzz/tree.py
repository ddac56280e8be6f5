"""Random programs as trees: what can be dropped, replaced and printed without knowing C.

Every tree is a program whose subscripts stay inside its arrays, because extents and offsets are not in the tree: they
are computed from the subscripts when it is printed (`ranges.py`).
"""

from __future__ import annotations

from polytile.dataclass import dataclass

UNSIGNED_ITERATORS = ("unsigned", "size_t", "unsigned char", "unsigned short")
LARGEST_TILED = 70  # of n and m, where they are drawn around a tile
START, START_VALUE = "t0", 2147480000  # where iterators of large values start: near the end of int
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


@dataclass(frozen=True, slots=True)
class Choice:
    """`condition ? then : otherwise`."""

    condition: Condition
    then: Index
    otherwise: Index


@dataclass(frozen=True, slots=True)
class Clamped:
    """A call of a function of the file that puts a value between two others."""

    inner: Index
    low: Index
    high: Index


@dataclass(frozen=True, slots=True)
class Wrapped:
    """`inner % size`, in a loop that runs below `size`."""

    inner: Index
    size: Index


@dataclass(frozen=True, slots=True)
class Entry:
    """An element of an array of indices."""

    array: str
    subscripts: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class PostStep:
    """`name++` in the subscript of what is assigned."""

    name: str


Index = (
    Num | Name | Sum | Minus | Times | Quotient | Remainder | Extreme | Choice | Clamped | Wrapped | Entry | PostStep
)


# Values ---------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Literal:
    text: str


@dataclass(frozen=True, slots=True)
class Element:
    """An element of an array, or a scalar: no subscripts.

    `inside` are subscripts within the field; `through` is the variable of a Place that holds its flat subscript, or, of
    a `row`, that of the first element of its row.
    """

    array: str
    subscripts: tuple[Index, ...] = ()
    field: str = ""
    inside: tuple[Index, ...] = ()
    through: str = ""
    row: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A call of a function of the file on `count` elements of a row, the first ones or those from `start` on."""

    function: str
    array: str
    subscripts: tuple[Index, ...]
    count: Index
    start: Index | None = None


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
class LargeCompare:
    """A comparison of `{i}` with a `{size}` at the end of its type (`large_sizes.py`), as `form` has it."""

    form: str
    index: Index
    size: str


@dataclass(frozen=True, slots=True)
class Not:
    inner: Condition


@dataclass(frozen=True, slots=True)
class Junction:
    """`&&` or `||`."""

    op: str
    left: Condition
    right: Condition


Condition = Compare | DataCompare | LargeCompare | Not | Junction


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
    """A call of a function of the file that writes `count` elements of a row; see Row."""

    function: str
    array: str
    subscripts: tuple[Index, ...]
    count: Index
    start: Index | None = None


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
class Let:
    """An integer variable for an index expression: `int name = value;`, or, not `declared` here, `name = value;`.

    With a `limit`, `if (name op limit) name = limit;` follows.
    """

    name: str
    value: Index
    declared: bool = True
    op: str = ">"
    limit: Index | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """`int name = i * m + j;`, or, of a `row`, `int name = i * m;`: the subscript of an element of a flat array."""

    name: str
    element: Element
    row: bool = False


@dataclass(frozen=True, slots=True)
class Counting:
    """`int name = start;`, and statements that may advance it."""

    name: str
    start: Index
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Advance:
    """`name += by;` for a variable of Counting."""

    name: str
    by: int


@dataclass(frozen=True, slots=True)
class Leave:
    """`if (condition) continue;`, `break` or `goto`, to the label of an Escape around it."""

    word: str
    condition: Condition
    label: str = ""


@dataclass(frozen=True, slots=True)
class Escape:
    """`loop label: ;`, with jumps to the label in the loop."""

    label: str
    loop: Loop


@dataclass(frozen=True, slots=True)
class JumpOver:
    """`if (condition) goto label; skipped label: ;`."""

    condition: Condition
    label: str
    skipped: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Switch:
    """`switch (subject) { case 0: ... break; ... default: ... }`; cases in `falls` go on into the next one."""

    subject: Index
    cases: tuple[tuple[Statement, ...], ...]
    falls: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Until:
    """`int name = 0; while (name < limit && condition) { body name++; }`, or the `do` loop with that condition."""

    name: str
    limit: Index
    condition: Condition
    body: tuple[Statement, ...]
    word: str = "while"


@dataclass(frozen=True, slots=True)
class If:
    condition: Condition
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Loop:
    """`low <= iterator < high`, every `step`-th from the low end or, counting down, from the high end.

    `form` is `<`, `<=`, `flipped` (`high > i`), `!=` (step 1 from 0 only), `>=` or `>` (these two count down), or
    `while` or `do` (step 1, the last statement counts). A `stride` is a step that is a sum of sizes, at least 1.
    The iterator runs from `start` on, if there is one, of STARTS (`large_sizes.py`): mostly near the end of its type.
    """

    iterator: str
    low: Index
    high: Index
    step: int = 1
    form: str = "<"
    body: tuple[Statement, ...] = ()
    also: Condition | None = None  # joined to the bound with &&
    type: str = "int"  # empty: declared at the top of the function
    stride: Index | None = None
    start: str = ""


_Simple = Assign | Update | Sweep | Declare | DeclareArray | Let | Place | Advance | Leave
Statement = _Simple | Counting | JumpOver | Switch | Until | If | Loop | Escape


# Programs -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Array:
    """An array or, with rank 0, a scalar, outside the SCoPs.

    `holds`: `index` for integers from 0 to `n` that are read as subscripts, `row` for those that are bounds of loops.
    `form`: arrays are `vla`, `pointer`, `restrict`, `flat` (written `A[i * m + j]`), `static`, or `own` (of the
    function); scalars are `parameter`, `local`, `dead` (local, not used afterwards), `static` or
    `kept` (a static variable of the function).
    """

    name: str
    type: str
    rank: int
    form: str
    written: bool = True  # may statements write it?
    holds: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """`parts` are its SCoPs; `known` are variables that are set before them."""

    name: str
    parts: tuple[tuple[Statement, ...], ...]
    known: tuple[Let, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    arrays: tuple[Array, ...]
    functions: tuple[Function, ...]
    fixed: tuple[tuple[str, int], ...] = ()  # sizes that are macros
    assumptions: tuple[Condition, ...] = ()
    autodetect: bool = False  # written without pragmas
    size_type: str = "int"
    signs: bool = True  # is what C does not say of the sizes promised where arrays are flat?

    def array(self, name: str) -> Array | None:
        return next((a for a in self.arrays if a.name == name), None)
