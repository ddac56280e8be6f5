"""Tiles in registers: neighbouring iterations that a thread runs inside its serial loop, for each load that they share.

before: threads (i, j) { k [C[i][j] += A[i][k] * B[k][j]] }                        two loads for each product
after:  threads (i/4, j/2) { k { 4 x 2 of C[i][j] += A[i][k] * B[k][j] } }         four and a vector for eight products

What such a loop takes is a matter of the bytes that each thread loads from L1: that hands out 128 a
cycle, whether lanes load the same or not [Volkov 2010, "Better performance at lower occupancy"].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polytile.ir.def_use import only_store
from polytile.ir.expr import Access
from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.analysis.affine_references import references
from polytile.scheduling.strategies.superposed.loop_tree import CONSTANT, Leaf, Loop, Row, Tree
from polytile.scheduling.strategies.superposed.thread_coarsening import neighbours
from polytile.scheduling.strategies.superposed.thread_mapping import ThreadNest

_Sum = tuple[str, tuple[int, ...]]  # a statement, and the iterators of the serial loops around it, innermost last


def register_tiles(
    scop: Scop, nests: Sequence[ThreadNest], dims: Sequence[Sequence[Loop | None]], most_rows: int
) -> Iterator[tuple[int, ...]]:
    """Yield tiles of neighbouring iterations that one thread runs along each thread dimension in its serial loops.

    Outermost first; tiles that pay where they leave enough blocks, the largest first, of `most_rows`. `dims` has the
    loop of each nest along each dimension.
    """
    if not all(loop.parallel for loops in dims for loop in loops if loop is not None):
        return
    found = [(nest, one) for nest, body in enumerate(n.body for n in nests) for one in _serial(body, ())]
    if not found or not all(_keeps_its_element(scop, one) for _, one in found):
        return
    shared = (d for d in reversed(range(len(dims) - 1)) if all(_is_shared(scop, one, dims[d][n]) for n, one in found))
    dim = next(shared, None)
    if dim is None:
        return
    # Kernels of several phases hand elements on, one by one.
    x = [(nests[0], loop) for loop in dims[-1] if loop is not None and len(nests) == 1]
    columns = neighbours(scop, x) if x else 1
    before, behind = (1,) * dim, (1,) * (len(dims) - dim - 2)
    if columns > 1:
        yield (*before, most_rows, *behind, columns)
    yield from ((*before, rows, *behind, 1) for rows in (most_rows, most_rows // 2))


def _serial(tree: Tree, around: tuple[Loop, ...]) -> Iterator[_Sum]:
    """Yield the statements below serial loops, with the iterators of these loops."""
    match tree:
        case Loop():
            yield from _serial(tree.body, (*around, tree))
        case Leaf(statement) if around:
            yield statement, tuple(loop.row(statement).iterator for loop in around)
        case Leaf():
            pass
        case _:
            for child in tree.children:
                yield from _serial(child, around)


def _keeps_its_element(scop: Scop, one: _Sum) -> bool:
    """Return whether a statement updates one element in all iterations of its serial loops, the same for each element.

    The loops then run as often for all rows of a tile.
    """
    name, serial = one
    statement = scop.statement(name)
    store = only_store(statement.body)
    if CONSTANT in serial or store is None or (isinstance(store.target, Access) and store.target.field is not None):
        return False
    rank = len(statement.iterators)
    written = {(r.array.name, r.subscripts) for r in references(scop, statement) if r.access.writes}
    read = {(r.array.name, r.subscripts) for r in references(scop, statement) if not r.access.writes}
    moving = (r.involves(rank)[k] for r in references(scop, statement) if r.access.writes for k in serial)
    if len(written) != 1 or not written <= read or any(moving):
        return False
    others = [k for k in range(rank) if k not in serial]
    domain = statement.domain.intersect_params(scop.context)
    return bool(domain.is_equal(_free(domain, serial).intersect(_free(domain, others))))


def _free(domain: isl.Set, iterators: Sequence[int]) -> isl.Set:
    """Allow any values of these iterators in the set."""
    for k in iterators:
        domain = domain.eliminate(isl.dim_type.set, k, 1)
    return domain


def _is_shared(scop: Scop, one: _Sum, rows: Loop | None) -> bool:
    """Return whether the iterations along a loop share half of what the innermost serial loop loads."""
    name, serial = one
    row = rows.row(name) if rows is not None else Row(name, CONSTANT)
    if row.iterator == CONSTANT:
        return False
    statement = scop.statement(name)
    reads = (r for r in references(scop, statement) if r.access.kind is AccessKind.READ)
    involved = [r.involves(len(statement.iterators)) for r in reads]
    loads = [uses[row.iterator] for uses in involved if uses[serial[-1]]]
    return sum(loads) <= len(loads) / 2 and len(loads) > 0
