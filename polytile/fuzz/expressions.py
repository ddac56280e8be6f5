"""Draws index expressions, conditions and values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

from polytile.dataclass import dataclass
from polytile.fuzz.draw import Draw
from polytile.fuzz.forms import FORMS, JUMPS, LITERALS, Form
from polytile.fuzz.helpers import ROW_FUNCTIONS
from polytile.fuzz.ranges import PARAMETERS, Linear, Ranges, range_of
from polytile.fuzz.structs import Field, fields_of, kind
from polytile.fuzz.tree import (
    OFFSET,
    SIZES,
    Apply,
    Array,
    Compare,
    Condition,
    DataCompare,
    Element,
    Extreme,
    Index,
    Junction,
    Literal,
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

SIZED = ("vla", "static", "own")  # forms of arrays whose sizes are known in the SCoP
LARGEST_CONSTANT_INDEX = 60  # higher subscripts would only make arrays large


@dataclass(frozen=True, slots=True)
class Context:
    """What may be used at a place: the ranges of iterators, local variables, and whether a condition reads data.

    `bases` are more index expressions to build subscripts from; `indices` are whole subscripts of arrays with known
    sizes, whose values data choose; `places` are elements of flat arrays whose subscripts variables hold.
    """

    names: Ranges
    iterators: tuple[str, ...] = ()
    scalars: tuple[tuple[str, str], ...] = ()  # name and type of those declared inside the SCoP
    locals: tuple[Array, ...] = ()
    guarded: bool = False
    bases: tuple[Index, ...] = ()
    indices: tuple[Index, ...] = ()
    places: tuple[Element, ...] = ()

    def without(self, array: str) -> Context:
        """Return the same place where an array may not be used."""
        return replace(
            self,
            scalars=tuple(s for s in self.scalars if s[0] != array),
            locals=tuple(a for a in self.locals if a.name != array),
            places=tuple(e for e in self.places if e.array != array),
        )


OUTSIDE = Context(PARAMETERS)


@dataclass(slots=True)
class ExpressionWriter:
    """Draws expressions over the arrays of a program."""

    draw: Draw
    arrays: Sequence[Array]
    jumps: bool = True  # may values jump?
    inner_rows: bool = False  # may rows that are passed begin inside an array, `&A[i][j]`?
    forbidden: set[str] = field(default_factory=set)  # arrays that values may not read for now

    # Index expressions
    def index(self, at: Context) -> Index:
        """Draw a subscript."""
        draw = self.draw
        if not at.iterators and at.bases and not draw.chance(3):
            return plus(draw.one_of(at.bases), draw.pick(0, 0, 1))
        if not at.iterators or draw.chance(12):
            return draw.pick(Num(draw.between(0, 4)), Num(0), self.size() if draw.chance(2) else Num(1))
        base: Index = Name(draw.one_of(at.iterators[-3:]))
        if at.bases and draw.chance(2):
            base = draw.one_of(at.bases)
        moved = plus(base, draw.pick(0, 0, 0, 0, 1, -1, 2, -2))
        form = draw.pick(*("plain",) * 9, "sum", "minus", "difference", "double", "half", "mod", "offset", "extreme")
        return self.transformed(form, moved, at)

    def transformed(self, form: str, base: Index, at: Context) -> Index:
        draw = self.draw
        other = Name(draw.one_of(at.iterators))
        match form:
            case "sum":
                return Sum(base, other)
            case "minus":
                return Minus(self.size(), base)
            case "difference":
                return Minus(base, other)
            case "double":
                return Times(draw.pick(2, 2, 3), base)
            case "half":
                return Quotient(base, draw.pick(2, 2, 3, 4))
            case "mod":
                return Remainder(base, draw.pick(2, 2, 3, 5))
            case "offset":
                return Sum(base, Name(OFFSET))
            case "extreme":
                return Extreme(draw.pick("<", ">"), base, draw.pick(Num(3), other, self.size()), draw.chance(2))
        return base

    def size(self) -> Index:
        return Name(self.draw.one_of(SIZES))

    def bound(self, at: Context, *, low: bool) -> Index:
        """Draw a bound of a loop; upper ones are exclusive."""
        draw = self.draw
        outer = [plus(Name(i), draw.pick(-1, 0, 0, 1, 2)) for i in at.iterators[-2:]]
        if low:
            rare: Index = draw.pick(Num(2), Num(-2), Name(OFFSET), Quotient(self.size(), 2), self.size())
            return draw.pick(Num(0), Num(0), Num(0), Num(1), Num(1), *outer, rare)
        size = self.size()
        rare = draw.pick(
            Extreme("<", Name("n"), Name("m"), draw.chance(2)),
            Extreme(">", Num(2), Minus(size, Num(3)), draw.chance(2)),
            Quotient(Sum(Name("n"), Name("m")), 2),
            Sum(size, Name(OFFSET)),
            Minus(size, Name(at.iterators[-1])) if at.iterators else Num(3),
            Num(draw.between(0, 7)),
            Extreme("<", plus(Name(at.iterators[-1]), 4), size, True) if at.iterators else Num(4),
            Quotient(Name(at.iterators[-1]), 2) if at.iterators else Quotient(size, 3),
        )
        return draw.pick(size, size, size, plus(size, -1), plus(size, draw.pick(-2, 1, 2)), *outer, rare)

    # Conditions
    def condition(self, at: Context) -> tuple[Condition, bool]:
        """Draw a condition, and return it and whether it reads data."""
        affine = self.affine(at, 1)
        if self.jumps and self.draw.chance(4):
            data = self.data_compare(at)
            return (data if self.draw.chance(2) else Junction(self.draw.pick("&&", "||"), affine, data)), True
        return affine, False

    def affine(self, at: Context, depth: int) -> Condition:
        draw = self.draw
        if depth and draw.chance(3):
            return Junction(draw.pick("&&", "||"), self.affine(at, depth - 1), self.affine(at, depth - 1))
        if draw.chance(5):
            return Not(self.affine(at, 0))
        names = [*at.iterators, *at.iterators, *SIZES, OFFSET]
        left: Index = plus(Name(draw.one_of(names)), draw.pick(0, 0, 1, -1))
        if draw.chance(3):
            by = draw.pick(2, 3, 4)
            left = Remainder(Sum(left, Name(draw.one_of(names))) if draw.chance(3) else left, by)
            return Compare(left, draw.pick("==", "==", "!=", "<"), Num(draw.between(0, by - 1)))
        if draw.chance(6):
            left = Quotient(left, 2)
        right: Index = plus(Name(draw.one_of(names)), draw.pick(-1, 0, 1))
        if draw.chance(2):
            right = Num(draw.between(0, 6))
        return Compare(left, draw.pick("<", "<=", ">", ">=", "==", "!="), right)

    def data_compare(self, at: Context) -> Condition:
        chosen = self.draw.pick("f", "f", "i", "u")
        right: Value = self.leaf(at, chosen) if self.draw.chance(2) else Literal(LITERALS[chosen][1])
        return DataCompare(self.leaf(at, chosen), self.draw.pick("<", "<=", ">", ">=", "!="), right)

    # Values
    def value(self, at: Context, wanted: str, depth: int = 2) -> Value:
        if depth == 0 or self.draw.chance(3):
            return self.leaf(at, wanted)
        forms: Sequence[Form] = FORMS[wanted]
        if self.jumps and JUMPS[wanted] and self.draw.chance(5):
            forms = JUMPS[wanted]
        return self.apply(forms, at, depth)

    def apply(self, forms: Sequence[Form], at: Context, depth: int) -> Value:
        text, kinds = self.draw.one_of(forms)
        return Apply(text, tuple(self.value(at, k, depth - 1) for k in kinds))

    def leaf(self, at: Context, wanted: str) -> Value:
        """Draw an element of an array or a local variable, an iterator or a number."""
        draw = self.draw
        local = [name for name, ctype in at.scalars if kind(ctype) == wanted]
        if local and draw.chance(3):
            return Element(draw.one_of(local))
        if at.iterators and draw.chance(8):
            index = Position(Remainder(self.index(at), 8) if wanted == "i" else Name(draw.one_of(at.iterators)))
            return index if wanted == "i" else Apply("0.125 * {0}" if wanted == "f" else "(unsigned){0}", (index,))
        return self.read(at, wanted) or Literal(draw.one_of(LITERALS[wanted]))

    def read(self, at: Context, wanted: str, usable: Callable[[Array], bool] = lambda _: True) -> Element | None:
        found = [
            (a, f)
            for a in (*self.arrays, *at.locals)
            if a.name not in self.forbidden and usable(a)
            for f in fields_of(a.type)
            if f.kind == wanted
        ]
        if not found or self.draw.chance(10):
            return None
        array, chosen = self.draw.one_of(found)
        if array.form == "flat" and (places := [e for e in at.places if e.array == array.name]) and self.draw.chance(2):
            return self.draw.one_of(places)
        return self.element(at, array, chosen)

    def element(self, at: Context, array: Array, field: Field) -> Element:
        """Draw a field of an element; of a field with subscripts of its own, one of its numbers."""
        return Element(array.name, self.subscripts(at, array), field.name, self.inside(at, field))

    def inside(self, at: Context, field: Field) -> tuple[Index, ...]:
        """Draw subscripts within a field: numbers, iterators that stay below its size, remainders of others."""
        found: list[Index] = []
        for size in field.shape:
            usable = [i for i in at.iterators if at.names[i].never_negative]
            if not usable or self.draw.chance(2):
                found.append(Num(self.draw.between(0, size - 1)))
                continue
            chosen, last = self.draw.one_of(usable), Linear(c=size - 1)
            below = at.names[chosen].high.most(last) == last
            found.append(Name(chosen) if below else Remainder(Name(chosen), size))
        return tuple(found)

    def subscripts(self, at: Context, array: Array) -> tuple[Index, ...]:
        """Draw subscripts: mostly the iterators in order, often moved."""
        found = self.affine_subscripts(at, array)
        if not (at.indices and array in self.arrays and array.rank and array.form in SIZED and self.draw.chance(2)):
            return found
        chosen = self.draw.between(0, array.rank - 1)
        index = plus(self.draw.one_of(at.indices), self.draw.pick(0, 0, 0, 1))
        return (*found[:chosen], index, *found[chosen + 1 :])

    def affine_subscripts(self, at: Context, array: Array) -> tuple[Index, ...]:
        if len(at.iterators) >= array.rank > 0 and self.draw.chance(2):
            return tuple(plus(Name(i), self.draw.pick(0, 0, 1, -1)) for i in at.iterators[-array.rank :])
        return tuple(self.small_index(at) for _ in range(array.rank))

    def small_index(self, at: Context) -> Index:
        """Draw a subscript with values that are not out of proportion."""
        found = self.index(at)
        bounds = range_of(found, at.names)
        wide = max(abs(c) for end in (bounds.low, bounds.high) for c in (end.n, end.m)) > 3
        return Num(1) if wide or max(abs(bounds.low.c), abs(bounds.high.c)) > LARGEST_CONSTANT_INDEX else found

    def row(self, at: Context) -> Row | None:
        """Draw a call on the first elements of a row of doubles."""
        found = self.row_array(at, written=False)
        if found is None:
            return None
        rows = self.subscripts_before_last(at, found)
        return Row(self.draw.one_of([*ROW_FUNCTIONS]), found.name, rows, self.count(), self.row_start(at))

    def row_start(self, at: Context) -> Index | None:
        """Draw where the elements that are passed begin, if not with the row."""
        return self.small_index(at) if self.inner_rows and self.draw.chance(2) else None

    def row_array(self, at: Context, *, written: bool) -> Array | None:
        """Draw an array whose rows C can pass as `double *`."""
        found = [
            a
            for a in self.arrays
            if a.rank > 0 and a.type == "double" and a.form in ("vla", "pointer", "static", "own")
            if a.name not in self.forbidden and (a.written or not written)
        ]
        return self.draw.one_of(found) if found else None

    def subscripts_before_last(self, at: Context, array: Array) -> tuple[Index, ...]:
        return tuple(self.small_index(at) for _ in range(array.rank - 1))

    def count(self) -> Index:
        """Draw the number of elements of a row; at least one."""
        return self.draw.pick(plus(self.size(), 1), plus(self.size(), 2), Num(3))


def plus(e: Index, by: int) -> Index:
    return Sum(e, Num(by)) if by else e
