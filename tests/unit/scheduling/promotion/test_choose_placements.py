"""Placements of tiled products, sums and convolutions: what is chosen, that it is proven, and that the proof refuses it
when it is changed for the worse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import islpy as isl
import pytest

from polytile.ir.plan import KernelPlan, Placement
from polytile.ir.scop import Scop
from polytile.machine import machine_of
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.promotion.choose_placements import Promoted, promote
from polytile.scheduling.proof.placements import wrong_placements

OTHER, UNSET = "another value arrives", "what is read was never written there"
OUTSIDE = "a cell of {} is outside of its extents"


@dataclass(frozen=True)
class Program:
    """A SCoP with a tiled tree."""

    scop: Scop
    tree: isl.Schedule

    def promoted(self, **options: Any) -> Promoted:
        return promote(self.scop, analyse(self.scop), self.tree, machine_of("sm_90"), **options)

    def plan(self, **options: Any) -> KernelPlan:
        (plan,) = self.promoted(**options).plans
        return plan

    def whys(self, *placements: Placement) -> set[str]:
        return {f.why for f in wrong_placements(self.scop, self.tree, [KernelPlan(0, placements)])}


def short(plan: KernelPlan) -> list[str]:
    """Each placement in a few words."""
    return [
        f"{p.name} {p.memory.value} {p.level} {'x'.join(map(str, p.extents))}"
        f"{f' pad {p.layout.pad}' if p.layout.pad else ''}{' fill' if p.fill else ''}{' drain' if p.drain else ''}"
        for p in plan.placements
    ]


def one(plan: KernelPlan, name: str) -> Placement:
    return next(p for p in plan.placements if p.name == name)


def others(plan: KernelPlan, changed: Placement) -> tuple[Placement, ...]:
    return tuple(changed if p.name == changed.name else p for p in plan.placements)


# Products -------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def gemm(scop: Callable[..., Scop], tiled: Callable[..., isl.Schedule], nest: Callable[..., Any]) -> Program:
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
    body = f"{loops} {{ C[i][j] *= beta; for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j]; }}"
    domain = "[n] -> { S0[i, j] : 0 <= i, j < n; S1[i, j, k] : 0 <= i, j, k < n }"
    tree = tiled(domain, [nest("S0[i, j]", ("i", "j")), nest("S1[i, j, k]", ("i", "j"), "k")])
    return Program(scop("int n, double beta, double A[n][n], double B[n][n], double C[n][n]", body), tree)


def test_gemm(gemm: Program) -> None:
    plan = gemm.plan()
    assert short(plan) == [
        "C_acc private kernel 4x4 fill drain",
        "A_tile shared k0_1 64x16 fill",
        "B_tile shared k0_1 16x64 fill",
    ]
    assert gemm.whys(*plan.placements) == set()


def test_the_loops_of_gemm(gemm: Program) -> None:
    assert [str(loop) for loop in gemm.plan().loops] == [
        "loop points: unroll all",
        "loop k0_1: full and partial tiles",
        "loop k_1: unroll all",
        "loop points_1: unroll all",
    ]


def test_what_a_reader_is_told(gemm: Program) -> None:
    assert gemm.promoted().lines == (
        "kernel 0: C_acc: C[64b0 + t0 + 16 * [0, 4), 64b1 + t1 + 16 * [0, 4)] in registers of a thread at kernel, "
        "each used any number of times: one thread has them alone",
        "kernel 0: A_tile: A[64b0 + [0, 64), 16l0 + [0, 16)] in shared memory of a block at k0_1, each used 64 times: "
        "16 threads use each",
        "kernel 0: B_tile: B[16l0 + [0, 16), 64b1 + [0, 64)] in shared memory of a block at k0_1, each used 64 times: "
        "16 threads use each",
    )


def test_arrays_that_have_a_home(gemm: Program) -> None:
    assert short(gemm.plan(kept=("C", "A"))) == ["B_tile shared k0_1 16x64 fill"]


def test_shared_memory_that_does_not_suffice(gemm: Program) -> None:
    assert short(gemm.plan(shared_memory=12 * 1024)) == short(gemm.plan())[:2]
    assert gemm.promoted(shared_memory=4 * 1024).lines[-1] == "kernel 0: A, B in device memory"


@pytest.mark.parametrize("name", ["C_acc", "A_tile", "B_tile"])
def test_tiles_that_are_not_filled(gemm: Program, name: str) -> None:
    plan = gemm.plan()
    assert UNSET in gemm.whys(*others(plan, replace(one(plan, name), fill=None)))


def test_sums_that_are_not_drained(gemm: Program) -> None:
    plan = gemm.plan()
    assert OTHER in gemm.whys(*others(plan, replace(one(plan, "C_acc"), drain=None)))


@pytest.mark.parametrize(("name", "extents"), [("C_acc", (4, 3)), ("A_tile", (63, 16)), ("B_tile", (16, 32))])
def test_tiles_that_are_too_small(gemm: Program, name: str, extents: tuple[int, ...]) -> None:
    plan = gemm.plan()
    assert OUTSIDE.format(name) in gemm.whys(*others(plan, replace(one(plan, name), extents=extents)))


def test_sums_of_points_in_one_cell(gemm: Program) -> None:
    plan = gemm.plan()
    found = one(plan, "C_acc")
    cell = "{ [[b0, b1, t0, t1] -> C[e0, e1]] -> [0, 0] }"
    assert OTHER in gemm.whys(*others(plan, replace(found, cell=cell, extents=(1, 1))))


# Sums that a thread has alone in a part of the kernel only -----------------------------------------------------------
@pytest.fixture(scope="module")
def turned(
    scop: Callable[..., Scop],
    tiled: Callable[..., isl.Schedule],
    nest: Callable[..., Any],
    sizes: Callable[..., Any],
) -> Program:
    """As gemm, but other threads start the sums."""
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
    body = f"{loops} {{ C[i][j] *= beta; for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j]; }}"
    domain = "[n] -> { S0[i, j] : 0 <= i, j < n; S1[i, j, k] : 0 <= i, j, k < n }"
    nests = [nest("S0[i, j]", ("i", "j"), threads=("j", "i")), nest("S1[i, j, k]", ("i", "j"), "k")]
    tree = tiled(domain, nests, sizes(barrier_between=True))
    return Program(scop("int n, double beta, double A[n][n], double B[n][n], double C[n][n]", body), tree)


def test_sums_that_are_a_threads_in_one_loop(turned: Program) -> None:
    plan = turned.plan()
    assert short(plan)[0] == "C_acc private k0_1 4x4 fill drain"
    assert turned.whys(*plan.placements) == set()


def test_sums_too_far_out(turned: Program, gemm: Program) -> None:
    """Where the whole kernel is too much for one thread's registers."""
    outside = one(gemm.plan(), "C_acc")
    assert turned.whys(*others(turned.plan(), outside)) & {OTHER, UNSET}
