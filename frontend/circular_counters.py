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
    """What an iteration does to a value: `(k + step) % period`, downwards `(k - step) % period` rounded down. `limit`
    says that the C computes sums beyond the period, which must not wrap around."""

    period: c_ast.Node
    step: c_ast.Node
    down: bool = False
    limit: bool = False

    def after(self, start: c_ast.Node, times: c_ast.Node) -> c_ast.Node:
        """The value of `start` after some iterations, as a long."""
        first, last = as_long(start), plus(as_long(self.period), -1)
        steps = scaled(times, _factor(self.step))
        if self.down:
            return minus(last, _remainder(total(minus(copied(last), first), steps), self.period))
        return _remainder(total(first, steps), self.period)

    def asked(self) -> list[c_ast.Node]:
        """What the period must be."""
        least = c_ast.BinaryOp(">=", copied(self.period), number(max(integer(self.step) or 1, 1)))
        return [least, c_ast.BinaryOp("<=", copied(self.period), number(_LARGEST))] if self.limit else [least]


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


def _factor(step: c_ast.Node) -> int | c_ast.Node:
    value = integer(step)
    return step if value is None else value


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

    def beside(self, name: str) -> int | None:
        """The constant that is added to a variable, where this is such a sum."""
        return self.without(name).constant if self.terms.get(name) == 1 else None

    def node(self, more: int) -> c_ast.Node:
        """The sum, and a constant."""
        constant = self.terms.get("", 0) + more
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
    return None if found is None or mentions(found.period, name) else found


def _turn_of(end: c_ast.Node, name: str, *, signed: bool) -> Turn | None:
    match end:
        case c_ast.BinaryOp(op="%", left=left, right=right):
            return _remaindered(_Sum.of(left), right, name)
        case c_ast.BinaryOp(op="&", left=left, right=right) if (mask := integer(right)) is not None:
            step = _Sum.of(left).beside(name)
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
        return node.expr
    return map_children(node, plain)


def _remaindered(left: _Sum, period: c_ast.Node, name: str) -> Turn | None:
    """`(k + 1) % m` and `(k - 1 + m) % m`"""
    step, whole = left.beside(name), integer(period)
    if step is not None and step > 0:
        step = step if whole is None or whole < 1 else step % whole
        return Turn(period, number(step), limit=step > 1) if step else None
    back = (left - _Sum.of(period)).beside(name)
    return Turn(period, number(-back), down=True, limit=True) if back is not None and back < 0 else None


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
    end = _compared(op, _Sum.of(condition.left), _Sum.of(condition.right), name, signed=signed)
    return None if step is None or end is None else _ended(end, then, step + added, added, name)


def _compared(op: str, left: _Sum, right: _Sum, name: str, *, signed: bool) -> tuple[str, _Sum] | None:
    """The op and e of `k op e`, from a comparison."""
    if name not in left.terms:
        op, left, right = _MIRRORED[op], right, left
    shift = left.beside(name)
    if shift is None or name in right.terms:
        return None
    if not signed and not (shift == 1 or (shift == 0 and op not in (">", "<="))):
        return None  # a side may wrap around: k > m - 2
    return op, right - left.without(name)


def _ended(end: tuple[str, _Sum], then: _Sum, step: int, added: int, name: str) -> Turn | None:
    """What a comparison, `k op e`, and the values where it holds and where not make of a counter."""
    op, bound = end
    if op == ">":
        op, bound = ">=", bound - _Sum({"": -1})
    if op == "<=":
        op, bound = "<", bound - _Sum({"": -1})
    if step == 1 and op in ("==", ">=") and (then - _Sum({"": -added})).constant == 0:
        return Turn(bound.node(1), number(1))
    if step > 0 and op == ">=" and then.terms.get(name) == 1:
        period = _Sum({name: 1, "": step - added}) - then  # k + s - m is what it is where k + s reaches m
        if period.terms and (bound - period).constant == -step:
            return Turn(period.node(0), number(step), limit=True)
    first = {"==": 0, "<": 1}.get(op)
    if step == -1 and first is not None and bound.constant == first and name not in then.terms:
        return Turn(then.node(added + 1), number(1), down=True)
    return None
