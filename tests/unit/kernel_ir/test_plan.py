"""Plans of kernels: what they refuse, how they read, and that files keep them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from polytile.diagnostics import InternalError, UserError
from polytile.ir.cell_layout import Layout
from polytile.ir.memory import Space
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamRead, StreamStep, StreamStore
from polytile.ir.plan import (
    Copy,
    KernelPlan,
    LaunchPlan,
    LoopPlan,
    Owner,
    Placement,
)
from polytile.ir.plan_file import from_json, to_json
from polytile.ir.plan_text import plan_lines, split_plans
from polytile.ir.time_tile import Exchange

TILE = Placement(
    "A_tile",
    "A",
    (("S1", 1),),
    "k0",
    Space.SHARED,
    Owner.BLOCK,
    "{ [[bi, bj, k0] -> A[i, k]] -> [k0 mod 3, i - 128 bi, k - 16 k0] }",
    (3, 128, 16),
    Layout(pad=4),
    fill=Copy("{ [bi, bj, k0] -> A[i, k] : 0 <= i - 128 bi < 128 }", "k0", 2, "async", 2, (1, 0)),
)
ACCUMULATORS = Placement(
    "C_acc",
    "C",
    (("S1", 0), ("S1", 3)),
    "k0",
    Space.PRIVATE,
    Owner.THREAD,
    "{ [[bi, bj, ty, tx] -> C[i, j]] -> [i mod 4, j mod 2] }",
    (4, 2),
    drain=Copy("{ [bi, bj, ty, tx] -> C[i, j] : 4 ty <= i < 4 ty + 4 }", "k0"),
)
STREAM = OverlappedTiles(
    Exchange.WARP,
    (4,),
    (2,),
    1,
    (StreamRead("S0", 0, (-1, 0), 1, 0),),
    2,
    (StreamStep(0, "A", (), -1, (-1, -1), (2, 2), 0, 4), StreamStep(1, "A", ("S0",), 0, (0, 0), (1, 1), 1, 3)),
    (StreamStore(1, 0),),
    ((0, "A_next"),),
)
PLAN = KernelPlan(
    0,
    (TILE, ACCUMULATORS),
    (LoopPlan("k0", partition=True), LoopPlan("k", unroll=0, loads_first=8)),
    LaunchPlan(2),
    (("A", "streaming"),),
    (("kk", "m16n8k8"),),
)


def test_files_keep_plans() -> None:
    text = json.dumps(to_json(PLAN))
    assert from_json(KernelPlan, json.loads(text)) == PLAN


def test_files_leave_out_what_is_off() -> None:
    assert to_json(KernelPlan(2)) == {"kernel": 2}
    assert to_json(LoopPlan("k")) == {"label": "k"}


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        {"kernel": "0"},
        {"kernel": 0, "speed": 1},
        {"kernel": 0, "loops": [{"label": "k", "unroll": True}]},
        {"kernel": 0, "loops": {"label": "k"}},
        {"kernel": 0, "products": [["k"]]},
        {"kernel": 0, "placements": [to_json(TILE) | {"owner": "grid"}]},
        {"kernel": 0, "placements": [to_json(TILE) | {"cell": "{ [["}]},
    ],
)
def test_a_file_with_no_plan_is_the_users_error(content: Any) -> None:
    with pytest.raises(UserError, match="this is no KernelPlan"):
        from_json(KernelPlan, content)


def test_plans_are_short_to_read() -> None:
    assert str(KernelPlan(0, (TILE,), (LoopPlan("k", unroll=0, loads_first=2),))) == "\n".join(
        [
            "kernel 0:",
            "  A_tile: A in shared memory of a block, 3 x 128 x 16 (pad 4), "
            "{ [[bi, bj, k0] -> A[i, k]] -> [k0 mod 3, i - 128 bi, k - 16 k0] }",
            "    for access 1 of S1 below k0",
            "    filled { [bi, bj, k0] -> A[i, k] : 0 <= i - 128 bi < 128 } at k0, "
            "2 ahead, async, 2 wide, lanes over 1, 0",
            "  loop k: unroll all, loads of 2 first",
        ]
    )
    assert [line.strip() for line in KernelPlan(0, time_tile=STREAM).lines()][2:] == [
        "1 iterations a kernel, tiles of 64 cells that own 60 (redundancy 1.07), by shuffles",
        "step 0: A of iteration t0-1, loaded: box [-1..+2, -1..+2], lag 0, 4 planes",
        "step 1: A of iteration t0+0, by S0: box [0..+1, 0..+1], lag 1, 3 planes",
    ]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"cell": "{ [[b] -> A[i, k]] -> [s, i, k] : 0 <= s < 2 }"}, "two cells for one element"),
        ({"cell": "{ [[b] -> A[i, k]] -> [i, k] }"}, "one extent for each part"),
        ({"cell": "{ [[b] -> B[i, k]] -> [0, i, k] }"}, "cells of B"),
        ({"cell": "{ A[i, k] -> [0, i, k] }"}, "function of place and element"),
        ({"cell": "nothing"}, "no relation"),
        ({"extents": (3, 0, 16)}, "extents"),
        ({"name": "A tile"}, "no name"),
        ({"memory": Space.PRIVATE}, "no registers"),
        ({"memory": Space.GLOBAL}, "global memory"),
        ({"memory": Space.PRIVATE, "owner": Owner.WARP}, "fragments"),
        ({"through": True, "drain": Copy("{ [b] -> A[i, k] }", "k0")}, "through and drained"),
        ({"drain": Copy("{ [b] -> A[i, k] }", "k0", ahead=1)}, "neither early"),
        ({"fill": Copy("{ [b] -> B[i, k] }", "k0")}, "elements of B"),
        ({"fill": Copy("{ [b] -> A[i, k] }", "kernel")}, "above its level"),
        ({"uses": (("S1", 1), ("S1", 1))}, "twice"),
    ],
)
def test_wrong_placements(change: dict[str, Any], why: str) -> None:
    with pytest.raises(InternalError, match=why):
        replace(TILE, **change)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"mode": "later"}, "mode"),
        ({"ahead": -1}, "ahead"),
        ({"lanes": (2,)}, "dimensions"),
        ({"lanes": (0, 0)}, "dimensions"),
        ({"elements": "{ [b] -> [i, k] }"}, "no array"),
        ({"at": "kernel", "ahead": 1}, "no iteration"),
    ],
)
def test_wrong_copies(change: dict[str, Any], why: str) -> None:
    with pytest.raises(InternalError, match=why):
        replace(Copy("{ [b] -> A[i, k] }", "k0"), **change)


def test_wrong_kernel_plans() -> None:
    with pytest.raises(InternalError, match="one name"):
        KernelPlan(0, (TILE, TILE))
    with pytest.raises(InternalError, match="one name"):
        KernelPlan(0, loops=(LoopPlan("k"), LoopPlan("k")))
    with pytest.raises(InternalError, match="hints"):
        KernelPlan(0, cache=(("A", "forever"),))


def test_wrong_stream_plans() -> None:
    with pytest.raises(InternalError, match="what is stored is made"):
        replace(STREAM, stores=(StreamStore(0, 0),))
    with pytest.raises(InternalError, match="second buffer"):
        replace(STREAM, shadows=())
    with pytest.raises(InternalError, match="all halo"):
        replace(STREAM, steps=(replace(STREAM.steps[0], lower=(-1, -70)), STREAM.steps[1]))


def test_files_keep_stream_plans() -> None:
    plans = (KernelPlan(0, time_tile=STREAM),)
    assert split_plans("tree\n" + plan_lines(plans)) == ("tree\n", plans)
    with pytest.raises(UserError, match="cannot read"):
        split_plans("# plan of kernel 0\n# time_tile {\n")
    content = to_json(plans[0])
    for shape in ("hexagonal", None):
        with pytest.raises(UserError, match="is no TimeTile"):
            from_json(KernelPlan, {**content, "time_tile": {**content["time_tile"], "shape": shape}})
    for line in ("# stream {}", "# split {}"):
        with pytest.raises(UserError, match="is of an older polytile"):
            split_plans(f"tree\n{line}\n")


# Layouts -------------------------------------------------------------------------------------------------------------
def addresses(layout: Layout, *extents: int) -> list[tuple[int, int]]:
    layout.check(extents)
    return [layout.address((row, column), extents) for row in range(extents[0]) for column in range(extents[1])]


def test_padding_and_swizzles() -> None:
    assert addresses(Layout(), 2, 2) == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert addresses(Layout(pad=1), 2, 2) == [(0, 0), (0, 1), (0, 3), (0, 4)]
    assert addresses(Layout(swizzle=(2, 1)), 2, 2) == [(0, 0), (0, 1), (0, 3), (0, 2)]
    assert Layout(pad=4).size((3, 128, 16)) == 3 * 128 * 20
    assert Layout().size(()) == 1


def test_a_swizzle_that_leaves_its_row() -> None:
    with pytest.raises(InternalError, match="layout"):
        addresses(Layout(swizzle=(4, 1)), 4, 3)


@pytest.mark.parametrize(
    ("fragment", "extents", "registers"),
    [("m16n8k8.d", (32, 16), 16), ("m16n8k8.a", (64, 8), 16), ("m16n8k8.b", (8, 8), 2), ("m16n8k4.a", (16, 8), 4)],
)
def test_fragments_spread_over_all_lanes(fragment: str, extents: tuple[int, int], registers: int) -> None:
    layout = Layout(fragment=fragment)
    found = addresses(layout, *extents)
    assert layout.size(extents) == registers
    assert sorted(found) == [(lane, register) for lane in range(32) for register in range(registers)]


def test_cells_that_are_no_tiles_of_a_fragment() -> None:
    with pytest.raises(InternalError, match="no tiles"):
        Layout(fragment="m16n8k8.a").check((24, 8))


def test_fragments_are_those_of_matrix_products() -> None:
    """Lane 4 g + t holds of a rows g and g + 8 at columns t and t + 4."""
    layout = Layout(fragment="m16n8k8.a")
    held = {layout.address((row, column), (16, 8)): (row, column) for row in range(16) for column in range(8)}
    assert [held[4 * 3 + 2, register] for register in range(4)] == [(3, 2), (11, 2), (3, 6), (11, 6)]
