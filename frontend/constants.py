"""Integer constant expressions of C, with C's types: what may be folded, and to what."""

from __future__ import annotations

from collections.abc import Callable

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.ir.expr import INT, LLONG, LONG, UINT, ULLONG, ULONG, CType, value_range
from polytile.ir.integer_constants import character_value, integer_value

_RANK = {"int": 0, "unsigned int": 0, "long": 1, "unsigned long": 1, "long long": 2, "unsigned long long": 2}
_SUFFIX = {INT: "", UINT: "U", LONG: "L", ULONG: "UL", LLONG: "LL", ULLONG: "ULL"}


@dataclass(frozen=True, slots=True)
class Constant:
    """An integer constant of C: its value and its type."""

    value: int
    type: CType


@dataclass(frozen=True, slots=True)
class Meanings:
    """What the evaluator asks of its surroundings; each answers None for "not a constant"."""

    name: Callable[[str], Constant | None]
    size: Callable[[c_ast.Node], int | None]
    type: Callable[[c_ast.Node], CType | None]
    alignment: Callable[[c_ast.Node], int | None] = lambda _: None
    offset: Callable[[c_ast.Node, c_ast.Node], int | None] = lambda _, __: None  # of a member in a type


def fits(value: int, ctype: CType) -> bool:
    low, high = value_range(ctype)
    return low <= value <= high


def convert(value: int, ctype: CType) -> Constant | None:
    """The conversion of a value to an integer type; None where C leaves it to the implementation."""
    if ctype.name == "_Bool":
        return Constant(int(value != 0), ctype)
    if ctype.kind != "int":
        return None
    if ctype.signed and not fits(value, ctype):
        return None
    return Constant(value & value_range(ctype)[1] if not ctype.signed else value, ctype)


def constant_node(constant: Constant, coord: object) -> c_ast.Node:
    """A constant as C spells it: `5U`, `-(3)`."""
    promoted = _promoted(constant)
    text = f"{abs(promoted.value)}{_SUFFIX[promoted.type]}"
    node: c_ast.Node = c_ast.Constant(promoted.type.name, text, coord)
    return c_ast.UnaryOp("-", node, coord) if promoted.value < 0 else node


def constant_type(node: c_ast.Constant) -> CType | None:
    """The type of an integer or character constant."""
    constant = _literal(node)
    return None if constant is None else constant.type


def evaluate(node: c_ast.Node, meanings: Meanings) -> Constant | None:
    """The value of an integer constant expression, or None when it is not one, overflows or is undefined."""
    match node:
        case c_ast.Constant():
            return _literal(node)
        case c_ast.ID(name=name):
            found = meanings.name(name)
            return None if found is None else _promoted(found)
        case c_ast.UnaryOp(op="sizeof", expr=operand):
            size = meanings.size(operand)
            return None if not size else Constant(size, ULONG)
        case c_ast.UnaryOp(op="_Alignof", expr=operand):
            alignment = meanings.alignment(operand)
            return None if not alignment else Constant(alignment, ULONG)
        case c_ast.FuncCall(name=c_ast.ID(name="offsetof"), args=c_ast.ExprList(exprs=[kind, member])):
            offset = meanings.offset(kind, member)
            return None if offset is None else Constant(offset, ULONG)
        case c_ast.UnaryOp(op=("+" | "-" | "~" | "!") as op, expr=operand):
            return _unary(op, evaluate(operand, meanings))
        case c_ast.BinaryOp(op=op, left=left, right=right):
            first = evaluate(left, meanings)
            return None if first is None else _binary(op, first, evaluate(right, meanings))
        case c_ast.TernaryOp(cond=condition, iftrue=first, iffalse=second):
            return _ternary(evaluate(condition, meanings), evaluate(first, meanings), evaluate(second, meanings))
        case c_ast.Cast(to_type=to_type, expr=operand):
            target, inner = meanings.type(to_type), evaluate(operand, meanings)
            return None if target is None or inner is None else convert(inner.value, target)
    return None


def _promoted(constant: Constant) -> Constant:
    return constant if constant.type.name in _RANK else Constant(constant.value, INT)


def _literal(node: c_ast.Constant) -> Constant | None:
    if (character := character_value(node.value)) is not None:  # of C that the parser has not read
        return Constant(character[1], INT) if 0 <= character[1] < 128 else None
    value = integer_value(node.value) if node.type != "string" else None
    if value is None:
        return None
    text = node.value.lower()
    suffix, decimal = text[len(text.rstrip("ul")) :], text[0] != "0"
    ladder: list[CType] = [INT, UINT, LONG, ULONG] if "ll" not in suffix else [LLONG, ULLONG]
    if "l" in suffix and "ll" not in suffix:
        ladder = [LONG, ULONG]
    if "u" in suffix:
        ladder = [t for t in ladder if not t.signed]
    elif decimal:
        ladder = [t for t in ladder if t.signed]
    return next((Constant(value, t) for t in ladder if fits(value, t)), None)


def _common(left: Constant, right: Constant) -> CType:
    a, b = left.type, right.type
    if _RANK[a.name] < _RANK[b.name]:
        a, b = b, a
    if a.signed == b.signed or not a.signed:
        return a
    if _RANK[a.name] == _RANK[b.name]:
        return b
    if a.size > b.size:
        return a
    return ULLONG if a is LLONG else ULONG


def _unary(op: str, operand: Constant | None) -> Constant | None:
    if operand is None:
        return None
    operand = _promoted(operand)
    if op == "!":
        return Constant(int(operand.value == 0), INT)
    value = {"+": operand.value, "-": -operand.value, "~": ~operand.value}[op]
    return convert(value, operand.type)


def _binary(op: str, left: Constant | None, right: Constant | None) -> Constant | None:
    if left is None or right is None:
        return None
    left, right = _promoted(left), _promoted(right)
    if op in ("&&", "||"):
        both = (left.value != 0, right.value != 0)
        return Constant(int(all(both) if op == "&&" else any(both)), INT)
    if op in ("<<", ">>"):
        return _shift(op, left, right)
    common = _common(left, right)
    a, b = convert(left.value, common), convert(right.value, common)
    if a is None or b is None:
        return None
    if op in ("<", "<=", ">", ">=", "==", "!="):
        return Constant(int(_compare(op, a.value, b.value)), INT)
    value = _arithmetic(op, a.value, b.value)
    return None if value is None else convert(value, common)


def _shift(op: str, left: Constant, right: Constant) -> Constant | None:
    if not 0 <= right.value < 8 * left.type.size or left.value < 0:
        return None
    value = left.value << right.value if op == "<<" else left.value >> right.value
    return convert(value, left.type)


def _compare(op: str, a: int, b: int) -> bool:
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[op]


def _arithmetic(op: str, a: int, b: int) -> int | None:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/" | "%" if b:
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return quotient if op == "/" else a - b * quotient
        case "&":
            return a & b
        case "|":
            return a | b
        case "^":
            return a ^ b
    return None


def _ternary(condition: Constant | None, first: Constant | None, second: Constant | None) -> Constant | None:
    if condition is None or first is None or second is None:
        return None
    chosen = first if condition.value else second
    return convert(chosen.value, _common(_promoted(first), _promoted(second)))
