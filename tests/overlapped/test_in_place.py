"""Blocks of one iteration that writes other elements than it reads: a kernel for each iteration, no second buffers."""

from __future__ import annotations

import json
from itertools import product

import pytest

import polytile
from polytile.check.checker import problems
from tests.bitwise import same_as_c
from tests.time_tiles import tile_of

from .checks import compiled, plan_of
from .test_retimed import CUBE, retimed

pytestmark = pytest.mark.usefixtures("emulator")

IN_TURNS = """
void f(int T, int n, int m, {type} A[{turns}][n][m], {type} B[n][m])
{{
#pragma scop
    for (int t = 0; t < T; t++) {{
        for (int i = 1; i < n - 2; i++)
            for (int j = 2; j < m - 1; j++)
                {first};
        for (int i = 1; i < n - 2; i++)
            for (int j = 2; j < m - 1; j++)
                {then};
    }}
#pragma endscop
}}
"""
LINE = """
void f(int T, int n, float A[2][n])
{
#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 2; i < n - 1; i++)
            A[(t + 1) % 2][i] = 0.5f * A[t % 2][i - 2] + 0.25f * A[t % 2][i + 1];
#pragma endscop
}
"""
FORMS = {  # a result of the same iteration; of two before
    2: ("B[i][j] = A[t % 2][i - 1][j] * A[t % 2][i + 2][j + 1]", "A[(t + 1) % 2][i][j] = B[i][j - 1] - A[t % 2][i][j]"),
    3: ("B[i][j] = A[(t + 1) % 3][i][j - 2]", "A[(t + 2) % 3][i][j] = B[i - 1][j] + 0.5f * A[t % 3][i + 1][j]"),
}
COPY_BACK = IN_TURNS.format(turns=2, first="B[i][j] = A[0][i][j - 1]", then="A[0][i][j] = B[i][j]", type="double")
SIZES = [(0, 9, 9), (1, 40, 70), (2, 3, 5), (5, 23, 131), (4, 1, 1)]


@pytest.mark.slow(but="float-2")
@pytest.mark.parametrize("turns", FORMS)
@pytest.mark.parametrize("ctype", ["double", "float"])
def test_planes_in_turns(turns: int, ctype: str) -> None:
    first, then = FORMS[turns]
    text = IN_TURNS.format(turns=turns, first=first, then=then, type=ctype)
    scop = compiled(text, time_tile=1, tile=(6, 64))
    plan = plan_of(scop)
    assert plan.in_place and not plan.shadows and plan.blocks == 1 and plan.inputs
    same_as_c(scop, [{"T": steps, "n": n, "m": m} for steps, n, m in SIZES])


def test_a_line() -> None:
    scop = compiled(LINE, time_tile=1)
    assert plan_of(scop).in_place
    same_as_c(scop, [{"T": steps, "n": n} for steps, n in ((0, 9), (3, 3), (1, 129), (4, 700), (2, 1))])


@pytest.mark.slow
@pytest.mark.parametrize("ctype", ["double", "float"])
def test_sums_of_boxes(ctype: str) -> None:
    around = product(("- 2", "", "+ 1"), ("- 1", "", "+ 2"), ("- 1", "", "+ 1"))
    value = " + ".join(f"A[t % 2][i {a}][j {b}][k {c}]" for a, b, c in around)
    cube = CUBE.replace("VALUE", value).replace("= 1", "= 2").replace("- 1;", "- 2;").replace("double", ctype)
    scop = retimed(cube, time_tile=1, tile=(5, 16, 32), block=(4, 32))
    assert plan_of(scop).in_place
    for steps, n, m, width in ((0, 9, 9, 9), (1, 17, 23, 40), (5, 7, 5, 6), (4, 2, 9, 9)):
        scop.validate(on="emulator", parameters={"T": steps, "n": n, "m": m, "l": width}, sanitize="all")


def test_a_block_that_would_overwrite_what_it_reads_has_second_buffers() -> None:
    plan = plan_of(compiled(COPY_BACK, time_tile=1))
    assert plan.iterations == 1 and plan.shadows and not plan.in_place


def test_certificates() -> None:
    """The independent checker takes the plan, and none that leaves values out or overwrites what it reads."""
    (found,) = json.loads(polytile.compile(LINE, schedule="overlapped", time_tile=1).certificate)["scops"]
    plan = tile_of(found)
    assert plan["in_place"] and not list(problems(found))
    plan["stores"] = []
    assert any("does not leave what the program has in A" in line for line in problems(found))
    (found,) = json.loads(polytile.compile(COPY_BACK, schedule="overlapped", time_tile=1).certificate)["scops"]
    plan = tile_of(found)
    assert plan["shadows"] and not list(problems(found))
    plan.update(in_place=True, shadows=[], stores=[{**s, "becomes": None} for s in plan["stores"]])
    assert any("overwrites what step 0 reads" in line for line in problems(found))
