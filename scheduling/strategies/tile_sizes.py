"""Tile and block sizes of each kernel: the defaults, `--tile`, `--block` and PPCG's `--sizes`."""

from __future__ import annotations

from math import prod

import islpy as isl

from polytile.choices import MAX_TILE, Choices
from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.machine import MAX_BLOCK, MAX_BLOCK_THREADS, Machine


@dataclass(frozen=True, slots=True)
class KernelSizes:
    """`tile` has one entry for each mapped loop, then one for each serial loop that is to be tiled too; `block` one for
    each mapped loop."""

    tile: tuple[int, ...]
    block: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SizeTable:
    """Sizes given for single kernels: kernel number -> sizes."""

    tiles: dict[int, tuple[int, ...]]
    blocks: dict[int, tuple[int, ...]]


def parse_sizes(text: str | None) -> SizeTable:
    """Read `{ kernel[0] -> tile[32, 32]; kernel[1] -> block[128] }`; raises UsageError."""
    table = SizeTable({}, {})
    if not text:
        return table
    try:
        union = isl.UnionMap(text)
    except isl.Error:
        raise UsageError(
            f"--sizes: cannot read {text!r}",
            hint="for example { kernel[0] -> tile[32, 32]; kernel[0] -> block[8, 32] }",
        ) from None
    found: list[isl.Map] = []
    union.foreach_map(found.append)
    for m in found:
        kernel, what = m.get_tuple_name(isl.dim_type.in_), m.get_tuple_name(isl.dim_type.out)
        if kernel != "kernel" or what not in ("tile", "block") or m.dim(isl.dim_type.in_) != 1:
            raise UsageError("--sizes maps kernel[number] to tile[...] or block[...]")
        target = table.tiles if what == "tile" else table.blocks
        for number, sizes in _points(m):
            if min(sizes, default=1) < 1 or max(sizes, default=1) > MAX_TILE:
                raise UsageError(f"--sizes: {what} sizes are positive and at most {MAX_TILE}")
            target[number] = sizes
    return table


def _points(m: isl.Map) -> list[tuple[int, tuple[int, ...]]]:
    wrapped = m.wrap()
    if not wrapped.is_bounded():
        raise UsageError("--sizes: each size is one number")
    found: list[tuple[int, tuple[int, ...]]] = []
    rank = wrapped.dim(isl.dim_type.set)

    def visit(point: isl.Point) -> None:
        values = [point.get_coordinate_val(isl.dim_type.set, i).to_python() for i in range(rank)]
        found.append((values[0], tuple(values[1:])))

    wrapped.foreach_point(visit)
    return found


@dataclass(frozen=True, slots=True)
class SizeChooser:
    """Picks the sizes of kernel after kernel."""

    choices: Choices
    table: SizeTable
    machine: Machine

    def choose(
        self, kernel: int, mapped: int, members: int, *, serial: bool = False, preferred: tuple[int, ...] = ()
    ) -> KernelSizes:
        """Choose sizes for a band of `members` loops of which the first `mapped` go to blocks and threads.

        `serial` says that each thread then runs loops of its own; `preferred` is the block for that many loops, if none
        is asked for.
        """
        asked_block = self.table.blocks.get(kernel, self.choices.block)
        tile = spread(self.asked_tile(kernel), members)
        block = spread_inner(asked_block, mapped)
        blocks = self.machine.tuning.blocks
        default = blocks.serial if serial and mapped == 1 else blocks.of_rank(mapped)
        if preferred and mapped == len(preferred):
            default = preferred
        if not block:
            block = (*(min(d, t) for d, t in zip(default, tile, strict=False)), *default[len(tile) :])
        if not tile:
            tile = block
        elif len(tile) < mapped:
            tile += block[len(tile) :]
        self._check(kernel, block)
        return KernelSizes(tile, block)

    def asked_tile(self, kernel: int) -> tuple[int, ...]:
        """Return the tile sizes that were asked for; empty where they are free to choose."""
        return self.table.tiles.get(kernel, self.choices.tile)

    def _check(self, kernel: int, block: tuple[int, ...]) -> None:
        limits = tuple(reversed(MAX_BLOCK))[-len(block) :]
        beyond = any(size > limit for size, limit in zip(block, limits, strict=True))
        if beyond or prod(block) > MAX_BLOCK_THREADS:
            shape = "x".join(map(str, block))
            raise UsageError(
                f"kernel {kernel}: a block of {shape} = {prod(block)} threads is larger than the GPU allows",
                hint=f"at most {MAX_BLOCK_THREADS} threads, and at most {MAX_BLOCK[2]} along z",
            )


def spread(sizes: tuple[int, ...], members: int) -> tuple[int, ...]:
    """Spread one number over all loops; more numbers than loops are ignored from the end."""
    return sizes * members if len(sizes) == 1 else sizes[:members]


def spread_inner(sizes: tuple[int, ...], mapped: int) -> tuple[int, ...]:
    """Give block sizes to the innermost mapped loops; missing outer ones are 1, surplus outer ones multiply in."""
    if not sizes:
        return ()
    if len(sizes) < mapped:
        return (1,) * (mapped - len(sizes)) + sizes
    surplus = len(sizes) - mapped
    return (prod(sizes[: surplus + 1]), *sizes[surplus + 1 :])
