"""What becomes of the parallel loops of a kernel: tiles for blocks and threads, blocks alone, points of a thread alone,
or loops that each block runs.

before: parallel loops (n, y, f, x) of a convolution over images n, filters f, rows y and columns x
after:  tiled (f, x), as x coalesces and all filters f read the same; blocks (y); each block runs all n
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import inf, prod

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.machine import MAX_DIMENSIONS
from polytile.scheduling.cost.array_layout import element_size
from polytile.scheduling.cost.point_count import fix_parameters
from polytile.scheduling.cost.strides import strided_accesses
from polytile.scheduling.strategies.band_rewriting import Member
from polytile.scheduling.strategies.loop_nest import Nest, domain_of
from polytile.scheduling.strategies.tiled.loop_extents import mean_iterations, most_iterations
from polytile.scheduling.strategies.tiled.loop_reuse import Reuse, operands, reuse
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
        """Return all loops that have a role."""
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
    """Assign roles to the `parallel` loops that `band` consists of; None where tiles do not pay."""
    reads = reuse(scop, outer, parallel, inside)
    if not reads:
        return None
    domain = domain_of(inside)
    extents = [most_iterations(member, outer, domain, known) for member in parallel]
    short = [n is not None and n <= tuning.tiles.few_points for n in extents]
    tiled = _tiled(reads, strided_accesses(scop, band, range(len(parallel))), short)
    shared = {i for read in reads for i in read.loops}
    others = [i for i in range(len(parallel)) if i not in tiled]
    points = [i for i in others if short[i] and i in shared]
    rest = [i for i in others if i not in points]
    blocks = _longest(rest, extents, MAX_DIMENSIONS - len(tiled))
    repeated = [i for i in rest if i not in blocks]

    def members(chosen: Sequence[int]) -> tuple[Member, ...]:
        return tuple(parallel[i] for i in chosen)

    assumed = tuning.sharing.assumed_iterations
    mean = mean_iterations([*outer, *parallel], domain, fix_parameters(scop.context, known))[len(outer) :]
    shapes = TiledLoops(
        tuple(extents[i] for i in tiled),
        tuple(mean[i] for i in tiled),
        tuple(i in shared for i in tiled),
        operands(reads, tiled),
        len({a.array for read in reads for a in scop.statement(read.statement).accesses if a.writes}),
        prod(extents[i] or 1 for i in points),
        prod(assumed if (n := extents[i]) is None else n for i in blocks),
        _element(scop, domain),
    )
    return Roles(members(repeated), members(blocks), members(tiled), members(points), shapes)


def _tiled(reads: Sequence[Reuse], strided: Mapping[int, int], short: Sequence[bool]) -> list[int]:
    """Choose the loops for tiles, by number, outermost first.

    The last one coalesces most accesses; most reads that occur in it, and then most of all, do not occur in the other
    one, if any.
    """
    along_x = min(strided, key=lambda i: (short[i], strided[i], -i))
    best = (0, 0)
    tiled = [along_x]
    for i in strided:
        own = [read for read in reads if i in read.loops]
        gain = (sum(read.weight for read in own if along_x not in read.loops), sum(read.weight for read in own))
        if i != along_x and not short[i] and gain > (0, 0) and gain >= best:
            best, tiled = gain, [i, along_x]
    return tiled


def _longest(loops: Sequence[int], extents: Sequence[int | None], count: int) -> list[int]:
    """Return the `count` loops with most iterations, in their order."""
    far = sorted(loops, key=lambda i: -(inf if (n := extents[i]) is None else n))
    return sorted(far[:count])


def _element(scop: Scop, domain: isl.UnionSet) -> int:
    """Return the bytes of the largest element that statements touch."""
    names: set[str] = set()
    domain.foreach_set(lambda own: names.add(own.get_tuple_name()))
    arrays = {a.array for s in scop.statements if s.name in names for a in s.accesses}
    return max((element_size(scop.array(array)) for array in arrays), default=1)
