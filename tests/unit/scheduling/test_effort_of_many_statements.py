"""What a loop nest of many statements takes of isl's operations, where every conflict counts as a dependence."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl
import pytest

import polytile
from polytile.choices import SUPERPOSED, Choices
from polytile.facts.model import DependenceKind
from polytile.facts.witnesses import carried_by, witness
from polytile.frontend.program import read_program
from polytile.ir.isl_util import budget, maps
from polytile.ir.schedule import KERNEL
from polytile.ir.scop import Scop
from polytile.machine import machine_of
from polytile.options import Options
from polytile.scheduling.analysis.dependences import Dependences, analyse
from polytile.scheduling.candidate import Problem
from polytile.scheduling.proof.legality import missing_barriers, unordered
from polytile.scheduling.strategies import classic
from polytile.scheduling.strategies.pluto import band_trees, original_order
from polytile.scheduling.strategies.superposed import strategy
from tests.bitwise import same_as_c


def loops(count: int) -> Iterator[str]:
    """Loops over parts of a tile that overlap, as tools generate them; each reads what others write."""
    for k in range(1, count + 1):
        written, read = "xyz"[k % 3], "xyz"[(k + 1) % 3]
        yield f"for (int i = 32 * b + {2 * k}; i < 32 * b + {2 * k + 5}; i++)"
        yield f"  {written}[i] = {read}[i + 1] - {written}[i - 1];"


def text(count: int, real: str = "double") -> str:
    body = "\n".join(loops(count))
    arrays = ", ".join(f"{real} {name}[32 * n + 99]" for name in "xyz")
    return (
        f"void f(int n, {arrays})\n{{\n#pragma scop\n"
        f"for (int t = 0; t < 16; t++) for (int b = 0; b < n; b++) {{\n{body}\n}}\n#pragma endscop\n}}\n"
    )


@pytest.fixture(scope="module")
def scop() -> Scop:
    return read_program("f.c", text(30)).scops[0]


@pytest.fixture(scope="module")
def conflicts(scop: Scop) -> Dependences:
    found = analyse(scop, 1)
    assert not found.exact
    assert found.relations > 500
    return found


def in_one_thread(scop: Scop, *, backwards: bool = False) -> isl.Schedule:
    band = scop.schedule.get_root().child(0)
    if backwards:
        partial = band.band_get_partial_schedule().neg()
        band = band.delete().insert_partial_schedule(partial)
    return band.insert_mark(isl.Id(KERNEL)).get_schedule()


def test_marking_parallel_loops(scop: Scop, conflicts: Dependences) -> None:
    with budget(180_000):
        original_order(scop, conflicts)


def test_looking_for_barriers(scop: Scop, conflicts: Dependences) -> None:
    with budget(150_000):
        assert not missing_barriers(in_one_thread(scop), conflicts.all)


def test_proving_the_order(scop: Scop, conflicts: Dependences) -> None:
    with budget(280_000):
        assert not unordered(in_one_thread(scop), conflicts.all)


def test_one_thread_runs_its_loops_in_order(scop: Scop, conflicts: Dependences) -> None:
    found = unordered(in_one_thread(scop, backwards=True), conflicts.all)
    assert [violation.why for violation in found] == ["the schedule runs them in the other order"]


def test_searches_that_cannot_end_are_not_begun(
    scop: Scop, conflicts: Dependences, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(scop, conflicts, Options(), machine_of(Options().arch), Choices())
    assert problem.conflicts == 2 * conflicts.all.n_map()  # there is one size
    monkeypatch.setattr(strategy, "MOST_INEXACT", problem.conflicts - 1)
    with budget(1):
        assert not list(strategy.superposed(problem))
    assert f"is not tried, as {problem.conflicts} pairs of conflicting statements" in problem.remembered[SUPERPOSED]


def test_isl_is_not_asked_for_loops_of_thousands_of_conflicts(
    scop: Scop, conflicts: Dependences, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polytile.scheduling.strategies.pluto.MOST_INEXACT", conflicts.relations - 1)
    monkeypatch.setattr("polytile.scheduling.strategies.pluto.in_bounded_time", None)
    (found,) = band_trees(scop, conflicts, 20_000_000)
    assert found.fusion == "original order"
    (note,) = found.notes
    assert note.startswith(f"isl's scheduler is not asked, as {conflicts.relations} relations of conflicting accesses")


def test_with_too_many_conflicts_the_c_is_left_alone(
    scop: Scop, conflicts: Dependences, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(scop, conflicts, Options(), machine_of(Options().arch), Choices())
    monkeypatch.setattr(classic, "MOST_INEXACT", problem.conflicts - 1)
    with budget(1):
        (found,) = classic.propose(problem)
    assert found.schedule is None
    assert any("isl's scheduler is not asked" in note and "gave up" not in note for note in found.notes)


@pytest.mark.slow(but="float")
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("real", ["float", "double"])
def test_they_compute_what_c_does(real: str) -> None:
    (scop,) = polytile.compile(text(9, real), name="f.c", schedule="classic", strict=True, max_operations=2000).scops
    same_as_c(scop, [{"n": n} for n in (0, 1, 3, 8)])


def test_a_serial_loop_has_a_reason_of_conflicts(scop: Scop, conflicts: Dependences) -> None:
    outer = scop.loops[0]
    with budget(40_000):
        carried = list(carried_by(maps(conflicts.of("x").flow), outer))
        found = witness(scop, "x", DependenceKind.FLOW, carried, exact=False)
    first, then = (dict(place.iteration) for place in (found.source, found.sink))
    assert found.may
    assert first["t"] < then["t"]
