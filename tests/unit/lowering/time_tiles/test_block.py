"""Kernels whose blocks share planes of their tiles compute what C does, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polytile.diagnostics import InternalError
from polytile.ir.expr import Access, For, If, Name
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.gpu_ops import Arrive, Await, Load, Shuffle, Store
from polytile.ir.kernel import Barrier, Comment, Kernel
from polytile.ir.memory import Space, constant_extents
from polytile.ir.time_tile import Exchange

from .plans import Case, Runner
from .programs import BOX, BOX_3D, ONE, STAR_3D, TWO, examples, same_as_c

BLOCKS = [name for name, example in examples().items() if example.case.exchange is Exchange.BLOCK]


@pytest.mark.slow(but=["star of single cells"])
@pytest.mark.parametrize("name", BLOCKS)
def test_results_are_those_of_c(name: str, emulator: None, tmp_path: Path) -> None:
    same_as_c(examples()[name], tmp_path)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("name", BLOCKS)
def test_one_barrier_a_plane(name: str) -> None:
    case = examples()[name].case
    _, made = case.lowered()
    for kernel in made.kernels:
        barriers = [n for n in kernel.nodes if isinstance(n, Barrier)]
        blocks, warps = ([n for n in barriers if n.scope == scope] for scope in ("block", "warp"))
        arrivals, waits = ([n for n in kernel.nodes if isinstance(n, kind)] for kind in (Arrive, Await))
        if case.split_barrier:  # rows that hold values at first, and one in each copy of the loop
            assert (len(blocks), len(warps), len(arrivals), len(waits)) == (1, 1 + 3, 1 + 3, 3)
        else:
            assert (len(blocks), len(warps), len(arrivals), len(waits)) == (1 + 3, 0, 0, 0)


def without(*kinds: type) -> Callable[[Any], Any]:
    """Statements of these kinds are left out; barriers of the block are of the warp."""

    def change(node: Any) -> Any:
        if isinstance(node, Barrier) and Barrier in kinds:
            return Barrier(node.reason, "warp")
        return Comment("") if isinstance(node, kinds) else node

    return change


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change"), [("star in space", without(Barrier)), ("star that waits late", without(Await, Arrive))]
)
def test_a_missing_barrier_is_a_race(
    name: str, change: Callable[[Any], Any], emulator: None, tmp_path: Path
) -> None:
    example = examples()[name]
    runner = Runner(example.case, tmp_path, checks=True, change=lambda stmt: rewrite(stmt, change))
    sizes = example.sizes[1]
    with pytest.raises(AssertionError, match=r"with no barrier between them"):
        runner.compare(example.times, "f", sizes, example.arrays(**sizes))


def planes_without_tests(kernel: Kernel) -> list[list[Any]]:
    """What is in the loops over planes of which none needs a test, of tiles away from all sides and of others."""
    loops = [n for n in kernel.nodes if getattr(n, "iterator", "") == "group"]
    assert len(loops) == 2
    return [list(walk(loop)) for loop in loops]


def test_rows_that_need_no_others_are_made_before_the_wait() -> None:
    """Of four rows the two in the middle, in all steps."""
    case = Case(
        STAR_3D, ONE, 3, live=[1], threads=(8, 32), points=(4, 2), exchange=Exchange.BLOCK, split_barrier=True
    )
    _, made = case.lowered()
    for kernel in made.kernels:
        for inside in planes_without_tests(kernel):
            (wait,) = (k for k, n in enumerate(inside) if isinstance(n, Await))
            before = inside[:wait]
            assert not any(isinstance(n, Access) and kernel.root(n.array).space is Space.SHARED for n in before)
            comments = [n.text for n in before if isinstance(n, Comment)]
            assert len(comments) == 3 and all(text.endswith("rows 1, 2 of the patch") for text in comments)


def test_planes_of_others_are_read_a_plane_later_at_the_earliest() -> None:
    case = Case(BOX_3D, TWO, 2, threads=(4, 32), points=(3, 1), exchange=Exchange.BLOCK)
    with pytest.raises(InternalError, match="a plane of other threads, of step 0, is read as it is made"):
        case.lowered()


def test_blocks_have_rows_and_columns() -> None:
    case = Case(BOX, ONE, 2, live=[1], threads=(32,), points=(2,), exchange=Exchange.BLOCK, gap=1)
    with pytest.raises(InternalError, match="blocks share rows of the planes of a stream"):
        case.lowered()


def test_columns_come_by_shuffles_and_edge_rows_from_shared_memory() -> None:
    """Of a star: two columns of each row, and the rows above and below the patch, as vectors."""
    rows, columns, steps = 4, 2, 3
    case = Case(STAR_3D, ONE, steps, live=[1], threads=(8, 32), points=(rows, columns), exchange=Exchange.BLOCK)
    _, made = case.lowered()
    for kernel in made.kernels:
        for inside in planes_without_tests(kernel):
            loops = [n for n in inside if isinstance(n, For) and any(isinstance(s, Shuffle) for s in walk(*n.body))]
            assert sum(isinstance(n, Shuffle) for n in inside) == 2 * steps and loops
            fetched = [n for n in inside if isinstance(n, Load) and kernel.root(n.source.array).space is Space.SHARED]
            shown = [n for n in inside if isinstance(n, Store) and kernel.root(n.target.array).space is Space.SHARED]
            assert len(fetched) == len(shown) == 2 * steps
            assert {len(n.targets) for n in fetched} == {len(n.values) for n in shown} == {columns}
            plain = [n for n in inside if isinstance(n, Access) and kernel.root(n.array).space is Space.SHARED]
            assert len(plain) == len(fetched) + len(shown)
        extents = {constant_extents(s) for s in kernel.shared}
        assert extents == {(2, 2 * 8 + 2, 1, 64)}


def test_tiles_at_sides_select_without_tests_of_planes() -> None:
    """Away from all sides no cell is tested; at sides each by a bit, of every step; loads are of cells that nobody
    writes alone."""
    case = Case(STAR_3D, ONE, 3, live=[1], threads=(8, 32), points=(4, 2), exchange=Exchange.BLOCK, split_barrier=True)
    _, made = case.lowered()
    for kernel in made.kernels:
        inside, sides = planes_without_tests(kernel)
        assert not any(reads_name(n, "cells_S0") for n in inside if isinstance(n, If))
        selects = [n for n in sides if isinstance(n, If) and reads_name(n.condition, "cells_S0")]
        assert len(selects) == 2 * 3 + 1  # rows before and behind the wait, and what is loaded early
        for body in (inside, sides):
            conditions = [n.condition for n in body if isinstance(n, If)]
            assert not any(reads_name(condition, size) for condition in conditions for size in ("nx", "ny", "nz"))


def reads_name(node: Any, name: str) -> bool:
    return any(isinstance(n, Name) and n.name == name for n in walk(node))
