"""Plans in schedule files: what was saved gives the same kernels, what is taken out is not done, errors are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.ir.memory import Space
from polytile.ir.plan import KernelPlan, LoopPlan
from polytile.ir.plan_text import plan_lines, split_plans
from tests.benchmarks import compiled
from tests.reading import shared

SUITE = Path(__file__).parents[3] / "polybench" / "polybench"


@shared
def suite(program: str, **settings: Any) -> polytile.Program:
    return polytile.compile(SUITE / f"{program}.c", **settings) if settings else compiled(program)


def kernels(program: polytile.Program) -> list[Any]:
    return [(k.name, k.block, k.storage, k.body) for made in program.programs for k in made.kernels]


def edited(text: str, word: str, change: Callable[[dict[str, Any]], Any], which: str = "") -> str:
    """The text with the lines of one kind that mention `which` changed, or taken out where `change` gives nothing."""
    found, done = [], 0
    for line in text.splitlines():
        if line.startswith(f"# {word} {{") and which in line:
            part = change(json.loads(line.removeprefix(f"# {word} ")))
            done += 1
            if part is None:
                continue
            line = f"# {word} {json.dumps(part)}"
        found.append(line)
    assert done, f"no {word} with {which!r}"
    return "\n".join(found) + "\n"


@pytest.fixture(scope="module")
def atax() -> polytile.Program:
    return suite("atax", schedule="superposed")


@pytest.fixture(scope="module")
def gemm() -> polytile.Program:
    return suite("gemm", schedule="superposed")


# Round trips ---------------------------------------------------------------------------------------------------------
@pytest.mark.slow(but="gemm-superposed")
@pytest.mark.parametrize("schedule", ["classic", "superposed"])
@pytest.mark.parametrize("program", ["atax", "gemm", "doitgen", "gesummv", "jacobi-2d", "symm"])
def test_what_was_saved_gives_the_same_kernels(program: str, schedule: str) -> None:
    first = suite(program, schedule=schedule)
    again = suite(program, load_schedule=first.schedules)
    assert kernels(again) == kernels(first)
    assert [s.plans for s in again.scops] == [s.plans for s in first.scops]
    assert [plan_lines(s.plans) for s in again.scops] == [plan_lines(s.plans) for s in first.scops]


@pytest.mark.slow
def test_a_file_without_plans_leaves_them_to_be_found(atax: polytile.Program) -> None:
    lines = atax.schedules.splitlines()
    trees = "\n".join(line for line in lines if not line.startswith(("# plan", "# plac", "# loop", "# cache")))
    assert "placement" not in trees
    assert kernels(suite("atax", load_schedule=trees)) == kernels(atax)


@pytest.mark.slow
def test_what_is_saved(atax: polytile.Program, gemm: polytile.Program) -> None:
    (plan, *_) = atax.scops[0].plans
    assert {p.name for p in plan.placements} == {"tmp_part", "y_part", "tmp_here"}
    assert [p.name for p in plan.placements if p.through] == ["tmp_here"]
    (tile,) = (loop for plan in gemm.scops[0].plans for loop in plan.loops)
    assert tile.loads_first and tile.registers > 1
    assert gemm.scops[0].schedule in gemm.schedules and "# loop" not in gemm.scops[0].schedule


# What a file says is done ---------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
def test_a_placement_that_is_taken_out(atax: polytile.Program) -> None:
    """The array stays in device memory."""
    text = edited(atax.schedules, "placement", lambda _: None, "tmp_here")
    (scop,) = suite("atax", load_schedule=text).scops
    assert "tmp_here" in atax.cuda and "tmp_here" not in scop.cuda
    scop.validate(on="emulator", parameters={"m": 33, "n": 65}, seed=1)


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
def test_partial_results_that_leave_shared_memory(atax: polytile.Program) -> None:
    text = edited(atax.schedules, "placement", lambda _: None, '"y_sums_all"')
    (scop,) = suite("atax", load_schedule=text).scops
    assert scop.program is not None and scop.program.buffer("y_sums_all")
    assert not any(s.space is Space.SHARED for s in scop.program.kernels[1].storage)
    scop.validate(on="emulator", parameters={"m": 33, "n": 65}, seed=1)


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
def test_loops_that_load_less_first(gemm: polytile.Program) -> None:
    def plain(loop: dict[str, Any]) -> dict[str, Any]:
        return {"label": loop["label"]}

    def fewer(loop: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in loop.items() if k != "loads_first"}

    for change in (plain, fewer, lambda _: None):
        (scop,) = suite("gemm", load_schedule=edited(gemm.schedules, "loop", change)).scops
        assert kernels(suite("gemm", load_schedule=scop.saved_schedule)) != kernels(gemm)
        assert all(not loop.loads_first for plan in scop.plans for loop in plan.loops)
        scop.validate(on="emulator", parameters={"ni": 5, "nj": 70, "nk": 9}, seed=1)


@pytest.mark.slow
def test_more_cells_than_needed(atax: polytile.Program) -> None:
    def larger(placement: dict[str, Any]) -> dict[str, Any]:
        return {**placement, "cell": placement["cell"].replace("mod 16", "mod 32"), "extents": [32]}

    (scop,) = suite("atax", load_schedule=edited(atax.schedules, "placement", larger, "tmp_here")).scops
    assert "tmp_here[32]" in scop.cuda


# Errors --------------------------------------------------------------------------------------------------------------
def fewer_cells(placement: dict[str, Any]) -> dict[str, Any]:
    return {**placement, "cell": placement["cell"].replace("mod 16", "mod 8"), "extents": [8]}


WRONG: list[tuple[str, Callable[[dict[str, Any]], Any], str, str]] = [
    ("tmp_here", fewer_cells, "the storage of tmp is wrong", "stays in device memory"),
    ("tmp_here", lambda p: {**p, "extents": [8]}, "no element for each remainder", "stays in device memory"),
    ("tmp_here", lambda p: {k: v for k, v in p.items() if k != "through"}, "no kernel can be made", "cells keep"),
    ("y_part", lambda p: {**p, "cell": p["cell"].replace("[a2]", "[0 * a2]")}, "no kernel can be", "cells keep"),
    ("y_part", lambda p: {**p, "extents": [1]}, "fewer cells than it uses", "stays in device memory"),
    ("tmp_part", lambda p: {**p, "cell": p["cell"].replace("p0, ", "")}, "of places with 2", "has 3"),
    ("tmp_part", lambda p: {**p, "array": "nosuch"}, "not of nosuch", "--save-schedule"),
    ("tmp_part", lambda p: {**p, "cell": "{ [["}, "this is no relation", "--save-schedule"),
    ("tmp_part", lambda p: {**p, "level": "k"}, "has no loop k for tmp_part", "its loops are"),
    ("tmp_part", lambda p: {**p, "colour": "red"}, "is no Placement", "--save-schedule"),
    ('"y_sums_all"', lambda p: {**p, "memory": "private", "owner": "thread"}, "of places with", "has 3"),
]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(("which", "change", "message", "hint"), WRONG)
def test_wrong_placements(
    atax: polytile.Program, which: str, change: Callable[[dict[str, Any]], Any], message: str, hint: str
) -> None:
    with pytest.raises(polytile.UserError) as refused:
        suite("atax", load_schedule=edited(atax.schedules, "placement", change, which))
    assert message in refused.value.message and hint in (refused.value.hint or "")


def test_placements_larger_than_shared_memory(atax: polytile.Program) -> None:
    with pytest.raises(polytile.UserError, match="bytes of shared memory"):
        suite("atax", load_schedule=atax.schedules, max_shared_memory=256)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "nowhere"}, "loop nowhere cannot load several iterations first"),
        ({"registers": 3}, "has not 3 elements to keep in registers"),
        ({"registers": 0}, "loads several iterations first only with registers"),
        ({"unroll": 4}, "unroll 4"),
        ({"loads_first": -1}, "negative"),
    ],
)
def test_wrong_loops(gemm: polytile.Program, change: dict[str, Any], message: str) -> None:
    def wrong(loop: dict[str, Any]) -> dict[str, Any]:
        return {**loop, **({"registers": 0} if "label" in change else {}), **change}

    with pytest.raises(polytile.UserError, match=message):
        suite("gemm", load_schedule=edited(gemm.schedules, "loop", wrong))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("# plan of kernel 7", "there is no kernel 7"),
        ("# plan of kernel x", "cannot read '# plan of kernel x'"),
        ("# plan of kernel 0", "two plans of one kernel"),
        ("# loop {broken", "no JSON behind `# loop`"),
        ('# launch {"min_blocks": 2}', "launches and products cannot be asked for"),
        ('# cache ["A", "l2"]', "hints for the cache other than 'streaming'"),
        ('# cache ["A", "cold"]', "unknown hints"),
    ],
)
def test_wrong_lines(gemm: polytile.Program, line: str, message: str) -> None:
    with pytest.raises(polytile.UserError, match=message):
        suite("gemm", load_schedule=f"{gemm.schedules}{line}\n")


def test_lines_are_text_and_back() -> None:
    loops = (LoopPlan("k", loads_first=8, registers=4),)
    plans = (KernelPlan(0, loops=loops, cache=(("A", "streaming"),)), KernelPlan(3))
    tree = "domain: 1 # loop of a comment\n# loop over k\n"
    assert split_plans(tree + plan_lines(plans)) == (tree, plans)
    assert split_plans(tree) == (tree, None)
    with pytest.raises(polytile.UserError, match="is below no line"):
        split_plans('# loop {"label": "k"}\n# plan of kernel 0\n')
