"""What `#if` decides: integer constant expressions in intmax_t and uintmax_t, as C has them (C11 6.10.1)."""

from __future__ import annotations

from collections.abc import Sequence

from polytile.dataclass import dataclass
from polytile.ir.integer_constants import character_value, integer_value

_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
_BITS = 64


class NoConditionError(Exception):
    """What stands behind `#if` is no integer constant expression."""


@dataclass(frozen=True, slots=True)
class _Value:
    number: int
    unsigned: bool = False


def holds(tokens: Sequence[str]) -> bool:
    """Whether an expression is not 0; its macros are expanded, `defined` is replaced. Raises NoConditionError."""
    parser = _Parser(tuple(tokens))
    value = parser.choice(evaluated=True)
    if parser.position != len(tokens):
        raise NoConditionError(f"'{tokens[parser.position]}' is not expected in #if")
    return value.number != 0


def _wrapped(number: int, unsigned: bool) -> _Value:
    number &= (1 << _BITS) - 1
    return _Value(number if unsigned or number >> _BITS - 1 == 0 else number - (1 << _BITS), unsigned)


@dataclass(slots=True)
class _Parser:
    tokens: tuple[str, ...]
    position: int = 0

    def _next(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def _take(self, *wanted: str) -> str:
        """The next token if it is one of these, else ""."""
        found = self._next()
        if found not in wanted:
            return ""
        self.position += 1
        return found

    def choice(self, *, evaluated: bool) -> _Value:
        condition = self._level(0, evaluated)
        if not self._take("?"):
            return condition
        first = self.choice(evaluated=evaluated and condition.number != 0)
        if not self._take(":"):
            raise NoConditionError("':' is missing in #if")
        second = self.choice(evaluated=evaluated and condition.number == 0)
        chosen = first if condition.number else second
        return _wrapped(chosen.number, first.unsigned or second.unsigned)

    def _level(self, level: int, evaluated: bool) -> _Value:
        if level == len(_LEVELS):
            return self._unary(evaluated)
        left = self._level(level + 1, evaluated)
        while op := self._take(*_LEVELS[level]):
            asked = evaluated and not ((op == "||" and left.number) or (op == "&&" and not left.number))
            left = _binary(op, left, self._level(level + 1, asked), asked)
        return left

    def _unary(self, evaluated: bool) -> _Value:
        op = self._take("!", "~", "-", "+")
        if op:
            value = self._unary(evaluated)
            if op == "!":
                return _Value(int(value.number == 0))
            return _wrapped({"~": ~value.number, "-": -value.number, "+": value.number}[op], value.unsigned)
        if self._take("("):
            value = self.choice(evaluated=evaluated)
            if not self._take(")"):
                raise NoConditionError("')' is missing in #if")
            return value
        return self._constant()

    def _constant(self) -> _Value:
        text = self._next()
        self.position += 1
        if text.isidentifier():
            if self._next() == "(":
                raise NoConditionError(f"'{text}' is no macro with arguments")
            return _Value(0)
        if (character := character_value(text)) is not None and -1 < character[1] < 128:
            return _Value(character[1])
        value = integer_value(text)
        if value is None or value >> _BITS:
            raise NoConditionError(f"'{text}' is no integer constant" if text else "#if has no expression")
        return _Value(value, "u" in text.lower() or bool(value >> _BITS - 1))


def _binary(op: str, left: _Value, right: _Value, evaluated: bool) -> _Value:
    if op in ("||", "&&"):
        truths = left.number != 0, right.number != 0
        return _Value(int(any(truths) if op == "||" else all(truths)))
    if op in ("<<", ">>"):
        return _shifted(left, right.number if op == "<<" else -right.number)
    unsigned = left.unsigned or right.unsigned
    a, b = _wrapped(left.number, unsigned).number, _wrapped(right.number, unsigned).number
    if op in ("/", "%"):
        if b == 0:
            if evaluated:
                raise NoConditionError("division by zero in #if")
            return _Value(0, unsigned)
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return _wrapped(quotient if op == "/" else a - b * quotient, unsigned)
    compared = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
    if op in compared:
        return _Value(int(compared[op]))
    return _wrapped({"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}[op], unsigned)


def _shifted(left: _Value, places: int) -> _Value:
    places = max(-_BITS, min(_BITS, places))
    return _wrapped(left.number << places if places >= 0 else left.number >> -places, left.unsigned)
