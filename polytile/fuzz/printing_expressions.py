"""Index expressions, values, conditions and loop headers as C text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from polytile.dataclass import dataclass
from polytile.fuzz.extents import Extents
from polytile.fuzz.large_sizes import STARTS
from polytile.fuzz.ranges import Linear, Ranges, below, range_of, shift
from polytile.fuzz.tree import (
    Apply,
    Choice,
    Clamped,
    Compare,
    Condition,
    DataCompare,
    Element,
    Entry,
    Extreme,
    Index,
    Junction,
    LargeCompare,
    Literal,
    Loop,
    Minus,
    Name,
    Not,
    Num,
    Place,
    Position,
    PostStep,
    Quotient,
    Remainder,
    Row,
    Sum,
    Sweep,
    Times,
    Value,
    Wrapped,
)

_ATOM = re.compile(r"\w+(\.\w+)?|\w+\([^()]*\)")


def linear_text(value: Linear, spelt: Mapping[str, str]) -> str:
    """Print `2 * n + 3`, with the sizes' names as `spelt` has them."""
    terms = [
        f"{k} * {spelt.get(name, name)}" if k != 1 else spelt.get(name, name)
        for k, name in ((value.n, "n"), (value.m, "m"))
        if k
    ]
    return " + ".join([*terms, str(value.c)] if value.c or not terms else terms)


def _tight(text: str) -> str:
    """Return the text as an operand of `*`."""
    return text if _ATOM.fullmatch(text) else f"({text})"


@dataclass(frozen=True, slots=True)
class Speller:
    """Writes expressions; `flat` arrays are subscripted once, and `spelt` are names to write for sizes."""

    extents: Extents
    flat: frozenset[str]
    spelt: Mapping[str, str]

    def index(self, e: Index, names: Ranges) -> str:
        match e:
            case Num(value):
                return str(value)
            case Name(name):
                return (names[name].spelt if name in names else "") or self.spelt.get(name, name)
            case PostStep(name):
                return f"{name}++"
            case Sum(left, Num(value)) if value < 0:
                return f"{self.index(left, names)} - {-value}"
            case Sum(left, right):
                return f"{self.index(left, names)} + {self.index(right, names)}"
            case Minus(left, right):
                return f"{self.index(left, names)} - {_tight(self.index(right, names))}"
            case Times(factor, inner):
                return f"{factor} * {_tight(self.index(inner, names))}"
            case Quotient(inner, by):
                return f"{_tight(self.index(inner, names))} / {by}"
            case Remainder(inner, by):
                return f"{_tight(self.index(inner, names))} % {by}"
            case Extreme(op, left, right, macro):
                a, b = self.index(left, names), self.index(right, names)
                name = "MIN" if op == "<" else "MAX"
                return f"{name}({a}, {b})" if macro else f"({_tight(a)} {op} {_tight(b)} ? {a} : {b})"
            case Choice() | Clamped() | Wrapped() | Entry():
                return self.rarer_index(e, names)

    def rarer_index(self, e: Choice | Clamped | Wrapped | Entry, names: Ranges) -> str:
        match e:
            case Choice(condition, left, right):
                a, b = self.index(left, names), self.index(right, names)
                return f"({self.condition(condition, names)} ? {a} : {b})"
            case Clamped(inner, low, high):
                return f"clamped({', '.join(self.index(x, names) for x in (inner, low, high))})"
            case Wrapped(inner, size):
                return f"{_tight(self.index(inner, names))} % {_tight(self.index(size, names))}"
            case Entry(array, subscripts):
                return array + "".join(f"[{self.subscript(s, names)}]" for s in subscripts)

    def subscript(self, e: Index, names: Ranges, *, whole: bool = True) -> str:
        """Print the index with what keeps it from being negative; a `whole` subscript may be unsigned, as part of a sum
        of a wider type it would not wrap around."""
        added = shift(range_of(e, names))
        if added == Linear():
            text = self.index(e, names)
            return text[6:-1] if whole and isinstance(e, Name) and text.startswith("(int)(") else text
        if added.constant:
            return self.index(moved(e, added.c), names)
        return f"{self.index(e, names)} + {linear_text(added, self.spelt)}"

    def element(self, e: Element, names: Ranges) -> str:
        spelt = [self.subscript(s, names, whole=e.array not in self.flat) for s in e.subscripts]
        tail = f".{e.field}" if e.field else ""
        tail += "".join(f"[{self.index(s, names)}]" for s in e.inside)
        if e.array in self.flat:
            through = f"{e.through} + {spelt[-1]}" if e.row and e.through else e.through
            return f"{e.array}[{through or self.flattened(e.array, spelt)}]{tail}"
        return e.array + "".join(f"[{s}]" for s in spelt) + tail

    def place(self, place: Place, names: Ranges) -> str:
        """Print the subscript of an element of a flat array, or of the first element of its row."""
        array, subscripts = place.element.array, place.element.subscripts
        spelt = [self.subscript(s, names, whole=False) for s in subscripts]
        if not place.row:
            return self.flattened(array, spelt)
        return (
            f"{_tight(self.flattened(array, spelt[:-1]))} * {_tight(linear_text(self.extents[array][-1], self.spelt))}"
        )

    def flattened(self, array: str, subscripts: list[str]) -> str:
        """Print `(i * (n + 1) + j) * 4 + k`, row-major."""
        text = subscripts[0]
        for extent, subscript in zip(self.extents[array][1:], subscripts[1:], strict=False):
            text = f"{_tight(text)} * {_tight(linear_text(extent, self.spelt))} + {subscript}"
        return text

    def row(self, row: Row | Sweep, names: Ranges) -> str:
        """Print `3, A[i]` or `3, &A[i][j]`: the arguments for a row."""
        first = row.array + "".join(f"[{self.subscript(s, names)}]" for s in row.subscripts)
        if row.start is not None:
            first = f"&{first}[{self.subscript(row.start, names)}]"
        return f"{self.index(row.count, names)}, {first}"

    def value(self, v: Value | object, names: Ranges) -> str:
        match v:
            case Literal(text):
                return text
            case Element():
                return self.element(v, names)
            case Row():
                return f"{v.function}({self.row(v, names)})"
            case Position(index):
                return f"({self.index(index, names)})"
            case Apply(form, arguments):
                return form.format(*(self.value(a, names) for a in arguments))
        raise TypeError(v)

    def condition(self, c: Condition, names: Ranges) -> str:
        match c:
            case Compare(left, op, right):
                return f"{self.index(left, names)} {op} {self.index(right, names)}"
            case DataCompare(a, op, b):
                return f"{self.value(a, names)} {op} {self.value(b, names)}"
            case LargeCompare(form, index, size):
                return form.format(i=self.index(index, names), size=size, n=self.index(Name("n"), names))
            case Not(inner):
                return f"!({self.condition(inner, names)})"
            case Junction(op, one, other):
                return " ".join((self.joined(one, op, names), op, self.joined(other, op, names)))

    def joined(self, c: Condition, op: str, names: Ranges) -> str:
        text = self.condition(c, names)
        return f"({text})" if isinstance(c, Junction) and c.op != op else text

    def header(self, loop: Loop, names: Ranges) -> str:
        """Print `for (int i = 0; i < n; i++)`."""
        start, test = self.bounds(loop, names)
        declared = f"{loop.type} " if loop.type else ""
        return f"for ({declared}{loop.iterator} = {start}; {test}; {self.advance(loop, names)})"

    def bounds(self, loop: Loop, names: Ranges) -> tuple[str, str]:
        """Print the first value of the iterator, and the condition."""
        i, before = loop.iterator, f"{STARTS[loop.start].text} + " if loop.start else ""
        low, high = before + self.index(loop.low, names), before + self.index(loop.high, names)
        last = before + self.index(moved(loop.high, -1), names)
        match loop.form:
            case ">=":
                start, test = last, f"{i} >= {low}"
            case ">":
                start, test = last, f"{i} > {before}{self.index(moved(loop.low, -1), names)}"
            case "<=":
                start, test = low, f"{i} <= {last}"
            case "flipped":
                start, test = low, f"{high} > {i}"
            case "!=":
                start, test = low, f"{i} != {high}"
            case _:
                start, test = low, f"{i} < {high}"
        if loop.also is not None:
            text = self.condition(loop.also, below(loop, names))
            test += f" && ({text})" if isinstance(loop.also, Junction) else f" && {text}"
        return start, test

    def advance(self, loop: Loop, names: Ranges) -> str:
        """Print `i++`, `i -= 2` or `i += n + 1`."""
        sign = "-" if loop.form in (">", ">=") else "+"
        if loop.stride is not None:
            return f"{loop.iterator} += {self.index(loop.stride, names)}"
        if loop.step == 1:
            return f"{loop.iterator}{sign}{sign}" if loop.form != "flipped" else f"++{loop.iterator}"
        if loop.form == "flipped":
            return f"{loop.iterator} = {loop.iterator} {sign} {loop.step}"
        return f"{loop.iterator} {sign}= {loop.step}"


def moved(e: Index, by: int) -> Index:
    """Return the expression plus a number."""
    match e:
        case Num(value):
            return Num(value + by)
        case Sum(left, Num(value)):
            return left if value + by == 0 else Sum(left, Num(value + by))
    return Sum(e, Num(by))
