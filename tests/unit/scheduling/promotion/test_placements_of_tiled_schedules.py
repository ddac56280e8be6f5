"""Placements for the trees of the tiled strategy: triangles, mirrored writes, filters, batches; each is proven, and the
proof refuses it when it is changed for the worse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import islpy as isl
import pytest

from polytile.choices import Choices
from polytile.ir.plan import Copy, KernelPlan, Placement
from polytile.ir.schedule import check_marks
from polytile.ir.scop import Scop
from polytile.machine import machine_of
from polytile.options import Options
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.candidate import Problem
from polytile.scheduling.promotion.choose_placements import promote
from polytile.scheduling.promotion.tile_barriers import with_tile_barriers
from polytile.scheduling.proof.legality import THREADS
from polytile.scheduling.proof.placements import wrong_placements
from polytile.scheduling.strategies.tiled.strategy import propose
from polytile.tuning import TileTuning

# The trees and plans below are of these tiles, whatever measurements say of others.
POINTS = (((4,), (2,), (1,)), ((8, 8), (8, 4), (4, 4), (4, 2), (2, 2)))
TILES = TileTuning(threads=((128,), (16, 16)), points=POINTS, further_points=(), serial_bytes=128)
MACHINE = replace(machine_of("sm_90"), tuning=replace(machine_of("sm_90").tuning, tiles=TILES))

OTHER, UNSET = "another value arrives", "what is read was never written there"


@dataclass(frozen=True)
class Tiled:
    """A SCoP, its tiled tree as it is, and with barriers; the plans of its kernels."""

    scop: Scop
    plain: isl.Schedule
    tree: isl.Schedule
    plans: tuple[KernelPlan, ...]

    def whys(self, *plans: KernelPlan, tree: isl.Schedule | None = None) -> set[str]:
        return {f.why for f in wrong_placements(self.scop, tree or self.tree, plans)}

    def short(self) -> list[str]:
        return [short(placement) for plan in self.plans for placement in plan.placements]

    def changed(self, name: str, change: Callable[[Placement], Placement]) -> set[str]:
        """Why the plan with this change of a placement is refused."""
        plan = next(plan for plan in self.plans if any(p.name == name for p in plan.placements))
        placements = tuple(change(p) if p.name == name else p for p in plan.placements)
        return self.whys(replace(plan, placements=placements))


def short(placement: Placement) -> str:
    """A placement in a few words."""
    copies = [name for name, copy in (("fill", placement.fill), ("drain", placement.drain)) if copy]
    return " ".join([placement.name, placement.level, "x".join(map(str, placement.extents)), *copies])


def tiled_program(scop: Scop, tile: tuple[int, ...]) -> Tiled:
    options, dependences = Options(), analyse(scop)
    problem = Problem(scop, dependences, options, MACHINE, Choices(tile=tile))
    candidate = next(propose(problem))
    assert candidate.schedule is not None and candidate.dependences is not None
    tree = candidate.schedule.tree
    plans = promote(candidate.scop, candidate.dependences, tree, MACHINE).plans
    return Tiled(candidate.scop, tree, with_tile_barriers(tree, plans), plans)


def everywhere(placement: Placement) -> Placement:
    """With a drain of what is in its box, not of what was written."""
    assert placement.drain is not None
    text = placement.drain.elements.replace(" <= e0 and e1 <= 63", " <= 63").replace("e1 <= e0 and ", "")
    return replace(placement, drain=replace(placement.drain, elements=text))


SYRK = """for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++) C[i][j] *= beta;
    for (int k = 0; k < m; k++) for (int j = 0; j <= i; j++) C[i][j] += A[i][k] * A[j][k];
}"""


@pytest.fixture(scope="module")
def syrk(scop: Callable[..., Scop]) -> Tiled:
    return tiled_program(scop("int n, int m, double beta, double A[n][m], double C[n][n]", SYRK), (64, 64, 16))


def test_rows_and_columns_of_one_array(syrk: Tiled) -> None:
    """Two tiles, which are equal on the diagonal alone; the triangle is filled and drained."""
    assert syrk.short() == ["C_acc kernel 4x4 fill drain", "A_tile k0 64x16 fill", "A_tile_2 k0 64x16 fill"]
    check_marks(syrk.tree)
    assert syrk.whys(*syrk.plans) == set()


def test_columns_are_padded(syrk: Tiled) -> None:
    """Lanes read a column of one of the tiles."""
    paddings = {p.name: p.layout.pad for p in syrk.plans[0].placements}
    assert paddings == {"C_acc": 0, "A_tile": 0, "A_tile_2": 1}


def test_a_drain_of_more_than_the_triangle(syrk: Tiled) -> None:
    assert UNSET in syrk.changed("C_acc", everywhere)


def test_tiles_without_a_barrier_behind_their_last_read(syrk: Tiled) -> None:
    assert THREADS in syrk.whys(*syrk.plans, tree=syrk.plain)


COVARIANCE = """for (int i = 0; i < m; i++) for (int j = i; j < m; j++) {
    cov[i][j] = 0.0;
    for (int k = 0; k < n; k++) cov[i][j] += data[k][i] * data[k][j];
    cov[i][j] /= f;
    cov[j][i] = cov[i][j];
}"""


@pytest.fixture(scope="module")
def covariance(scop: Callable[..., Scop]) -> Tiled:
    return tiled_program(scop("int n, int m, double f, double data[n][m], double cov[m][m]", COVARIANCE), (64, 64, 16))


def test_a_sum_whose_mirror_image_is_written(covariance: Tiled) -> None:
    """The diagonal is left to the statement that writes it last, in memory."""
    assert covariance.short() == [
        "cov_acc kernel 4x4 drain",
        "data_tile k0 16x64 fill",
        "data_tile_2 k0 16x64 fill",
    ]
    assert covariance.whys(*covariance.plans) == set()


def test_a_drain_of_the_diagonal(covariance: Tiled) -> None:
    """What the statement behind it wrote there is lost."""

    def with_diagonal(found: Placement) -> Placement:
        assert found.drain is not None
        whole = isl.Map(found.drain.elements)
        assert whole.range().is_disjoint(isl.Set("{ cov[i, i] }"))
        tile = "floor(e0/64) = b0 and floor(e1/64) = b1 and e0 mod 16 = t0 and e1 mod 16 = t1"
        text = f"[m, n] -> {{ [b0, b1, t0, t1] -> cov[e0, e1] : {tile} and 0 <= e0 <= e1 < m and n > 0 }}"
        return replace(found, drain=Copy(text, "kernel"))

    assert covariance.changed("cov_acc", with_diagonal) == {OTHER}


CONVOLUTION = """for (int b = 0; b < n; b++) for (int k = 0; k < m; k++)
    for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) {
        out[b][k][y][x] = 0.0f;
        for (int c = 0; c < d; c++) for (int r = 0; r < 3; r++) for (int s = 0; s < 3; s++)
            out[b][k][y][x] += in[b][c][STEP * y + r][STEP * x + s] * weights[k][c][r][s];
    }"""


@pytest.mark.slow(but="2-1x4x3x129")
@pytest.mark.parametrize(("step", "tile"), [(1, "1x4x3x66"), (2, "1x4x3x129")])
def test_a_convolution(scop: Callable[..., Scop], step: int, tile: str) -> None:
    """Sums in registers over channels and filters, weights and images with a halo in shared memory."""
    arrays = (
        "float out[n][m][h][w]",
        f"float in[n][d][{step} * h + 2][{step} * w + 2]",
        "float weights[m][d][3][3]",
    )
    arguments = ", ".join(("int n, int m, int d, int h, int w", *arrays))
    found = tiled_program(scop(arguments, CONVOLUTION.replace("STEP", str(step))), (64, 64, 4))
    assert found.short() == ["out_acc y 1x4x1x4 drain", f"in_tile c0 {tile} fill", "weights_tile c0 64x4x3x3 fill"]
    assert found.whys(*found.plans) == set()

    def narrower(placement: Placement) -> Placement:
        """Without the last columns of the halo."""
        assert placement.fill is not None
        inside = isl.Map("{ [b0, b1, b2, l0, l1] -> in[e0, e1, e2, e3] : e3 mod 64 < 60 }")
        text = str(isl.Map(placement.fill.elements).intersect(inside))
        return replace(placement, fill=replace(placement.fill, elements=text))

    assert UNSET in found.changed("in_tile", narrower)


PRODUCTS = """for (int b = 0; b < n; b++) for (int i = 0; i < m; i++) for (int j = 0; j < m; j++) {
    C[b][i][j] = 0.0;
    for (int k = 0; k < m; k++) C[b][i][j] += A[b][i][k] * B[b][k][j];
}"""


def test_a_batch_of_products(scop: Callable[..., Scop]) -> None:
    arguments = "int n, int m, double A[n][m][m], double B[n][m][m], double C[n][m][m]"
    found = tiled_program(scop(arguments, PRODUCTS), (64, 64, 16))
    assert found.short() == ["C_acc kernel 1x4x4 drain", "A_tile k0 1x64x16 fill", "B_tile k0 1x16x64 fill"]
    assert found.whys(*found.plans) == set()
    assert UNSET in found.changed("A_tile", lambda p: replace(p, fill=None))


def test_sums_that_nobody_sees_are_not_drained(scop: Callable[..., Scop]) -> None:
    body = PRODUCTS.replace("C[b][i][j]", "t[b][i][j]").removesuffix("}") + "D[b][i][j] = t[b][i][j]; }"
    arguments = "int n, int m, double A[n][m][m], double B[n][m][m], double D[n][m][m]"
    found = tiled_program(scop(arguments, body, "double t[n][m][m];"), (64, 64, 16))
    assert found.short()[0] == "t_acc kernel 1x4x4"
    assert found.whys(*found.plans) == set()


def test_elements_with_remainders_of_their_own_stay_in_memory(scop: Callable[..., Scop]) -> None:
    """They could be copied, but the proof of that takes half a minute."""
    loops = "for (int i = 1; i < n; i += 2) for (int j = i; j < n; j += 3) for (int k = n - 1; k >= 2; k -= 3)"
    body = f"{loops} C[i][j] += A[i][k] * B[k][j];"
    found = tiled_program(scop("int n, double A[n][n], double B[n][n], double C[n][n]", body), (64, 64, 16))
    assert found.plans == ()


def test_loops_over_tiles_are_partitioned(scop: Callable[..., Scop]) -> None:
    """Those whose iterations are values of an iterator have no partial ones."""
    arguments = "int n, int m, int d, int h, int w, float out[n][m][h][w], float in[n][d][h + 2][w + 2]"
    body = CONVOLUTION.replace("STEP * ", "")
    found = tiled_program(scop(f"{arguments}, float weights[m][d][3][3]", body), (64, 64, 4))
    partitioned = [loop.label for loop in found.plans[0].loops if loop.partition]
    assert partitioned == ["c0"]
