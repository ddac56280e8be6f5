"""What one statement of a mapped kernel asks of the GPU: how often each loop runs for a launch, a block, a thread; its
warps' requests; the bytes that blocks fetch and that the whole launch touches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, inf, prod

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import Declare, Name
from polytile.ir.expr_trees import walk
from polytile.ir.identity_key import remembered
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.scop import Scop, Statement
from polytile.machine import SECTOR_BYTES, VECTOR_BYTES
from polytile.scheduling.analysis.affine_references import LinearPart, Reference, references
from polytile.scheduling.analysis.reference_groups import ReferenceGroup
from polytile.scheduling.cost.coalescing import Alike, Request, Warp
from polytile.scheduling.cost.distinct_lines import Footprint
from polytile.scheduling.cost.dual_numbers import values
from polytile.scheduling.cost.mapped_loops import MappedLoop, MappedStatement, Part, Role, Vector
from polytile.scheduling.cost.operation_cost import operation, operations
from polytile.scheduling.cost.point_count import counts, filled
from polytile.scheduling.cost.point_reuse import reuse
from polytile.scheduling.cost.shifted_boxes import group_lines
from polytile.scheduling.cost.statement_groups import statement_groups
from polytile.scheduling.cost.warp_coverage import Dimension, mean_lanes, mean_request, warp_shapes

_MOST_OPERATIONS = 100_000  # of isl


@dataclass(frozen=True, slots=True)
class LoopShare:
    """How the iterations of one loop are divided: launches * blocks * lanes * serial is at least their number."""

    launches: float = 1.0
    blocks: float = 1.0
    inside: float = 1.0  # iterations of one block
    lanes: float = 1.0  # threads of a block that take part, on average
    serial: float = 1.0  # iterations of one thread


@dataclass(frozen=True)
class Work:
    """One statement of a kernel with the numbers of its loops; `tiled`: what it runs unrolled is a tile in registers,
    whose neighbours are vectors outside of loops, too."""

    scop: Scop
    mapped: MappedStatement
    values: Mapping[str, int]
    tiled: bool = False
    _moving: dict[tuple[LinearPart, int], bool] = field(default_factory=dict, init=False, repr=False, compare=False)
    _rows: dict[tuple[LinearPart, str], int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _requests: dict[Alike, Request] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def statement(self) -> Statement:
        return self.scop.statement(self.mapped.name)

    @cached_property
    def extents(self) -> tuple[float, ...]:
        """Return the mean number of iterations of each loop."""
        found = counts(in_time(self.mapped), self.values)
        return tuple(max(1.0, b / a) if a > 0 else 0.0 for a, b in pairwise(found))

    @cached_property
    def shares(self) -> tuple[LoopShare, ...]:
        return tuple(_share(loop, n) for loop, n in zip(self.mapped.loops, self.extents, strict=True))

    @property
    def empty(self) -> bool:
        return any(n <= 0 for n in self.extents)

    @cached_property
    def launches(self) -> float:
        return prod(s.launches for s in self.shares)

    @cached_property
    def blocks(self) -> float:
        """Compute the blocks of one launch that run the statement."""
        return prod(s.blocks for s in self.shares)

    @cached_property
    def instances(self) -> float:
        """Count the instances of one launch."""
        return self.filled * prod(self.extents) / self.launches

    @cached_property
    def filled(self) -> float:
        """Return which part of the iterations within its loops' extents the statement has."""
        return filled(self.mapped.domain, self.values)

    @cached_property
    def serial(self) -> float:
        """Compute the instances of one thread, one after the other, in one launch."""
        return prod(s.serial for s in self.shares)

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Return the thread block as this statement sees it, from x on."""
        found = []
        for number in reversed(range(len(self.mapped.sizes))):
            extent = self.mapped.sizes[number]
            place = self._thread_loop(number)
            if place is None:
                found.append(Dimension((0,) * len(self.statement.iterators), extent, 1.0, 1.0))
                continue
            loop, share, part = place
            points = share.inside * share.blocks / part.tile
            single = len(loop.threads) == 1
            lanes = share.lanes if single else min(part.threads, max(1.0, share.lanes / part.tile))
            found.append(Dimension(tuple(part.tile * x for x in loop.step), extent, points, lanes))
        return tuple(found)

    def _thread_loop(self, dimension: int) -> tuple[MappedLoop, LoopShare, Part] | None:
        for loop, share in zip(self.mapped.loops, self.shares, strict=True):
            for part in loop.threads:
                if part.dimension == dimension:
                    return loop, share, part
        return None

    @cached_property
    def lanes(self) -> float:
        """Compute the active threads of a warp, on average."""
        return mean_lanes(self.dimensions)

    @cached_property
    def warps(self) -> float:
        """Compute the executions of the statement by a warp, in one launch."""
        return self.instances / self.lanes

    @cached_property
    def serial_loops(self) -> tuple[int, ...]:
        """Return the numbers of the loops that threads run one after the other, innermost first."""
        numbers = [i for i, share in enumerate(self.shares) if share.serial > 1]
        return tuple(sorted(numbers, key=lambda i: (-serial_depth(self.mapped.loops[i]), -i)))

    @cached_property
    def levels(self) -> tuple[tuple[int, float], ...]:
        """Return those loops again, innermost first, with how far a block has run through each at the end of it.

        A loop over the iterations of a tile comes before that over the tiles.
        """
        found: list[tuple[int, int, float]] = []
        for i in self.serial_loops:
            inside = self.shares[i].inside
            parts = [p for p in self.mapped.loops[i].parts if p.role is Role.SERIAL]
            found.append((serial_depth(self.mapped.loops[i]), i, min([inside, *(p.tile for p in parts if p.tile > 1)])))
            if len(parts) > 1 and parts[0].tile > 1:
                found.append((parts[0].depth, i, inside))
        return tuple((i, inside) for _, i, inside in sorted(found, key=lambda level: (-level[0], -level[1])))

    @cached_property
    def padding(self) -> float:
        """Return how much more a block computes than its iterations, where all of its tiles are full."""
        blocks = zip(self.mapped.loops, self.shares, strict=True)
        return prod(max(1.0, part.tile / share.inside) for loop, share in blocks if (part := loop.part(Role.BLOCK)))

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        return references(self.scop, self.statement)

    @cached_property
    def points(self) -> tuple[int, ...]:
        """Return the loops along which a thread has several points of a register tile."""
        return tuple(i for i, loop in enumerate(self.mapped.loops) if loop.parts[-1].points)

    @cached_property
    def reads(self) -> tuple[Reference, ...]:
        return tuple(r for r in self.references if not r.access.writes)

    @cached_property
    def _first_loads(self) -> dict[int, float]:
        """Return, by the identity of a read, which part of a register tile's points it loads an element for."""
        loops = [self.mapped.loops[i] for i in self.points]
        counts = [min(p.tile for p in loop.threads or loop.parts if p.tile > 1) for loop in loops]
        found = reuse(self.reads, [loop.step for loop in loops], counts)
        return {id(r): n / prod(counts) for r, n in zip(self.reads, found.first, strict=True)}

    def loaded(self, reference: Reference) -> float:
        """Return for which part of its instances a statement makes a request: points of a thread load once what they
        share."""
        return self._first_loads.get(id(reference), 1.0) if self.points else 1.0

    def request(self, reference: Reference) -> Request:
        """Return the mean request of a warp."""
        elements = self.vector(reference)
        alike = self._warps[0][1].alike(reference, elements)
        if alike not in self._requests:
            found = [(weight, warp.request(reference, elements)) for weight, warp in self._warps]
            self._requests[alike] = mean_request(found)
        return self._requests[alike].of(reference.access)

    @cached_property
    def _warps(self) -> list[tuple[float, Warp]]:
        """Return the warps that differ in their active threads, with the share of each."""
        return [(weight, Warp(along, self.values)) for weight, along in warp_shapes(self.dimensions)]

    def vector(self, reference: Reference) -> int:
        """Return how many neighbouring elements a thread wants at once.

        They are those of the neighbours along x that it runs in an unrolled loop, inside another one or of a tile.
        """
        key = reference.linear, reference.array.name
        if key not in self._rows:
            self._rows[key] = self._neighbours(reference)
        whole = self._rows[key] == 1 or self.tiled or not reference.access.writes or self._reads(reference)
        return self._rows[key] if whole else 1

    def _neighbours(self, reference: Reference) -> int:
        """Return the number of neighbours in one access, where a store may be as wide as a load."""
        place = self._thread_loop(len(self.mapped.sizes) - 1) if self.mapped.sizes else None
        if place is None or reference.field is not None or not reference.subscripts:
            return 1
        loop, _, part = place
        *outer, last = reference.subscripts
        around = (p for other in self.mapped.loops for p in other.parts if p.role is Role.SERIAL and p.depth)
        inside = loop.parts[-1].unrolled and loop.parts[-1].rest
        inside = inside and (self.tiled or not all(p.unrolled for p in around))
        plain = last is not None and not last.floors and last.along(loop.step) == 1
        if not inside or not plain or any(form is None or form.moved_by(loop.step) for form in outer):
            return 1
        return part.tile if part.tile * reference.array.element.size in VECTOR_BYTES else 1

    def updates_a_tile(self, placed: Collection[str]) -> bool:
        """Return whether a thread updates several elements in an iteration of a serial loop that keeps them.

        They are of an array that is not stored in the kernel alone.
        """
        unrolled = [i for i in self.serial_loops if self.mapped.loops[i].parts[-1].unrolled]
        inner = next((i for i in self.serial_loops if i not in unrolled), None)
        if inner is None:
            return False
        written = (r for r in self.references if r.access.writes and r.array.name not in placed)
        updated = (r for r in written if self._reads(r) and not self.moves(r, inner))
        return any(self.moves(r, i) for r in updated for i in unrolled)

    def _reads(self, written: Reference) -> bool:
        """Return whether the statement reads the elements that an access writes."""
        return any(
            not r.access.writes and (r.array.name, r.subscripts) == (written.array.name, written.subscripts)
            for r in self.references
        )

    def folds(self, reference: Reference) -> int:
        """Return how many elements one instance reads through an access: all, where it combines partial results."""
        combine = self.statement.combine
        if combine is None or combine.array != reference.array.name or reference.exact:
            return 1  # exact: the lanes are threads, which read one element each
        return prod(combine.sizes)

    def thread_step(self, loop: int) -> Vector:
        """Return how the iterators move from one iteration of a thread to its next, in a loop that it runs through."""
        threads = self.mapped.loops[loop].threads
        tile = min((part.tile for part in threads), default=0)
        factor = prod(part.threads for part in threads) if tile == 1 and self.shares[loop].serial > tile else 1
        return tuple(factor * x for x in self.mapped.loops[loop].step)

    def moves(self, reference: Reference, loop: int) -> bool:
        """Return whether the address changes from one iteration of a thread to the next."""
        key = reference.linear, loop
        if key not in self._moving:
            self._moving[key] = reference.moved_by(self.thread_step(loop))
        return self._moving[key]

    def barriers(self) -> float:
        """Return how many barriers a block meets in one launch."""
        depths = [p.depth for loop in self.mapped.loops for p in loop.parts if p.sync]
        if not depths:
            return float(self.mapped.barriers)
        last = max(depths)
        loops = (i for i in self.serial_loops if serial_depth(self.mapped.loops[i]) <= last)
        return max(1, self.mapped.barriers) * prod(self.shares[i].serial for i in loops)

    @cached_property
    def groups(self) -> tuple[ReferenceGroup, ...]:
        return statement_groups(self.scop, self.mapped).all

    @cached_property
    def read_and_written(self) -> tuple[tuple[ReferenceGroup, ...], tuple[ReferenceGroup, ...]]:
        """Return the groups of what is read alone, and those of what is written."""
        found = statement_groups(self.scop, self.mapped)
        return found.read, found.written

    def footprint(self, group: ReferenceGroup, tiles: Sequence[float]) -> float:
        """Compute the bytes, in whole sectors, that a group touches in a tile of the loops."""
        sizes = [max(1.0, t) for t in tiles]
        around = Footprint(group, SECTOR_BYTES).lines(values(sizes), True).value
        together = group_lines(group, sizes, SECTOR_BYTES)
        return (around if together == inf else together) * SECTOR_BYTES

    @cached_property
    def launch_tile(self) -> tuple[float, ...]:
        """Return the iterations of each loop in one launch."""
        pairs = zip(self.extents, self.shares, strict=True)
        return tuple(n / share.launches for n, share in pairs)

    @cached_property
    def operations(self) -> float:
        """Compute the floating-point operations of one instance."""
        return operations(self.statement)

    def operations_of_points(self, points: Collection[int]) -> float:
        """Count the operations of one instance, where a thread does once what is the same for several of its `points`.

        C[i][j] += alpha * A[i][k] * B[k][j] with 4 x 4 points: alpha * A[i][k] is a product for 4 of them.
        """
        nodes = [node for part in self.statement.body for node in walk(part)]
        if any(isinstance(node, Declare) for node in nodes):
            return self.operations
        total = 0.0
        for node in nodes:
            weight = operation(node)
            if weight:
                used = {n.name for n in walk(node) if isinstance(n, Name)}
                total += weight / prod(self.shares[i].serial for i in points if not self._moved(i) & used)
        return total

    def _moved(self, loop: int) -> set[str]:
        """Return the iterators that a loop moves."""
        steps = zip(self.statement.iterators, self.mapped.loops[loop].step, strict=True)
        return {name for name, step in steps if step}


@remembered
def in_time(mapped: MappedStatement) -> isl.Set:
    """Return the instances by their loops instead of their iterators."""
    forms = tuple(loop.form for loop in mapped.loops)
    return mapped.domain.reset_tuple_id().apply(_order(int(mapped.domain.dim(isl.dim_type.set)), forms))


@lru_cache(maxsize=256)
def _order(rank: int, forms: tuple[Vector, ...]) -> isl.Map:
    """Return `{ [iterators] -> [loops] }`."""
    names = [f"i{k}" for k in range(rank)]
    loops = (" + ".join(f"{c}*{n}" for c, n in zip(form, names, strict=True) if c) or "0" for form in forms)
    return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(loops)}] }}")


def meet(work: Work, one: Reference, other: Reference, loop: int) -> bool:
    """Return whether two accesses of a statement touch one element in iterations of a loop that all other loops agree
    on; true where that takes too long to find out."""
    rank = len(work.statement.iterators)
    first, second = ([f"{name}{k}" for k in range(rank)] for name in "ab")
    equal = (
        " + ".join(f"{c}*{a} - {c}*{b}" for c, a, b in zip(around.form, first, second, strict=True) if c) + " = 0"
        for number, around in enumerate(work.mapped.loops)
        if number != loop
    )
    same = isl.Map(f"{{ [{', '.join(first)}] -> [{', '.join(second)}] : {' and '.join(equal) or 'true'} }}")
    domain = work.mapped.domain.reset_tuple_id()
    touched = [r.access.relation.reset_tuple_id(isl.dim_type.in_).intersect_domain(domain) for r in (one, other)]
    try:
        with budget(_MOST_OPERATIONS):
            return not touched[0].apply_range(touched[1].reverse()).intersect(same).is_empty()
    except OverBudgetError:
        return True


def _share(loop: MappedLoop, extent: float) -> LoopShare:
    launches = blocks = lanes = 1.0
    inside, within, serial = extent, extent, 0.0
    if hosts := [part.tile for part in loop.parts if part.role is Role.HOST]:
        launches = _whole(extent / min(hosts))
        inside = within = min(extent, max(1.0, extent / launches))  # of a mean launch
    if tiles := [part.tile for part in loop.parts if part.role is Role.BLOCK]:
        blocks = _whole(inside / min(tiles))
        inside = within = inside / blocks
    if threads := loop.threads:
        tile = min(part.tile for part in threads)
        points = within / tile
        rounds = _whole(points / prod(part.threads for part in threads))
        lanes = points / rounds
        serial = rounds * min(within, tile)
    return LoopShare(launches, blocks, inside, max(1.0, lanes), serial or max(1.0, within))


def _whole(parts: float) -> float:
    """Round up to a whole number, up to rounding errors, and to at least one: there may be no iterations."""
    return float(max(1, ceil(parts - 1e-6)))


def serial_depth(loop: MappedLoop) -> int:
    return max(part.depth for part in loop.parts)
