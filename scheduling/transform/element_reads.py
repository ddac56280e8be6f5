"""The reads of a statement's body by the element that they read, and the body with some of them from another array.

before: B[i][j] += A[i][k] * B[k][j];
after:  B[i][j] += A[i][k] * B_in[k][j];       the reads of B[k][j] are chosen, what `+=` reads is not
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field, replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Assign, Expr, Stmt
from polytile.ir.expr_trees import bodies, expressions, rewrite, walk
from polytile.ir.polynomial import Linear, linear
from polytile.ir.scop import AccessKind, AccessRelation, Statement

Subscripts = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ElementRead:
    """A way to read an array: `element` is what the subscripts are at any point, `updates` says that it is the target
    of `x op= e`."""

    subscripts: Subscripts
    element: isl.Map = field(compare=False)
    updates: bool = False


def element_reads(statement: Statement, array: str) -> tuple[ElementRead, ...] | None:
    """Return the ways in which a body reads an array.

    Returns None where a subscript is not linear in iterators and parameters.
    """
    found: dict[tuple[Subscripts, bool], ElementRead] = {}
    for access, updates in _reads(statement.body):
        key = access.subscripts, updates
        if access.array != array or key in found:
            continue
        element = _element(statement, access)
        if element is None:
            return None
        found[key] = ElementRead(access.subscripts, element, updates)
    return tuple(found.values())


def _reads(body: Sequence[Stmt]) -> Iterator[tuple[Access, bool]]:
    for stmt in body:
        parts = (stmt.value,) if isinstance(stmt, Assign) else expressions(stmt)
        yield from ((node, False) for node in walk(*parts) if isinstance(node, Access))
        if isinstance(stmt, Assign) and stmt.op and isinstance(stmt.target, Access):
            yield stmt.target, True
        for block in bodies(stmt):
            yield from _reads(block)


def _element(statement: Statement, access: Access) -> isl.Map | None:
    if access.field is not None:
        return None
    space = statement.domain.get_space()
    element = isl.Map.from_domain(isl.Set.universe(space))
    for subscript in access.subscripts:
        form = linear(subscript)
        column = None if form is None else _column(statement, space, form)
        if column is None:
            return None
        element = element.flat_range_product(column)
    return element.set_tuple_name(isl.dim_type.out, access.array)


def _column(statement: Statement, space: isl.Space, form: Linear) -> isl.Map | None:
    value = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))
    for name, factor in form.items():
        position = space.find_dim_by_name(isl.dim_type.param, name) if name else -1
        if not name:
            value = value.add_constant_val(isl.Val(factor))
        elif name in statement.iterators:
            index = statement.iterators.index(name)
            value = value.add_coefficient_val(isl.dim_type.in_, index, isl.Val(factor))
        elif position >= 0:
            value = value.add_coefficient_val(isl.dim_type.param, position, isl.Val(factor))
        else:
            return None
    return isl.Map.from_aff(value)


def read_from(statement: Statement, array: str, chosen: Collection[ElementRead], other: str) -> Statement:
    """Rewrite the chosen reads of `array` in a statement to read `other`.

    It has the same elements, and nothing else uses it yet.
    """
    moved = {read.subscripts for read in chosen}
    left = [read for read in element_reads(statement, array) or () if read not in chosen]

    def change(node: Expr | Stmt) -> Expr | Stmt:
        if isinstance(node, Access) and node.array == array and node.subscripts in moved:
            return replace(node, array=other)
        if isinstance(node, Assign) and isinstance(node.target, Access) and node.target.array == other:
            return replace(node, target=replace(node.target, array=array))
        return node

    accesses: list[AccessRelation] = []
    for access in statement.accesses:
        if access.array != array or access.kind is not AccessKind.READ:
            accesses.append(access)
            continue
        accesses += _parts(statement, access, left)
        for part in _parts(statement, access, chosen):
            relation = part.relation.set_tuple_name(isl.dim_type.out, other)
            accesses.append(replace(part, array=other, relation=relation))
    return replace(statement, body=tuple(rewrite(s, change) for s in statement.body), accesses=tuple(accesses))


def _parts(statement: Statement, access: AccessRelation, reads: Collection[ElementRead]) -> Iterator[AccessRelation]:
    """Yield what these reads may be of an access: all of it, or the elements that they agree in."""
    pairs = access.relation.intersect_domain(statement.domain)
    common = [pairs.intersect(read.element) for read in reads]
    if any(pairs.is_subset(part) for part in common):
        yield access
        return
    yield from (replace(access, relation=part) for part in common if not part.is_empty())
