"""Bounds on registers that large bodies get by estimate: which, why, and what overrides them."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.api import CompiledScop
from polytile.codegen.resources.choose_bounds import CHEAP_SPILLS, _most_registers
from polytile.codegen.resources.estimate import estimate, needed_registers
from polytile.ir.expr import Access
from polytile.ir.expr_trees import walk
from polytile.ir.gpu_ops import Offset
from polytile.ir.kernel import Kernel
from polytile.machine import machine_of
from tests.reading import shared

H200 = machine_of("sm_90")
PROGRAMS = Path(__file__).parents[3] / "polybench"
REORDER = PROGRAMS / "reorder"
WITHIN = 0.15  # of what ptxas takes
# What ptxas 13.0 takes without contraction, statements as in the source, 64-bit addresses, bounded to these registers.
CAPS = (255, 168, 128, 96, 80, 64, 48)
PTXAS = {
    ("hypterm", "double", 0): (168, 168, 128, 96, 80, 64, 48),
    ("hypterm", "double", 1): (136, 136, 128, 96, 80, 64, 48),
    ("hypterm", "double", 4): (72, 72, 72, 72, 72, 64, 48),
    ("hypterm", "float", 0): (102, 102, 102, 94, 80, 64, 48),
    ("hypterm", "float", 1): (88, 88, 88, 88, 80, 64, 48),
    ("hypterm", "float", 4): (48, 48, 48, 48, 48, 48, 47),
    ("3d125pt", "double", 0): (254, 168, 128, 96, 80, 64, 48),
    ("3d125pt", "float", 0): (157, 157, 128, 96, 80, 64, 48),
    ("2d81pt", "double", 0): (182, 167, 127, 96, 80, 64, 48),
    ("2d81pt", "float", 0): (96, 96, 96, 96, 80, 64, 48),
    ("rhs4th3fort", "double", 0): (248, 168, 128, 96, 80, 64, 48),
    ("rhs4th3fort", "float", 0): (229, 168, 128, 96, 80, 64, 48),
    ("derivative", "double", 0): (242, 168, 128, 96, 80, 64, 48),
    ("derivative", "float", 0): (193, 168, 128, 96, 80, 64, 48),
}


@shared
def compiled(name: str, element: str = "double", **settings: Any) -> CompiledScop:
    (scop,) = polytile.compile(REORDER / f"{name}.c", defines=[f"DATA_TYPE={element}"], **settings).scops
    return scop


def kernels(scop: CompiledScop) -> tuple[Kernel, ...]:
    assert scop.program is not None
    return scop.program.kernels


def has_offsets(kernel: Kernel) -> bool:
    return any(isinstance(n, Offset) for a in kernel.nodes if isinstance(a, Access) for n in walk(a))


@pytest.mark.slow(but="derivative-float-80-3")
@pytest.mark.parametrize(
    ("name", "element", "registers", "blocks"),
    [
        ("rhs4th3fort", "double", 128, 2),
        ("rhs4th3fort", "float", 80, 3),
        ("derivative", "double", 128, 2),
        ("derivative", "float", 80, 3),
    ],
)
def test_large_bodies_get_bounds(name: str, element: str, registers: int, blocks: int) -> None:
    scop = compiled(name, element)
    narrow, wide = kernels(scop)
    assert narrow.max_registers == wide.max_registers == registers
    assert has_offsets(narrow) and not has_offsets(wide)
    assert H200.resident_blocks(256, registers, 0) == blocks
    assert needed_registers(narrow) <= registers + registers // CHEAP_SPILLS
    (line,) = scop.compilation.bounds
    assert f"{registers} registers at most" in line and f"for {blocks} blocks" in line
    assert line in scop.explain()


@pytest.mark.slow(but=("3d125pt", "2d25pt"))
@pytest.mark.parametrize("name", ["hypterm", "3d125pt", "2d81pt", "3d27pt", "2d25pt"])
def test_enough_warps_get_none(name: str) -> None:
    """More than half of the warps run at once as it is, with one point a thread."""
    scop = compiled(name, points=(1,) * (2 if name.startswith("2d") else 3))
    assert scop.compilation.bounds == ()
    assert not any(k.max_registers or k.min_blocks or has_offsets(k) for k in kernels(scop))


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("registers", [96, 255])
def test_registers_override(registers: int) -> None:
    scop = compiled("derivative", "float", registers=registers)
    assert {k.max_registers for k in kernels(scop)} == {registers} and scop.compilation.bounds == ()


def of_one_iteration(name: str, **settings: Any) -> Kernel:
    (scop,) = polytile.compile(PROGRAMS / f"{name}.c", **settings).scops
    return next(k for k in kernels(scop) if k.name.endswith("_k0"))


@pytest.mark.slow(but="double")
@pytest.mark.parametrize("element", ["double", "float"])
def test_kernels_of_small_grids_have_half_of_the_registers(element: str) -> None:
    """Threads have 64 registers, where blocks of 256 that are not bounded get 48."""
    kernel = of_one_iteration("polybench/heat-3d", defines=[f"DATA_TYPE={element}"])
    assert prod(kernel.block) == 256 and (kernel.min_blocks, kernel.max_registers) == (4, 0)


@pytest.mark.slow(but="polybench/heat-3d-settings2")
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("cluster/stencil-27pt", {}),  # needs more than 64
        ("cluster/stencil-13pt", {}),  # has 64 in any case: 0.292 ms bounded, 0.260 not (40^3, 120 iterations, H200)
        ("polybench/heat-3d", {"parameters": {"n": 200, "tsteps": 100}, "schedule": "classic"}),  # grids are not small
        ("polybench/heat-3d", {"registers": 96}),
    ],
)
def test_other_kernels_of_one_iteration_have_what_they_had(name: str, settings: dict[str, Any]) -> None:
    assert of_one_iteration(name, **settings).min_blocks == 0


@pytest.mark.slow
def test_the_order_of_the_source_stays() -> None:
    """An order that is asked for is kept, and bounded by what it needs."""
    scop = compiled("derivative", "float", order="source")
    assert "order of few live values" not in scop.explain()
    assert kernels(scop)[0].max_registers == 128


@pytest.mark.parametrize(("blocks", "registers"), [(1, 248), (2, 128), (3, 80), (4, 64), (5, 48), (8, 32), (9, 0)])
def test_the_most_registers_of_so_many_blocks(blocks: int, registers: int) -> None:
    kernel = Kernel("k", (), (32, 8, 1), (), (), ())
    assert _most_registers(kernel, H200, blocks) == registers


@pytest.mark.slow(but="2d81pt-float")
@pytest.mark.parametrize(("name", "element"), sorted({key[:2] for key in PTXAS}))
def test_estimates_of_bounded_kernels(name: str, element: str) -> None:
    points = {"2d": (1, 1), "3d": (1, 1, 1), "hy": (1, 1, 1)}.get(name[:2], ())
    settings = {"order": "source", "registers": 250, "strict": True, "schedule": "classic"}
    scop = compiled(name, element, points=points, **settings)
    found = list({k.name.removesuffix("_wide"): k for k in kernels(scop)}.values())
    for (_, _, number), figures in ((k, v) for k, v in PTXAS.items() if k[:2] == (name, element)):
        for cap, registers in zip(CAPS, figures, strict=True):
            own = estimate(replace(found[number], max_registers=cap), H200).registers
            assert abs(own - registers) <= WITHIN * registers, (number, cap, own)


@pytest.mark.slow
@pytest.mark.parametrize("element", ["double", "float"])
def test_results_are_those_of_c(element: str) -> None:
    for name in ("rhs4th3fort", "derivative"):
        scop = compiled(name, element, strict=True, verify_passes=True)
        assert has_offsets(kernels(scop)[0])
        for result in scop.validate(on="emulator", seed=1, sanitize=("address", "undefined", "race", "uninitialised")):
            assert "bitwise equal" in result.line
