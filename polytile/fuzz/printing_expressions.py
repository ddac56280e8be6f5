"""Index expressions, values, conditions and loop headers as C text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from polytile.fuzz.ranges import Extents, Linear, Ranges, below, range_of, shift
from polytile.fuzz.tree import (
    Apply,
    Compare,
    Condition,
    DataCompare,
    Element,
    Extreme,
    Index,
    Junction,
    Literal,
    Loop,
    Minus,
    Name,
    Not,
    Num,
    Position,
    Quotient,
    Remainder,
    Row,
    Sum,
    Times,
    Value,
)

_ATOM = re.compile(r"\w+(\.\w+)?|\w+\([^()]*\)")


def linear_text(value: Linear, spelt: Mapping[str, str]) -> str:
    """`2 * n + 3`, with the sizes' names as `spelt` has them."""
    terms = [
        f"{k} * {spelt.get(name, name)}" if k != 1 else spelt.get(name, name)
        for k, name in ((value.n, "n"), (value.m, "m"))
        if k
    ]
    return " + ".join([*terms, str(value.c)] if value.c or not terms else terms)


def _tight(text: str) -> str:
    """The text as an operand of `*`."""
    return text if _ATOM.fullmatch(text) else f"({text})"


@dataclass(frozen=True, slots=True)
class Speller:
    """Writes expressions; `flat` arrays are subscripted once, and `spelt` are names to write for sizes."""

    extents: Extents
    flat: frozenset[str]
    spelt: Mapping[str, str]

    def index(self, e: Index) -> str:
        match e:
            case Num(value):
                return str(value)
            case Name(name):
                return self.spelt.get(name, name)
            case Sum(left, Num(value)) if value < 0:
                return f"{self.index(left)} - {-value}"
            case Sum(left, right):
                return f"{self.index(left)} + {self.index(right)}"
            case Minus(left, right):
                return f"{self.index(left)} - {_tight(self.index(right))}"
            case Times(factor, inner):
                return f"{factor} * {_tight(self.index(inner))}"
            case Quotient(inner, by):
                return f"{_tight(self.index(inner))} / {by}"
            case Remainder(inner, by):
                return f"{_tight(self.index(inner))} % {by}"
            case Extreme(op, left, right, macro):
                a, b = self.index(left), self.index(right)
                name = "MIN" if op == "<" else "MAX"
                return f"{name}({a}, {b})" if macro else f"({_tight(a)} {op} {_tight(b)} ? {a} : {b})"

    def subscript(self, e: Index, names: Ranges) -> str:
        """The index with what keeps it from being negative."""
        added = shift(range_of(e, names))
        if added == Linear():
            return self.index(e)
        if added.constant:
            return self.index(_moved(e, added.c))
        return f"{self.index(e)} + {linear_text(added, self.spelt)}"

    def element(self, e: Element, names: Ranges) -> str:
        spelt = [self.subscript(s, names) for s in e.subscripts]
        tail = f".{e.field}" if e.field else ""
        if e.array in self.flat:
            return f"{e.array}[{self.flattened(e.array, spelt)}]{tail}"
        return e.array + "".join(f"[{s}]" for s in spelt) + tail

    def flattened(self, array: str, subscripts: list[str]) -> str:
        """`(i * (n + 1) + j) * 4 + k`, row-major."""
        text = subscripts[0]
        for extent, subscript in zip(self.extents[array][1:], subscripts[1:], strict=True):
            text = f"{_tight(text)} * {_tight(linear_text(extent, self.spelt))} + {subscript}"
        return text

    def row(self, array: str, subscripts: tuple[Index, ...], names: Ranges) -> str:
        return array + "".join(f"[{self.subscript(s, names)}]" for s in subscripts)

    def value(self, v: Value | object, names: Ranges) -> str:
        match v:
            case Literal(text):
                return text
            case Element():
                return self.element(v, names)
            case Row(function, array, subscripts, count):
                return f"{function}({self.index(count)}, {self.row(array, subscripts, names)})"
            case Position(index):
                return f"({self.index(index)})"
            case Apply(form, arguments):
                return form.format(*(self.value(a, names) for a in arguments))
        raise TypeError(v)

    def condition(self, c: Condition, names: Ranges) -> str:
        match c:
            case Compare(left, op, right):
                return f"{self.index(left)} {op} {self.index(right)}"
            case DataCompare(a, op, b):
                return f"{self.value(a, names)} {op} {self.value(b, names)}"
            case Not(inner):
                return f"!({self.condition(inner, names)})"
            case Junction(op, one, other):
                return " ".join((self.joined(one, op, names), op, self.joined(other, op, names)))

    def joined(self, c: Condition, op: str, names: Ranges) -> str:
        text = self.condition(c, names)
        return f"({text})" if isinstance(c, Junction) and c.op != op else text

    def header(self, loop: Loop, names: Ranges) -> str:
        i, low, high = loop.iterator, self.index(loop.low), self.index(loop.high)
        last = self.index(_moved(loop.high, -1))
        match loop.form:
            case ">=":
                start, test = last, f"{i} >= {low}"
            case ">":
                start, test = last, f"{i} > {self.index(_moved(loop.low, -1))}"
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
        declared = f"{loop.type} " if loop.type else ""
        return f"for ({declared}{i} = {start}; {test}; {self.advance(loop)})"

    def advance(self, loop: Loop) -> str:
        sign = "-" if loop.form in (">", ">=") else "+"
        if loop.step == 1:
            return f"{loop.iterator}{sign}{sign}" if loop.form != "flipped" else f"++{loop.iterator}"
        if loop.form == "flipped":
            return f"{loop.iterator} = {loop.iterator} {sign} {loop.step}"
        return f"{loop.iterator} {sign}= {loop.step}"


def _moved(e: Index, by: int) -> Index:
    match e:
        case Num(value):
            return Num(value + by)
        case Sum(left, Num(value)):
            return left if value + by == 0 else Sum(left, Num(value + by))
    return Sum(e, Num(by))
