"""Wide tiles for kernels whose threads read along another dimension than they are numbered by: a block copies rows of
what it reads to shared memory, and reads columns there [Verdoolaege et al., TACO 2013, section 5.2; Shirako, Hayashi
and Sarkar, CC 2017, section 3.2].

before: kernel / block [i/8, j/32] / thread[8,32] [i mod 8, j mod 32] / B[i][j] = A[j][i]     a line for each lane of A
after:  kernel / block [i/32, j/32] / thread[8,32] [i mod 8, j mod 32] / loop[points] [(i mod 32)/8] / the same

Stores have no such tiles: threads are numbered along their rows. Which reads have a tile is said where that is for all
kernels with labelled loops (scheduling/promotion).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from polytile.dataclass import dataclass
from polytile.ir.schedule import node_at, path_of
from polytile.ir.scop import Scop
from polytile.machine import WARP_SIZE
from polytile.scheduling.analysis.affine_references import Number, magnitude, references
from polytile.scheduling.candidate import Candidate
from polytile.scheduling.cost.array_layout import stride
from polytile.scheduling.cost.mapped_loops import MappedStatement, kernels, statements
from polytile.scheduling.cost.strides import NEAR
from polytile.scheduling.strategies.points_per_thread import point_kernel, with_turns


@dataclass(frozen=True, slots=True)
class Widened:
    """The thread dimensions of a kernel in another `order`, the last along x, the threads of a block along each, and
    the turns that a thread takes, so that its tile is as wide as a warp along the rows of what it reads."""

    order: tuple[int, ...]
    sizes: tuple[int, ...]
    turns: tuple[int, ...]


def widened(candidate: Candidate, *, as_asked: bool) -> dict[int, Widened]:
    """Find the kernels with reads that a wider tile may stage, by number; blocks `as_asked` for are kept."""
    found: dict[int, Widened] = {}
    for number, mark in enumerate(kernels(candidate.schedule.tree) if candidate.schedule else ()):
        moves = [one for mapped in statements(mark) for one in _moves(candidate.scop, mapped)]
        dimensions = len(moves[0].by) if moves else 0
        for along_x in reversed(range(dimensions)):
            rows = _rows(moves, along_x)
            if rows and (kernel := point_kernel(mark)):
                order = (*(d for d in range(dimensions) if d != along_x), along_x)
                along_rows = [d in rows for d in order]
                sizes = kernel.sizes if as_asked else _along_rows(kernel.sizes, along_rows)
                turns = (WARP_SIZE // n if rows_run else 1 for n, rows_run in zip(sizes, along_rows, strict=True))
                found[number] = Widened(order, sizes, tuple(max(1, count) for count in turns))
                break
    return {number: own for number, own in found.items() if max(own.turns) > 1}


def _along_rows(sizes: Sequence[int], rows: Sequence[bool]) -> tuple[int, ...]:
    """Put all rows of a block's threads along the one dimension that rows of what they read run along.

    This takes less memory for a tile, whose rows then lie in different banks.

    before: 2 x 4 x 32, rows along the first dimension    after: 8 x 1 x 32
    """
    if sum(rows) != 1:
        return tuple(sizes)
    return (*(prod(sizes[:-1]) if here else 1 for here in rows[:-1]), sizes[-1])


@dataclass(frozen=True, slots=True)
class _Moves:
    """How many elements an access moves by along each thread dimension; None where that is not known."""

    writes: bool
    staged: bool  # whether a tile may hold what it accesses
    by: tuple[Number | None, ...]

    def is_near(self, dimension: int) -> bool:
        """Return whether neighbours along a dimension access neighbouring elements, or one."""
        moved = self.by[dimension]
        return moved is not None and magnitude(moved) <= NEAR


def _moves(scop: Scop, mapped: MappedStatement) -> list[_Moves]:
    """Return the accesses of a statement with a loop along each thread dimension; none of other statements."""
    steps = {part.dimension: loop.step for loop in mapped.loops for part in loop.threads}
    if len(steps) < 2 or len(steps) < len(mapped.sizes):
        return []
    found = []
    for reference in references(scop, scop.statement(mapped.name)):
        by = tuple(stride(reference, steps[d]) for d in range(len(steps)))
        found.append(_Moves(reference.access.writes, reference.exact and not reference.array.fields, by))
    return found


def _rows(moves: Sequence[_Moves], along_x: int) -> set[int]:
    """Return the dimensions along which rows run of what neighbours along x read in different ones.

    There are none where neighbours also write in different ones.
    """
    apart = [one for one in moves if not one.is_near(along_x)]
    if any(one.writes for one in apart):
        return set()
    return {d for one in apart if one.staged for d, moved in enumerate(one.by) if moved and one.is_near(d)}


def with_widened(candidate: Candidate, chosen: Mapping[int, Widened]) -> Candidate:
    """Return the candidate with wider tiles in kernels by number."""
    if candidate.schedule is None or not chosen:
        return candidate
    tree = candidate.schedule.tree
    for number, path in enumerate([path_of(mark) for mark in kernels(tree)]):
        kernel = point_kernel(node_at(tree, path)) if number in chosen else None
        if kernel is not None:
            own = chosen[number]
            tree = with_turns(node_at(tree, path), kernel.in_order(own.order, own.sizes), own.turns).get_schedule()
    return replace(candidate, schedule=replace(candidate.schedule, tree=tree))
