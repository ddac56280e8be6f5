"""Sums that are taken plane by plane: boxes keep one plane of what they read, and compute what C computes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

import polytile
from polytile.api import CompiledScop
from polytile.diagnostics import UserError
from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.scheduling.proof.time_tiles.overlapped import prove_overlapped
from polytile.scheduling.proof.wrong_plans import WrongTimeTileError

from .checks import compiled, plan_of

pytestmark = pytest.mark.usefixtures("emulator")

BOX = """
void f(int T, int n, int m, {type} A[2][n][m])
{{
#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = {r}; i < n - {r}; i++)
            for (int j = {r}; j < m - {r}; j++)
                A[(t + 1) % 2][i][j] = {value};
#pragma endscop
}}
"""
CUBE = """
void f(int T, int n, int m, int l, double A[2][n][m][l])
{
#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                for (int k = 1; k < l - 1; k++)
                    A[(t + 1) % 2][i][j][k] = 0.03 * (VALUE);
#pragma endscop
}
"""
TWO_ARRAYS = """
void f(int T, int n, int m, double A[n][m], double B[n][m])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                B[i][j] = (A[i - 1][j - 1] - A[i][j] + 2 * A[i + 1][j + 1] + 3 * A[i - 1][j + 1]) / 7.5;
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                A[i][j] = A[i][j] - 0.25 * (B[i + 1][j - 1] - (B[i - 1][j + 1] + B[i][j]));
    }
#pragma endscop
}
"""


def terms(r: int) -> str:
    places = list(product(range(-r, r + 1), repeat=2))
    return " + ".join(f"{1 / (3 + k):.4f} * A[t % 2][i + {a}][j + {b}]" for k, (a, b) in enumerate(places))


def box(r: int, value: str = "", ctype: str = "double") -> str:
    scale = "" if r == 1 else f"{1 / (2 * r + 1):.3f} * "
    return BOX.format(r=r, value=value or f"{scale}({terms(r)})", type=ctype)


def retimed(text: str, **settings: object) -> CompiledScop:
    scop = compiled(text, strict=False, **settings)
    assert all(step.retimed for step in plan_of(scop).made), [s.retimed for s in plan_of(scop).steps]
    return scop


def agrees(scop: CompiledScop, **sizes: int) -> None:
    scop.validate(on="emulator", parameters=sizes, seed=5, sanitize="all")


@pytest.mark.slow(but="double-1")
@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("ctype", ["double", "float"])
def test_boxes_compute_what_c_computes(r: int, ctype: str) -> None:
    scop = retimed(box(r, ctype=ctype), time_tile=2, tile=(7, 64))
    for steps, n, m in ((0, 9, 9), (1, 20, 40), (3, 7, 7), (4, 8, 150), (5, 41, 67), (9, 2 * r, 80), (8, 2 * r + 1, 1)):
        agrees(scop, T=steps, n=n, m=m)


def test_one_plane_is_kept() -> None:
    plan = plan_of(retimed(box(2), time_tile=2))
    assert [step.slots for step in plan.steps] == [1, 1, 1]
    raw = plan_of(compiled(box(2), time_tile=2))
    assert [step.slots for step in raw.steps] == [5, 5, 1] and not any(step.retimed for step in raw.steps)


@pytest.mark.slow
def test_blocks_that_share_planes() -> None:
    around = product(("- 1", "", "+ 1"), repeat=3)
    value = " + ".join(f"A[t % 2][i {a}][j {b}][k {c}]" for a, b, c in around)
    scop = retimed(CUBE.replace("VALUE", value), time_tile=2)
    assert [step.slots for step in plan_of(scop).steps] == [2, 2, 1]
    for steps, n, m, width in ((4, 9, 11, 40), (5, 4, 3, 3), (4, 2, 9, 9), (9, 6, 20, 35)):
        agrees(scop, T=steps, n=n, m=m, l=width)


@pytest.mark.slow
def test_factors_divisors_and_signs_of_several_arrays() -> None:
    scop = retimed(TWO_ARRAYS, time_tile=2, tile=(5, 64))
    for steps, n, m in ((0, 5, 5), (4, 3, 3), (5, 30, 61), (11, 17, 90)):
        agrees(scop, T=steps, n=n, m=m)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("stars, which would keep as much", "0.2 * (A[t % 2][i - 1][j] + A[t % 2][i][j - 1] + A[t % 2][i + 1][j])"),
        ("a product of two planes", f"{terms(1)} + A[t % 2][i - 1][j - 1] * A[t % 2][i + 1][j + 1]"),
        ("what is no sum", "A[t % 2][i - 1][j - 1] > A[t % 2][i + 1][j + 1] ? 0.5 : A[t % 2][i][j]"),
    ],
)
def test_others_keep_their_planes(what: str, value: str) -> None:
    scop = compiled(box(1, value), strict=False, time_tile=2)
    assert not any(step.retimed for step in plan_of(scop).steps), what
    agrees(scop, T=5, n=20, m=70)


@pytest.mark.slow(but="1e-9 * (u - 3u)")
@pytest.mark.parametrize(
    "rest",
    [
        "1e-9 * (u - 3u)",  # wraps around: 1e-9 * u - 1e-9 * 3u is something else
        "1e-9 * ((i + 100000) * (i + 100000 - (i + 99999)))",  # the square does not fit
        "0.05f * (A[t % 2][i][j] + 3 - A[t % 2][i + 1][j - 1])",  # the product with 3 is one of doubles
        "g * (A[t % 2][i][j] + g * g)",
        "0.1 * -(A[t % 2][i][j] - (g + 1.1f * (g + u)))",
    ],
)
def test_terms_have_the_type_of_their_sum(rest: str) -> None:
    text = box(1, f"{terms(1)} + {rest}").replace("int m,", "int m, unsigned u, float g,")
    scop = retimed(text, time_tile=2, tile=(7, 64))
    for steps, n, m in ((4, 3, 3), (5, 41, 67)):
        agrees(scop, T=steps, n=n, m=m)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    ("arrays", "value"),
    [
        ("float A[n][m], double B[n][m]", "0.1f * ({})"),  # rounded to float, and stored with more digits
        ("double A[n][m], int B[n][m]", "100 * ({})"),  # cut off
        ("unsigned A[n][m], double B[n][m]", "1e-9 * ({})"),  # wraps around
    ],
)
def test_sums_that_are_less_exact_than_what_is_stored_stay_whole(arrays: str, value: str) -> None:
    around = "A[i - 1][j - 1] - A[i - 1][j + 1] - A[i][j] + A[i + 1][j - 1] + A[i + 1][j + 1]"
    text = TWO_ARRAYS.replace("double A[n][m], double B[n][m]", arrays)
    first = text[text.index("B[i][j] =") : text.index(" / 7.5;") + len(" / 7.5;")]
    scop = compiled(text.replace(first, f"B[i][j] = {value.format(around)};"), strict=False, time_tile=2)
    assert not any(step.retimed for step in plan_of(scop).steps if step.statements == ("S0",))


@pytest.mark.slow
def test_the_order_of_additions_is_kept_where_it_must_be(tmp_path: object) -> None:
    saved = retimed(box(1), time_tile=2).saved_schedule
    (again,) = polytile.compile(box(1), name="f.c", load_schedule=saved, raise_bugs=True).scops
    agrees(again, T=5, n=20, m=70)
    with pytest.raises(UserError, match="adds up the terms of sums in another order"):
        polytile.compile(box(1), name="f.c", load_schedule=saved, strict=True, raise_bugs=True)


def proven(scop: CompiledScop, plan: OverlappedTiles) -> tuple[str, ...]:
    chosen = scop.compilation
    return prove_overlapped(scop.scop, scop.scop, chosen.dependences, plan)


@pytest.mark.slow
def test_the_proof_names_sums_and_refuses_others() -> None:
    assert "sums whose terms are added up in another order, as planes come: S0" in retimed(box(1)).explain()
    scop = compiled(box(1, f"{terms(1)} + A[t % 2][i - 1][j] * A[t % 2][i + 1][j]"), strict=False, time_tile=2)
    plan = plan_of(scop)
    wrong = replace(plan, steps=tuple(replace(s, retimed=not s.is_input) for s in plan.steps))
    with pytest.raises(WrongTimeTileError, match="S0 is no sum of terms that read a single plane each"):
        proven(scop, wrong)


def test_planes_that_are_too_few_are_refused() -> None:
    value = "A[t % 2][i - 1][j - 1][k] + A[t % 2][i][j][k + 1] + A[t % 2][i + 1][j][k - 1]"
    scop = retimed(CUBE.replace("VALUE", value))
    plan = plan_of(scop)
    fewer = replace(plan, steps=tuple(replace(s, slots=1) for s in plan.steps))
    with pytest.raises(WrongTimeTileError, match=r"no barrier before its slot is written again|has its slot"):
        proven(scop, fewer)
