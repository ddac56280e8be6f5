"""Entries in C on the ranks of MPI, in the emulator: the bits of the C, exact counts, and what is refused."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from polytile.distribution.planner import distribute
from polytile.distribution.process_grid import choose_grid
from polytile.distribution.traffic import sent_in_all, stored_bytes
from polytile.distribution.transfers import ExchangeMode
from polytile.frontend.program import read_program
from polytile.ir.evaluate import evaluate
from tests.ranks.c_programs import BY_NAME, SOURCES, Case, Entry, built, run

pytestmark = [pytest.mark.usefixtures("emulator"), pytest.mark.slow]

MODES = ("basic", "diagonal", "overlap")
SIZES = {
    "jacobi": (5, 23, 31),
    "heat": (5, 13, 14, 15),
    "fdtd": (5, 17, 19),
    "himeno": (5, 13, 14, 11),
    "wave": (7, 17, 19, 8, 9, 4, 15),
    "beyond": (5, 17, 19),
    "receivers": (5, 17, 19, 12, 11),
    "cells": (5, 17, 19),
    "residual": (5, 17, 19),
}
STEPS = {  # between two exchanges; three run in time tiles
    "jacobi": (1, 2, 3),
    "heat": (1, 3),
    "fdtd": (1, 2),
    "himeno": (1, 2),
    "wave": (1, 2),
    "receivers": (2,),
    "beyond": (2,),
    "cells": (2,),
    "residual": (1, 3),
    "poles": (),
}
WITHOUT_POSITIONS = ("beyond", "cells")  # of which some statements run everywhere
GRIDS = {2: ("6,1", "1,6", "3,2"), 3: ("6,1,1", "1,3,2", "2,1,3")}


def same_as_c(entry: Entry, steps: int, folder: Path) -> None:
    sizes = SIZES[entry.name]
    cases = [Case(ranks, mode, "auto", sizes) for ranks in (1, 2, 4, 6) for mode in MODES]
    cases += [Case(4, "overlap", "auto", (count, *sizes[1:])) for count in (0, 1, 2)]
    if entry.name in WITHOUT_POSITIONS:
        cases.append(Case(1, "overlap", "auto", (sizes[0], 0, 0)))
    if steps == 1:
        axes = 3 if entry.name in ("heat", "himeno") else 2
        cases += [Case(6, MODES[k], grid, sizes) for k, grid in enumerate(GRIDS[axes])]
    schedule = "classic" if steps == 1 else "auto"  # loops of the C, and those that are chosen
    program = built(entry, steps, folder, schedule=schedule)
    done = run(program, cases, **({"POLYTILE_COUNTS": "1"} if entry.within else {}))
    assert done.returncode == 0, done.stderr[-2000:]
    found = dict(zip(cases, done.stdout.split(), strict=True))
    said = "equal"
    if entry.within:  # the same bits for all grids, with four reductions a step: of 8 bytes, one of 24
        told = re.findall(r"gave (\d+) bytes to (\d+) reductions", done.stderr)
        each = [(48 * case.integers[0], 4 * case.integers[0]) for case in cases for _ in range(case.ranks)]
        assert Counter((int(size), int(calls)) for size, calls in told) == Counter(each)
        (said,) = {found[case] for case in cases if case.integers == sizes}
        assert said.startswith("equal:"), done.stderr[-2000:]
        found |= {case: found[case].split(":")[0] + said[5:] for case in cases if case.integers != sizes}
    assert found == dict.fromkeys(cases, said), done.stderr[-2000:]


@pytest.mark.parametrize(("name", "steps"), [(name, steps) for name in BY_NAME for steps in STEPS[name]])
def test_same_as_c(name: str, steps: int, tmp_path: Path) -> None:
    same_as_c(BY_NAME[name], steps, tmp_path)


def test_infinite_terms_and_no_time_loop(tmp_path: Path) -> None:
    done = run(built(BY_NAME["poles"], 1, tmp_path), [Case(ranks, MODES[0], "auto", (33, 37)) for ranks in (1, 2, 6)])
    found = done.stdout.split()
    assert len(found) == 3 and len({*found}) == 1 and found[0].startswith("equal:"), done.stderr


@pytest.fixture(scope="module")
def jacobi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(BY_NAME["jacobi"], 2, tmp_path_factory.mktemp("jacobi"))


def test_steps_of_the_library(jacobi: Path) -> None:
    done = run(jacobi, [Case(ranks, mode, "auto", (3, 23, 31), "library") for ranks in (1, 4, 6) for mode in MODES])
    assert done.stdout.split() == ["equal"] * 9, done.stderr


def test_messages_in_device_memory(jacobi: Path) -> None:
    done = run(jacobi, [Case(6, mode, "auto", (5, 23, 31)) for mode in MODES], POLYTILE_MPI="device")
    assert done.stdout.split() == ["equal"] * 3, done.stderr


@pytest.mark.parametrize("mode", ExchangeMode, ids=lambda mode: mode.value)
def test_counts_are_those_of_the_plan(jacobi: Path, mode: ExchangeMode) -> None:
    file = SOURCES / "jacobi.c"
    plan = distribute(read_program(str(file), file.read_text()).scops[0], 2)
    sizes = {"steps": 7, "n": 23, "m": 31}
    extents = [evaluate(axis.extent, sizes) for axis in plan.axes]
    grid = choose_grid(6, extents, plan.halo, [axis.name for axis in plan.axes])
    done = run(jacobi, [Case(6, mode.value, "auto", (7, 23, 31))], POLYTILE_COUNTS="1")
    counted = re.findall(
        r"rank (\d+) sent (\d+) bytes in (\d+) messages; on the device are (\d+) bytes of arrays", done.stderr
    )
    found = {int(rank): (int(messages), int(sent), int(held)) for rank, sent, messages, held in counted}
    expected = {r: (*sent_in_all(plan, grid, r, mode, sizes), stored_bytes(plan, grid, r, sizes)) for r in range(6)}
    assert found == expected


def refused(program: Path, case: Case) -> str:
    """What is said of a case that all ranks refuse."""
    done = run(program, [case])
    assert done.returncode == 0 and done.stdout.split() == ["refused"], done.stderr
    (line,) = done.stderr.splitlines()
    return line


def test_parts_that_are_too_thin(jacobi: Path) -> None:
    told = refused(jacobi, Case(6, "overlap", "6,1", (3, 23, 31)))
    assert told == (
        "polytile: jacobi_mpi: 6 ranks cut the 23 positions of i into parts of 3 or 4, but halos are 4 wide: "
        "at most 5 ranks along i, or fewer steps per exchange"
    )
    assert "at most 2 ranks along j" in refused(jacobi, Case(6, "basic", "auto", (3, 4, 9)))


def test_grids_that_are_none(jacobi: Path) -> None:
    assert refused(jacobi, Case(6, "overlap", "2,2", (3, 23, 31))).endswith("4 places, but there are 6 ranks")
    assert refused(jacobi, Case(2, "overlap", "2", (3, 23, 31))).endswith("auto, or 2 numbers of ranks, as in 2,2")
    assert refused(jacobi, Case(2, "aside", "auto", (3, 23, 31))).endswith("basic, diagonal or overlap")


def test_ranks_with_different_sizes(jacobi: Path) -> None:
    told = refused(jacobi, Case(4, "overlap", "auto", (3, 23, 31), "differ"))
    assert told == "polytile: jacobi_mpi: ranks have different programs, sizes or options"


