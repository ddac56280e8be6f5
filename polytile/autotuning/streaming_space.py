"""Streaming kernels of one step a launch: cells and threads of a block, where planes are, the read-only path.

    BlockSize.x: 16, 32, 48, 64   BlockSize.y: 2 .. 16   BlockDim.x, BlockDim.y: of the same that divide these
    read-only path: on, off                                                                  544 points of a template

BlockSize, the cells of a block, are `tile_x` and `tile_y`, BlockDim, its threads, `block_x` and `block_y`: their ratio
are the points of a thread. The two templates are values of `planes`: a ring of all planes that a point reads in
`shared` memory, or one there and the values before and behind it in `registers`, where only one plane is read beside a
point.

Zhang, Mueller: Auto-generation and auto-tuning of 3D stencil codes on GPU clusters (CGO 2012), sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from polytile.autotuning.space import Constraint, Parameter, Subspace, Value
from polytile.choices import OVERLAPPED, Choices
from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.machine import MAX_BLOCK_THREADS
from polytile.scheduling.strategies.overlapped.plane_schedule import MOST_DIMENSIONS

STREAMING = "streaming"  # few points of it, for spaces of several strategies
ZHANG_MUELLER = "zhang-mueller"  # all of the paper's
PLANES, READ_ONLY = "planes", "read_only"
WORDS = SHARED, REGISTERS = "shared", "registers"
TILES, BLOCKS = ("tile_y", "tile_x"), ("block_y", "block_x")
SIZES_X, SIZES_Y = (16, 32, 48, 64), tuple(range(2, 17))
FEW_X, FEW_Y = (32, 64), (4, 8, 16)


@dataclass(frozen=True, slots=True)
class Template:
    """What a block takes of shared memory: planes wider than its cells by the `halo` of both sides along y and x, with
    so many bytes of a place in all of them; and whether kernels may load through the `read_only` path, as they must not
    what they overwrite."""

    halo: tuple[int, int]
    place_bytes: int
    read_only: bool = True

    @classmethod
    def of(cls, compilation: Compilation, planes: str) -> Template | None:
        """Return the template of kernels of one step which were asked to load through the read-only path; None for
        others. A plane more that spares a barrier is not counted."""
        plan, scop = compilation.overlapped, compilation.scop
        if plan is None or not plan.exchange.is_one_step or plan.dims != MOST_DIMENSIONS:
            return None
        place = 0
        for step in plan.inputs:
            reads = [read.offset for read in plan.reads if read.source == step.index]
            if any(any(beside) for _, *beside in reads):
                along = [first for first, *_ in reads]
                count = max(along) - min(along) + 1 if planes == SHARED else 1
                place += count * scop.array(step.array).element.size
        return cls((plan.lower[1] + plan.upper[1], plan.lower[2] + plan.upper[2]), place, plan.read_only)

    def shared_bytes(self, tile: Sequence[int]) -> int:
        """Compute the bytes of shared memory of a block with so many cells along y and x."""
        return prod(n + more for n, more in zip(tile, self.halo, strict=True)) * self.place_bytes


def one_step(planes: str, **others: Any) -> Choices:
    """Return the choices for kernels of one step, with the planes in one of WORDS, and other choices."""
    return Choices(schedule=OVERLAPPED, planes=planes, **others)


def paper_space(templates: Mapping[str, Template], shared_memory: int) -> Subspace:
    """Build the space of the paper's points, of blocks within the GPU's threads and so many bytes of shared memory."""
    return _space(ZHANG_MUELLER, templates, shared_memory, (SIZES_Y, SIZES_X), _paths(templates))


def few_points(templates: Mapping[str, Template], shared_memory: int) -> Subspace:
    """Build the space of the paper's points of whole warps along x, with the read-only path."""
    return _space(STREAMING, templates, shared_memory, (FEW_Y, FEW_X), _paths(templates)[-1:])


def _paths(templates: Mapping[str, Template]) -> tuple[bool, ...]:
    """Return whether kernels load through the read-only path: both, where they may."""
    return (False, True) if any(template.read_only for template in templates.values()) else (False,)


def _space(
    name: str,
    templates: Mapping[str, Template],
    shared_memory: int,
    sizes: tuple[tuple[int, ...], tuple[int, ...]],
    read_only: tuple[bool, ...],
) -> Subspace:
    parameters = (
        Parameter(PLANES, tuple(templates)),
        *(Parameter(axis, values) for axis, values in zip(TILES, sizes, strict=True)),
        *(Parameter(axis, values) for axis, values in zip(BLOCKS, sizes, strict=True)),
        *([Parameter(READ_ONLY, read_only)] if len(read_only) > 1 else []),
    )

    def choices(point: Mapping[str, Value]) -> Choices:
        tile, block = (tuple(int(point[axis]) for axis in axes) for axes in (TILES, BLOCKS))
        path = bool(point.get(READ_ONLY, read_only[0]))
        return one_step(str(point[PLANES]), tile=tile, block=block, read_only=path)

    def has_room(planes: Value, *tile: int) -> bool:
        return templates[str(planes)].shared_bytes(tile) <= shared_memory

    pairs = (Constraint(both, _divides, "threads share out cells evenly") for both in zip(TILES, BLOCKS, strict=True))
    limits = (
        *pairs,
        Constraint(BLOCKS, lambda *block: prod(block) <= MAX_BLOCK_THREADS, "threads of a block"),
        Constraint((PLANES, *TILES), has_room, "shared memory for planes"),
    )
    return Subspace(name, parameters, choices, limits)


def _divides(cells: int, threads: int) -> bool:
    return cells % threads == 0
