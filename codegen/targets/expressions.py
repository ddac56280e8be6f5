"""Expressions as text: C semantics spelt in C99 or in CUDA C++.

The two dialects differ only in names and types (`_Bool` is `bool`, `new` is an identifier of C alone) and in overloads:
`sqrt(x)` of a float is double arithmetic in C and float arithmetic in C++, so arguments are cast to C's types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.chunk_length import FUNCTION as CHUNK_LENGTH
from polytile.ir.expr import (
    COMPARISONS,
    INT,
    LLONG,
    TRUTHS,
    Access,
    Address,
    Binary,
    Call,
    Cast,
    CType,
    Expr,
    Literal,
    Name,
    Node,
    Ternary,
    Unary,
)
from polytile.ir.expr_trees import walk
from polytile.ir.gpu_ops import BARRIER_TYPE, BuiltIn
from polytile.ir.libm import MATH_SIGNATURES
from polytile.ir.ranges import Intervals
from polytile.ir.reserved_names import identifier, to_cpp

_PRECEDENCE = {
    **dict.fromkeys(("*", "/", "%"), 13),
    **dict.fromkeys(("+", "-"), 12),
    **dict.fromkeys(("<<", ">>"), 11),
    **dict.fromkeys(("<", "<=", ">", ">="), 10),
    **dict.fromkeys(("==", "!="), 9),
    "&": 8,
    "^": 7,
    "|": 6,
    "&&": 5,
    "||": 4,
}
_POSTFIX, _UNARY, _TERNARY, _LOWEST = 16, 15, 3, 0
_BITWISE = frozenset(("&", "^", "|", "<<", ">>"))

MAX_INT = 2**31 - 1
NEGATIVE = "negative()"  # as `pmod()`, a name that no function of C has
INDEX_HELPERS = (CHUNK_LENGTH, "floord", "max", "min", NEGATIVE, "pmod()")


def type_name(ctype: CType, *, cpp: bool = True) -> str:
    """Return a type's spelling: `_Bool` is `bool` in C++, and a struct tag may be no C++ identifier."""
    if not cpp:
        return ctype.name
    return ctype.name if ctype == BARRIER_TYPE else to_cpp(ctype.name)


def linear_index(
    subscripts: tuple[Expr, ...], extents: tuple[Expr | None, ...], intervals: Intervals | None = None
) -> Expr:
    """Return the row-major position of an element, in 64 bits unless the whole array, or it, needs fewer.

    before: subscripts (i, j), extents (n, m)
    after:  (long long)i * m + j
    """
    wide = len(subscripts) > 1 and not _small(extents)
    if wide and intervals is not None:
        wide = not intervals.fits_int(_index(subscripts, extents, wide=False))
    return _index(subscripts, extents, wide)


def _index(subscripts: tuple[Expr, ...], extents: tuple[Expr | None, ...], wide: bool) -> Expr:
    index: Expr = Literal("0")
    for position, (subscript, extent) in enumerate(zip(subscripts, extents, strict=True)):
        if not _is_zero(index):
            if extent is None:
                raise InternalError("an inner extent of an array is unknown")
            product = Binary("*", index, extent)
            index = product if _is_zero(subscript) else _sum(product, subscript, wide)
        elif not _is_zero(subscript):
            index = Cast(LLONG, subscript) if wide and position + 1 < len(subscripts) else subscript
    return index


def _sum(left: Expr, right: Expr, wide: bool) -> Binary:
    """Build `left + right`; in 64 bits without parentheses, so that neighbours share all but a constant offset."""
    match right:
        case Binary(op="+" | "-" as op, left=first, right=second) if wide:
            return Binary(op, _sum(left, first, wide), second)
    return Binary("+", left, right)


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.text == "0"


def _small(extents: tuple[Expr | None, ...]) -> bool:
    """Return whether all extents are constants and every index fits in an int."""
    size = 1
    for extent in extents:
        if not isinstance(extent, Literal) or not extent.text.isdigit():
            return False
        size *= int(extent.text)
    return size <= MAX_INT


def used_helpers(nodes: Iterable[Node]) -> frozenset[str]:
    """Return which of the index helpers occur in `nodes`."""
    calls = (n.function for n in walk(*nodes) if isinstance(n, Call))
    return frozenset(map(helper_name, frozenset(calls).intersection(INDEX_HELPERS)))


def helper_name(function: str) -> str:
    """Return `pmod` for `pmod()`: the name in the text, after `polytile_`."""
    return function.removesuffix("()")


@dataclass(frozen=True, slots=True)
class Printer:
    """Prints the expressions of one function; `element` knows where its arrays live."""

    element: Callable[[Access, Printer], str]
    cpp: bool = True
    device: Callable[[Expr, Printer], str] | None = None  # spells what only kernels have

    def __call__(self, expr: Expr, minimum: int = _LOWEST) -> str:
        """Print `expr`, in parentheses when it binds less tightly than `minimum`."""
        text, precedence = self._parts(expr)
        return f"({text})" if precedence < minimum else text

    def name(self, name: str) -> str:
        return identifier(name) if self.cpp else name

    def truth(self, expr: Expr, minimum: int = _LOWEST) -> str:
        """Print `expr` where C wants a condition.

        A product says `!= 0`, since compilers suspect a mistyped `&&`.
        """
        if isinstance(expr, Ternary) or (isinstance(expr, Binary) and expr.op in ("*", "<<")):
            expr = Binary("!=", expr, Literal("0"))
        return self(expr, minimum)

    def choice(self, condition: Expr, then: str, otherwise: str) -> str:
        """Print `condition ? then : otherwise`."""
        return f"{self.truth(condition, _TERNARY + 1)} ? {then} : {otherwise}"

    def _parts(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Literal(text=text):
                return text, (_UNARY if text.startswith("-") else _POSTFIX)
            case BuiltIn() if self.device is not None:
                return self.device(expr, self), _POSTFIX
            case Name(name=name):
                return self.name(name), _POSTFIX
            case Access():
                return self.element(expr, self), _POSTFIX
            case Unary():
                return self._unary(expr), _UNARY
            case Address():
                return self._address(expr), _UNARY
            case Cast(type=ctype, operand=operand):
                return f"({type_name(ctype, cpp=self.cpp)}){self(operand, _UNARY)}", _UNARY
            case Binary():
                return self._binary(expr), _PRECEDENCE[expr.op]
            case Ternary(condition=c, then=a, otherwise=b):
                return self.choice(c, self(a, _TERNARY + 1), self(b, _TERNARY)), _TERNARY
            case Call():
                return self._call(expr), _POSTFIX
            case _ if self.device is not None:
                return self.device(expr, self), _POSTFIX
        raise InternalError(f"no text for the expression {expr!r}")

    def _address(self, expr: Address) -> str:
        """Print a pointer of the type that the function takes: its kernel may have a `const` one."""
        cast = "" if expr.written or expr.const else f"({type_name(expr.type, cpp=self.cpp)} *)"
        return f"{cast}&{self(expr.target, _POSTFIX)}"

    def _unary(self, expr: Unary) -> str:
        operand = expr.operand
        if expr.op == "!":
            return f"!{self.truth(operand, _UNARY)}"
        if expr.op == "~" and is_truth_value(operand):
            operand = Cast(INT, operand)
        text = self(operand, _UNARY)
        return f"{expr.op}({text})" if text.startswith(("+", "-")) else f"{expr.op}{text}"

    def _binary(self, expr: Binary) -> str:
        """Print an operation; long sums lean to the left, so the left operands are taken in a loop."""
        if expr.op in ("&&", "||"):
            return f"{self._logical(expr.op, expr.left, 0)} {expr.op} {self._logical(expr.op, expr.right, 1)}"
        chain = [expr]
        while isinstance(left := chain[-1].left, Binary) and left.op not in ("&&", "||"):
            chain.append(left)
        text = self._operand(chain[-1].op, chain[-1].left, 0)
        for inner, outer in zip(reversed(chain), [*reversed(chain[:-1]), None], strict=True):
            text = f"{text} {self._right(inner)}"
            if outer is not None and _PRECEDENCE[inner.op] < self._minimum(outer.op, inner, 0):
                text = f"({text})"
        return text

    def _right(self, expr: Binary) -> str:
        """Print the operator and its right operand."""
        op, right = expr.op, expr.right
        if op in ("+", "-") and isinstance(right, Literal) and right.type.kind == "int" and right.text[:1] == "-":
            op, right = ("-" if op == "+" else "+"), Literal(right.text[1:], right.type)
        return f"{op} {self._operand(op, right, 1)}"

    def _logical(self, op: str, operand: Expr, side: int) -> str:
        mixed = isinstance(operand, Binary) and {op, operand.op} == {"&&", "||"}
        return self.truth(operand, _UNARY if mixed else _PRECEDENCE[op] + side)

    def _operand(self, op: str, operand: Expr, side: int) -> str:
        return self(operand, self._minimum(op, operand, side))

    def _minimum(self, op: str, operand: Expr, side: int) -> int:
        """Return how tightly an operand must bind to stand without parentheses, which C or -Wall may ask for."""
        minimum = _PRECEDENCE[op] + side
        if isinstance(operand, Binary) and (
            (op in _BITWISE and operand.op != op) or (op in COMPARISONS and operand.op in COMPARISONS)
        ):
            minimum = _UNARY
        if isinstance(operand, Unary) and operand.op == "!" and (op in COMPARISONS or op in _BITWISE):
            minimum = _POSTFIX
        return minimum

    def _call(self, expr: Call) -> str:
        if expr.function in INDEX_HELPERS:
            return self._helper(expr.function, expr.arguments)
        arguments = expr.arguments
        expected = MATH_SIGNATURES.get(expr.function)
        if self.cpp and expected is not None and len(expected) == len(arguments):
            arguments = tuple(a if a.type == t else Cast(t, a) for a, t in zip(arguments, expected, strict=True))
        return f"{expr.function}({', '.join(self(a) for a in arguments)})"

    def _helper(self, function: str, arguments: tuple[Expr, ...]) -> str:
        texts = [self(a) for a in arguments]
        if function in (NEGATIVE, CHUNK_LENGTH):
            return f"polytile_{helper_name(function)}({', '.join(texts)})"
        if len(texts) == 1:
            return f"({texts[0]})"
        result = texts[-1]
        for text in reversed(texts[:-1]):
            result = f"polytile_{helper_name(function)}({text}, {result})"
        return result


def is_truth_value(expr: Expr) -> bool:
    """Return whether an expression is an int in C and a bool in C++."""
    match expr:
        case Unary(op="!"):
            return True
        case Binary(op=op):
            return op in TRUTHS
        case Ternary(then=then, otherwise=otherwise):
            return is_truth_value(then) and is_truth_value(otherwise)
    return False
