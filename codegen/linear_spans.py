"""What values an integer expression can take, as linear forms over sizes.

before: 32 * b + t, with t in 0 .. 31 and b in 0 .. floor((n - 1)/32)
after:  at least 0, at most n + 30
"""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction

from polytile.dataclass import dataclass
from polytile.ir import chunk_length
from polytile.ir.arith import known
from polytile.ir.expr import TRUTHS, Binary, Call, Cast, Expr, IteratorValue, Name, Ternary, Unary
from polytile.ir.gpu_ops import Shuffle
from polytile.ir.size_limits import LIMIT_OF_INT

Number = int | Fraction
Terms = tuple[tuple[str, Number], ...]  # factors of sizes, by name
Forms = dict[Terms, Number]  # linear forms, by their terms, with the constants that are added
MOST_FORMS = 24  # that bound one value
_TYPICAL = 2**20  # a size at which one of two bounds is chosen: each of them is right


@dataclass(frozen=True, slots=True)
class Span:
    """The values of an integer: they are at most the greatest of `most`, their negatives at most that of `least`; None
    where nothing is known."""

    most: Forms | None
    least: Forms | None

    @staticmethod
    def between(least: Number, most: Number) -> Span:
        return Span({(): most}, {(): -least})

    @staticmethod
    def of(name: str) -> Span:
        """Return the value of a size itself."""
        return Span({((name, 1),): 0}, {((name, -1),): 0})

    def __add__(self, other: Span) -> Span:
        return Span(_sum(self.most, other.most), _sum(self.least, other.least))

    def __neg__(self) -> Span:
        return Span(self.least, self.most)

    def __sub__(self, other: Span) -> Span:
        return self + -other

    def times(self, factor: Number) -> Span:
        if factor < 0:
            return (-self).times(-factor)
        return Span(_scaled(self.most, factor), _scaled(self.least, factor)) if factor else Span.between(0, 0)

    def joined(self, other: Span) -> Span:
        """Return the values of both."""
        return Span(_either(self.most, other.most), _either(self.least, other.least))

    def least_with(self, other: Span) -> Span:
        """Return the values of min(a, b)."""
        return Span(_tighter(self.most, other.most), _either(self.least, other.least))

    def quotient(self, by: int, *, down: bool) -> Span:
        """Return the values of a / by, rounded down, or towards 0."""
        part = self.times(Fraction(1, by))
        rest: Forms = {(): Fraction(by - 1, by)}
        return Span(part.most if down or self.natural else _sum(part.most, rest), _sum(part.least, rest))

    def remainder(self, by: Span) -> Span:
        """Return the values of a % by, as C has them, for by >= 1."""
        most = _sum(by.most, {(): -1})
        return Span(_tighter(self.most, most) if self.natural else most, {(): 0} if self.natural else most)

    @property
    def natural(self) -> bool:
        """Return whether the values are known not to be negative."""
        return self.least is not None and all(not t and constant <= 0 for t, constant in self.least.items())

    @property
    def numbers(self) -> tuple[Number, Number] | None:
        """Return the least and the greatest value where no size decides them; else None."""
        if self.most is None or self.least is None or not self.most.keys() == self.least.keys() == {()}:
            return None
        return -self.least[()], self.most[()]


ANY = Span(None, None)
TRUTH = Span.between(0, 1)


def _sum(a: Forms | None, b: Forms | None) -> Forms | None:
    if a is None or b is None:
        return None
    found: Forms = {}
    for terms, constant in a.items():
        for others, more in b.items():
            _keep(found, _added(terms, others), constant + more)
    return found


def _added(a: Terms, b: Terms) -> Terms:
    if not a or not b:
        return a or b
    total = dict(a)
    for name, factor in b:
        total[name] = total.get(name, 0) + factor
    return tuple(sorted((name, factor) for name, factor in total.items() if factor))


def _scaled(forms: Forms | None, factor: Number) -> Forms | None:
    if forms is None:
        return None
    return {tuple((n, f * factor) for n, f in terms): constant * factor for terms, constant in forms.items()}


def _either(a: Forms | None, b: Forms | None) -> Forms | None:
    if a is None or b is None:
        return None
    found = dict(a)
    for terms, constant in b.items():
        _keep(found, terms, constant)
    return found


def _keep(forms: Forms, terms: Terms, constant: Number) -> None:
    before = forms.get(terms)
    if before is None or constant > before:
        forms[terms] = constant


def _tighter(a: Forms | None, b: Forms | None) -> Forms | None:
    """Return one of two bounds that both hold.

    It is a number that an int can have, if one is; of a greater one no size would do.
    """
    if a is None or b is None:
        return b if a is None else a
    return a if _looseness(a) <= _looseness(b) else b


def _looseness(forms: Forms) -> tuple[bool, Number]:
    most = max(constant + sum(f for _, f in terms) * _TYPICAL for terms, constant in forms.items())
    return any(forms) or most > LIMIT_OF_INT, most


@dataclass(slots=True)
class Values:
    """The spans of names, and of expressions over them. Bounds that would be too many are one form, which is right for
    sizes that are not negative: these are `natural` then."""

    names: dict[str, Span]
    natural: set[str] = field(default_factory=set)
    found: dict[Expr, Span] = field(default_factory=dict)

    def declare(self, name: str, span: Span) -> None:
        """Record the values of a name; one that there was before has both."""
        if name in self.names:
            span = span.joined(self.names[name])
            if span == self.names[name]:
                return
            self.found.clear()
        self.names[name] = span

    def __call__(self, expr: Expr) -> Span:
        span = self.found.get(expr)
        if span is None:
            span = self._of(expr)
            self.found[expr] = span = Span(self._few(span.most), self._few(span.least))
        return span

    def _few(self, forms: Forms | None) -> Forms | None:
        if forms is None or len(forms) <= MOST_FORMS:
            return forms
        names = sorted({name for terms in forms for name, _ in terms})
        self.natural.update(names)
        factors = ((name, max(dict(terms).get(name, 0) for terms in forms)) for name in names)
        return {tuple((n, f) for n, f in factors if f): max(forms.values())}

    def _of(self, expr: Expr) -> Span:
        value = known(expr)
        if value is not None:
            return Span.between(value, value)
        match expr:
            case Name(name=name):
                return self.names.get(name, ANY)
            case Cast(type=ctype, operand=operand) if ctype.kind == operand.type.kind == "int":
                return self(operand) if ctype.signed and ctype.size >= operand.type.size else ANY
            case Unary(op="-", operand=operand):
                return -self(operand)
            case Shuffle(value=operand):
                return self(operand)
            case Unary(op="!"):
                return TRUTH
            case IteratorValue():
                return ANY
            case Ternary(then=then, otherwise=otherwise):
                return self(then).joined(self(otherwise))
            case Binary(op=op) if op in TRUTHS:
                return TRUTH
            case Binary(left=left, right=right) if is_index(expr):
                return _binary(expr.op, self(left), self(right))
            case Call(function=function, arguments=(left, right)) if is_index(expr):
                return _call(function, self(left), self(right))
            case Call(function=chunk_length.FUNCTION, arguments=(planes, *_, shortest)) if is_index(expr):
                return self(shortest).joined(_call("max", self(planes), self(shortest)))
        return ANY


def is_index(expr: Expr) -> bool:
    """Return whether a value has a type in which indices are computed."""
    return expr.type.kind == "int" and expr.type.signed and expr.type.size >= 4


def _binary(op: str, a: Span, b: Span) -> Span:
    least, most = b.numbers or (0, -1)
    by = least if least == most and isinstance(least, int) else -1
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return _product(a, b)
        case "/" if by > 0:
            return a.quotient(by, down=False)
        case "/" if b.natural:
            return a.joined(Span.between(0, 0))
        case "%" if by > 0 or (a.natural and b.natural):
            return a.remainder(b)
        case "&" if by >= 0:
            return Span.between(0, by)
        case "<<" if 0 <= by < 63:
            return a.times(2**by)
        case ">>" if 0 <= by < 63:
            return a.quotient(2**by, down=True)
    return ANY


def _product(a: Span, b: Span) -> Span:
    for one, other in ((a, b), (b, a)):
        if (numbers := other.numbers) is not None:
            return one.times(numbers[0]).joined(one.times(numbers[1]))
    return Span(None, {(): 0}) if a.natural and b.natural else ANY


def _call(function: str, a: Span, b: Span) -> Span:
    if function == "min":
        return a.least_with(b)
    if function == "max":
        return -((-a).least_with(-b))
    by = (b.numbers or (0, 0))[0]
    if not isinstance(by, int) or by <= 0 or function not in ("floord", "pmod()"):
        return ANY
    return a.quotient(by, down=True) if function == "floord" else Span.between(0, by - 1)
