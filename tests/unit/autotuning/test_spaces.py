"""Spaces of real programs: what they consist of, and that the compiler takes their points."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

import polytile
from polytile.autotuning.search.named import default_search
from polytile.autotuning.space import Space
from polytile.autotuning.spaces import default_point, space_of
from polytile.autotuning.strategy_defaults import compiled_with, kernel_text
from polytile.autotuning.streaming_space import STREAMING, ZHANG_MUELLER
from polytile.choices import Choices
from polytile.codegen.targets.cuda.shared_memory import shared_bytes
from polytile.compiled_scop import CompiledScop
from polytile.machine import STATIC_SHARED_BYTES

ROOT = Path(__file__).parents[3] / "polybench" / "polybench"
PROGRAMS = {
    "jacobi-1d": {"tsteps": 1000, "n": 400000},
    "jacobi-2d": {"tsteps": 500, "n": 1300},
    "heat-3d": {"tsteps": 500, "n": 120},
    "gemm": {"ni": 1000, "nj": 1100, "nk": 1200},
    "atax": {"m": 1900, "n": 2100},
}


def compiled(name: str) -> tuple[CompiledScop, dict[str, int]]:
    sizes = PROGRAMS[name]
    (scop,) = polytile.compile(ROOT / f"{name}.c", parameters=sizes).scops
    return scop, sizes


def parts(space: Space) -> dict[str, int]:
    return {part.schedule: len(list(part.points())) for part in space.parts}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_points_compile_to_kernels_of_their_own(name: str) -> None:
    """Nine of ten points of a part are taken, and hardly any has the kernels of another one."""
    scop, sizes = compiled(name)
    for part in space_of(scop, sizes).parts:
        points = list(part.points())
        some = random.Random(1).sample(points, min(6, len(points)))
        made = [compiled_with(scop, sizes, part.choices(dict(point))) for point in some]
        taken = [one for one in made if one is not None]
        assert len(taken) >= 0.9 * len(some), part.schedule
        assert len({kernel_text(one) for one in taken}) >= 0.75 * len(taken), part.schedule


@pytest.mark.slow
def test_time_loops_have_tiles_of_time() -> None:
    scop, sizes = compiled("jacobi-2d")
    space = space_of(scop, sizes)
    assert {"classic", "split", "overlapped"} <= set(parts(space))
    assert len(space.points) == len(set(space.points)) <= 500
    times = {dict(point)["time_tile"] for point in space.points if dict(point)["schedule"] == "overlapped"}
    assert {1, 2, 3, 4} <= times
    assert max(times) <= 250  # a pair of blocks in all iterations


@pytest.mark.slow
def test_the_compilers_own_tiles_of_time_are_points() -> None:
    """Of 25 iterations there are four blocks in 100, which leave nothing to slower kernels."""
    sizes = {"tsteps": 100, "n": 20000}
    (scop,) = polytile.compile(ROOT / "jacobi-1d.c", parameters=sizes).scops
    plan = scop.compilation.overlapped
    assert plan is not None and sizes["tsteps"] % (2 * plan.iterations) == 0
    assert dict(default_point(space_of(scop, sizes), scop))["time_tile"] == plan.iterations


@pytest.mark.slow
@pytest.mark.parametrize("source, sizes", [("cluster/stencil-7pt.c", {"tsteps": 9}), ("reorder/3d27pt.c", {})])
def test_stencils_of_three_dimensions_have_streaming_kernels(source: str, sizes: dict[str, int]) -> None:
    """In a time loop as well as of a single sweep; all of Zhang and Mueller's where these are asked for."""
    sizes = {**sizes, "nx": 258, "ny": 258, "nz": 258}
    (scop,) = polytile.compile(ROOT.parent / source, parameters=sizes).scops
    templates = 1 if "27" in source else 2
    all_of_them = space_of(scop, sizes, [ZHANG_MUELLER])
    assert parts(all_of_them) == {ZHANG_MUELLER: 544 * templates}
    few = space_of(scop, sizes, [STREAMING])
    assert parts(few) == {STREAMING: 18 * templates}
    asked = {few.choices(point) for point in few.points}
    assert asked < {all_of_them.choices(point) for point in all_of_them.points}
    some = random.Random(1).sample(all_of_them.points, 3)
    made = [compiled_with(scop, sizes, all_of_them.choices(point)) for point in some]
    assert len({kernel_text(one) for one in made if one is not None}) == 3


@pytest.mark.slow
def test_sizes_may_be_those_of_one_kernel() -> None:
    scop, sizes = compiled("atax")
    (part,) = space_of(scop, sizes, ["classic"]).parts
    point = next(point for point in part.points() if dict(point)["kernel"] == "1" and dict(point)["columns"] == 2)
    assert part.choices(dict(point)).sizes == "{ kernel[1] -> tile[64]; kernel[1] -> block[32] }"
    made = compiled_with(scop, sizes, part.choices(dict(point)))
    default = compiled_with(scop, sizes, Choices(schedule="classic"))
    assert made is not None and made.program is not None
    assert default is not None and default.program is not None
    threads, before = ([kernel.block for kernel in one.kernels] for one in (made.program, default.program))
    assert threads[0] == before[0]
    assert threads[1][0] == 32


@pytest.mark.slow
def test_each_kernel_may_have_sizes_of_its_own() -> None:
    """All combinations of few sizes, none with those of all kernels; the space can still be searched whole."""
    scop, sizes = compiled("atax")
    space = space_of(scop, sizes)
    assert default_search(space) == "exhaustive"
    (part,) = (part for part in space.parts if part.schedule == "classic")
    each = [dict(point) for point in part.points() if dict(point)["kernel"] == "each"]
    own = [((p["block_x"], p["columns"]), (p["block_x_1"], p["columns_1"])) for p in each]
    assert len(own) == len(set(own)) == 6 * 5 and all(one != other for one, other in own)
    others = [dict(point) for point in part.points() if dict(point)["kernel"] != "each"]
    assert all(p["block_x_1"] == p["columns_1"] == 0 for p in others) and len(others) == 72
    point = next(p for p in each if (p["block_x"], p["columns"], p["block_x_1"], p["columns_1"]) == (64, 1, 256, 2))
    asked = part.choices(point)
    assert asked.sizes == "{ kernel[0] -> block[64]; kernel[1] -> tile[512]; kernel[1] -> block[256] }"
    made = compiled_with(scop, sizes, asked)
    assert made is not None and made.program is not None
    assert [kernel.block[0] for kernel in made.program.kernels] == [64, 256]


@pytest.mark.slow
def test_many_short_launches_may_be_graphs_or_not() -> None:
    """Of a small grid, not of a large one, nor of a single launch; at the strategy's own sizes where there are many."""
    sizes = {"tsteps": 500, "n": 1300}
    (scop,) = polytile.compile(ROOT / "jacobi-2d.c", parameters=sizes).scops
    space = space_of(scop, sizes, ["classic", "overlapped"])
    for part in space.parts:
        points = [dict(point) for point in part.points()]
        (other,) = (point for point in points if not point["graphs"])
        same = compiled_with(scop, sizes, part.choices({**other, "graphs": True}))
        without = compiled_with(scop, sizes, part.choices(other))
        assert same is not None and same.program is not None and same.program.graphs
        assert without is not None and without.program is not None and not without.program.graphs
        assert same.cuda != without.cuda
    assert dict(default_point(space, scop))["graphs"] is True
    large = {"tsteps": 500, "n": 9000}
    (scop,) = polytile.compile(ROOT / "jacobi-2d.c", parameters=large).scops
    (part,) = space_of(scop, large, ["classic"]).parts
    assert "graphs" not in {parameter.name for parameter in part.parameters}


@pytest.mark.slow
def test_small_spaces_have_graphs_everywhere() -> None:
    sizes = {"n": 2000}
    (scop,) = polytile.compile(ROOT / "trisolv.c", parameters=sizes).scops
    (part,) = space_of(scop, sizes, ["classic"]).parts
    points = list(part.points())
    assert 2 * sum(bool(dict(point)["graphs"]) for point in points) == len(points)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gemm", "jacobi-2d"])
def test_tiles_that_need_more_shared_memory_ask_for_it(name: str) -> None:
    """Which others do not; the compiler takes them, and has other kernels or none without."""
    scop, sizes = compiled(name)
    (part,) = space_of(scop, sizes, ["tiled" if name == "gemm" else "split"]).parts
    asked = [part.choices(dict(point)) for point in part.points()]
    large = [one for one in asked if one.max_shared_memory is not None]
    assert large and any(one.max_shared_memory is None for one in asked)
    for one in random.Random(3).sample(large, 3):
        made, without = (compiled_with(scop, sizes, asked) for asked in (one, replace(one, max_shared_memory=None)))
        assert made is not None and made.program is not None
        assert without is None or kernel_text(without) != kernel_text(made)
        assert name != "gemm" or max(shared_bytes(k) for k in made.program.kernels) > STATIC_SHARED_BYTES


@pytest.mark.slow
def test_matrix_products_have_tiles_of_operands() -> None:
    scop, sizes = compiled("gemm")
    space = space_of(scop, sizes)
    assert set(parts(space)) == {"classic", "superposed", "tiled"}
    assert len(space.points) <= 500


@pytest.mark.slow
def test_the_compilers_choice_is_near_a_point() -> None:
    scop, sizes = compiled("gemm")
    space = space_of(scop, sizes)
    point = default_point(space, scop)
    assert dict(point) == {"schedule": "tiled", "block_y": 8, "block_x": 16, "rows": 6, "columns": 6, "serial": 16}
    same = compiled_with(scop, sizes, space.choices(point))
    assert same is not None
    assert kernel_text(same) == kernel_text(scop)


@pytest.mark.slow
def test_spaces_depend_on_the_program_and_sizes_alone() -> None:
    scop, sizes = compiled("gemm")
    assert space_of(scop, sizes).points == space_of(scop, sizes).points
