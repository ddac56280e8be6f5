"""Placements and the storage of generated code say the same, both ways."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from polytile.ir.cell_layout import Layout
from polytile.ir.expr import DOUBLE, Literal
from polytile.ir.memory import Space, Storage
from polytile.ir.placed_storage import forwarding_placement, home_placement, place_rank, storage_of
from polytile.ir.plan import Copy, Owner, Placement
from polytile.ir.scop import Array, Origin


def storage(space: Space, keeps: tuple[int, ...], *sizes: int, **more: Any) -> Storage:
    return Storage("A", space, DOUBLE, tuple(Literal(str(s)) for s in sizes), "A", keeps, **more)


def array(rank: int) -> Array:
    return Array("A", DOUBLE, (Literal("64"),) * rank, Origin.LOCAL)


HOMES = [
    (storage(Space.PRIVATE, ()), "{ [[p0, p1] -> A[a0, a1]] -> [] }"),
    (storage(Space.PRIVATE, (1,), 4), "{ [[p0, p1] -> A[a0, a1]] -> [a1] }"),
    (storage(Space.PRIVATE, (0,), 2, strides=(32,)), "{ [[p0, p1] -> A[a0, a1]] -> [floor((a0)/32)] }"),
    (storage(Space.SHARED, (0, 1), 64, 64), "{ [[p0, p1] -> A[a0, a1]] -> [a0, a1] }"),
    (storage(Space.PRIVATE, (0, 1), 2, 4, strides=(32, 1)), "{ [[p0, p1] -> A[a0, a1]] -> [floor((a0)/32), a1] }"),
]


@pytest.mark.parametrize(("home", "cell"), HOMES)
def test_homes(home: Storage, cell: str) -> None:
    placement = home_placement(home, 2, 2)
    assert (placement.name, placement.cell, placement.through) == ("A", cell, False)
    assert place_rank(placement) == 2
    assert storage_of(placement, array(2)) == home


@pytest.mark.parametrize(
    ("keeps", "moduli"), [((1,), (16,)), ((0, 1), (2, 8)), ((1,), (1,)), ((1, 0), (4, 4))]
)
@pytest.mark.parametrize("place", [0, 3])
def test_copies(keeps: tuple[int, ...], moduli: tuple[int, ...], place: int) -> None:
    copy = storage(Space.SHARED, keeps, *moduli, moduli=moduli)
    placement = forwarding_placement(copy, 2, place)
    assert (placement.name, placement.through, placement.owner) == ("A_here", True, Owner.BLOCK)
    assert storage_of(placement, array(2)) == copy


def test_a_cell_that_is_written_otherwise() -> None:
    placement = forwarding_placement(storage(Space.SHARED, (1,), 16, moduli=(16,)), 2, 1)
    other = replace(placement, cell="{ [[b] -> A[i, j]] -> [o] : 0 <= o < 16 and (o - j) mod 16 = 0 }")
    assert storage_of(other, array(2)) == storage_of(placement, array(2))


CELLS = [
    "{ [[b] -> A[i, j]] -> [i - b, j] }",
    "{ [[b] -> A[i, j]] -> [i + j, 0] }",
    "{ [[b] -> A[i, j]] -> [i mod 16, j] }",
    "{ [[b] -> A[i, j]] -> [floor((i + 1)/2), j] }",
    "{ [[b] -> A[i, j]] -> [i, j] : i > 0 }",
    "{ [[b] -> A[i, j]] -> [i, j] : i > 0; [[b] -> A[i, j]] -> [0, j] : i <= 0 }",
]
PLAIN = Placement("A", "A", (), "kernel", Space.SHARED, Owner.BLOCK, "{ [[b] -> A[i, j]] -> [i, j] }", (64, 64))
FILL = Copy("{ [b] -> A[i, j] : 0 <= i, j < 64 }", "kernel")


@pytest.mark.parametrize(
    "change",
    [
        *({"cell": cell} for cell in CELLS),
        {"uses": (("S0", 1),)},
        {"level": "k"},
        {"layout": Layout(pad=1)},
        {"fill": FILL},
        {"drain": FILL},
        {"owner": Owner.WARP},
        {"through": True},
    ],
)
def test_placements_of_other_kinds(change: dict[str, Any]) -> None:
    assert storage_of(PLAIN, array(2)) is not None
    assert storage_of(replace(PLAIN, **change), array(2)) is None
