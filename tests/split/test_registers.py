"""Split tiles whose values are in registers: bit by bit what C computes, proven, checked, and wrong plans refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import polytile
from polytile.api import CompiledScop
from polytile.certificate import certificate
from polytile.check.time_tiles.problems import time_tile_problems
from polytile.diagnostics import UserError
from polytile.ir.plan import KernelPlan
from polytile.ir.plan_file import from_json, to_json
from polytile.ir.split_tiles import SplitTiles
from polytile.ir.time_tile import Exchange
from polytile.scheduling.proof.time_tiles.split import prove_split
from polytile.scheduling.proof.wrong_plans import WrongTimeTileError
from polytile.scheduling.strategies.split import register_tile_sizes
from tests.bitwise import same_as_c
from tests.time_tiles import tile_of

from .checks import compiled
from .program import Array, Program, Read, Update, box, c_text, star
from .test_forms import FAMILIES

pytestmark = pytest.mark.usefixtures("emulator")
WARPS = ((64,), (4, 32))  # the threads of a block, by dimensions
SIDES = Program(  # an asymmetric cone: two arrays that update each other in place, radius 2 to one side
    2,
    (Array("A"), Array("B")),
    (
        Update("A", (Read("A", 0, (0, 0)), Read("B", 0, (-2, 1)), Read("B", 0, (0, -1))), (2, 1), (0, 1)),
        Update("B", (Read("B", 0, (0, 0)), Read("A", 0, (1, 2))), (1, 0), (1, 2)),
    ),
)
THREE_TURNS = """
void f(int T, int N, double A[3][N])
{
#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 3; i < N - 1; i++)
            A[(t + 2) % 3][i] = 0.5 * A[(t + 1) % 3][i + 1] + 0.25 * A[t % 3][i - 3];
#pragma endscop
}
"""  # values travel 3 places in 2 steps: a slope of 3/2 below; what is read is overwritten a step later, 3 places above
TEXTS = {
    "jacobi-1d": (FAMILIES / "polybench/jacobi-1d.c", 4),
    "jacobi-2d": (FAMILIES / "polybench/jacobi-2d.c", 3),
    "fdtd-2d": (FAMILIES / "polybench/fdtd-2d.c", 3),
    "jacobi-1d-7pt": (FAMILIES / "split/jacobi-1d-7pt.c", 2),
    "red-black-2d": (FAMILIES / "split/red-black-2d.c", 2),
    "one-sided-pair": (FAMILIES / "split/one-sided-pair.c", 3),
    "star-1d-4": (star(1, 4), 2),
    "star-2d-2": (star(2, 2), 2),
    "box-2d-1": (box(2, 1), 4),
    "box-2d-3": (box(2, 3), 2),
    "sides": (SIDES, 3),
}


def in_registers(name: str, **settings: Any) -> CompiledScop:
    """A program in tiles in registers, of bands of the height that is tested."""
    source, height = TEXTS[name]
    text, file = (c_text(source), "f.c") if isinstance(source, Program) else (source.read_text(), str(source))
    dims = 1 if "1d" in name or name == "one-sided-pair" else 2
    return compiled(text, file, **{"time_tile": height, "block": WARPS[dims - 1], **settings})


def planned(scop: CompiledScop) -> SplitTiles:
    plan = scop.compilation.split
    assert plan is not None, scop.compilation.considered
    return plan


def sizes(plan: SplitTiles) -> Iterator[dict[str, int]]:
    """No steps to several bands, on extents below a tile's width, no multiple of it, and over several."""
    height, widths = plan.iterations, [cut.width for cut in plan.cuts]
    for steps in sorted({0, 1, height - 1, height, height + 1, 3 * height + 2}):
        for extents in ([7] * plan.dims, [w + 3 for w in widths], [2 * cut.period + 5 for cut in plan.cuts]):
            first, last = extents[0], extents[-1]
            yield {"tsteps": steps, "tmax": steps, "T": steps, "n": last, "nx": first, "ny": last} | dict(
                zip("NM", extents, strict=False)
            )


@pytest.mark.slow(but="jacobi-1d")
@pytest.mark.parametrize("name", TEXTS)
def test_values(name: str) -> None:
    scop = in_registers(name, tile=(24,) if name == "jacobi-1d" else ())
    same_as_c(scop, sizes(planned(scop)))


@pytest.mark.slow(but=("star-1d-4",))
@pytest.mark.parametrize("name", ["jacobi-1d", "jacobi-1d-7pt", "one-sided-pair", "star-1d-4"])
def test_several_warps_in_a_tile_of_one_dimension(name: str) -> None:
    scop = in_registers(name, block=(96,), tile=(80,))
    plan = planned(scop)
    assert plan.tile_warps == 3
    assert plan.tiles == 1
    same_as_c(scop, sizes(plan))
    known = json.loads(certificate("f.c", "", (), [scop.compilation]))["scops"][0]
    alone = {**tile_of(known), "exchange": "shuffles", "threads": [3]}
    context = scop.compilation.scop.context
    assert list(time_tile_problems(known["program"], tile_of(known), [], context)) == []
    assert any("more places than" in problem for problem in time_tile_problems(known["program"], alone, [], context))


@pytest.mark.slow(but="sides")
@pytest.mark.parametrize("name", ["jacobi-2d", "fdtd-2d", "star-2d-2", "sides"])
def test_split_barriers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = register_tile_sizes.with_sizes

    def split(*given: Any, **named: Any) -> SplitTiles:
        return replace(whole(*given, **named), split_barrier=True)

    monkeypatch.setattr(register_tile_sizes, "with_sizes", split)
    scop = in_registers(name)
    assert planned(scop).split_barrier
    diagonal = name == "sides"  # rows of other warps with columns of other lanes are waited for at once
    assert ("polytile_arrive" in scop.cuda) != diagonal
    same_as_c(scop, sizes(planned(scop)))


def test_warps_inside_a_tile_test_no_rows() -> None:
    """Once for each statement with tests, as values, and once without."""
    text = in_registers("jacobi-2d").cuda
    assert text.count("new_B;") == text.count("new_A;") == 2
    assert len(re.findall(r"bool row_of_S\d = ", text)) == 2
    assert not re.search(r"if \(\(?r\b", text)


def test_blocks_whose_tiles_write_nothing_leave_before_they_load() -> None:
    """The grid is as wide as that of tiles that grow, and one that shrinks may have no places. Blocks wait for earlier
    launches all the same, as what a later launch waits for is this one."""
    text = in_registers("jacobi-2d").cuda
    kernel = text[text.index("__global__") :]
    places = [kernel.index(word) for word in ("polytile_await_launches();", "the tile has no places", "// fill")]
    assert places == sorted(places)


def test_launches_of_a_band_start_while_the_ones_before_end() -> None:
    text = in_registers("jacobi-1d").cuda
    assert "run.early().launch(" in text
    kernel = text[text.index("__global__") :]
    assert kernel.index("polytile_await_launches();") < kernel.index("// fill")


def test_a_cell_is_filled_and_drained_by_one_comparison() -> None:
    text = in_registers("jacobi-2d").cuda
    fill = text[text.index("// fill") : text.index("// A at step u")]
    assert re.search(r"A_own\[.*\] = column_rank_\d\[v_2\] <= row_rank_\d\[r_2\] \?\s+A\[", fill)


@pytest.mark.slow(but="3")
@pytest.mark.parametrize("warps", [1, 3])
def test_a_tile_of_one_dimension_for_each_warp(warps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = register_tile_sizes.with_sizes

    def apart(*given: Any, **named: Any) -> SplitTiles:
        plan = whole(*given, **named)
        return replace(plan, exchange=Exchange.WARP, threads=(warps,), points=(3,))

    monkeypatch.setattr(register_tile_sizes, "with_sizes", apart)
    scop = in_registers("jacobi-1d", block=(32,), tile=(80,))
    plan = planned(scop)
    assert plan.tiles == warps
    same_as_c(scop, [*sizes(plan), {"tsteps": 6, "n": 700}])


@pytest.mark.slow
def test_slopes_are_rounded_up_to_whole_places() -> None:
    scop = compiled(THREE_TURNS, time_tile=6, block=(32,))
    plan = planned(scop)
    assert (plan.cuts[0].lower, plan.cuts[0].upper) == (2, 3)
    assert dict(plan.versions) == {"A": 3}
    same_as_c(scop, sizes(plan))


@pytest.mark.slow
def test_tiles_that_update_in_place_load_the_very_places_that_they_read() -> None:
    """Those of a launch that grow along different dimensions meet at corners of the boxes around what they read."""
    scop = in_registers("red-black-2d")
    state, plan = scop.compilation, planned(scop)
    assert plan.exact
    assert state.dependences is not None
    boxes = replace(plan, exact=False)
    prove_split(state.scop, state.dependences, plan)
    with pytest.raises(WrongTimeTileError, match="loads elements of A that another one of the launch writes"):
        prove_split(state.scop, state.dependences, boxes)
    known = json.loads(certificate("f.c", "", (), [state]))["scops"][0]
    assert list(time_tile_problems(known["program"], tile_of(known), [], state.scop.context)) == []
    (problem,) = time_tile_problems(known["program"], to_json(boxes), [], state.scop.context)
    assert "loads elements of A that its launch writes" in problem


@pytest.mark.slow
def test_float_and_several_cells_a_thread() -> None:
    scop = compiled(c_text(replace(SIDES, element="float")), time_tile=2, block=(2, 32), tile=(14, 60))
    assert min(planned(scop).points) > 1
    same_as_c(scop, ({"T": steps, "N": n, "M": n + 3} for steps in (2, 5) for n in (9, 100)))


@pytest.mark.slow
def test_the_schedule_is_saved_and_loaded_with_its_plan() -> None:
    scop = in_registers("jacobi-2d")
    file = FAMILIES / "polybench/jacobi-2d.c"
    saved = scop.compilation.saved_schedule()
    (again,) = polytile.compile(file.read_text(), name=str(file), load_schedule=saved, strict=True).scops
    assert planned(again) == planned(scop)
    same_as_c(again, ({"tsteps": 5, "n": 30},))
    wrong = saved.replace('"offset": [0, -1]', '"offset": [0, 0]', 1)
    assert wrong != saved
    with pytest.raises(UserError, match="split tiles in registers: access 1 of S0 is not of the element"):
        polytile.compile(file.read_text(), name=str(file), load_schedule=wrong, strict=True)
    written = KernelPlan(0, time_tile=planned(scop))
    assert from_json(KernelPlan, json.loads(json.dumps(to_json(written)))) == written


@pytest.mark.slow
def test_what_has_no_tiles_in_registers_says_why() -> None:
    heat = (FAMILIES / "polybench/heat-3d.c").read_text()
    reasons = compiled(heat, str(FAMILIES / "polybench/heat-3d.c")).compilation.considered
    assert any("not in registers: 3 dimensions of space" in line for line in reasons)
    reasons = in_registers("jacobi-2d", block=(4, 8), tile=(20, 20)).compilation.considered
    assert any("threads of a block are not 32 lanes across" in line for line in reasons)


# Planted errors -----------------------------------------------------------------------------------
def _wrong(plan: SplitTiles) -> Iterator[SplitTiles]:
    """Plans that would compute something else."""
    cut, write, read = plan.cuts[0], plan.writes[-1], plan.reads[0]
    steeper = replace(cut, lower=cut.lower - 1)
    narrower = replace(cut, width=1, period=cut.period - cut.width + 1)
    other = tuple(d + 1 for d in read.offset)
    yield replace(plan, cuts=(steeper, *plan.cuts[1:]))
    yield replace(plan, cuts=(narrower, *plan.cuts[1:]))
    yield replace(plan, writes=(*plan.writes[:-1], replace(write, lower=(0,) * plan.dims, upper=(0,) * plan.dims)))
    yield replace(plan, writes=(*plan.writes[:-1], replace(write, level=0)))
    yield replace(plan, reads=(replace(read, offset=other), *plan.reads[1:]), points=tuple(2 * n for n in plan.points))
    yield replace(plan, reads=plan.reads[1:])
    yield replace(plan, transient=tuple(array for array, _ in plan.versions))


@pytest.mark.slow(but="jacobi-1d")
@pytest.mark.parametrize("name", ["jacobi-1d", "jacobi-2d"])
def test_planted_errors_are_refused_by_proof_and_checker(name: str) -> None:
    scop = in_registers(name)
    state, plan = scop.compilation, planned(scop)
    assert state.dependences is not None
    prove_split(state.scop, state.dependences, plan)
    known = json.loads(certificate("f.c", "", (), [state]))["scops"][0]
    context = state.scop.context
    assert list(time_tile_problems(known["program"], tile_of(known), [], context)) == []
    for wrong in _wrong(plan):
        with pytest.raises(WrongTimeTileError):
            prove_split(state.scop, state.dependences, wrong)
        assert list(time_tile_problems(known["program"], to_json(wrong), [], context)), wrong
