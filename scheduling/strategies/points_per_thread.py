"""Register tiles of stencils: a thread takes several neighbouring points along parallel loops other than x, so that
what it loads for one of them serves the others, too [Rawat et al., PPoPP 2018].

before: kernel / block [i/8, j/32] / thread[8,32] [i mod 8, j mod 32] / S
after:  kernel / block [i/32, j/32] / thread[8,32] [i/4 mod 8, j mod 32] / loop[register_tile] [i mod 4] / S

The loops are parallel, so that the order of points is free; all of a full tile are one block of straight code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import islpy as isl

from polytile.choices import SPLIT
from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UsageError
from polytile.ir.isl_util import band_members, functions, mark_name, sets
from polytile.ir.schedule import (
    BLOCK,
    REGISTER_TILE,
    SYNC,
    loop_mark,
    node_at,
    nodes_below,
    path_of,
    thread_mark,
    thread_sizes,
)
from polytile.ir.scop import Scop, Statement
from polytile.options import own_tiles
from polytile.scheduling.analysis.affine_references import affine_form
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.cost.mapped_loops import kernels
from polytile.scheduling.strategies.band_rewriting import Member, insert_band, members_of

TURNS = "points"  # the label of points that a thread takes in turns
_BAND = isl.schedule_node_type.band
_IN, _SET = isl.dim_type.in_, isl.dim_type.set


@dataclass(frozen=True, slots=True)
class PointKernel:
    """A kernel whose threads run one point each, without loops of their own: the loops along its thread dimensions,
    outermost first, and for each the member of the block band that has its tiles (None: no block has)."""

    loops: tuple[isl.UnionPwAff, ...] = field(compare=False)
    blocks: tuple[int, ...]
    sizes: tuple[int, ...]  # of the thread block

    def in_order(self, order: Sequence[int], sizes: tuple[int, ...]) -> PointKernel:
        """Return the kernel with its loops in another order along blocks and threads, and blocks of these sizes."""
        return PointKernel(tuple(self.loops[k] for k in order), tuple(sorted(self.blocks)), sizes)


def point_kernel(kernel: isl.ScheduleNode) -> PointKernel | None:
    """Match a kernel whose threads run one point each: blocks, one thread band, statements; None for other kernels."""
    block = kernel.child(0)
    below = list(nodes_below(block))
    threads = [n for n in below if thread_sizes(n)]
    bands = [n for n in below if n.get_type() == _BAND and n.band_n_member() > 0]
    if mark_name(block) != BLOCK or len(threads) != 1 or len(bands) != 2 or any(mark_name(n) == SYNC for n in below):
        return None
    if not threads[0].get_domain().is_equal(kernel.get_domain()):
        return None
    sizes = thread_sizes(threads[0]) or ()
    tiles = band_members(block.child(0))
    loops, blocks = [], []
    for member, size in zip(band_members(threads[0].child(0)), sizes, strict=True):
        scaled = {b: tile.scale_val(isl.Val(size)).add(member) for b, tile in enumerate(tiles) if b not in blocks}
        number = next((b for b, loop in scaled.items() if _is_loop(loop)), None)
        if number is None:
            return None
        blocks.append(number)
        loops.append(scaled[number])
    return PointKernel(tuple(loops), tuple(blocks), sizes)


def _is_loop(member: isl.UnionPwAff) -> bool:
    """Return whether a member runs through one iterator of each statement, which no division is part of."""
    pieces = functions(member)
    return bool(pieces) and all(_is_plain(piece) for piece in pieces)


def _is_plain(piece: isl.PwAff) -> bool:
    forms: list[isl.Aff] = []
    piece.foreach_piece(lambda _domain, aff: forms.append(aff))
    return all(not (form := affine_form(aff)).floors and any(form.coefficients) for aff in forms)


def with_points(kernel: isl.ScheduleNode, found: PointKernel, counts: Sequence[int]) -> isl.ScheduleNode:
    """Give a thread so many neighbouring points along each thread dimension, in blocks of the sizes that are `found`.

    `kernel` is the mark's node; returns the node there.
    """
    tiles, threads, points = [], [], []
    for loop, size, count in zip(found.loops, found.sizes, counts, strict=True):
        group = _quotient(loop, count)
        tile = _quotient(group, size)
        tiles.append(tile)
        threads.append(group.sub(tile.scale_val(isl.Val(size))))
        points.append(loop.sub(group.scale_val(isl.Val(count))))
    several = [point for point, count in zip(points, counts, strict=True) if count > 1]
    return _rebuilt(kernel, found, tiles, threads, several, REGISTER_TILE)


def with_turns(kernel: isl.ScheduleNode, found: PointKernel, counts: Sequence[int]) -> isl.ScheduleNode:
    """Give a thread points that are as far apart as there are threads, so that neighbouring threads have neighbours.

    before: kernel / block [i/8, j/32] / thread[8,32] [i mod 8, j mod 32] / S
    after:  kernel / block [i/32, j/32] / thread[8,32] [i mod 8, j mod 32] / loop[points] [(i mod 32)/8] / S
    """
    tiles, threads, points = [], [], []
    for loop, size, count in zip(found.loops, found.sizes, counts, strict=True):
        tile = _quotient(loop, size * count)
        within = loop.sub(tile.scale_val(isl.Val(size * count)))
        turn = _quotient(within, size)
        tiles.append(tile)
        threads.append(within.sub(turn.scale_val(isl.Val(size))))
        points.append(turn)
    several = [point for point, count in zip(points, counts, strict=True) if count > 1]
    return _rebuilt(kernel, found, tiles, threads, several, TURNS)


def _rebuilt(
    kernel: isl.ScheduleNode,
    found: PointKernel,
    tiles: Sequence[isl.UnionPwAff],
    threads: Sequence[isl.UnionPwAff],
    points: Sequence[isl.UnionPwAff],
    label: str,
) -> isl.ScheduleNode:
    """Rebuild the kernel at a mark with other tiles, threads and points; returns the node there."""
    block = kernel.child(0)
    members = members_of(block.child(0))
    for number, tile in zip(found.blocks, tiles, strict=True):
        members[number] = Member(tile, True)
    inner = next(n for n in nodes_below(block) if thread_sizes(n)).delete().delete()
    if points:
        inner = insert_band(inner, [Member(point, True) for point in points])
        for i in range(len(points) if label == REGISTER_TILE else 0):  # others are for the plan to unroll
            inner = inner.band_member_set_ast_loop_type(i, isl.ast_loop_type.unroll)
        inner = inner.insert_mark(isl.Id(loop_mark(label)))
    own = [Member(thread, True) for thread in threads]
    node = insert_band(inner, own).insert_mark(isl.Id(thread_mark(found.sizes)))
    while mark_name(node) != BLOCK:
        node = node.parent()
    return insert_band(node.child(0).delete(), members).parent().parent()


def _quotient(member: isl.UnionPwAff, size: int) -> isl.UnionPwAff:
    return member if size == 1 else member.scale_down_val(isl.Val(size)).floor()


def asked_points(problem: Problem, candidate: Candidate) -> Candidate:
    """Return the candidate with the points that the options ask for, by the loops around the kernels' statements.

    Raises UsageError where the counts fit the loops of no kernel.
    """
    points = problem.options.points
    scop, schedule = candidate.scop, candidate.schedule
    if schedule is not None and schedule.strategy == SPLIT and not any(map(point_kernel, kernels(schedule.tree))):
        raise own_tiles(SPLIT)
    if not any(len(s.iterators) == len(points) for s in scop.main):
        raise _wrong_length(scop, points)
    chosen: dict[int, tuple[int, ...]] = {}
    first: UsageError | None = None
    for number, mark in enumerate(kernels(schedule.tree) if schedule else ()):
        statements = [scop.statement(str(s.get_tuple_name())) for s in sets(mark.get_domain())]
        if any(len(s.iterators) != len(points) for s in statements):
            continue
        found = point_kernel(mark)
        wrong = _misplaced(statements[0], found, points)
        if wrong is not None:
            first = first or _serial(statements[0], found, points, wrong)
        elif found is not None:
            chosen[number] = tuple(points[k] for k in iterators_of(found, statements[0]))
    if not chosen and max(points) > 1:
        deep = next(s for s in scop.main if len(s.iterators) == len(points))
        raise first or _serial(deep, None, points, next(k for k, n in enumerate(points) if n > 1))
    words = ((k, " x ".join(map(str, counts))) for k, counts in chosen.items())
    shapes = (f"kernel {k}: {shape} points of a thread, as asked for" for k, shape in words)
    return replace(tiled(candidate, chosen), reasons=(*candidate.reasons, *shapes))


def tiled(candidate: Candidate, chosen: Mapping[int, Sequence[int]]) -> Candidate:
    """Return the candidate with so many points of a thread along the thread dimensions of these kernels."""
    schedule = candidate.schedule
    if schedule is None or not any(max(counts) > 1 for counts in chosen.values()):
        return candidate
    tree = schedule.tree
    for number, path in enumerate([path_of(mark) for mark in kernels(tree)]):
        counts = chosen.get(number, (1,))
        found = point_kernel(node_at(tree, path)) if max(counts) > 1 else None
        if found is not None:
            tree = with_points(node_at(tree, path), found, counts).get_schedule()
    return replace(candidate, schedule=replace(schedule, tree=tree))


def iterators_of(found: PointKernel, statement: Statement) -> tuple[int, ...]:
    """Find the iterator of a statement that each thread dimension runs through; -1 where that is a sum of several."""
    numbers = []
    for loop in found.loops:
        piece = next(p for p in functions(loop) if p.get_domain_space().get_tuple_name(_SET) == statement.name)
        moved = [i for i in range(len(statement.iterators)) if piece.involves_dims(_IN, i, 1)]
        numbers.append(moved[0] if len(moved) == 1 else -1)
    return tuple(numbers)


def _misplaced(statement: Statement, found: PointKernel | None, points: Sequence[int]) -> int | None:
    """Return the first loop for which several points are asked that no thread dimension but x runs through, or None."""
    places = iterators_of(found, statement)[:-1] if found else ()
    return next((k for k, count in enumerate(points) if count > 1 and k not in places), None)


def _serial(statement: Statement, found: PointKernel | None, points: Sequence[int], loop: int) -> UsageError:
    places = iterators_of(found, statement) if found else ()
    if places and places[-1] == loop:
        why = "runs along x, where neighbouring threads have neighbouring points"
    elif found is None and points:
        why = "is serial, or its threads run loops of their own"
    else:
        why = "is serial"
    wanted = ",".join(str(n) if k in places[:-1] else "1" for k, n in enumerate(points))
    return UsageError(
        f"--points: {points[loop]} points along the loop over `{statement.iterators[loop]}`, which {why}",
        location=_loop_location(statement, loop),
        hint=f"--points {wanted}",
    )


def _wrong_length(scop: Scop, points: Sequence[int]) -> UsageError:
    deepest = max(scop.main, key=lambda s: len(s.iterators))
    depth = len(deepest.iterators)
    return UsageError(
        f"--points: {_counted(len(points), 'count')} for {_counted(depth, 'loop')}",
        location=deepest.location if deepest.location.line else None,
        hint="one count for each loop around a statement, outermost first",
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _loop_location(statement: Statement, loop: int) -> Location | None:
    found = statement.loops[loop] if loop < len(statement.loops) else statement.location
    return found if found.line else None
