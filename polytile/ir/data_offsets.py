"""Subscripts that add what iterators say to what data say: of `Y[off[k] + i]` the data are off[k], chosen by k.

Two instances with the same k get the same off[k], where nothing writes off, and so use different elements for
different i, whatever off[k] is. What the data say is any expression of iterators, sizes and arrays.

Sums of signed integers are what they are, as C has no overflow of these. Unsigned ones are remainders by 2^n: two of
them that differ in one iterator alone, of no more than n bits and with the factor 1, are still different.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Address, Binary, Cast, CType, Expr, Invoke, IteratorValue, Literal, Name
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.polynomial import Linear, linear, total
from polytile.ir.scop import Scop, Statement

_SET, _PARAM = isl.dim_type.set, isl.dim_type.param
Summand = tuple[int, Expr]  # 1 or -1, and what is added


@dataclass(frozen=True, slots=True)
class Subscript:
    """What data say, with the numbers of the iterators that choose it in place of these, and what is added to it. Where
    the sum `wraps` around, others are only comparable that differ in nothing but iterators."""

    data: tuple[Summand, ...]
    chosen_by: tuple[int, ...]
    rest: Linear
    wraps: bool = False

    @property
    def reads(self) -> frozenset[str]:
        return frozenset(n.array for _, part in self.data for n in walk(part) if isinstance(n, Access))

    def choice(self, statement: Statement) -> isl.Map:
        """Return `{ S[k, i] -> [k] }`: instances that agree in it get the same from data."""
        space = isl.LocalSpace.from_space(statement.domain.get_space())
        total = isl.Map.from_domain(isl.Set.universe(statement.domain.get_space()))
        for k in self.chosen_by:
            total = total.flat_range_product(isl.Map.from_aff(isl.Aff.var_on_domain(space, _SET, k)))
        return total

    def added(self, statement: Statement) -> isl.Map:
        """Return `{ S[k, i] -> [i] }`: what is added to the data."""
        space = isl.LocalSpace.from_space(statement.domain.get_space())
        total = isl.Aff.zero_on_domain(space)
        for name, factor in self.rest.items():
            if not name:
                one = isl.Aff.val_on_domain(space, isl.Val(1))
            elif name in statement.iterators:
                one = isl.Aff.var_on_domain(space, _SET, statement.iterators.index(name))
            else:
                one = isl.Aff.var_on_domain(space, _PARAM, statement.domain.find_dim_by_name(_PARAM, name))
            total = total.add(one.scale_val(isl.Val(factor)))
        return isl.Map.from_aff(total)


def subscripts(scop: Scop, statement: Statement, array: str) -> list[tuple[Subscript | None, ...]]:
    """Return the subscripts of each access to an array, each None where nothing is known of it.

    The list is empty where not all that the statement accesses are in its body.
    """
    found = list(walk(*statement.body))
    if statement.combine is not None or any(isinstance(n, Invoke | Address) for n in found):
        return []
    sizes = (p.name for p in scop.parameters if statement.domain.find_dim_by_name(_PARAM, p.name) >= 0)
    names = {**dict.fromkeys(sizes), **{name: k for k, name in enumerate(statement.iterators)}}
    accesses = dict.fromkeys(n for n in found if isinstance(n, Access) and n.array == array)
    return [tuple(_subscript(scop, s, names) for s in access.subscripts) for access in accesses]


def offsets(scop: Scop, statement: Statement, text: Callable[[Expr], str]) -> dict[str, Any]:
    """Return what certificates say of a statement's arrays whose subscripts add to data; `text` prints expressions."""
    found: dict[str, Any] = {}
    for array in dict.fromkeys(a.array for a in statement.accesses):
        known = subscripts(scop, statement, array) if scop.written(array) else []
        if any(s is not None and s.data and s.rest for access in known for s in access):
            found[array] = [[_entry(s, statement, text) for s in access] for access in known]
    return found


def _entry(found: Subscript | None, statement: Statement, text: Callable[[Expr], str]) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "data": " ".join(f"{'-+'[sign > 0]} {text(part)}" for sign, part in found.data),
        "reads": sorted(found.reads),
        "chosen_by": str(found.choice(statement)),
        "adds": str(found.added(statement)),
        "wraps": found.wraps,
    }


def _subscript(scop: Scop, expr: Expr, names: Mapping[str, int | None]) -> Subscript | None:
    while isinstance(expr, Cast) and expr.type.kind == "int" and expr.type.size >= expr.operand.type.size:
        expr = expr.operand  # different numbers stay different
    modulus = expr.type if expr.type.kind == "int" and not expr.type.signed else None
    rest: Linear = {}
    data: list[Summand] = []
    for sign, part in _summands(expr, modulus, 1):
        form = linear(part) if _is_exact(part) else None
        if form is not None and form.keys() <= {*names, ""}:
            rest = total(rest, form, sign)
        else:
            data.append((sign, part))
    used = [n for _, part in data for n in walk(part)]
    written = any(isinstance(n, Access) and scop.written(n.array) for n in used)
    if written or any(isinstance(n, Name) and n.name not in names for n in used):
        return None
    if modulus is not None and not _keeps_apart(expr, rest, names, modulus):
        return None
    chosen = dict.fromkeys(k for n in used if isinstance(n, Name) and (k := names[n.name]) is not None)
    numbers = {k: f"#{number}" for number, k in enumerate(chosen)}

    def numbered(node: Expr) -> Expr:
        if isinstance(node, IteratorValue):  # is printed as the iterator
            return Binary(node.op, node.left, node.right, node.type)
        k = names[node.name] if isinstance(node, Name) else None
        return node if k is None else Name(numbers[k], node.type)

    return Subscript(tuple((s, rewrite(part, numbered)) for s, part in data), tuple(chosen), rest, modulus is not None)


def _summands(expr: Expr, modulus: CType | None, sign: int) -> Iterator[Summand]:
    """Yield the signed summands of a sum, exactly or by the remainders of its type."""
    match expr:
        case Binary(op="+" | "-" as op, left=left, right=right) if _adds(expr.type, modulus):
            yield from _summands(left, modulus, sign)
            yield from _summands(right, modulus, -sign if op == "-" else sign)
        case Cast(type=ctype, operand=operand) if _converts(ctype, operand.type, modulus):
            yield from _summands(operand, modulus, sign)
        case _:
            yield sign, expr


def _adds(ctype: CType, modulus: CType | None) -> bool:
    if modulus is None or ctype.size < modulus.size:
        return ctype.kind == "int" and ctype.signed
    return ctype.kind == "int" and ctype.size == modulus.size


def _converts(ctype: CType, given: CType, modulus: CType | None) -> bool:
    """Return whether a conversion keeps all values, or the remainders of them."""
    if ctype.kind != "int" or given.kind != "int":
        return False
    if modulus is not None and ctype.size >= modulus.size:
        return True
    if given.signed:
        return ctype.signed and ctype.size >= given.size
    return ctype.size > given.size or (ctype.size == given.size and not ctype.signed)


def _is_exact(expr: Expr) -> bool:
    """Return whether no part of a summand wraps around."""
    parts = (n for n in walk(expr) if isinstance(n, Binary | Cast | Name))
    return isinstance(expr, Name | Literal) or all(part.type.kind == "int" and part.type.signed for part in parts)


def _keeps_apart(expr: Expr, rest: Linear, names: Mapping[str, int | None], modulus: CType) -> bool:
    """Return whether different values of the rest are proved to have different remainders."""
    factors = {name: factor for name, factor in rest.items() if names.get(name) is not None}
    sizes = {n.type.size for n in walk(expr) if isinstance(n, Name) and n.name in factors}
    return sum(map(abs, factors.values())) <= 1 and all(size <= modulus.size for size in sizes)
