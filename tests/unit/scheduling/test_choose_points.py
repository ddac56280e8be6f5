"""How many points a thread takes: what they share, the registers that this takes, and when it pays."""

from __future__ import annotations

import random
import re
from itertools import product
from pathlib import Path

import pytest

import polytile
from polytile.api import read_program
from polytile.ir.schedule import nodes, thread_sizes
from polytile.scheduling.analysis.affine_references import Reference, references
from polytile.scheduling.cost.point_reuse import OpenSums, reuse
from tests.every_schedule import source

ROOT = Path(__file__).parents[3]
REORDER = ROOT / "polybench" / "reorder"


def box(radius: int, dimensions: int) -> str:
    names = "ijk"[:dimensions]
    offsets = list(product(range(-radius, radius + 1), repeat=dimensions))
    terms = " + ".join("A" + "".join(f"[{n} + {o}]" for n, o in zip(names, at, strict=True)) for at in offsets)
    loops = " ".join(f"for (int {n} = {radius}; {n} < n - {radius}; {n}++)" for n in names)
    size = "[n]" * dimensions
    return source(f"double A{size}, double B{size}", f"{loops} B{''.join(f'[{n}]' for n in names)} = {terms};")


def reads_of(text: str) -> tuple[Reference, ...]:
    (scop,) = read_program("f.c", text).scops
    return tuple(r for r in references(scop, scop.statements[0]) if not r.access.writes)


@pytest.mark.parametrize(("radius", "counts"), [(1, (1, 1)), (1, (4, 1)), (2, (8, 1)), (2, (2, 1)), (4, (4, 1))])
def test_a_box_loads_the_rows_of_all_its_points_once(radius: int, counts: tuple[int, int]) -> None:
    found = reuse(reads_of(box(radius, 2)), [(1, 0), (0, 1)], counts)
    wide = 2 * radius + 1
    assert found.loads == (counts[0] + 2 * radius) * wide
    assert found.rows == counts[0] + 2 * radius
    assert found.waiting == (2 * radius * wide if counts[0] > 1 else 0)


@pytest.mark.parametrize(("counts", "loads"), [((4, 1, 1), 200), ((4, 4, 1), 320), ((2, 2, 1), 180)])
def test_a_box_of_125_elements_in_three_dimensions(counts: tuple[int, ...], loads: int) -> None:
    assert reuse(reads_of(box(2, 3)), [(1, 0, 0), (0, 1, 0), (0, 0, 1)], counts).loads == loads


def test_reads_of_any_subscripts_are_counted_as_the_elements_that_they_are() -> None:
    draw = random.Random(7)
    for _ in range(20):
        subscripts = [(draw.randrange(-2, 3), draw.randrange(3), draw.randrange(-3, 4)) for _ in range(6)]
        terms = " + ".join(f"A[{a} * i + {b} * j + {c} + 99]" for a, b, c in subscripts)
        loops = "for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++)"
        found = reuse(reads_of(source("double A[200], double B[9][9]", f"{loops} B[i][j] = {terms};")), STEPS, (4, 2))
        forms = [(a, b, c) for a, b, c in dict.fromkeys(subscripts)]
        least = len({(a, b, a * i + b * j + c) for a, b, c in forms for i in range(4) for j in range(2)})
        assert found.loads == least


STEPS = [(1, 0), (0, 1)]


def test_open_sums_are_those_of_points_in_reach() -> None:
    text = source(
        "double A[n][n], double B[n][n]",
        """for (int i = 1; i < n - 1; i++) for (int j = 0; j < n; j++)
        B[i][j] = 2.0 * (A[i-1][j] + A[i][j]) - 3.0 * (A[i][j] + A[i+1][j]);""",
    )
    (scop,) = read_program("f.c", text).scops
    statement, reads = scop.statements[0], reads_of(text)
    counts = [OpenSums.of(statement, reads, STEPS, free=False).among((n, 1)) for n in (1, 2, 4, 8)]
    assert counts == [3, 5, 7, 7]
    assert [OpenSums.of(statement, reads, STEPS, free=True).among((n, 1)) for n in (1, 2, 4, 8)] == [2, 3, 4, 4]


def points_of(scop: polytile.CompiledScop) -> str:
    assert scop.compilation.schedule is not None
    text = scop.compilation.schedule.to_text()
    return "x".join(re.findall(r"\(\w\) mod (\d)\)", text.partition("register_tile")[2]))


@pytest.mark.parametrize("schedule", ["auto", "classic", "superposed"])
def test_boxes_that_wait_for_l1_get_several_points(schedule: str) -> None:
    (scop,) = polytile.compile(REORDER / "2d25pt.c", schedule=schedule).scops  # type: ignore[arg-type]
    assert points_of(scop) == "8"
    assert "8 x 1 points: 7.5 loads a point" in scop.compilation.explain()


CHOSEN = {
    ("2d64pt", "double"): "4",
    ("2d81pt", "double"): "4",
    ("2d81pt", "float"): "8",
    ("3d27pt", "double"): "4x2",
    ("3d27pt", "float"): "4x2",
}


@pytest.mark.slow(but=("2d64pt-double", "3d27pt-float"))
@pytest.mark.parametrize(("program", "dtype"), CHOSEN)
def test_the_choice_is_among_the_fastest_that_were_measured(program: str, dtype: str) -> None:
    defines = {"DATA_TYPE_IS_FLOAT": 1} if dtype == "float" else {}
    file = REORDER / f"{program}.c"
    (scop,) = polytile.compile(file, schedule="classic", order="source", defines=defines, strict=True).scops
    assert points_of(scop) == CHOSEN[program, dtype]


FREE = {"2d64pt": "8", "2d81pt": "8", "3d125pt": "4x4"}  # sums in any order: few of them are open


@pytest.mark.slow(but="2d64pt")
@pytest.mark.parametrize("program", FREE)
def test_free_sums_leave_registers_for_more_points(program: str) -> None:
    (scop,) = polytile.compile(REORDER / f"{program}.c", schedule="classic").scops
    assert points_of(scop) == FREE[program]


@pytest.mark.slow
def test_statements_of_one_point_share_what_they_load() -> None:
    file = REORDER / "hypterm.c"
    (scop,) = polytile.compile(file, parameters={"nx": 308, "ny": 308, "nz": 308}).scops
    assert scop.program is not None and scop.compilation.schedule is not None
    assert scop.compilation.schedule.strategy == "superposed" and set(points_of(scop).split("x")) == {"2"}
    assert {kernel.max_registers for kernel in scop.program.kernels} == {80}


@pytest.mark.parametrize("program", ["polybench/gemm.c", "polybench/atax.c", "polybench/lu.c"])
def test_other_kernels_keep_one_point(program: str) -> None:
    (scop,) = polytile.compile(ROOT / "polybench" / program, schedule="classic").scops
    assert points_of(scop) == ""


@pytest.mark.slow
def test_small_stars_take_points_as_blocks_come_one_after_another() -> None:
    """heat-3d with one step a launch, H100, ms: 116 with one point, 103 with four, 108 with eight; in float 85, 60.8
    with four and 60.3 with 4 x 2."""
    heat = ROOT / "polybench" / "polybench" / "heat-3d.c"
    for dtype, points in (("double", "4 x 1 x 1"), ("float", "4 x 2 x 1")):
        asked = {"schedule": "classic", "strict": True, "parameters": {"n": 200, "tsteps": 1000}}
        (scop,) = polytile.compile(heat, defines=[f"DATA_TYPE={dtype}"], **asked).scops  # type: ignore[arg-type]
        lines = [line for line in scop.compilation.considered if "points: " in line]
        assert len(lines) == 2 and all(f": {points} points: " in line for line in lines)


def test_points_leave_blocks_for_all_multiprocessors() -> None:
    few = polytile.compile(REORDER / "2d25pt.c", schedule="classic", parameters={"nx": 300, "ny": 300}).scops[0]
    assert points_of(few) == ""


def test_blocks_of_one_thread_along_a_loop_are_no_trouble() -> None:
    (scop,) = polytile.compile(box(2, 2), name="f.c", schedule="auto", block=(1, 64), points=(4, 1)).scops
    assert points_of(scop) == "4"
    sizes = [thread_sizes(node) for node in nodes(scop.compilation.schedule.tree)]  # type: ignore[union-attr]
    assert (1, 64) in sizes


def test_what_was_asked_for_is_explained() -> None:
    (scop,) = polytile.compile(box(1, 2), name="f.c", points=(2, 1)).scops
    assert "kernel 0: 2 x 1 points of a thread, as asked for" in scop.compilation.explain()


@pytest.mark.parametrize(("specialize", "shape"), [(False, "1 x 1 x 1"), (True, "2 x 2 x 1")])
def test_rows_that_are_constants_apart_leave_registers_for_more_points(specialize: bool, shape: str) -> None:
    """star3d4r in float, whose versions take turns, on an H100: 72.6 ms with 2 x 2 points (36 rows), 80 to 90 with
    1 x 2, 1 x 4 and 4 x 1, 93.2 in overlapped tiles."""
    sizes = {"nx": 518, "ny": 518, "nz": 518, "tsteps": 120}
    (scop,) = polytile.compile(
        ROOT / "polybench" / "an5d" / "star3d4r.c",
        defines=["DATA_TYPE=float"],
        schedule="superposed",
        parameters=sizes,
        specialize=specialize,
    ).scops
    assert re.search(rf"kernel 0 \(superposed\): {shape} points", scop.explain())
