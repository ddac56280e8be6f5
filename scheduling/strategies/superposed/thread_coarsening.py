"""How many neighbouring iterations along x a thread runs, where it sums: so many that they are a vector in memory.

before: lanes j mod 32 of x[i] += A[i][j] * y[j]              one element of A each, 32 loads for 32 rows of a column
after:  lanes floor(j/4) mod 32, each with 4 neighbours      four floats in one load of 16 bytes

What memory takes for a sum is a matter of the bytes under way. A vector brings four times as many with the same number
of instructions, and what does not move along x is loaded once for all of its elements.

Tiles in registers: neighbouring iterations that a thread runs inside its serial loop, for each load that they share.

before: threads (i, j) { k [C[i][j] += A[i][k] * B[k][j]] }                        two loads for each product
after:  threads (i/4, j/2) { k { 4 x 2 of C[i][j] += A[i][k] * B[k][j] } }         four and a vector for eight products

What such a loop takes is a matter of the bytes that each thread loads from L1: that hands out 128 a
cycle, whether lanes load the same or not [Volkov 2010, "Better performance at lower occupancy"].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polytile.ir.def_use import only_store
from polytile.ir.expr import BOOL, Access
from polytile.ir.scop import AccessKind, Scop
from polytile.machine import VECTOR_BYTES, VECTOR_ELEMENTS, WARP_SIZE
from polytile.scheduling.analysis.affine_references import Reference, references
from polytile.scheduling.strategies.superposed.loop_tree import CONSTANT, Kind, Leaf, Loop, Row, Tree, statements_of
from polytile.scheduling.strategies.superposed.thread_mapping import ThreadNest


def neighbours(scop: Scop, x: Sequence[tuple[ThreadNest, Loop]]) -> int:
    """Count the iterations of the loops along x that are one vector of every array that moves with them.

    Each loop is given with its nest. 1 where some array moves in another way, or where nothing is summed up.
    """
    rows = [(loop.row(name), loop.kind(name)) for nest, loop in x for name in statements_of(nest.body)]
    moving = [(row, r) for row, _ in rows for r in _moving(scop, row)]
    if not moving or any(r.array.fields or r.array.element == BOOL for _, r in moving):
        return 1
    sizes = {r.array.element.size for _, r in moving}
    count = min(max(VECTOR_ELEMENTS), max(VECTOR_BYTES) // max(sizes))
    if any(count * size not in VECTOR_BYTES for size in sizes):
        return 1
    return count if all(_starts_vectors(row, r, count) for row, r in moving) else 1


def is_sum_of_few(scop: Scop, name: str) -> bool:
    """Return whether a sum's results are indexed by one iterator at most: those are loaded in batches."""
    from polytile.scheduling.transform.reductions.privatise import result_group  # for those that have sums

    group = result_group(scop, scop.statement(name))
    return group is not None and len(group) <= 1


def shares_loads(scop: Scop, x: Sequence[tuple[ThreadNest, Loop]], sums: Sequence[Loop]) -> bool:
    """Return whether most loads of an iteration are the same for all iterations along x, but not along the `sums`.

    One thread then runs several along x for each of them.
    """
    same, others = set[str](), set[str]()
    for nest, loop in x:
        for name in statements_of(nest.body):
            along = _iterators(loop.row(name))
            over = {k for s in sums for k in _iterators(s.row(name))}
            for r in references(scop, scop.statement(name)):
                involved = {k for k, used in enumerate(r.involves(len(scop.statement(name).iterators))) if used}
                if r.access.kind is AccessKind.READ and involved & over:
                    (others if involved & along else same).add(r.array.name)
    return len(same) > len(others)


def shares_rows(scop: Scop, nests: Sequence[ThreadNest], blocks: Sequence[Loop]) -> bool:
    """Return whether a kernel sums up along x, for each iteration of a loop whose iterations share half of the loads.

    A thread then runs several of them for each load.

    before: w[i] += A[i][j] * x[j], a row i for each warp                 two loads for each product
    after:  4 rows for each thread                                        five loads for four products
    """
    if len(nests) != 1 or len(nests[0].loops) != len(blocks) + 1 or len(blocks) != 1:
        return False
    (nest,), (rows,) = nests, blocks
    x = nest.loops[nest.along_x]
    names = statements_of(nest.body)
    if len(names) != 1 or x.kind(names[0]) is not Kind.REDUCTION or rows.kind(names[0]) is not Kind.FORALL:
        return False
    row, along = rows.row(names[0]), x.row(names[0]).iterator
    if CONSTANT in (row.iterator, along) or row.iterator == along:
        return False
    involved = [
        r.involves(len(scop.statement(names[0]).iterators))
        for r in references(scop, scop.statement(names[0]))
        if r.access.kind is AccessKind.READ
    ]
    loads = [i[row.iterator] for i in involved if i[along]]
    return 0 < sum(loads) <= len(loads) - sum(loads)


def _iterators(row: Row) -> set[int]:
    return set() if row.iterator == CONSTANT else {row.iterator}


def _moving(scop: Scop, row: Row) -> Iterator[Reference]:
    """Yield the accesses that move along x."""
    statement = scop.statement(row.statement)
    for reference in references(scop, statement):
        if row.iterator != CONSTANT and reference.involves(len(statement.iterators))[row.iterator]:
            yield reference


def _starts_vectors(row: Row, reference: Reference, count: int) -> bool:
    """Return whether `count` iterations from a multiple of it on access adjacent elements, from a multiple on, too."""
    *outer, last = reference.subscripts
    if row.sign != 1 or row.shift % count or last is None or last.floors:
        return False
    plain = last.coefficients[row.iterator] == 1 and isinstance(last.constant, int) and last.constant % count == 0
    return plain and all(form is not None and not form.involves()[row.iterator] for form in outer)


def whole_warps(threads: Sequence[int]) -> bool:
    """Return whether a warp runs along x."""
    return bool(threads) and threads[-1] % WARP_SIZE == 0


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
