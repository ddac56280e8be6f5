"""Sizes of arrays that the C does not say, where data decide which elements are used: the host looks what is used.

before: for (i < n) y[i] = x[p[i]];              float *x, as large as may be
after:  x has x_size elements, one more than the greatest of the p[i], 0 <= i < n, which the host looks for

Only what decides which elements are used runs on the host, in front of the SCoP (access_slices.py), and all that it
reads has to be what stood there before the SCoP, also where the SCoP reads it (upward_exposed_reads.py).

before: ... y[i * m + j] = x[p[i] * m + j];
after:  x has x_size rows of m elements, where the last element that is used is the last one of its row; the user's C
        runs elsewhere, and so where data choose a subscript of x[i][p[j]] beyond its row

before: ... y[i][j] = x[p[i]][q[j]];             float **x
after:  x has x_size rows, of which x_width elements are used

A subscript of C as the sum that delinearisation makes of it, one part for each dimension.

before: (p[i] + 1) * m + j      by the stride m
after:  p[i] + 1, j
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial

from pycparser import c_ast

from polytile.diagnostics import Location
from polytile.frontend.access_slices import NoSliceError, set_scalars, used_elements
from polytile.frontend.parse import location_of, nodes_below
from polytile.frontend.polynomial import Monomial
from polytile.frontend.scop_region import Region
from polytile.frontend.store_to_load_forwarding import with_forwarded_elements
from polytile.frontend.trees import copied, free_variables_in, substituted, text_of
from polytile.ir.expr import CType
from polytile.ir.found_extents import ReachedExtent

_PREFIX = "polytile_own_"  # of the copies: none of the names that the host file has besides


def reached_extent(
    region: Region,
    array: str,
    source: str,
    strides: Sequence[Monomial] = (),
    sizes: Sequence[Monomial] = (),
    checked: Collection[Location] = (),
) -> tuple[ReachedExtent, frozenset[str]]:
    """What the host looks for in front of the region, and the arrays that tell it and the SCoP changes.

    `strides` are those of an array that is indexed by hand, `sizes` those of its inner dimensions, and `checked` is
    where data decide subscripts of these.

    Raises NoSliceError where the SCoP itself computes what is used.
    """
    body = with_forwarded_elements(region.body, partial(_integers, region), _names(region))
    rows = _columns_of_rows(body) if source in region.tables else None

    def columns(use: c_ast.Node) -> Sequence[c_ast.Node]:
        if rows is not None:
            if id(use) not in rows:
                raise NoSliceError(f"a row of `{source}` is used as a whole")
            return (rows[id(use)],)
        if location_of(use) not in checked or not isinstance(use, c_ast.ArrayRef):
            return ()
        return linear_parts(use.subscript, strides)[1:]

    if any(name not in region.symbols for stride in strides for name in stride):
        raise NoSliceError("the length of a row is no variable")
    slices, changed = used_elements(body, source, columns)
    places = {location_of(n) for node in region.body for n in nodes_below(node) if isinstance(n, c_ast.ArrayRef)}
    if not places.issuperset(checked):
        raise NoSliceError("a subscript stands nowhere in the C")
    texts = dict.fromkeys(_text(region, body, kept) for kept in slices)
    row = "*".join(strides[0]) if strides else ""
    inner = tuple("*".join(size) for size in sizes) if checked else ()
    search, width = "\n".join(texts), region.symbols[source].width
    used = "" if width is None else str(width.name)
    return ReachedExtent(array, source, region.reached[source], row, inner, search, used), changed


def _columns_of_rows(body: Sequence[c_ast.Node]) -> dict[int, c_ast.Node]:
    """The subscript that follows each place: c of `x[r][c]`, 0 of `*x[r]` and `x[r]->f`, by the id of `x[r]`."""
    found: dict[int, c_ast.Node] = {}
    for node in (n for item in body for n in nodes_below(item)):
        match node:
            case c_ast.ArrayRef(name=inner, subscript=subscript):
                found[id(inner)] = subscript
            case c_ast.UnaryOp(op="*", expr=inner) | c_ast.StructRef(type="->", name=inner):
                found[id(inner)] = c_ast.Constant("int", "0")
    return found


def _integers(region: Region, array: str) -> CType | None:
    symbol = region.symbols.get(array)
    return symbol.type if symbol is not None and symbol.extents and symbol.type.kind == "int" else None


def _names(region: Region) -> set[str]:
    nodes = (n for node in region.body for n in nodes_below(node))
    return {str(n.name) for n in nodes if isinstance(n, c_ast.ID | c_ast.Decl)} | set(region.symbols)


def _text(region: Region, body: Sequence[c_ast.Node], kept: tuple[c_ast.Node, ...]) -> str:
    """A slice as C, which sets copies of the user's variables."""
    scalars = set_scalars(body)
    declared = {str(n.name) for node in kept for n in nodes_below(node) if isinstance(n, c_ast.Decl)}
    outer = dict.fromkeys(str(use.name) for use in free_variables_in(kept) if use.name in scalars)
    lines = []
    for name in outer:
        symbol = region.symbols.get(name)
        if symbol is None or symbol.extents or symbol.fields:
            raise NoSliceError(f"`{name}` is no number")
        value = f" = {name}" if symbol.live_before or symbol.read_first else ""
        lines.append(f"{symbol.type} {_PREFIX}{name}{value};")
    values = {name: c_ast.ID(_PREFIX + name) for name in (*outer, *declared)}
    block = c_ast.Compound([substituted(copied(node), values) for node in kept])
    text = text_of(block).strip().splitlines()
    return "\n".join(line for line in [text[0], *lines, *text[1:]] if line.strip())


_Term = tuple[int, tuple[c_ast.Node, ...]]  # a sign and factors
_MOST_TERMS = 200


def linear_parts(subscript: c_ast.Node, strides: Sequence[Monomial]) -> list[c_ast.Node]:
    """The multiples of each of `strides`, products of names and the largest first, and what is left."""
    parts: list[list[_Term]] = [[] for _ in range(len(strides) + 1)]
    for sign, factors in _terms(subscript):
        for k, stride in enumerate(strides):
            rest = _divided(factors, stride)
            if rest is not None:
                parts[k].append((sign, rest))
                break
        else:
            parts[-1].append((sign, factors))
    return [_sum(part) for part in parts]


def _terms(node: c_ast.Node) -> list[_Term]:
    match node:
        case c_ast.BinaryOp(op="+", left=left, right=right):
            return _terms(left) + _terms(right)
        case c_ast.BinaryOp(op="-", left=left, right=right):
            return _terms(left) + [(-sign, factors) for sign, factors in _terms(right)]
        case c_ast.UnaryOp(op="-", expr=inner):
            return [(-sign, factors) for sign, factors in _terms(inner)]
        case c_ast.BinaryOp(op="*", left=left, right=right):
            one, other = _terms(left), _terms(right)
            if len(one) * len(other) <= _MOST_TERMS:
                return [(s * t, (*f, *g)) for s, f in one for t, g in other]
    return [(1, (node,))]


def _divided(factors: Sequence[c_ast.Node], stride: Monomial) -> tuple[c_ast.Node, ...] | None:
    """The factors without those of a stride; None where some of these are missing."""
    wanted = Counter(stride)
    rest: list[c_ast.Node] = []
    for factor in factors:
        if isinstance(factor, c_ast.ID) and wanted[factor.name] > 0:
            wanted[factor.name] -= 1
        else:
            rest.append(factor)
    return None if any(wanted.values()) else tuple(rest)


def _sum(terms: Sequence[_Term]) -> c_ast.Node:
    total: c_ast.Node | None = None
    for sign, factors in terms:
        product: c_ast.Node = copied(factors[0]) if factors else c_ast.Constant("int", "1")
        for factor in factors[1:]:
            product = c_ast.BinaryOp("*", product, copied(factor))
        if total is None:
            total = product if sign > 0 else c_ast.UnaryOp("-", product)
        else:
            total = c_ast.BinaryOp("+" if sign > 0 else "-", total, product)
    return total if total is not None else c_ast.Constant("int", "0")
