"""Tiles of split tiling as sets: each instance in one tile, all conflicting pairs forwards, and the paper's example."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path

import islpy as isl
import pytest

from polytile.api import read_program
from polytile.ir.isl_util import sets
from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.analysis.stencil_form import StencilForm, stencil_form, time_loops
from polytile.scheduling.strategies.split.cone import Cone, cones
from polytile.scheduling.strategies.split.tile_sets import Cut, Tiling, colours

SUITE = Path("polybench/polybench")
HEADER = "void f(int T, int N, double A[N], double B[N], double C[2][N][N], double D[T][N])"


def program(body: str, header: str = HEADER) -> str:
    return f"{header}\n{{\n#pragma scop\n    for (int t = 0; t < T; t++) {{\n{body}\n    }}\n#pragma endscop\n}}\n"


RED_BLACK = program(
    """for (int i = 1; 2 * i < N - 1; i++) A[2 * i] = A[2 * i - 1] + A[2 * i + 1];
       for (int i = 0; 2 * i + 1 < N - 1; i++) A[2 * i + 1] = A[2 * i] + A[2 * i + 2];"""
)
ONE_SIDED = program(  # figure 6 of the paper
    """for (int i = 0; i < N - 2; i++) A[i] = A[i] + B[i + 1];
       for (int i = 0; i < N - 2; i++) B[i] = B[i] + A[i + 2];"""
)
STEPS_BACK = program(  # figure 5
    "if (t >= 2) for (int i = 3; i < N - 1; i++) D[t][i] = D[t - 1][i + 1] + D[t - 2][i - 3];"
)
TRIANGLE = program(
    """for (int i = 2; i < N - 1; i++) for (int j = 1; j < i; j++)
           C[(t + 1) % 2][i][j] = C[t % 2][i - 1][j] + C[t % 2][i + 1][j + 1] + C[t % 2][i][j - 1];"""
)
COPY_BACK = program(
    """for (int i = 1; i < N - 1; i++) B[i] = A[i - 1] + A[i + 1];
       for (int i = 1; i < N - 1; i++) A[i] = B[i];"""
)
PAPER = program("if (t >= 1) for (int i = 1; i < N - 1; i++) D[t][i] = D[t - 1][i - 1] + D[t - 1][i + 1];")
LOOPS = "".join(f"for (int {i} = 1; {i} < N - 1; {i}++) " for i in "ijkl")
FOUR = program(
    f"""{LOOPS} D[i][j][k][l] = C[i - 1][j][k][l] + C[i][j + 1][k][l] + C[i][j][k][l - 1];
        {LOOPS} C[i][j][k][l] = D[i][j][k - 1][l] + D[i - 1][j][k][l + 1];""",
    "void f(int T, int N, double C[N][N][N][N], double D[N][N][N][N])",
)

CASES = {  # by name: the program, the height of bands, and how wide tiles are at their narrow side
    "jacobi-1d": ("jacobi-1d", 4, (3,)),
    "jacobi-2d": ("jacobi-2d", 3, (6, 14)),
    "heat-3d": ("heat-3d", 2, (4, 4, 8)),
    "fdtd-2d": ("fdtd-2d", 4, (6, 14)),
    "red-black": (RED_BLACK, 6, (7,)),
    "one-sided": (ONE_SIDED, 4, (5,)),
    "steps-back": (STEPS_BACK, 5, (2,)),
    "triangle": (TRIANGLE, 6, (8, 16)),
    "copy-back": (COPY_BACK, 3, (4,)),
}


@cache
def stencil(case: str) -> tuple[Scop, StencilForm, tuple[Cone, ...]]:
    text = case if "\n" in case else (SUITE / f"{case}.c").read_text()
    (scop,) = read_program(str(SUITE / "a.c"), text).scops
    (names,) = time_loops(scop)
    form = stencil_form(scop, analyse(scop, 20_000_000, None), names)
    return scop, form, cones(form)


def tiling(case: str, height: int, tops: tuple[int, ...], bases: tuple[int, ...]) -> Tiling:
    scop, form, found = stencil(case)
    cuts = tuple(Cut(cone, top, base, height) for cone, top, base in zip(found, tops, bases, strict=True))
    return Tiling(form, cuts, tuple(scop.statement(name).domain for name in form.names))


def times(tiles: Tiling) -> isl.UnionMap:
    """`{ S[..] -> [band, phase, colour, tiles.., folded step] }`."""
    total = isl.UnionMap("{ }")
    for number, colour in enumerate(colours(tiles.form.dims)):
        coordinates = [tiles.coordinate(k, colour) for k in range(tiles.form.dims)]
        phase = isl.UnionMap.from_domain_and_range(tiles.domain, isl.UnionSet(f"{{ [{sum(colour)}, {number}] }}"))
        time = isl.UnionMap.from_union_pw_aff(tiles.band()).flat_range_product(phase)
        for value in (*coordinates, tiles.folded_step()):
            time = time.flat_range_product(isl.UnionMap.from_union_pw_aff(value))
        total = total.union(time.intersect_domain(tiles.instances(colour)))
    return total


def conflicts(scop: Scop) -> isl.UnionMap:
    """Every pair of accesses to one element, one of which writes, in the source's order, whatever lies between."""
    reads, writes = scop.accesses(AccessKind.READ), scop.accesses(AccessKind.WRITE)
    order = scop.schedule.get_map().intersect_domain(scop.domain)
    pairs = writes.apply_range(reads.reverse()).union(reads.apply_range(writes.reverse()))
    pairs = pairs.union(writes.apply_range(writes.reverse()))
    return pairs.intersect(order.lex_lt_union_map(order)).intersect_params(scop.context)


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("name", CASES)
def test_each_instance_is_in_one_tile(name: str) -> None:
    case, height, tops = CASES[name]
    for bases in (tops, tuple(top + 3 for top in tops)):
        tiles = tiling(case, height, tops, bases)
        seen = isl.UnionSet("{ }")
        for colour in colours(tiles.form.dims):
            instances = tiles.instances(colour)
            assert instances.is_disjoint(seen)
            seen = seen.union(instances)
            for statement in tiles.form.statements:
                assert tiles.tile_of(statement, colour).is_single_valued()
        assert seen.is_equal(tiles.domain)


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("name", [name for name in CASES if name != "heat-3d"])
def test_all_conflicting_pairs_run_forwards(name: str) -> None:
    case, height, tops = CASES[name]
    tiles = tiling(case, height, tops, tops)
    scop, form, _ = stencil(case)
    numbers = ", ".join(f"K{k}" for k in range(form.dims))
    others = ", ".join(f"L{k}" for k in range(form.dims))
    same = " and ".join(f"K{k} = L{k}" for k in range(form.dims))
    forwards = isl.UnionMap(
        f"{{ [b, f, c, {numbers}, s] -> [d, g, e, {others}, u] : d > b or (d = b and g > f) or "
        f"(d = b and g = f and c = e and {same} and u > s) }}"
    )
    order = times(tiles)
    assert conflicts(scop).apply_domain(order).apply_range(order).is_subset(forwards)


def test_listing_2_of_the_paper() -> None:
    """The published sets of both phases, after two misprints: in T_G, i0 - t0 >= 0 (not <=), and in T_P the place in
    the period is i0 = 31 + ((i - 31) mod 64), as the schedule S_P beside it has it."""
    tiles = tiling(PAPER, 32, (1,), (1,))
    (cut,) = tiles.cuts
    assert (cut.width, cut.period, cut.first(grows=True)) == (63, 64, 31)
    (instance,) = sets(tiles.domain)
    name = instance.get_tuple_name()
    first = isl.Set(f"{{ {name}[t, i] : (i mod 64) - (t mod 32) >= 0 and (i mod 64) + (t mod 32) <= 62 }}")
    then = isl.Set(
        f"{{ {name}[t, i] : exists (p : p = 31 + ((i - 31) mod 64) and p + (t mod 32) > 62 and p - (t mod 32) < 64) }}"
    )
    phases = [isl.Set.from_union_set(tiles.instances(colour)) for colour in colours(1)]
    for published, found in zip((first, then), phases, strict=True):
        assert published.intersect(instance).is_equal(found)


@pytest.mark.parametrize("name", CASES)
def test_a_colour_is_a_basic_set_for_each_statement(name: str) -> None:
    case, height, tops = CASES[name]
    tiles = tiling(case, height, tops, tops)
    for colour in colours(tiles.form.dims):
        assert all(len(own.get_basic_sets()) == 1 for own in sets(tiles.instances(colour)))


def test_four_dimensions_are_cut_as_sets() -> None:
    tiles = tiling(FOUR, 2, (4, 4, 4, 8), (4, 4, 4, 8))
    found = [tiles.instances(colour) for colour in colours(4)]
    assert len(found) == 16
    union = found[0]
    for other in found[1:]:
        assert other.is_disjoint(union)
        union = union.union(other)
    assert union.is_equal(tiles.domain)


# Cones ----------------------------------------------------------------------------------------------------------------
def slopes(case: str) -> list[tuple[Fraction, Fraction]]:
    return [(cone.lower.slope, cone.upper.slope) for cone in stencil(case)[2]]


def test_slopes_are_those_of_a_full_step() -> None:
    assert slopes("jacobi-1d") == [(2, 2)]
    assert slopes("fdtd-2d") == [(1, 1), (1, 1)]  # a folded time would need 2
    assert slopes(COPY_BACK) == [(2, 2)]  # by the anti-dependences of the copy
    assert slopes(PAPER) == [(1, 1)]


def test_slopes_may_be_rational() -> None:
    assert slopes(STEPS_BACK) == [(Fraction(3, 2), 1)]


def test_slopes_of_the_two_sides_differ() -> None:
    leaning = program("if (t >= 1) for (int i = 2; i < N; i++) D[t][i] = D[t - 1][i - 2] + D[t - 1][i];")
    assert slopes(leaning) == [(2, 0)]
    assert slopes(ONE_SIDED) == [(3, 3)]  # in place: who reads A[i + 2] must come before who writes it
