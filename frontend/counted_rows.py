"""How many rows a loop has that counts two dimensions in one up to a size, as a size that the host computes.

before: for (k = 0; k < all; k++) A[k / m][k % m] = x[k];
after:  k_rows = all / m, where k_rest = all % m is 0 and m is 1 at least
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.parse import location_of
from polytile.frontend.scop_region import SizeProduct, Symbol
from polytile.frontend.trees import copied, substituted, text_of
from polytile.ir.expr import Binary, CType, Name
from polytile.ir.name_supply import fresh


@dataclass(frozen=True, slots=True)
class RowCount:
    """The names of the number of rows, and of what is left behind the last one."""

    rows: str
    rest: str


@dataclass(frozen=True, slots=True)
class CountedRows:
    """The symbols, what each is computed from, and the sizes that are products of them where nothing is left."""

    symbols: dict[str, Symbol] = field(default_factory=dict)
    values: dict[str, c_ast.Node] = field(default_factory=dict)
    products: dict[str, SizeProduct] = field(default_factory=dict)
    made: dict[str, RowCount] = field(default_factory=dict)

    def of(
        self,
        iterator: str,
        kind: CType,
        size: c_ast.ID,
        columns: Sequence[c_ast.Node],
        taken: set[str],
        loads: Mapping[str, c_ast.Node],
    ) -> RowCount:
        """The rows of `columns` elements that `size` has; symbols in `loads` are read from there."""
        length = _product(columns)
        text = f"{size.name} / {text_of(length)}"
        if text in self.made:
            return self.made[text]
        names = []
        for what, op, none in (("rows", "/", "0"), ("rest", "%", "1")):
            name = fresh(f"{iterator}_{what}", taken)
            taken.add(name)
            names.append(name)
            some = c_ast.BinaryOp(">=", copied(length), c_ast.Constant("int", "1"))
            quotient = c_ast.BinaryOp(op, copied(size), copied(length))
            self.values[name] = substituted(c_ast.TernaryOp(some, quotient, c_ast.Constant("int", none)), loads)
            self.symbols[name] = Symbol(name, kind, live_after=False, location=location_of(size))
        self.made[text] = RowCount(*names)
        if isinstance(length, c_ast.ID) and size.name not in self.products:
            factors = tuple(sorted((str(length.name), names[0])))
            value = Binary("*", Name(names[0], kind), Name(str(length.name), kind), kind)
            self.products[str(size.name)] = SizeProduct(value, factors)
        return self.made[text]


def _product(factors: Sequence[c_ast.Node]) -> c_ast.Node:
    found, *others = map(copied, factors)
    for other in others:
        found = c_ast.BinaryOp("*", found, other)
    return found
