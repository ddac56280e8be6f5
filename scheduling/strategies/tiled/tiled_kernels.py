"""A tree of bands whose kernels are tiled where that pays, and as classic.py maps them elsewhere."""

from __future__ import annotations

from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.scheduling.candidate import Problem
from polytile.scheduling.strategies.band_rewriting import members_of
from polytile.scheduling.strategies.loop_nest import (
    NODE,
    parallel_loops,
    read,
    replaced,
    to_schedule,
)
from polytile.scheduling.strategies.mapping import map_kernels
from polytile.scheduling.strategies.tile_sizes import SizeChooser, parse_sizes
from polytile.scheduling.strategies.tiled.kernel_tree import KernelTree
from polytile.scheduling.strategies.tiled.loop_labels import Labels
from polytile.scheduling.strategies.tiled.loop_roles import roles
from polytile.scheduling.strategies.tiled.parallel_loops import Members, distributed
from polytile.scheduling.strategies.tiled.serial_loops import Distribution
from polytile.scheduling.strategies.tiled.tile_shapes import TileSizes, preferred


@dataclass(frozen=True, slots=True)
class TiledTree:
    """A mapped tree without barriers, the sizes of its tiled kernels by number, whether less preferred sizes are left
    (`more`), the next of them faster ones by their price (`further`), and whether blocks run parallel loops one
    iteration after another (`repeats`)."""

    tree: isl.Schedule = field(compare=False)
    sizes: dict[int, TileSizes]
    more: bool
    further: bool
    repeats: bool


@dataclass
class TiledKernels:
    """Makes the kernels of one tree, each with the sizes at `rank` in its order of preference."""

    problem: Problem
    rank: int
    sizes: dict[int, TileSizes] = field(default_factory=dict)
    more: bool = False
    further: bool = False
    repeats: bool = False

    def __post_init__(self) -> None:
        options = self.problem.options
        self.chooser = SizeChooser(self.problem.choices, parse_sizes(options.sizes), self.problem.machine)
        needed = self.problem.dependences.all.intersect_params(self.problem.scop.context)
        self.distribution = Distribution(needed, self.problem.dependences.flow)

    def map(self, tree: isl.Schedule) -> TiledTree:
        known, few = self.problem.options.parameters, self.problem.machine.tuning.tiles.few_iterations
        nest = distributed(read(tree.get_root()), known, few)
        mapped = map_kernels(self.problem.scop, to_schedule(nest), self.chooser, self._kernel)
        return TiledTree(mapped, self.sizes, self.more, self.further, self.repeats)

    def _kernel(self, band: isl.ScheduleNode, number: int) -> isl.ScheduleNode | None:
        """Build the kernel at a band of parallel loops; None where tiles do not pay."""
        problem, tuning = self.problem, self.problem.machine.tuning
        known = problem.options.parameters
        outer = _loops_above(band)
        parallel, inside = parallel_loops(read(band))
        found = roles(problem.scop, band, outer, parallel, inside, known, tuning)
        if found is None:
            return None
        self.repeats |= bool(found.repeated)
        sizes = preferred(found.shapes, number, self.chooser)
        self.more |= len(sizes) > self.rank + 1
        self.further |= not self.rank and sizes[0] != sizes[min(1, len(sizes) - 1)]
        self.sizes[number] = sizes[min(self.rank, len(sizes) - 1)]
        labels = Labels(problem.scop)
        kernel = KernelTree(found, self.sizes[number], labels, self.distribution, known, tuning.tiles.few_iterations)
        return replaced(band, kernel.build(outer, inside))


def _loops_above(node: isl.ScheduleNode) -> Members:
    """Return the loops of the host around a node, outermost first."""
    found: Members = ()
    while node.has_parent():
        node = node.parent()
        if node.get_type() == NODE.band:
            found = (*members_of(node), *found)
    return found
