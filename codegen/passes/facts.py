"""What holds at a point of a kernel, as linear forms that are at least 0, and what follows from it.

before: facts i >= 0 and n - 1 - i >= 0, question i < n
after:  it holds: n - i - 1 is the second fact
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from math import gcd

from polytile.codegen.linear import Linear, linear
from polytile.codegen.passes.constants import is_truth
from polytile.ir.arith import add, known, lift, mul
from polytile.ir.expr import Access, Binary, Call, Expr, Name, Unary, walk
from polytile.ir.kernel import Coordinate
from polytile.ir.ranges import Range

_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_AXES = ("x", "y", "z")
DEPTH = 8


@dataclass(frozen=True, slots=True)
class Facts:
    """Linear forms that are not negative. `changing` names are in none of them."""

    known: tuple[Linear, ...] = ()
    order: tuple[str, ...] = ()  # of names: what is eliminated first comes last
    changing: frozenset[str] = frozenset()

    # What is known -------------------------------------------------------------------------------
    def with_range(self, name: str, least: Expr | None, most: Expr | None) -> Facts:
        """A name that is new here, between bounds."""
        rest = self.without(name)
        rest = replace(rest, order=(*rest.order, name))
        forms = [_difference(Name(name), bound) for bound in _parts(least, "max")]
        return rest._and([*forms, *(_difference(bound, Name(name)) for bound in _parts(most, "min"))])

    def with_value(self, name: str, value: Expr) -> Facts:
        """A name that is new here, with a value."""
        found = self.with_range(name, value, value)
        match value:
            case Binary(op="/", left=x, right=y) if (by := known(y)) is not None and by > 0 and self.positive(x):
                low, high = mul(Name(name), by), add(mul(Name(name), by), by - 1)
                return found._and([_difference(x, low), _difference(high, x), {name: 1}])
            case Binary(op="%", left=x, right=y) if (by := known(y)) is not None and by > 0 and self.positive(x):
                return found._and([{name: 1}, {name: -1, "": by - 1}, _difference(x, Name(name))])
            case Call(function="pmod", arguments=(_, y)) if (by := known(y)) is not None:
                return found._and([{name: 1}, {name: -1, "": by - 1}])
            case Binary(op="&", right=y) if (mask := known(y)) is not None and mask >= 0:
                return found._and([{name: 1}, {name: -1, "": mask}])
        return found

    def positive(self, expr: Expr) -> bool:
        """Whether a value is never negative."""
        return self.value(Binary(">=", expr, lift(0))) is True

    def where(self, condition: Expr, holds: bool = True) -> Facts:
        """Behind a condition that holds, or that does not."""
        return self._and(implied(condition, holds))

    def without(self, name: str) -> Facts:
        """After the name has got another meaning."""
        kept = tuple(f for f in self.known if name not in f)
        return replace(self, known=kept, order=tuple(n for n in self.order if n != name))

    def _and(self, forms: Iterable[Linear | None]) -> Facts:
        new = tuple(f for f in forms if f is not None and set(f) - {""} and not self.changing.intersection(f))
        return replace(self, known=(*self.known, *new))

    # What follows --------------------------------------------------------------------------------
    def value(self, condition: Expr) -> bool | None:
        """Whether the condition always holds, never, or (None) nobody knows."""
        constant = known(condition)
        if constant is not None:
            return bool(constant)
        match condition:
            case Binary(op="&" | "|") if not is_truth(condition):
                return None
            case Binary(op="&&" | "&", left=left, right=right):
                return _all([self.value(left), self.value(right)])
            case Binary(op="||" | "|", left=left, right=right):
                return _not(_all([_not(self.value(left)), _not(self.value(right))]))
            case Unary(op="!", operand=operand):
                return _not(self.value(operand))
            case Binary(op=op) if op in _NEGATED and _exact(condition):
                return self._comparison(condition)
        return None

    def _comparison(self, condition: Binary) -> bool | None:
        if self.implies(_both_forms(condition, True)):
            return True
        return False if self.implies(_both_forms(condition, False)) else None

    def implies(self, alternatives: list[list[Linear]]) -> bool:
        """Whether all forms of one alternative are never negative."""
        return any(all(self.not_negative(f) for f in forms) for forms in alternatives)

    def not_negative(self, form: Linear, depth: int = DEPTH, scale: int = 1) -> bool:
        """Whether the form over `scale` is above -1, so that an integer is at least 0.

        Each name, newest first, is replaced by a bound of it.
        """
        names = [name for name in form if name]
        if not names:
            return form.get("", 0) > -scale
        if depth == 0:
            return False
        newest = self._newest(names)
        return any(self.not_negative(*_less(form, bound, newest, scale, depth)) for bound in self._bounds(form, newest))

    def least(self, form: Linear, varying: Collection[str], depth: int = DEPTH) -> Linear | None:
        """A form without `varying` names such that this one is at least 0 where it is."""
        names = [name for name in form if name in varying]
        if not names:
            return form
        if depth == 0:
            return None
        newest = self._newest(names)
        for bound in self._bounds(form, newest):
            found = self.least(_less(form, bound, newest, 1, depth)[0], varying, depth - 1)
            if found is not None:
                return found
        return None

    def _newest(self, names: Iterable[str]) -> str:
        return max(names, key=lambda n: self.order.index(n) if n in self.order else -1)

    def _bounds(self, form: Linear, name: str) -> Iterator[Linear]:
        """The facts that bound `name` on the side that makes the form small."""
        return (f for f in self.known if f.get(name, 0) * form[name] > 0)


def of_launch(ranges: Iterable[Range], coordinates: Iterable[Coordinate], block: tuple[int, int, int]) -> list[Range]:
    """Ranges of the coordinates, which the launch gives, then the others."""
    return [*(_coordinate(c, block) for c in coordinates), *ranges]


def _coordinate(coordinate: Coordinate, block: tuple[int, int, int]) -> Range:
    kind, _, axis = coordinate.source.partition(".")
    if kind == "threadIdx" and axis in _AXES:
        return Range(coordinate.name, lift(0), lift(block[_AXES.index(axis)] - 1))
    return Range(coordinate.name, lift(0) if kind == "blockIdx" and axis in _AXES else None)


def _parts(bound: Expr | None, function: str) -> Iterator[Expr]:
    """The arguments of a largest lower or smallest upper bound: each bounds."""
    match bound:
        case None:
            return
        case Call(function=name, arguments=arguments) if name == function:
            for argument in arguments:
                yield from _parts(argument, function)
        case _:
            yield bound


def _exact(expr: Expr) -> bool:
    """Whether everything in it computes like integers that never wrap, and reads no memory."""
    return all(
        n.type.kind == "int" and (n.type.signed or n.type.size < 4) and not isinstance(n, Access)
        for n in walk(expr)
        if isinstance(n, Expr)
    )


def _difference(a: Expr, b: Expr, minus: int = 0) -> Linear | None:
    """`a - b - minus`."""
    if not (_exact(a) and _exact(b)):
        return None
    x, y = linear(a), linear(b)
    if x is None or y is None:
        return None
    total = {name: x.get(name, 0) - y.get(name, 0) for name in {**x, **y, "": 0}}
    total[""] -= minus
    return {name: factor for name, factor in total.items() if factor or not name}


def _less(form: Linear, bound: Linear, name: str, scale: int, depth: int) -> tuple[Linear, int, int]:
    """A multiple of `form` without `name`, made no larger by a multiple of `bound`; depth left and scale with it."""
    a, b = form[name], bound[name]
    common = gcd(a, b)
    by, less = abs(b) // common, abs(a) // common
    total = {n: by * form.get(n, 0) - less * bound.get(n, 0) for n in {**form, **bound}}
    return {n: factor for n, factor in total.items() if factor}, depth - 1, scale * by


def _both_forms(condition: Binary, holds: bool) -> list[list[Linear]]:
    """Alternatives, each a list of forms: where all of one are not negative, the comparison holds (or not)."""
    op = condition.op if holds else _NEGATED[condition.op]
    a, b = condition.left, condition.right
    wanted = {
        "<": [[(b, a, 1)]],
        "<=": [[(b, a, 0)]],
        ">": [[(a, b, 1)]],
        ">=": [[(a, b, 0)]],
        "==": [[(a, b, 0), (b, a, 0)]],
        "!=": [[(a, b, 1)], [(b, a, 1)]],
    }[op]
    found = [[_difference(*parts) for parts in forms] for forms in wanted]
    return [[f for f in forms if f is not None] for forms in found if None not in forms]


def implied(condition: Expr, holds: bool) -> Iterator[Linear]:
    """The linear forms that are not negative where a condition holds (or does not)."""
    match condition:
        case Binary(op="&&" | "&", left=left, right=right) if holds:
            yield from implied(left, True)
            yield from implied(right, True)
        case Binary(op="||" | "|", left=left, right=right) if not holds:
            yield from implied(left, False)
            yield from implied(right, False)
        case Unary(op="!", operand=operand):
            yield from implied(operand, not holds)
        case Binary(op=op) if op in _NEGATED and _exact(condition):
            alternatives = _both_forms(condition, holds)
            yield from alternatives[0] if len(alternatives) == 1 else ()


def _all(values: list[bool | None]) -> bool | None:
    return False if False in values else None if None in values else True


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value
