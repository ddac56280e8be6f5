"""Draws statements: nests with conditions, locals, reductions and in-place updates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.fuzz.expressions import Context, ExpressionWriter
from polytile.fuzz.forms import FACTORS, INPUT_SUMMANDS, SUMMANDS, UNSIGNED, WHOLE_CALLS
from polytile.fuzz.helpers import SWEEP_FUNCTIONS
from polytile.fuzz.ranges import below, range_of
from polytile.fuzz.structs import fields_of, kind
from polytile.fuzz.tree import (
    LARGEST_TILED,
    START,
    UNSIGNED_ITERATORS,
    Apply,
    Array,
    Assign,
    Declare,
    DeclareArray,
    Element,
    If,
    Index,
    Literal,
    Loop,
    Name,
    Num,
    Statement,
    Sweep,
    Update,
    Value,
)

ITERATORS = ("i", "j", "p", "q", "w")
PIECES_TRIED = 3
LOCAL_TYPES = ("double", "double", "float", "int", "unsigned")


Piece = Callable[["StatementWriter", Context, int], tuple[Statement, ...]]  # of statements, for a place and a depth


@dataclass(slots=True)
class StatementWriter(ExpressionWriter):
    """Draws statements over the arrays of a program. `left` bounds how many assignments are still drawn."""

    left: int = 8
    named: int = 0
    pieces: Sequence[Piece] = ()

    def fresh(self, stem: str) -> str:
        self.named += 1
        return f"{stem}{self.named}"

    # Loops
    def loop(self, at: Context, depth: int) -> Loop:
        """Draw a loop with a body of loops and statements, at most `depth` loops deep."""
        draw = self.draw
        low, high = self.bound(at, low=True), self.bound(at, low=False)
        if self.pieces and draw.chance(2):
            low, high = Num(draw.pick(0, 0, 1)), self.size()
        form = draw.pick(*("<",) * 6, "<=", "<=", "flipped", ">=", ">=", ">")
        step = draw.pick(1, 1, 1, 1, 1, 1, 2, 3)
        if draw.chance(14):
            low, high, form, step = Num(0), self.size(), "!=", 1
        ctype = draw.pick(*("int",) * 8, "long", "")
        free = [i for i in ITERATORS if i not in at.names] or [self.fresh("i")]
        loop = Loop(free[0] if not draw.chance(6) else draw.one_of(free), low, high, step, form, (), None, ctype)
        loop = self.counted_otherwise(loop, at) if ctype and draw.chance(8) else loop
        inner = replace(at, names=below(loop, at.names), iterators=(*at.iterators, loop.iterator))
        also = self.affine(inner, 0) if form != "!=" and draw.chance(14) else None
        return replace(loop, body=self.block(inner, depth - 1), also=also)

    def counted_otherwise(self, loop: Loop, at: Context) -> Loop:
        """Change the loop's iterator to one of another width or sign, where its values and ends fit, or to one that
        starts near the end of int."""
        if loop.type == "int" and self.draw.chance(2):
            return replace(loop, start=START)
        low, high = range_of(loop.low, at.names), range_of(loop.high, at.names)
        upwards = loop.form in ("<", "flipped") and low.never_negative and high.low.never_negative
        types = ("short", *(UNSIGNED_ITERATORS if upwards else ()))
        ctype = self.draw.one_of(types)
        fits = ctype != "unsigned char" or high.high.at(LARGEST_TILED, LARGEST_TILED) < 255
        return replace(loop, type=ctype if fits else "unsigned")

    # Blocks
    def block(self, at: Context, depth: int) -> tuple[Statement, ...]:
        draw = self.draw
        body: list[Statement] = []
        if at.iterators and draw.chance(5):
            at = self.declare(at, body)
        if at.iterators and not at.guarded and draw.chance(12):
            at = self.declare_array(at, body)
        for _ in range(draw.pick(1, 1, 1, 2, 2, 3)):
            if body and self.left <= 0:
                break
            body += self.piece(at, depth) or (self.statement(at, depth),)
        return tuple(body)

    def piece(self, at: Context, depth: int) -> tuple[Statement, ...]:
        """Draw the statements of one of the pieces; nothing where there is none for this place."""
        if not self.pieces or self.left <= 0 or self.draw.chance(3):
            return ()
        found = (self.draw.one_of(self.pieces)(self, at, depth) for _ in range(PIECES_TRIED))
        return next(filter(None, found), ())

    def declare(self, at: Context, body: list[Statement]) -> Context:
        ctype = self.draw.one_of(LOCAL_TYPES)
        name = self.draw.pick("s", "v") if self.draw.chance(2) else self.fresh("s")
        if self.pieces or any(name == known for known, _ in at.scalars):  # statements of pieces stand in one block
            name = self.fresh("s")
        body.append(Declare(name, ctype, self.value(at, kind(ctype))))
        return replace(at, scalars=(*at.scalars, (name, ctype)))

    def declare_array(self, at: Context, body: list[Statement]) -> Context:
        ctype, rank = self.draw.one_of(LOCAL_TYPES), self.draw.pick(1, 1, 2)
        array = Array(self.fresh("z"), ctype, rank, "vla")
        body.append(DeclareArray(array.name, ctype, rank, self.value(at, kind(ctype), 1)))
        return replace(at, locals=(*at.locals, array))

    def statement(self, at: Context, depth: int) -> Statement:
        draw = self.draw
        if depth > 0 and self.left > 0 and not draw.chance(3):
            return self.loop(at, depth)
        if at.iterators and draw.chance(5):
            return self.branch(at, depth)
        self.left -= 1
        if not at.guarded and draw.chance(25):
            array = self.row_array(at, written=True)
            if array is not None:
                rows = self.subscripts_before_last(at, array)
                return Sweep(draw.one_of([*SWEEP_FUNCTIONS]), array.name, rows, self.count(), self.row_start(at))
        return self.update(at) if draw.chance(3) else self.assign(at)

    def branch(self, at: Context, depth: int) -> If:
        condition, data = self.condition(at)
        inner = replace(at, guarded=at.guarded or data)
        inside = self.draw.pick(0, 0, 0, min(1, depth))
        then = self.block(inner, inside)
        return If(condition, then, self.block(inner, 0) if self.draw.chance(3) else ())

    # Assignments
    def target(self, at: Context) -> tuple[Element, str]:
        """Draw what is assigned; return it with its kind."""
        draw = self.draw
        if at.scalars and draw.chance(4):
            name, ctype = draw.one_of(at.scalars)
            return Element(name), kind(ctype)
        written = [a for a in (*self.arrays, *at.locals) if a.written]
        array = draw.one_of(written)
        if array.rank == 0 and draw.chance(2):
            array = draw.one_of(written)
        field = draw.one_of(fields_of(array.type))
        return self.element(at, array, field), field.kind

    def assign(self, at: Context) -> Assign:
        target, wanted = self.target(at)
        value = self.called(at) if wanted == "f" and self.draw.chance(12) else self.value(at, wanted)
        if self.draw.chance(5) and wanted == "f":
            value = Apply("0.5 * ({0} + {1})", (target, value))
        if self.draw.chance(20):
            other, second = self.target(at)
            if second == wanted and other.array != target.array:  # C does not order two writes of one element
                return Assign((other, target), value)
        return Assign((target,), value)

    def called(self, at: Context) -> Value:
        """Draw a call of a function that is more than an expression."""
        row = self.row(at) if self.draw.chance(2) else None
        return row or self.apply(WHOLE_CALLS, at, 2)

    def update(self, at: Context) -> Update:
        """Draw `target op= value`, with the target often the same for all iterations of some loop: a reduction."""
        draw = self.draw
        target, wanted = self.target(at)
        if target.subscripts and draw.chance(2):
            target = replace(target, subscripts=tuple(self.outer_index(at) for _ in target.subscripts))
        ops = {"f": "++++-*<>", "i": "++-*<>&|^", "u": "+-*&|^^<>"}[wanted]
        op = draw.one_of(ops)
        if wanted != "f" and op in "+-" and draw.chance(4):
            return Update(target, op, Literal("1"), "step")
        return Update(target, op, self.operand(at, target, wanted, op), self.spelling(wanted, op))

    def outer_index(self, at: Context) -> Index:
        return Name(at.iterators[0]) if at.iterators and not self.draw.chance(3) else Num(self.draw.between(0, 2))

    def spelling(self, wanted: str, op: str) -> str:
        if op in "<>":
            return self.draw.one_of(("?", "if", "macro", "call") if wanted == "f" else ("?", "if", "macro"))
        return self.draw.one_of(("compound", "compound", "left", "right") if op != "-" else ("compound", "left"))

    def operand(self, at: Context, target: Element, wanted: str, op: str) -> Value:
        """Draw what is combined with the target; mostly it does not read the target's array."""
        before = set(self.forbidden)
        if not self.draw.chance(6):
            self.forbidden.add(target.array)
            at = at.without(target.array)
        try:
            if op in "<>":
                return self.value(at, wanted, 1)
            if op in "&|^":
                return self.value(at, wanted, 1) if wanted == "i" else self.apply(UNSIGNED, at, 1)
            if op == "*":
                return self.apply(FACTORS[wanted], at, 1)
            return self.summand(at, wanted)
        finally:
            self.forbidden = before

    def summand(self, at: Context, wanted: str) -> Value:
        text, kinds = self.draw.one_of(INPUT_SUMMANDS[wanted])
        inputs = tuple(self.read(at, k, lambda a: not a.written) for k in kinds)
        if None not in inputs:
            return Apply(text, tuple(e for e in inputs if e is not None))
        return self.apply(SUMMANDS[wanted], at, 1)
