"""Tile and block sizes: the defaults, `--tile`, `--block` and `--sizes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl
import pytest

from polytile.choices import Choices
from polytile.diagnostics import UsageError
from polytile.machine import machine_of
from polytile.options import Options
from polytile.scheduling.strategies.tile_sizes import KernelSizes, SizeChooser, parse_sizes

THREE = (
    "int n, double A[n][n][n]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) A[i][j][k] = 1;",
)
PRODUCT = (
    "int n, double A[n][n], double B[n][n], double C[n][n]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j];",
)


def choose(mapped: int, members: int, kernel: int = 0, **options: Any) -> KernelSizes:
    given = Options(**options)
    choices = Choices(tile=given.tile, block=given.block)
    return SizeChooser(choices, parse_sizes(given.sizes), machine_of(given.arch)).choose(kernel, mapped, members)


DEFAULTS = [(1, (128,)), (2, (8, 32)), (3, (2, 4, 32))]


@pytest.mark.parametrize(("mapped", "block"), DEFAULTS)
def test_defaults(mapped: int, block: tuple[int, ...]) -> None:
    assert choose(mapped, mapped + 1) == KernelSizes(block, block)


CHOICES = [
    # mapped, members, tile, block -> tile, block
    (2, 3, (16,), (), (16, 16, 16), (8, 16)),
    (2, 3, (64,), (), (64, 64, 64), (8, 32)),
    (2, 2, (4, 2), (), (4, 2), (4, 2)),
    (3, 3, (4, 2), (), (4, 2, 32), (2, 2, 32)),
    (1, 2, (4, 2, 9), (), (4, 2), (4,)),
    (2, 2, (), (16, 16), (16, 16), (16, 16)),
    (2, 2, (), (64,), (1, 64), (1, 64)),
    (1, 1, (), (4, 32), (128,), (128,)),
    (2, 2, (), (2, 4, 8), (8, 8), (8, 8)),
    (2, 3, (32, 32, 8), (4, 32), (32, 32, 8), (4, 32)),
    (2, 2, (3,), (64, 2), (3, 3), (64, 2)),
]


@pytest.mark.parametrize(("mapped", "members", "tile", "block", "tiles", "blocks"), CHOICES)
def test_given_sizes(
    mapped: int,
    members: int,
    tile: tuple[int, ...],
    block: tuple[int, ...],
    tiles: tuple[int, ...],
    blocks: tuple[int, ...],
) -> None:
    assert choose(mapped, members, tile=tile, block=block) == KernelSizes(tiles, blocks)


def test_a_block_for_one_kernel_larger_than_the_gpu_allows() -> None:
    with pytest.raises(UsageError, match="kernel 3: a block of 32x64 = 2048 threads is larger than the GPU allows"):
        choose(2, 2, 3, sizes="{ kernel[3] -> block[32, 64] }")


def test_threads_with_loops_of_their_own_come_in_warps() -> None:
    chooser = SizeChooser(Choices(), parse_sizes(None), machine_of("sm_90"))
    assert chooser.choose(0, 1, 2, serial=True) == KernelSizes((32,), (32,))
    assert chooser.choose(0, 2, 3, serial=True) == KernelSizes((8, 32), (8, 32))


def test_every_choice_has_a_block_size_for_each_mapped_loop() -> None:
    for mapped in (1, 2, 3):
        for tile in ((), (1,), (4, 2), (2, 3, 5)):
            for block in ((), (4,), (2, 4), (2, 2, 3)):
                sizes = choose(mapped, mapped + 1, tile=tile, block=block)
                assert len(sizes.block) == mapped
                assert len(sizes.tile) >= mapped


def test_sizes_of_single_kernels() -> None:
    sizes = "{ kernel[0] -> tile[64, 16]; kernel[0] -> block[16, 16]; kernel[2] -> block[4, 8] }"
    assert choose(2, 2, 0, sizes=sizes) == KernelSizes((64, 16), (16, 16))
    assert choose(2, 2, 1, sizes=sizes) == KernelSizes((8, 32), (8, 32))
    assert choose(2, 2, 2, sizes=sizes) == KernelSizes((4, 8), (4, 8))


def test_sizes_of_a_kernel_go_before_those_of_all() -> None:
    sizes = "{ kernel[0] -> tile[64, 16] }"
    assert choose(2, 2, 0, sizes=sizes, tile=(3,)).tile == (64, 16)
    assert choose(2, 2, 1, sizes=sizes, tile=(3,)).tile == (3, 3)


WRONG = [
    ("kernel[0] -> tile[32]", "cannot read"),
    ("{ kernel[0] -> tiles[32] }", "maps kernel"),
    ("{ grid[0] -> tile[32] }", "maps kernel"),
    ("{ kernel[0, 0] -> tile[32] }", "maps kernel"),
    ("{ kernel[0] -> tile[0] }", "positive"),
    ("{ kernel[0] -> tile[-4, 8] }", "positive"),
    ("{ kernel[i] -> tile[32] }", "one number"),
    ("{ kernel[0] -> tile[x] : x > 3 }", "one number"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_sizes_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_sizes(text)


@pytest.mark.parametrize("block", [(32, 33), (1025,), (128, 2, 2), (4, 16, 32)])
def test_blocks_larger_than_the_gpu_allows(block: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="is larger than"):
        choose(len(block), len(block), block=block)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tile": (0,)}, "--tile: 0 is out of range"),
        ({"tile": (4, -1)}, "--tile: -1 is out of range"),
        ({"tile": (1 << 21,)}, "out of range"),
        ({"block": (1, 1, 1, 1)}, "--block takes at most three sizes"),
    ],
)
def test_options_check_sizes(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Options(**options)


SHAPES = [
    (PRODUCT, {"tile": (16,)}, "kernel(block[i/16,j/16] serial[k/16] thread[8,16] serial[kmod16] S0)"),
    (PRODUCT, {"tile": (32, 64), "schedule": "superposed"}, "kernel(block[i/32,j/64] thread[8,32] serial[k] S0)"),
    (
        PRODUCT,
        {"block": (4, 16), "schedule": "superposed"},
        "kernel(block[i/16,j/32] thread[4,16] serial[k] serial[jmod2] serial[imod4] S0)",
    ),
    (
        PRODUCT,
        {"sizes": "{ kernel[0] -> tile[9, 9, 3] }"},
        "kernel(block[i/9,j/9] serial[k/3] thread[8,9] serial[kmod3] S0)",
    ),
    (THREE, {"tile": (4, 2)}, "kernel(block[i/4,j/2,k/32] thread[2,2,32] S0)"),
    (THREE, {"tile": (1,)}, "kernel(block[i,j,k] thread[1,1,1] S0)"),
]


@pytest.mark.parametrize(("program", "settings", "expected"), SHAPES)
def test_sizes_in_the_schedule(
    compiled: Callable[..., Any],
    shape: Callable[[isl.Schedule], str],
    program: tuple[str, str],
    settings: dict[str, Any],
    expected: str,
) -> None:
    assert shape(compiled(*program, **settings).compilation.schedule.tree) == expected
