"""In which launch and block the instances of the source run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import reduce

import islpy as isl

from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.drawing.instances import Launches, launch_numbers, points
from polytile.drawing.iterations.stream_instance_tiles import StreamInstanceTiles
from polytile.drawing.iterations.view import Shown, at_least
from polytile.drawing.launches import MappedKernel, mapped_kernels
from polytile.drawing.model import Instance, Point, Tile
from polytile.facts.transformed import origins
from polytile.ir.isl_util import maps, sets
from polytile.ir.scop import Statement
from polytile.runtime.parameters import point

IN, OUT, SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set
MOST_LAUNCHES = 5_000  # of a kernel, that are numbered
Launch = tuple[Point, int]  # what launches are sorted by, and the kernel


@dataclass(frozen=True, slots=True)
class InstanceTiles:
    """The kernels of a schedule, and of each of its executions the instance of the source: `{ S0_update[i, j] ->
    S0[i, j] }`. No kernels where the SCoP stays on the host. Those of a `stream` run what they do first."""

    kernels: tuple[MappedKernel, ...]
    origin: isl.UnionMap = field(compare=False)
    stream: StreamInstanceTiles | None = None

    def blocks(self, shown: Shown) -> Iterator[tuple[MappedKernel, isl.Map]]:
        """Yield `{ S[i] -> [host, block] }` of each kernel that runs some of the instances."""
        wanted = reduce(isl.UnionSet.union, map(isl.UnionSet.from_set, shown.values()), isl.UnionSet("{ }"))
        for kernel in self.kernels:
            own = self.origin.intersect_range(wanted).reverse().apply_range(kernel.place.block)
            yield from ((kernel, m) for m in maps(own))

    def tiles(self, shown: Shown, values: Mapping[str, int]) -> dict[Instance, Tile]:
        """Return the block of each instance that a kernel runs: the first where several run it or parts of it."""
        run: list[tuple[Instance, Launch, Point]] = []
        for kernel, where in self.blocks(shown):
            name, n = str(where.get_tuple_name(IN)), where.dim(IN)
            block = n + kernel.host
            for p in points(where.wrap()):
                run.append(((name, p[:n]), (kernel.order(p[n:block]), kernel.place.kernel), p[block:]))
        launches = self._launches(values) or {one: k for k, one in enumerate(sorted({one for _, one, _ in run}), 1)}
        found: dict[Instance, Tile] = {}
        for instance, launch, at in run:
            tile = Tile(launches[launch], launch[1], at)
            found[instance] = min(tile, found.get(instance, tile))
        return _behind(self.stream.found(shown, values), found) if self.stream else found

    def _launches(self, values: Mapping[str, int]) -> Launches | None:
        """Assign numbers to all launches; None where they are too many."""
        at = point(values)
        for kernel in self.kernels:
            for coordinates in sets(kernel.place.block.intersect_params(at).range()):
                blocks = coordinates.dim(SET) - kernel.host
                if at_least(coordinates.project_out(SET, kernel.host, blocks)) > MOST_LAUNCHES:
                    return None
        return launch_numbers(self.kernels, at)

    def has_tiles(self, shown: Shown) -> bool:
        """Return whether several blocks of one kernel run the instances."""
        for kernel, where in self.blocks(shown):
            blocks = where.range().project_out(SET, 0, kernel.host)
            if not blocks.is_empty() and not blocks.is_singleton():
                return True
        return False


def instance_tiles_of(state: Compilation) -> InstanceTiles:
    empty = isl.UnionMap("{ }")
    if state.schedule is None or (state.overlapped is not None and state.overlapped.once):
        return InstanceTiles((), empty)
    origin = empty
    for statement in state.scop.statements:
        for name in origins(state, statement):
            same = _same(statement, state.source.statement(name))
            if same is not None:
                origin = origin.union(isl.UnionMap.from_map(same))
    return InstanceTiles(
        mapped_kernels(state.run.schedule), state.run.instances.apply_range(origin), StreamInstanceTiles.of(state)
    )


def _behind(first: dict[Instance, Tile], then: dict[Instance, Tile]) -> dict[Instance, Tile]:
    """Renumber the tiles of launches, and of those that come after them for all other instances."""
    last = max((tile.launch for tile in first.values()), default=0)
    left = {instance: tile for instance, tile in then.items() if instance not in first}
    numbers = {launch: last + k for k, launch in enumerate(sorted({tile.launch for tile in left.values()}), 1)}
    return {**first, **{instance: replace(tile, launch=numbers[tile.launch]) for instance, tile in left.items()}}


def _same(statement: Statement, source: Statement) -> isl.Map | None:
    """Map instances of a scheduled statement to those of the source whose iterators have the same values, by their
    names; None where it does not have them all."""
    if not set(source.iterators) <= set(statement.iterators):
        return None
    pairs = isl.Map.from_domain_and_range(statement.domain, source.domain)
    for k, name in enumerate(source.iterators):
        pairs = pairs.equate(IN, statement.iterators.index(name), OUT, k)
    return pairs
