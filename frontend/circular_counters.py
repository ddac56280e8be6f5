"""Counters that start again from 0 at the end of a period, and those that count down and start again at its end.

before: k = 0; for (i = 0; i < n; i++) { x[i] = y[k]; if (++k == m) k = 0; }
after:  for (i = 0; i < n; i++) x[i] = y[i % m];            where m >= 1, which the host asks

What an iteration makes of the value is `(k + s) % m`, in any of its spellings, for each k from 0 to m - 1. So the value
before iteration t is (k + s * t) % m, in 64 bits, where it is one of these at the start.
"""

from __future__ import annotations

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import declared, mentions
from polytile.frontend.sums import Sum
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
        """Return the turn by a constant, or by a size. Sums that go beyond the period must not wrap around: all but
        those up by 1."""
        one, constant = integer(step) == 1, integer(step) is not None
        asked = [_is_least(period, number(1)), *([] if one else [_is_least(period, step)])]
        asked += [] if constant else [_is_least(step, number(0))]
        asked += [] if one and not down else [c_ast.BinaryOp("<=", copied(period), number(_LARGEST))]
        return cls(period, step, down, tuple(asked))

    def after(self, start: c_ast.Node, times: c_ast.Node) -> c_ast.Node:
        """Return the value of `start` after some iterations, as a long."""
        first, last, step = as_long(start), plus(as_long(self.period), -1), integer(self.step)
        steps = scaled(times, as_long(self.step) if step is None else step)
        if self.down:
            return minus(last, _remainder(total(minus(copied(last), first), steps), self.period))
        return _remainder(total(first, steps), self.period)


def _is_least(value: c_ast.Node, least: c_ast.Node) -> c_ast.BinaryOp:
    return c_ast.BinaryOp(">=", copied(value), copied(least))


def as_long(node: c_ast.Node) -> c_ast.Node:
    """Convert a value to 64 bits."""
    value = integer(node)
    if value is not None:
        constant = c_ast.Constant("long", f"{abs(value)}L")
        return constant if value >= 0 else c_ast.UnaryOp("-", constant)
    return converted(node, LONG.name)


def converted(node: c_ast.Node, ctype: str) -> c_ast.Node:
    """Convert a value to another type."""
    return c_ast.Cast(c_ast.Typename(None, [], None, declared("", ctype, node).type), copied(node))


def plain_long(value: c_ast.Node) -> c_ast.Node | None:
    """Return the i, or i + 1, of which this is the value in 64 bits."""
    match value:
        case c_ast.Cast(expr=c_ast.ID() as inner):
            return inner
        case c_ast.BinaryOp(op="+", left=c_ast.Cast(expr=c_ast.ID() as inner), right=c_ast.Constant(value="1")):
            return plus(inner, 1)
    return None


def _remainder(value: c_ast.Node, period: c_ast.Node) -> c_ast.Node:
    return c_ast.BinaryOp("%", value, as_long(period))


# What an iteration does ----------------------------------------------------------------------------------------------
def turn_of(end: c_ast.Node, name: str, *, signed: bool) -> Turn | None:
    """Find what an iteration does to a value, from that at its end in terms of `name`, that at its start."""
    found = _turn_of(plain(copied(end)), name, signed=signed)
    return None if found is None or mentions(found.period, name) or mentions(found.step, name) else found


def _turn_of(end: c_ast.Node, name: str, *, signed: bool) -> Turn | None:
    match end:
        case c_ast.BinaryOp(op="%", left=left, right=right):
            return _remaindered(Sum.of(left), right, name)
        case c_ast.BinaryOp(op="&", left=left, right=right) if (mask := integer(right)) is not None:
            rest = Sum.of(left).beside(name)
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
    """Drop the conversions of variables and constants to the type of the counter."""
    if isinstance(node, c_ast.Cast) and isinstance(node.expr, c_ast.ID | c_ast.Constant):
        return plain(node.expr)
    if isinstance(node, c_ast.Constant):
        value = integer(c_ast.Constant("int", node.value.rstrip("uUlL")))
        return node if value is None else number(value)
    return map_children(node, plain)


def _remaindered(left: Sum, period: c_ast.Node, name: str) -> Turn | None:
    """Read `(k + 1) % m`, `(k - 1 + m) % m`, `(k + s) % m`"""
    rest, whole = left.beside(name), integer(period)
    if rest is None:
        return None
    back, step = (rest - Sum.of(period)).constant, rest.constant
    if step is not None and step > 0 and whole is not None and whole > 0:
        step %= whole
    if step is not None and step > 0:
        return Turn.by(number(step), period)
    if back is not None and back < 0:
        return Turn.by(number(-back), period, down=True)
    return Turn.by(rest.node, period) if step is None else None


def _chosen(choice: c_ast.TernaryOp, added: int, name: str, *, signed: bool) -> Turn | None:
    """Read `k + 1 == m ? 0 : k + 1`, `k + 2 >= m ? k + 2 - m : k + 2`, `k == 0 ? m - 1 : k - 1`"""
    condition = choice.cond
    if isinstance(condition, c_ast.ID):
        condition = c_ast.BinaryOp("!=", condition, number(0))
    if isinstance(condition, c_ast.UnaryOp) and condition.op == "!" and isinstance(condition.expr, c_ast.ID):
        condition = c_ast.BinaryOp("==", condition.expr, number(0))
    if not isinstance(condition, c_ast.BinaryOp) or condition.op not in _NEGATED:
        return None
    op, (then, other) = condition.op, (Sum.of(choice.iftrue), Sum.of(choice.iffalse))
    if other.beside(name) is None:
        op, then, other = _NEGATED[op], other, then
    step = other.beside(name)
    if step is None:
        return None
    end = _compared(condition, op, name, signed=signed, by_one=step.constant == 1 - added)
    return None if end is None else _ended(end, then.plus(added), step.plus(added), name)


def _compared(condition: c_ast.BinaryOp, op: str, name: str, *, signed: bool, by_one: bool) -> tuple[str, Sum] | None:
    """Return the op and e of `k op e`, from a comparison."""
    left, right = Sum.of(condition.left), Sum.of(condition.right)
    if name not in left.terms:
        op, left, right = _MIRRORED[op], right, left
    shift = left.beside(name)
    if shift is None or name in right.terms:
        return None
    above = shift.constant is None or shift.constant > 0 or (shift.constant == 0 and op not in (">", "<="))
    bounded = shift.constant is None or shift.constant <= 1 or not by_one
    return (op, right - shift) if signed or (above and bounded) else None  # a side may wrap around: k > m - 2


def _ended(end: tuple[str, Sum], then: Sum, step: Sum, name: str) -> Turn | None:
    """Find what a comparison, `k op e`, and the values where it holds and where not make of a counter."""
    op, bound = end
    if op == ">":
        op, bound = ">=", bound.plus(1)
    if op == "<=":
        op, bound = "<", bound.plus(1)
    if step.constant == 1 and op in ("==", ">=") and then.constant == 0:
        return Turn.by(number(1), bound.plus(1).node)
    if op == ">=" and then.beside(name) is not None:
        period = step - then.without(name)  # k + s - m is what it is where k + s reaches m
        same = (bound - period) - Sum({term: -factor for term, factor in step.terms.items()})
        if period.terms and not same.terms and (step.constant is None or step.constant > 0):
            return Turn.by(step.node, period.node)
    first = {"==": 0, "<": 1}.get(op)
    if step.constant == -1 and first is not None and bound.constant == first and name not in then.terms:
        return Turn.by(number(1), then.plus(1).node, down=True)
    return None
