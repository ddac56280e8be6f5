"""Counters that start again from 0 at the end of a period, and those that count down and start again at its end.

before: k = 0; for (i = 0; i < n; i++) { x[i] = y[k]; if (++k == m) k = 0; }
after:  for (i = 0; i < n; i++) x[i] = y[i % m];            where m >= 1, which the host asks

What an iteration makes of the value is `(k + s) % m`, in any of its spellings, for each k from 0 to m - 1. So the value
before iteration t is (k + s * t) % m, in 64 bits, where it is one of these at the start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import declared, mentions
from polytile.frontend.trees import copied, map_children
from polytile.frontend.trip_counts import integer, minus, number, plus, scaled, total
from polytile.ir.expr import LONG

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_LARGEST = 2**30  # periods up to which sums of two values, or of a value and a step, stay in 32 bits


@dataclass(frozen=True, slots=True)
class Turn:
    """What an iteration does to a value: `(k + step) % period`, downwards `(k - step) % period` rounded down; `asked`
    are the conditions under which it does."""

    period: c_ast.Node
    step: c_ast.Node
    down: bool = False
    asked: tuple[c_ast.BinaryOp, ...] = ()

    @classmethod
    def by(cls, step: c_ast.Node, period: c_ast.Node, *, down: bool = False) -> Turn:
        """By a constant, or by a size. Sums that go beyond the period must not wrap around: all but those up by 1."""
        one, constant = integer(step) == 1, integer(step) is not None
        asked = [_is_least(period, number(1)), *([] if one else [_is_least(period, step)])]
        asked += [] if constant else [_is_least(step, number(0))]
        asked += [] if one and not down else [c_ast.BinaryOp("<=", copied(period), number(_LARGEST))]
        return cls(period, step, down, tuple(asked))

    def after(self, start: c_ast.Node, times: c_ast.Node) -> c_ast.Node:
        """The value of `start` after some iterations, as a long."""
        first, last, step = as_long(start), plus(as_long(self.period), -1), integer(self.step)
        steps = scaled(times, as_long(self.step) if step is None else step)
        if self.down:
            return minus(last, _remainder(total(minus(copied(last), first), steps), self.period))
        return _remainder(total(first, steps), self.period)


def _is_least(value: c_ast.Node, least: c_ast.Node) -> c_ast.BinaryOp:
    return c_ast.BinaryOp(">=", copied(value), copied(least))


def as_long(node: c_ast.Node) -> c_ast.Node:
    """A value in 64 bits."""
    value = integer(node)
    if value is not None:
        constant = c_ast.Constant("long", f"{abs(value)}L")
        return constant if value >= 0 else c_ast.UnaryOp("-", constant)
    return converted(node, LONG.name)


def converted(node: c_ast.Node, ctype: str) -> c_ast.Node:
    """A value in another type."""
    return c_ast.Cast(c_ast.Typename(None, [], None, declared("", ctype, node).type), copied(node))


def plain_long(value: c_ast.Node) -> c_ast.Node | None:
    """The i, or i + 1, of which this is the value in 64 bits."""
    match value:
        case c_ast.Cast(expr=c_ast.ID() as inner):
            return inner
        case c_ast.BinaryOp(op="+", left=c_ast.Cast(expr=c_ast.ID() as inner), right=c_ast.Constant(value="1")):
            return plus(inner, 1)
    return None


def _remainder(value: c_ast.Node, period: c_ast.Node) -> c_ast.Node:
    return c_ast.BinaryOp("%", value, as_long(period))


def text_of(node: c_ast.Node) -> str:
    """An expression as C."""
    return str(CGenerator().visit(node))


# What an iteration does ----------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Sum:
    """Terms, by their text, and how often each is added; "" is the constant 1."""

    terms: Mapping[str, int]
    nodes: Mapping[str, c_ast.Node] = field(default_factory=dict)

    @classmethod
    def of(cls, node: c_ast.Node) -> _Sum:
        terms: Counter[str] = Counter()
        nodes: dict[str, c_ast.Node] = {}
        _add(node, 1, terms, nodes)
        return cls({term: factor for term, factor in terms.items() if factor}, nodes)

    def __sub__(self, other: _Sum) -> _Sum:
        terms = {t: self.terms.get(t, 0) - other.terms.get(t, 0) for t in {**self.terms, **other.terms}}
        return _Sum({t: factor for t, factor in terms.items() if factor}, {**self.nodes, **other.nodes})

    def without(self, name: str) -> _Sum:
        return _Sum({t: factor for t, factor in self.terms.items() if t != name}, self.nodes)

    @property
    def constant(self) -> int | None:
        return None if self.terms.keys() - {""} else self.terms.get("", 0)

    def beside(self, name: str) -> _Sum | None:
        """What is added to a variable, where this is such a sum."""
        return self.without(name) if self.terms.get(name) == 1 else None

    def plus(self, number: int) -> _Sum:
        return self - _Sum({"": -number})

    @property
    def node(self) -> c_ast.Node:
        constant = self.terms.get("", 0)
        found: c_ast.Node | None = None
        for term, factor in sorted(self.terms.items(), key=lambda item: item[1] < 0):
            if term:
                part = scaled(copied(self.nodes[term]), abs(factor))
                part = c_ast.UnaryOp("-", part) if factor < 0 and found is None else part
                found = part if found is None else c_ast.BinaryOp("+" if factor > 0 else "-", found, part)
        return number(constant) if found is None else plus(found, constant)


def _add(node: c_ast.Node, sign: int, terms: Counter[str], nodes: dict[str, c_ast.Node]) -> None:
    constant = integer(node)
    match node:
        case _ if constant is not None:
            terms[""] += sign * constant
        case c_ast.BinaryOp(op="+" | "-" as op, left=left, right=right):
            _add(left, sign, terms, nodes)
            _add(right, sign if op == "+" else -sign, terms, nodes)
        case _:
            text = text_of(node)
            terms[text] += sign
            nodes[text] = node


def turn_of(end: c_ast.Node, name: str, *, signed: bool) -> Turn | None:
    """What an iteration does to a value, from that at its end in terms of `name`, that at its start."""
    found = _turn_of(plain(copied(end)), name, signed=signed)
    return None if found is None or mentions(found.period, name) or mentions(found.step, name) else found


def _turn_of(end: c_ast.Node, name: str, *, signed: bool) -> Turn | None:
    match end:
        case c_ast.BinaryOp(op="%", left=left, right=right):
            return _remaindered(_Sum.of(left), right, name)
        case c_ast.BinaryOp(op="&", left=left, right=right) if (mask := integer(right)) is not None:
            rest = _Sum.of(left).beside(name)
            step = None if rest is None else rest.constant
            whole = mask > 0 and mask & (mask + 1) == 0 and step in (1, -1)
            return Turn(number(mask + 1), number(1), step == -1) if whole else None
        case c_ast.TernaryOp() as choice:
            return _chosen(choice, 0, name, signed=signed)
        case c_ast.BinaryOp(op="+" | "-" as op, left=c_ast.TernaryOp() as choice, right=added):
            constant = integer(added)
            return None if constant is None else _chosen(choice, int(f"{op}1") * constant, name, signed=signed)
    return None


def plain(node: c_ast.Node) -> c_ast.Node:
    """Variables and constants without their conversions to the type of the counter."""
    if isinstance(node, c_ast.Cast) and isinstance(node.expr, c_ast.ID | c_ast.Constant):
        return plain(node.expr)
    if isinstance(node, c_ast.Constant):
        value = integer(c_ast.Constant("int", node.value.rstrip("uUlL")))
        return node if value is None else number(value)
    return map_children(node, plain)


def _remaindered(left: _Sum, period: c_ast.Node, name: str) -> Turn | None:
    """`(k + 1) % m`, `(k - 1 + m) % m`, `(k + s) % m`"""
    rest, whole = left.beside(name), integer(period)
    if rest is None:
        return None
    back, step = (rest - _Sum.of(period)).constant, rest.constant
    if step is not None and step > 0 and whole is not None and whole > 0:
        step %= whole
    if step is not None and step > 0:
        return Turn.by(number(step), period)
    if back is not None and back < 0:
        return Turn.by(number(-back), period, down=True)
    return Turn.by(rest.node, period) if step is None else None


def _chosen(choice: c_ast.TernaryOp, added: int, name: str, *, signed: bool) -> Turn | None:
    """`k + 1 == m ? 0 : k + 1`, `k + 2 >= m ? k + 2 - m : k + 2`, `k == 0 ? m - 1 : k - 1`"""
    condition = choice.cond
    if isinstance(condition, c_ast.ID):
        condition = c_ast.BinaryOp("!=", condition, number(0))
    if isinstance(condition, c_ast.UnaryOp) and condition.op == "!" and isinstance(condition.expr, c_ast.ID):
        condition = c_ast.BinaryOp("==", condition.expr, number(0))
    if not isinstance(condition, c_ast.BinaryOp) or condition.op not in _NEGATED:
        return None
    op, (then, other) = condition.op, (_Sum.of(choice.iftrue), _Sum.of(choice.iffalse))
    if other.beside(name) is None:
        op, then, other = _NEGATED[op], other, then
    step = other.beside(name)
    if step is None:
        return None
    end = _compared(condition, op, name, signed=signed, by_one=step.constant == 1 - added)
    return None if end is None else _ended(end, then.plus(added), step.plus(added), name)


def _compared(condition: c_ast.BinaryOp, op: str, name: str, *, signed: bool, by_one: bool) -> tuple[str, _Sum] | None:
    """The op and e of `k op e`, from a comparison."""
    left, right = _Sum.of(condition.left), _Sum.of(condition.right)
    if name not in left.terms:
        op, left, right = _MIRRORED[op], right, left
    shift = left.beside(name)
    if shift is None or name in right.terms:
        return None
    above = shift.constant is None or shift.constant > 0 or (shift.constant == 0 and op not in (">", "<="))
    bounded = shift.constant is None or shift.constant <= 1 or not by_one
    return (op, right - shift) if signed or (above and bounded) else None  # a side may wrap around: k > m - 2


def _ended(end: tuple[str, _Sum], then: _Sum, step: _Sum, name: str) -> Turn | None:
    """What a comparison, `k op e`, and the values where it holds and where not make of a counter."""
    op, bound = end
    if op == ">":
        op, bound = ">=", bound.plus(1)
    if op == "<=":
        op, bound = "<", bound.plus(1)
    if step.constant == 1 and op in ("==", ">=") and then.constant == 0:
        return Turn.by(number(1), bound.plus(1).node)
    if op == ">=" and then.beside(name) is not None:
        period = step - then.without(name)  # k + s - m is what it is where k + s reaches m
        same = (bound - period) - _Sum({term: -factor for term, factor in step.terms.items()})
        if period.terms and not same.terms and (step.constant is None or step.constant > 0):
            return Turn.by(step.node, period.node)
    first = {"==": 0, "<": 1}.get(op)
    if step.constant == -1 and first is not None and bound.constant == first and name not in then.terms:
        return Turn.by(number(1), then.plus(1).node, down=True)
    return None
