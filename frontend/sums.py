"""Sums of terms and constants in C expressions: `a + b - a + 2` is b + 2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.trees import copied, text_of
from polytile.frontend.trip_counts import integer, number, plus, scaled

Linear = tuple[str, int]  # a variable plus a constant


@dataclass(frozen=True, slots=True)
class Sum:
    """Terms, by their text, and how often each is added; "" is the constant 1. `nodes` are the terms."""

    terms: Mapping[str, int]
    nodes: Mapping[str, c_ast.Node] = field(default_factory=dict)

    @classmethod
    def of(cls, node: c_ast.Node) -> Sum:
        """Take an expression apart."""
        terms: Counter[str] = Counter()
        nodes: dict[str, c_ast.Node] = {}
        _add(node, 1, terms, nodes)
        return cls({term: factor for term, factor in terms.items() if factor}, nodes)

    def __sub__(self, other: Sum) -> Sum:
        terms = {t: self.terms.get(t, 0) - other.terms.get(t, 0) for t in {**self.terms, **other.terms}}
        return Sum({t: factor for t, factor in terms.items() if factor}, {**self.nodes, **other.nodes})

    def without(self, name: str) -> Sum:
        """Leave a term out."""
        return Sum({t: factor for t, factor in self.terms.items() if t != name}, self.nodes)

    @property
    def constant(self) -> int | None:
        """Return the number that it is; None where it has terms."""
        return None if self.terms.keys() - {""} else self.terms.get("", 0)

    def beside(self, name: str) -> Sum | None:
        """Return what is added to a variable, where this is such a sum."""
        return self.without(name) if self.terms.get(name) == 1 else None

    def plus(self, number: int) -> Sum:
        """Add a number."""
        return self - Sum({"": -number})

    @property
    def node(self) -> c_ast.Node:
        """Return it as an expression."""
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


def linear(node: c_ast.Node) -> Linear | None:
    """Return a variable, or "", plus a constant: ("j", 3) for `j + 1 + 2`; None for other sums."""
    found = Sum.of(node)
    names = [name for name in found.terms if name]
    if len(names) > 1 or any(found.terms[n] != 1 or not isinstance(found.nodes[n], c_ast.ID) for n in names):
        return None
    return "".join(names), found.terms.get("", 0)
