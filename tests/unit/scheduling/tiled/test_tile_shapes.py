"""Sizes of tiles: what is preferred, and what is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from polytile.choices import Choices
from polytile.diagnostics import UsageError
from polytile.machine import Machine, machine_of
from polytile.scheduling.strategies.tile_sizes import SizeChooser, parse_sizes
from polytile.scheduling.strategies.tiled.tile_shapes import TiledLoops, TileSizes, preferred
from polytile.tuning import TileTuning

# The trees and plans below are of these tiles, whatever measurements say of others.
POINTS = (((4,), (2,), (1,)), ((8, 4), (4, 4), (4, 2), (2, 2)))
TILES = TileTuning(threads=((128,), (16, 16)), points=POINTS, further_points=(), serial_bytes=128)
MACHINE = replace(machine_of("sm_90"), tuning=replace(machine_of("sm_90").tuning, tiles=TILES))

PRODUCT = TiledLoops((4096, 4096), (4096, 4096), (True, True), (1, 1), 1, 1, 1, 8)


def sizes(
    loops: TiledLoops, given: str | None = None, machine: Machine = MACHINE, **asked: Any
) -> tuple[TileSizes, ...]:
    return preferred(loops, 0, SizeChooser(Choices(**asked), parse_sizes(given), machine))


def tiles(loops: TiledLoops, **asked: Any) -> list[tuple[int, ...]]:
    return [one.tile for one in sizes(loops, **asked)]


def of_size(*iterations: int | None) -> TiledLoops:
    return replace(PRODUCT, iterations=iterations, mean=tuple(n or 2000 for n in iterations))


def test_large_tiles_come_first_where_there_are_enough_blocks() -> None:
    assert tiles(PRODUCT) == [(64, 64), (64, 64), (128, 64), (64, 32), (32, 32)]
    assert tiles(of_size(1024, 1024))[0] == (64, 64)
    assert tiles(of_size(256, 256))[0] == (32, 32)
    assert tiles(of_size(None, None))[0] == (64, 64)
    assert tiles(of_size(64, 64))[0] == (32, 32)
    assert tiles(replace(of_size(64, 64), other_blocks=1024))[0] == (64, 64)


def test_points_where_a_thread_gains_by_them() -> None:
    assert tiles(replace(PRODUCT, points=(True, False)))[0] == (128, 16)
    assert sizes(replace(PRODUCT, other_points=3))[0].points == (4, 4)
    assert sizes(replace(of_size(4096, 20), other_blocks=8))[0].points == (8, 2)


def test_one_loop() -> None:
    alone = TiledLoops((1 << 20,), (1 << 20,), (True,), (1,), 1, 1, 1, 8)
    assert tiles(alone)[:2] == [(256,), (256,)]
    assert sizes(alone, tile=(64, 8)) == (TileSizes((64,), (64,), 8, exact=True),)


TRIANGLE = replace(PRODUCT, iterations=(1200, 1200), mean=(1200, 600.5))
UNTUNED = machine_of("sm_90")


@pytest.mark.parametrize(
    ("loops", "tile", "threads"),
    [
        (of_size(1000, 1100), (48, 96), (8, 16)),  # 64 x 96 are 192 blocks, on 132 multiprocessors
        (TRIANGLE, (48, 64), (8, 16)),  # 64 x 96 are 133
        (replace(TRIANGLE, operands=(2, 2)), (48, 64), (8, 16)),
        (replace(of_size(1000, 1100), element=4), (32, 96), (4, 32)),  # one row for a warp: loads of four floats
    ],
)
def test_a_shape_that_is_clearly_faster(loops: TiledLoops, tile: tuple[int, ...], threads: tuple[int, ...]) -> None:
    measured, further, *_ = sizes(loops, machine=UNTUNED)
    assert measured.threads == (8, 16)
    assert (further.tile, further.threads) == (tile, threads)


@pytest.mark.parametrize("iterations", [(2000, 2300), (None, None), (2000, None)])
def test_measured_shapes_are_kept(iterations: tuple[int | None, ...]) -> None:
    assert [one.tile for one in sizes(of_size(*iterations), machine=UNTUNED)][:2] == [(64, 96)] * 2


def test_a_serial_tile_has_a_line_of_elements() -> None:
    assert (sizes(PRODUCT)[0].serial, sizes(replace(PRODUCT, element=4))[0].serial) == (16, 32)
    assert [sizes(PRODUCT)[0].serial_tile(inside) for inside in (0, 1, 3, 9, 49)] == [16, 16, 4, 1, 1]
    assert sizes(PRODUCT, tile=(64, 64, 12))[0].serial_tile(9) == 12


ASKED: dict[str, tuple[dict[str, Any], TileSizes]] = {
    "tile": ({"tile": (64, 32)}, TileSizes((64, 32), (16, 16), 16)),
    "serial tile": ({"tile": (64, 32, 8)}, TileSizes((64, 32), (16, 16), 8, exact=True)),
    "one number": ({"tile": (8,)}, TileSizes((8, 8), (8, 8), 8, exact=True)),
    "block": ({"block": (8, 32)}, TileSizes((32, 128), (8, 32), 16)),
    "block of one dimension": ({"block": (32,)}, TileSizes((4, 128), (1, 32), 16)),
    "points": ({"points": (2, 8)}, TileSizes((32, 128), (16, 16), 16)),
    "tile and points": ({"tile": (64, 32), "points": (8, 4)}, TileSizes((64, 32), (8, 8), 16)),
    "tile and block": ({"tile": (64, 32), "block": (4, 32)}, TileSizes((64, 32), (4, 32), 16)),
    "tile that the block does not divide": ({"tile": (20, 33)}, TileSizes((20, 33), (16, 16), 16)),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_for_is_the_only_choice(name: str) -> None:
    asked, expected = ASKED[name]
    assert sizes(PRODUCT, **asked) == (expected,)


def test_sizes_of_one_kernel() -> None:
    found = sizes(PRODUCT, "{ kernel[0] -> tile[32, 64, 4]; kernel[0] -> block[4, 64]; kernel[1] -> block[1, 1] }")
    assert found == (TileSizes((32, 64), (4, 64), 4, exact=True),)


def test_a_block_that_is_too_large() -> None:
    with pytest.raises(UsageError, match="larger than the GPU allows"):
        sizes(PRODUCT, "{ kernel[0] -> block[64, 64] }")


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(("n", "block"), [(4096, "i/64,j/96"), (1024, "i/64,j/64"), (100, "i/16,j/32")])
def test_known_sizes_of_a_program(n: int, block: str, compiled: Callable[..., Any], shape: Callable[..., str]) -> None:
    loops = " ".join(f"for (int {i} = 0; {i} < n; {i}++)" for i in "ijk")
    body = f"{loops} A[i][j] += B[i][k] * B[k][j];"
    state = compiled("int n, double A[n][n], double B[n][n]", body, schedule="tiled", parameters={"n": n}).compilation
    assert f"block[{block}]" in shape(state.schedule.tree)


def test_elements_that_are_larger_than_a_vector() -> None:
    """Structs with arrays inside are elements of hundreds of bytes."""
    assert tiles(replace(PRODUCT, element=328))[0] == (32, 32)
