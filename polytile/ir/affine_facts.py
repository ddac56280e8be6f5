"""What holds at a point of a kernel, as linear forms that are at least 0, and what follows from it.

before: const int i = 32 * b + t; if (i >= n) leave;        question i < n
after:  facts i = 32 * b + t and n - 1 - i >= 0: it holds, as n - i - 1 is the second fact
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from math import gcd

from polytile.dataclass import dataclass
from polytile.ir.arith import add, known, lift, mul
from polytile.ir.expr import Access, Binary, Call, CType, Declare, Expr, For, If, Name, Stmt, Unary
from polytile.ir.expr_trees import walk
from polytile.ir.fold import is_truth
from polytile.ir.gpu_ops import Leave, PrivateArray
from polytile.ir.polynomial import Linear, difference, linear, total
from polytile.ir.ranges import Range

_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
DEPTH = 8


@dataclass(frozen=True, slots=True)
class Facts:
    """Linear forms that are not negative. `changing` names are in none of them."""

    known: tuple[Linear, ...] = ()
    order: tuple[str, ...] = ()  # of names: what is eliminated first comes last
    changing: frozenset[str] = frozenset()

    @staticmethod
    def of(ranges: Iterable[Range], changing: frozenset[str]) -> Facts:
        """Return the facts that ranges state, except for `changing` names; several ranges of one name all hold."""
        facts = Facts(changing=changing)
        for r in ranges:
            if r.name not in facts.order:
                facts = facts.with_range(r.name, r.least, r.most)
            else:
                beside = Facts(order=facts.order, changing=changing).with_range(r.name, r.least, r.most)
                facts = replace(facts, known=(*facts.known, *beside.known))
        return facts

    # What is known where -------------------------------------------------------------------------
    def after(self, stmt: Stmt) -> Facts:
        """Return the facts that hold after a statement."""
        match stmt:
            case Declare(name=name, value=Expr() as value) if name not in self.changing:
                return self.with_value(name, value) if _holds_exactly(stmt.type, value) else self.without(name)
            case Declare(name=name) | PrivateArray(name=name):
                return self.without(name)
            case If(condition=condition, then=(*_, Leave()), otherwise=()):
                return self.where(condition, holds=False)
        return self

    def within(self, loop: For) -> Facts:
        """Return the facts that hold in the body of a loop."""
        if isinstance(loop.step, Name) or not loop.type.signed:
            return self.without(loop.iterator)
        first = (loop.lower, _last(loop)) if loop.step > 0 else (None, loop.lower)
        return self.with_range(loop.iterator, *first).where(loop.condition)

    def with_range(self, name: str, least: Expr | None, most: Expr | None) -> Facts:
        """Return these facts and those of a new name between bounds."""
        rest = self.without(name)
        rest = replace(rest, order=(*rest.order, name))
        forms = [_difference(Name(name), bound) for bound in _parts(least, "max")]
        return rest._and([*forms, *(_difference(bound, Name(name)) for bound in _parts(most, "min"))])

    def with_value(self, name: str, value: Expr) -> Facts:
        """Return these facts and those of a new name that has a value."""
        found = self.with_range(name, value, value)
        match value:
            case Binary(op="/", left=x, right=y) if (by := known(y)) is not None and by > 0 and self.positive(x):
                low, high = mul(Name(name), by), add(mul(Name(name), by), by - 1)
                most = self._most(x)
                bound = [] if most is None else [{name: -1, "": most // by}]
                return found._and([*bound, _difference(x, low), _difference(high, x), {name: 1}])
            case Binary(op="%", left=x, right=y) if (by := known(y)) is not None and by > 0 and self.positive(x):
                return found._and([{name: 1}, {name: -1, "": by - 1}, _difference(x, Name(name))])
            case Call(function="pmod()", arguments=(_, y)) if (by := known(y)) is not None:
                return found._and([{name: 1}, {name: -1, "": by - 1}])
            case Binary(op="&", right=y) if (mask := known(y)) is not None and mask >= 0:
                return found._and([{name: 1}, {name: -1, "": mask}])
        return found

    def _most(self, expr: Expr) -> int | None:
        """Return a constant upper bound of a value, or None."""
        form = linear(mul(expr, -1))
        least = None if form is None else self.least(form, set(form) - {""})
        return None if least is None or set(least) - {""} else -least.get("", 0)

    def positive(self, expr: Expr) -> bool:
        """Return whether a value is never negative."""
        return self.value(Binary(">=", expr, lift(0))) is True

    def where(self, condition: Expr, holds: bool = True) -> Facts:
        """Return the facts where a condition holds, or (`holds` is False) does not hold."""
        return self._and(implied(condition, holds))

    def without(self, name: str) -> Facts:
        """Return the facts that remain after a name gets another meaning."""
        kept = tuple(f for f in self.known if name not in f)
        return replace(self, known=kept, order=tuple(n for n in self.order if n != name))

    def _and(self, forms: Iterable[Linear | None]) -> Facts:
        new = tuple(f for f in forms if f is not None and set(f) - {""} and not self.changing.intersection(f))
        return replace(self, known=(*self.known, *new))

    # What follows --------------------------------------------------------------------------------
    def value(self, condition: Expr) -> bool | None:
        """Return True where the condition always holds, False where it never does, and None where nobody knows."""
        if self._proves(condition, True):
            return True
        return False if self._proves(condition, False) else None

    def _proves(self, condition: Expr, holds: bool) -> bool:
        """Return whether the parts of a condition prove that it always holds (or never does)."""
        value = known(condition)
        if value is not None:
            return bool(value) == holds
        match condition:
            case Binary(op="&&" | "&" | "||" | "|" as op, left=left, right=right) if is_truth(condition):
                enough = all if (op[0] == "&") == holds else any
                return enough(self._proves(part, holds) for part in (left, right))
            case Unary(op="!", operand=operand):
                return self._proves(operand, not holds)
            case Binary(op=op) if op in _NEGATED and _exact(condition):
                return any(all(map(self.not_negative, forms)) for forms in _comparison(condition, holds))
        return False

    def not_negative(self, form: Linear, depth: int = DEPTH, scale: int = 1) -> bool:
        """Return whether the form over `scale` is proved above -1, so that an integer is at least 0.

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
        """Return a form without `varying` names such that `form` is at least 0 where it is, or None."""
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
        """Return the facts that bound `name` on the side that makes the form small."""
        return (f for f in self.known if f.get(name, 0) * form[name] > 0)


def _last(loop: For) -> Expr | None:
    """Return the last value of an iterator that steps up from one constant to another; None for other loops."""
    match loop.condition:
        case Binary(op="<" | "<=" as op, left=Name(name=name), right=end) if name == loop.iterator:
            first, stop = known(loop.lower), known(end)
            if first is not None and stop is not None and isinstance(loop.step, int):
                most = stop if op == "<=" else stop - 1
                return lift(most - (most - first) % loop.step) if most >= first else None
    return None


def _parts(bound: Expr | None, function: str) -> Iterator[Expr]:
    """Yield the arguments of a largest lower or smallest upper bound: each is a bound."""
    match bound:
        case None:
            return
        case Call(function=name, arguments=arguments) if name == function:
            for argument in arguments:
                yield from _parts(argument, function)
        case _:
            yield bound


def _holds_exactly(ctype: CType, value: Expr) -> bool:
    """Return whether a variable of this type has the value that it starts with."""
    return ctype.kind == value.type.kind == "int" and ctype.signed and ctype.size >= max(4, value.type.size)


def _exact(expr: Expr) -> bool:
    """Return whether every part of an expression computes like integers that never wrap, and reads no memory."""
    return all(
        n.type.kind == "int" and (n.type.signed or n.type.size < 4) and not isinstance(n, Access)
        for n in walk(expr)
        if isinstance(n, Expr)
    )


def _difference(a: Expr, b: Expr, minus: int = 0) -> Linear | None:
    """Return the linear form of `a - b - minus`, or None."""
    if not (_exact(a) and _exact(b)):
        return None
    x, y = linear(a), linear(b)
    return None if x is None or y is None else difference(difference(x, y), {"": minus})


def _less(form: Linear, bound: Linear, name: str, scale: int, depth: int) -> tuple[Linear, int, int]:
    """Eliminate `name` from `form` by a multiple of `bound`, so that the result is no larger than a multiple of `form`.

    Returns that form, the depth that is left, and the scale of the form.
    """
    a, b = form[name], bound[name]
    common = gcd(a, b)
    by, less = abs(b) // common, abs(a) // common
    return total(form, bound, -less, by), depth - 1, scale * by


def _comparison(condition: Binary, holds: bool) -> list[list[Linear]]:
    """Return the alternatives of a comparison, each a list of linear forms.

    The comparison holds (or does not) where no form of some alternative is negative, and only there.
    """
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


def implied(condition: Expr, holds: bool) -> list[Linear]:
    """Return the linear forms that are not negative where a condition holds (or does not), in every alternative."""
    return _in_all(condition, holds) or []


def _in_all(condition: Expr, holds: bool) -> list[Linear] | None:
    """Return the forms that all alternatives of a condition share; None where none is possible: it is never the case.

    Found from the parts, not by listing alternatives: `(a || b) && (c || d) && ..` has a power of two of them.
    """
    value = known(condition)
    if value is not None:
        return [] if bool(value) == holds else None
    match condition:
        case Binary(op="&&" | "&" | "||" | "|" as op, left=left, right=right) if is_truth(condition):
            a, b = (_in_all(part, holds) for part in (left, right))
            if (op[0] == "&") == holds:
                return None if a is None or b is None else [*a, *b]
            return b if a is None else a if b is None else [form for form in a if form in b]
        case Unary(op="!", operand=operand):
            return _in_all(operand, not holds)
        case Binary(op=op) if op in _NEGATED and _exact(condition):
            first, *others = _comparison(condition, holds) or [[]]
            return [form for form in first if all(form in other for other in others)]
    return []
