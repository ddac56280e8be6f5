"""Placements in matrix products and sums: shared tiles, register tiles, fragments, proven where they keep values, and
refused where they do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import islpy as isl
import pytest

from polytile.diagnostics import InternalError
from polytile.ir.cell_layout import Layout
from polytile.ir.copy_tree import with_copies
from polytile.ir.memory import Space
from polytile.ir.plan import WHOLE_KERNEL, Copy, KernelPlan, Owner, Placement
from polytile.ir.schedule import check_marks, mark_name, nodes
from polytile.ir.scop import Scop
from polytile.scheduling.proof.legality import THREADS
from polytile.scheduling.proof.placements import wrong_placements

LOST, OTHER = "a value does not arrive", "another value arrives"
UNSET = "what is read was never written there"
IN_USE = "the cell is in use while it is filled"


def tree(domain: str, *levels: str) -> isl.Schedule:
    """Nested nodes, one inside the other: bands in brackets, else marks."""
    text = f'domain: "{domain}"\n'
    for depth, level in enumerate(levels):
        kind = "schedule" if level.startswith("[") else "mark"
        text += f'{"  " * depth}child:\n{"  " * depth}  {kind}: "{level}"\n'
    return isl.Schedule(text)


def whys(scop: Scop, schedule: isl.Schedule, *placements: Placement) -> set[str]:
    return {f.why for f in wrong_placements(scop, schedule, [KernelPlan(0, placements)])}


# Tiles in shared memory -----------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def gemm(scop: Callable[..., Scop]) -> Scop:
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
    body = f"{loops} {{ C[i][j] *= beta; for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j]; }}"
    return scop("int n, double beta, double A[n][n], double B[n][n], double C[n][n]", body)


DOMAIN = "[n] -> { S0[i, j] : 0 <= i, j < n; S1[i, j, k] : 0 <= i, j, k < n }"


def band(*members: str) -> str:
    """A band over S1[i, j, k], and over S0[i, j] as if k were -1."""
    both = [f"{{ S1[i, j, k] -> [{m}]; S0[i, j] -> [{m.replace('k', '-1')}] }}" for m in members]
    return f"[{', '.join(both)}]"


def tiled(barrier: bool = True) -> isl.Schedule:
    """Tiles of 128 x 128 x 16, 8 x 8 points a thread. S0 runs before the first tile of k."""
    levels = [
        "kernel",
        "block",
        band("floor(i/128)", "floor(j/128)"),
        "loop[k0]",
        *(["sync"] if barrier else []),
        band("floor(k/16)"),
        "thread[16,16]",
        band("floor((i mod 128)/8)", "floor((j mod 128)/8)"),
        "loop[k]",
        band("k mod 16"),
        band("i mod 8", "j mod 8"),
    ]
    return tree(DOMAIN, *levels)


def a_tile(stages: int = 1, ahead: int = 0, mode: str = "async", depth: int = 16) -> Placement:
    return Placement(
        "A_tile",
        "A",
        (("S1", 0),),
        "k0",
        Space.SHARED,
        Owner.BLOCK,
        f"{{ [[bi, bj, k0] -> A[i, k]] -> [k0 mod {stages}, i - 128 bi, k - 16 k0] }}",
        (stages, 128, 16),
        Layout(pad=4),
        fill=Copy(
            "[n] -> { [bi, bj, k0] -> A[i, k] : 128 bi <= i < 128 bi + 128 and 16 k0 <= k < 16 k0 + "
            f"{depth} and 0 <= i, k < n }}",
            "k0",
            ahead,
            mode,
            2,
            (1, 0),
        ),
    )


@pytest.mark.parametrize("mode", ["plain", "async"])
@pytest.mark.parametrize(("stages", "ahead"), [(1, 0), (2, 1), (3, 2)])
def test_a_tile_in_stages(gemm: Scop, stages: int, ahead: int, mode: str) -> None:
    assert whys(gemm, tiled(), a_tile(stages, ahead, mode)) == set()


@pytest.mark.parametrize("mode", ["plain", "async"])
@pytest.mark.parametrize(("stages", "ahead"), [(1, 1), (2, 2), (3, 3)])
def test_a_tile_that_is_filled_too_early(gemm: Scop, stages: int, ahead: int, mode: str) -> None:
    """The tile that is filled is the one that the same iteration reads."""
    found = whys(gemm, tiled(), a_tile(stages, ahead, mode))
    assert found >= {OTHER, THREADS}
    assert (IN_USE in found) == (mode == "async")


@pytest.mark.parametrize(("stages", "ahead"), [(1, 0), (2, 1), (3, 2)])
def test_a_tile_without_a_barrier_at_the_end_of_iterations(gemm: Scop, stages: int, ahead: int) -> None:
    assert THREADS in whys(gemm, tiled(barrier=False), a_tile(stages, ahead, "plain"))


def test_a_tile_that_is_not_filled(gemm: Scop) -> None:
    assert whys(gemm, tiled(), replace(a_tile(), fill=None)) == {UNSET}


def test_a_tile_that_is_not_filled_to_its_end(gemm: Scop) -> None:
    assert whys(gemm, tiled(), a_tile(depth=15)) == {UNSET}


def test_a_tile_that_is_filled_with_more_than_it_has_room_for(gemm: Scop) -> None:
    assert "a cell of A_tile is outside of its extents" in whys(gemm, tiled(), a_tile(depth=17))


def test_a_fill_from_outside_of_the_array(gemm: Scop) -> None:
    placement = a_tile()
    assert placement.fill is not None
    fill = replace(placement.fill, elements=placement.fill.elements.replace("0 <= i, k < n", "0 <= i, k <= n"))
    assert UNSET in whys(gemm, tiled(), replace(placement, fill=fill))


def test_two_tiles(gemm: Scop) -> None:
    b_tile = Placement(
        "B_tile",
        "B",
        (("S1", 1),),
        "k0",
        Space.SHARED,
        Owner.BLOCK,
        "{ [[bi, bj, k0] -> B[k, j]] -> [k - 16 k0, j - 128 bj] }",
        (16, 128),
        fill=Copy("[n] -> { [b, c, k0] -> B[k, j] : floor(j/128) = c and floor(k/16) = k0 and 0 <= j, k < n }", "k0"),
    )
    assert whys(gemm, tiled(), a_tile(3, 2), b_tile) == set()


def test_trees_with_copies_are_mapped_trees(gemm: Scop) -> None:
    """Barriers keep fills that are not early from the body, and there are none for those that are."""
    for placement, barriers in ((a_tile(), 2), (a_tile(2, 1), 1)):
        grown = with_copies(tiled(), [KernelPlan(0, (placement,))]).tree
        check_marks(grown)
        assert sum(mark_name(node) == "sync" for node in nodes(grown)) == barriers


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"level": "k1"}, "no loop k1"),
        ({"fill": Copy("{ [bi, bj] -> A[i, k] }", "k0")}, "a place of 2 coordinates"),
        ({"fill": Copy("{ [bi, bj, k0, ty, tx, k] -> A[i, j] }", "k")}, "below a thread band"),
        ({"uses": (("S1", 1),)}, "access 1 of S1 is none to A"),
        ({"uses": (("S2", 0),)}, "access 0 of S2 is none to A"),
    ],
)
def test_placements_that_do_not_fit_the_tree(gemm: Scop, change: dict[str, Any], why: str) -> None:
    with pytest.raises(InternalError, match=why):
        whys(gemm, tiled(), replace(a_tile(), **change))


# Tiles in registers ---------------------------------------------------------------------------------------------------
ELEMENTS = (
    "[n] -> { [bi, bj, ty, tx] -> C[i, j] : floor(i/128) = bi and floor(j/128) = bj and floor((i mod 128)/8) = ty and "
    "floor((j mod 128)/8) = tx and 0 <= i, j < n }"
)


def accumulators(cell: str = "i mod 8, j mod 8", **changes: Any) -> Placement:
    found = Placement(
        "C_acc",
        "C",
        (),
        WHOLE_KERNEL,
        Space.PRIVATE,
        Owner.THREAD,
        f"{{ [[bi, bj, ty, tx] -> C[i, j]] -> [{cell}] }}",
        (8, 8),
        fill=Copy(ELEMENTS, WHOLE_KERNEL),
        drain=Copy(ELEMENTS, WHOLE_KERNEL),
    )
    return replace(found, **changes)


def test_accumulators_of_a_thread(gemm: Scop) -> None:
    assert whys(gemm, tiled(), accumulators()) == set()


def test_accumulators_beside_a_tile(gemm: Scop) -> None:
    assert whys(gemm, tiled(), accumulators(), a_tile(3, 2)) == set()


def test_fewer_accumulators_than_points(gemm: Scop) -> None:
    assert whys(gemm, tiled(), accumulators("i mod 8, j mod 4")) >= {OTHER}


def test_accumulators_that_are_not_drained(gemm: Scop) -> None:
    assert OTHER in whys(gemm, tiled(), accumulators(drain=None))


def test_accumulators_that_are_not_filled(gemm: Scop) -> None:
    assert UNSET in whys(gemm, tiled(), accumulators(fill=None))


def test_accumulators_for_some_of_the_accesses(gemm: Scop) -> None:
    """S0 writes to memory, and what was loaded before it is stale."""
    some = accumulators(uses=(("S1", 2), ("S1", 3)))
    assert whys(gemm, tiled(), some) >= {OTHER}


def test_accumulators_that_are_written_through(gemm: Scop) -> None:
    """All reads find their values in the cell, and the last write of each element is in memory."""
    assert whys(gemm, tiled(), accumulators(through=True, drain=None)) == set()


def test_accumulators_that_all_threads_drain(gemm: Scop) -> None:
    everything = ELEMENTS.replace("floor((i mod 128)/8) = ty and ", "")
    assert UNSET in whys(gemm, tiled(), accumulators(drain=Copy(everything, WHOLE_KERNEL)))


# Fragments of matrix products, inside the tile ------------------------------------------------------------------------
def in_warps() -> isl.Schedule:
    """Four warps of 64 x 64 points; eight of k at once; the lane is the one that has the element of C."""
    levels = [
        "kernel",
        "block",
        band("floor(i/128)", "floor(j/128)"),
        "loop[k0]",
        "sync",
        band("floor(k/16)"),
        "loop[kk]",
        band("floor((k mod 16)/8)"),
        "thread[4,32]",
        band("2*floor((i mod 128)/64) + floor((j mod 128)/64)", "4*(i mod 8) + floor((j mod 8)/2)"),
        band("i", "j", "k"),
    ]
    return tree(DOMAIN, *levels)


def fragments(buffers: int, ahead: int, rows: int = 64) -> Placement:
    return Placement(
        "A_frag",
        "A",
        (("S1", 0),),
        "kk",
        Space.PRIVATE,
        Owner.WARP,
        f"{{ [[bi, bj, k0, kk, w] -> A[i, k]] -> [kk mod {buffers}, i mod {rows}, k mod 8] }}",
        (buffers, rows, 8),
        Layout(fragment="m16n8k8.a"),
        fill=Copy(
            "[n] -> { [bi, bj, k0, kk, w] -> A[i, k] : floor(i/64) = 2 bi + floor(w/2) and "
            "floor(k/8) = 2 k0 + kk and 0 <= i, k < n }",
            "kk",
            ahead,
        ),
    )


@pytest.mark.parametrize(("buffers", "ahead"), [(1, 0), (2, 1)])
def test_fragments_that_are_filled_from_a_tile(gemm: Scop, buffers: int, ahead: int) -> None:
    assert whys(gemm, in_warps(), a_tile(), fragments(buffers, ahead)) == set()


def test_fragments_that_are_overwritten_too_early(gemm: Scop) -> None:
    assert OTHER in whys(gemm, in_warps(), a_tile(), fragments(1, 1))


def test_fragments_of_fewer_rows(gemm: Scop) -> None:
    assert OTHER in whys(gemm, in_warps(), a_tile(), fragments(1, 0, 32))
