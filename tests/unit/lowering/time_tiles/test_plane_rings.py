"""Loops over the cells of a thread: none where there is one cell, and subscripts are added up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.codegen.lowering.time_tiles.rings import Ring, Side, each, over
from polytile.codegen.targets.cuda.cuda import print_kernels
from polytile.ir.arith import add, binary, compare, lift
from polytile.ir.expr import BOOL, DOUBLE, Access, Assign, For, If, Name, Scope, Stmt

PROGRAMS = Path(__file__).parents[4] / "polybench"
U, V = Name("u"), Name("v")
RING = Ring("x0", DOUBLE, 2, (2, 1), (Side(2), Side(1)), (Side(2), Side(1)))


def moved(*by: int) -> Access:
    return RING.at(1, [add(name, distance) for name, distance in zip((U, V), by, strict=True)])


def test_places_are_sums_of_a_name_and_one_constant() -> None:
    assert moved(-1, 1).subscripts == (lift(1), add(U, 1), add(V, 2))
    assert moved(-2, -1).subscripts == (lift(1), U, V)


def test_one_cell_needs_no_loop() -> None:
    found = each((2, 1), (U, V), Assign(moved(0, -1), "", moved(1, 0)))
    assert isinstance(found, For) and found.iterator == "u"
    (inner,) = found.body
    assert inner == Assign(RING.at(1, (U, -1)), "", RING.at(1, (add(U, 1), 0)))
    assert over(range(2, 3), U, inner) == Assign(RING.at(1, (2, -1)), "", RING.at(1, (3, 0)))


def test_several_statements_stay_together() -> None:
    body: tuple[Stmt, ...] = (Assign(moved(0, 0), "", moved(1, 0)), Assign(moved(1, 0), "", moved(0, 0)))
    assert isinstance(over(range(1), U, *body), Scope)


def test_loops_stay_around_conditions_and_addresses() -> None:
    """Compilers arrange these in other ways without a loop."""
    bit = compare("!=", binary("&", Name("cells"), V), 0)
    tested = If(bit, (Assign(moved(0, 0), "", moved(0, 1)),))
    assert isinstance(over(range(1), V, tested), For)
    loaded = Assign(moved(0, 0), "", Access("A", (add(Name("left"), V),), DOUBLE))
    assert isinstance(over(range(1), V, loaded), For)
    assert bit.type == BOOL


@pytest.mark.slow(but="stencilgen/poisson")
@pytest.mark.parametrize("program", ["stencilgen/poisson", "stencilgen/j3d27pt", "an5d/box3d1r", "an5d/box3d4r"])
def test_kernels_are_less_than_2650_lines(program: str) -> None:
    """Without what entry points share. Text grows with the rows of a thread: the widest stencil has one cell, others
    have two rows and columns."""
    sizes: dict[str, Any] = {"block": (11, 32), "tile": (22, 64), "time_tile": 2}
    if program == "an5d/box3d4r":
        sizes = {"block": (16, 32), "tile": (16, 32), "time_tile": 1}
    (compiled,) = polytile.compile(PROGRAMS / f"{program}.c", schedule="overlapped", **sizes).programs
    assert len(print_kernels(compiled).splitlines()) < 2650
