"""Whether a tree that was changed is still a program with defined behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polytile.dataclass import dataclass
from polytile.fuzz.extents import counted, scope_of
from polytile.fuzz.large_sizes import STARTS
from polytile.fuzz.ranges import PARAMETERS, Linear, Range, Ranges, below, range_of, set_by, within, wraps
from polytile.fuzz.structs import field_of
from polytile.fuzz.tree import (
    UNSIGNED_ITERATORS,
    Advance,
    Array,
    Assign,
    Counting,
    Declare,
    DeclareArray,
    Element,
    Entry,
    Escape,
    Function,
    If,
    JumpOver,
    Leave,
    Let,
    Loop,
    Name,
    Num,
    Place,
    Position,
    PostStep,
    Program,
    Row,
    Statement,
    Sweep,
    Switch,
    Until,
    Update,
    Wrapped,
)
from polytile.fuzz.walking import walk

_DECLARING = (Declare, DeclareArray, Place, Counting, Until)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a statement may use: `known` are arrays and scalars, `counters` what may be advanced.

    `loop` is the sort of the innermost loop: `for`, `while` for those that `continue` would not let go on, or empty.
    """

    arrays: Mapping[str, Array]
    names: Ranges
    known: frozenset[str]
    counters: frozenset[str] = frozenset()
    loop: str = ""
    labels: frozenset[str] = frozenset()

    def after(self, s: Statement) -> _Scope:
        """Return the scope of what follows a statement in its block."""
        if isinstance(s, Declare | DeclareArray | Place):
            return replace(self, known=self.known | {s.name})
        return replace(self, names={**self.names, s.name: set_by(s, self.names)}) if isinstance(s, Let) else self


def well_formed(program: Program) -> bool:
    """Return whether names are declared where they are used, and what the generator promises still holds."""
    if not program.functions or not all(part for f in program.functions for part in f.parts):
        return False
    arrays = {a.name: a for a in program.arrays}
    try:
        scopes = [_Scope(arrays, _names(f), frozenset(arrays)) for f in program.functions]
        return all(_body(part, s) for f, s in zip(program.functions, scopes, strict=True) for part in f.parts)
    except KeyError:  # an iterator that is not in scope, a field that does not exist, a product of sizes
        return False


def _names(function: Function) -> Ranges:
    if any(isinstance(n, Entry | PostStep | Wrapped) for n in walk(function.known)):
        raise KeyError("data before the SCoP")
    return scope_of(function)


def _body(body: tuple[Statement, ...], scope: _Scope) -> bool:
    for s in body:
        if not _statement(s, scope):
            return False
        scope = scope.after(s)
    return True


def _statement(s: Statement, scope: _Scope) -> bool:
    match s:
        case Loop() | Until():
            return bool(s.body) and _loop(s, scope)
        case If(condition, then, otherwise):
            return bool(then) and _uses(condition, scope) and _body(then, scope) and _body(otherwise, scope)
        case Assign(targets):
            arrays = [t.array for t in targets]
            return len(set(arrays)) == len(arrays) > 0 and _keeps_indices(s, scope) and _uses(s, scope)
        case Counting(name, start, body):
            inner = replace(scope, names=counted(s, scope.names), counters=scope.counters | {name})
            return name not in scope.names and bool(body) and _uses(start, scope) and _body(body, inner)
        case JumpOver(condition, _, skipped):
            return bool(skipped) and not _declares(skipped) and _uses(condition, scope) and _body(skipped, scope)
        case Switch(subject, cases, falls):
            inside = all(body and not _declares(body) and _body(body, replace(scope, loop="")) for body in cases)
            return inside and len(cases) - 1 not in falls and _uses(subject, scope)
        case Let():
            return s.name not in scope.names and _uses((s.value, s.limit), scope)
        case Leave(word, condition, label):
            around = {"continue": ("for",), "break": ("for", "while")}.get(word, (scope.loop,))
            return scope.loop in around and label in ("", *scope.labels) and _uses(condition, scope)
        case Escape(label, loop):
            return _statement(loop, replace(scope, labels=scope.labels | {label}))
        case Advance(name):
            return name in scope.counters
        case Update(target):
            return not _holds(target, scope) and _uses(s, scope)
        case Sweep() | Declare() | DeclareArray() | Place():
            return _uses(s, scope)


def _holds(element: Element, scope: _Scope) -> bool:
    return element.array in scope.arrays and bool(scope.arrays[element.array].holds)


def _keeps_indices(s: Assign, scope: _Scope) -> bool:
    """Return whether arrays of indices still hold some afterwards."""
    if not any(_holds(t, scope) for t in s.targets):
        return True
    if not isinstance(s.value, Position):
        return False
    bounds, size = range_of(s.value.index, scope.names), Linear(n=1)
    return bounds.never_negative and bounds.high.most(size) == size


def _declares(body: tuple[Statement, ...]) -> bool:
    return any(isinstance(s, _DECLARING) or (isinstance(s, Let) and s.declared) for s in body)


def _loop(loop: Loop | Until, scope: _Scope) -> bool:
    names = scope.names
    if isinstance(loop, Until):
        inner = replace(scope, names=within(loop, names), loop="while")
        free = loop.name not in names
        return free and _uses(loop.limit, scope) and _uses(loop.condition, inner) and _body(loop.body, inner)
    counting = loop.form in ("while", "do")
    inner = replace(scope, names=below(loop, names), loop="while" if counting else "for")
    free = loop.iterator not in names and not (counting and loop.type)
    head = free and _head(loop, names) and _uses((loop.low, loop.high), scope)
    return head and _uses(loop.also, inner) and _body(loop.body, inner)


def _head(loop: Loop, names: Ranges) -> bool:
    """Return whether bounds are in scope, `!=` only where it ends, steps at least 1, and no unsigned number below 0."""
    low, high = range_of(loop.low, names), range_of(loop.high, names)
    if loop.start and not fits_start(loop, low, high):
        return False
    if (
        not loop.start
        and loop.type in UNSIGNED_ITERATORS
        and not (loop.form in ("<", "flipped") and low.never_negative and high.low.never_negative)
    ):
        return False
    if loop.stride is not None:
        sizes = all(n.name in PARAMETERS for n in walk((loop.low, loop.high, loop.stride)) if isinstance(n, Name))
        return sizes and (range_of(loop.stride, names).low + Linear(c=-1)).never_negative and loop.form in ("<", "<=")
    exact = loop.low == Num(0) and loop.step == 1 and high.never_negative
    return loop.step >= 1 and (loop.form != "!=" or exact)


def fits_start(loop: Loop, low: Range, high: Range) -> bool:
    """Return whether a loop from `start` on has the iterations that it has from 0 on, or fewer: the end of an unsigned
    one may wrap around, but its iterator reaches every end that does not."""
    start = STARTS[loop.start]
    if loop.type != start.type:
        return False
    near = low.low.constant and low.low == low.high and 0 <= low.low.c <= 2
    upwards = loop.form in ("<", "flipped", "!=") and loop.step == 1 and loop.stride is None
    return not start.unsigned or (near and upwards and high.low.never_negative)


def _uses(node: Any, scope: _Scope) -> bool:
    return all(_used(inner, scope) for inner in walk(node)) and _steps_once(node)


def _used(node: Any, scope: _Scope) -> bool:
    match node:
        case Name(name):
            return name in scope.names
        case PostStep(name):
            return name in scope.counters
        case Entry(array):
            return array in scope.known and bool(scope.arrays[array].holds)
        case Wrapped():
            return wraps(node, scope.names)
        case Element():
            return node.array in scope.known and node.through in ("", *scope.known) and _inside(node, scope)
        case Row() | Sweep():
            enough = (range_of(node.count, scope.names).low + Linear(c=-1)).never_negative
            return node.array in scope.known and enough
    return True


def _inside(element: Element, scope: _Scope) -> bool:
    """Return whether the subscripts within a field lie in it."""
    if not element.field:
        return not element.inside
    shape = field_of(scope.arrays[element.array].type, element.field).shape
    ranges = [range_of(s, scope.names) for s in element.inside]
    return len(ranges) == len(shape) and all(map(_fits, ranges, shape))


def _fits(bounds: Range, extent: int) -> bool:
    last = Linear(c=extent - 1)
    return bounds.never_negative and bounds.high.most(last) == last


def _steps_once(node: Any) -> bool:
    """Return whether `c++` stands in the one target of an assignment that mentions `c` nowhere else."""
    steps = [n.name for n in walk(node) if isinstance(n, PostStep)]
    if not steps:
        return True
    if not isinstance(node, Assign) or len(node.targets) != 1 or len(steps) != 1:
        return False
    mentioned = any(isinstance(n, Name) and n.name == steps[0] for n in walk(node))
    return PostStep(steps[0]) in node.targets[0].subscripts and not mentioned
