"""What becomes of the parallel loops of a kernel: tiles for blocks and threads, blocks alone, points of a thread alone,
or loops that each block runs.

before: parallel loops (n, y, f, x) of a convolution over images n, filters f, rows y and columns x
after:  tiled (f, x), as x coalesces and all filters f read the same; blocks (y); each block runs all n
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, prod

import islpy as isl

from polytile.ir.scop import Scop
from polytile.machine import MAX_DIMENSIONS
from polytile.scheduling.cost.array_layout import element_size
from polytile.scheduling.cost.strides import strided_accesses
from polytile.scheduling.strategies.band_rewriting import Member
from polytile.scheduling.strategies.tiled.loop_extents import most_iterations
from polytile.scheduling.strategies.tiled.loop_nest import Nest, domain_of
from polytile.scheduling.strategies.tiled.loop_reuse import reuse
from polytile.scheduling.strategies.tiled.parallel_loops import Known
from polytile.scheduling.strategies.tiled.tile_shapes import TiledLoops
from polytile.tuning import Tuning


@dataclass(frozen=True, slots=True)
class Roles:
    """The parallel loops of a kernel, those of each role outermost first, and what sizes of tiles depend on."""

    repeated: tuple[Member, ...] = field(compare=False)  # by each block, around everything else
    blocks: tuple[Member, ...] = field(compare=False)
    tiled: tuple[Member, ...] = field(compare=False)  # the last along thread.x
    points: tuple[Member, ...] = field(compare=False)
    shapes: TiledLoops

    @property
    def claimed(self) -> tuple[Member, ...]:
        """All of them."""
        return (*self.repeated, *self.blocks, *self.tiled, *self.points)


def roles(
    scop: Scop,
    band: isl.ScheduleNode,
    outer: Sequence[Member],
    parallel: Sequence[Member],
    inside: Nest,
    known: Known,
    tuning: Tuning,
) -> Roles | None:
    """The roles of the `parallel` loops that `band` consists of; None where tiles do not pay."""
    weights = reuse(scop, outer, parallel, inside)
    if not any(weights):
        return None
    domain = domain_of(inside)
    extents = [most_iterations(member, outer, domain, known) for member in parallel]
    short = [n is not None and n <= tuning.tiles.few_points for n in extents]
    strided = strided_accesses(scop, band, range(len(parallel)))
    along_x = min(range(len(parallel)), key=lambda i: (short[i], strided[i], -i))
    others = [i for i in range(len(parallel)) if i != along_x]
    along_y = max(others, key=lambda i: (not short[i], weights[i], i), default=None)
    tiled = [along_x]
    if along_y is not None and weights[along_y] and not short[along_y]:
        tiled.insert(0, along_y)
    points = [i for i in others if short[i] and weights[i]]
    rest = [i for i in others if i not in (*tiled, *points)]
    far = sorted(rest, key=lambda i: -(inf if extents[i] is None else extents[i] or 0))
    blocks = sorted(far[: MAX_DIMENSIONS - len(tiled)])

    def members(chosen: Sequence[int]) -> tuple[Member, ...]:
        return tuple(parallel[i] for i in chosen)

    assumed = tuning.sharing.assumed_iterations
    shapes = TiledLoops(
        tuple(extents[i] for i in tiled),
        tuple(bool(weights[i]) for i in tiled),
        prod(assumed if (n := extents[i]) is None else n for i in blocks),
        _element(scop, domain),
    )
    repeated = [i for i in rest if i not in blocks]
    return Roles(members(repeated), members(blocks), members(tiled), members(points), shapes)


def _element(scop: Scop, domain: isl.UnionSet) -> int:
    """The bytes of the largest element that statements touch."""
    names: set[str] = set()
    domain.foreach_set(lambda own: names.add(own.get_tuple_name()))
    arrays = {a.array for s in scop.statements if s.name in names for a in s.accesses}
    return max((element_size(scop.array(array)) for array in arrays), default=1)
