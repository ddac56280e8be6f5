"""The report of a search: a page that loads nothing, whose figures and pictures are those of the outcomes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from polytile.autotuning import words
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.record_lines import Entry, to_line
from polytile.autotuning.report import History, page
from polytile.autotuning.report.__main__ import main as report
from polytile.autotuning.report.axes import TimeAxis
from polytile.autotuning.report.history import varied
from polytile.autotuning.report.influence import by_influence, share_explained
from polytile.autotuning.report.of_record import histories
from polytile.autotuning.report.surfaces import surfaces
from polytile.autotuning.words import point, short
from polytile.diagnostics import EXIT_DONE, EXIT_USAGE, EXIT_USER
from tests.unit.autotuning.example_history import DEFAULT, FAILURES, RECORD, example_history
from tests.unit.report.html_checks import checked


def test_the_page_is_well_formed_and_has_the_figures_of_the_search() -> None:
    history = example_history()
    found = checked(page([history]))
    words = " ".join(found.words.split())
    assert f"{short(history.default)} ms" in words and f"{short(history.best)} ms" in words
    assert f"{history.default / history.best:.2f} \u00d7" in words
    assert f"{len(history.outcomes)} of {history.points + 1}" in words
    assert history.options in words
    for status, reason in FAILURES.values():
        assert status.value in words and reason in words


def test_several_scops_are_on_one_page_under_names_of_their_own() -> None:
    first = example_history(3)
    found = checked(page([first, replace(first, scop="other_scop0")]))
    assert {"scop0", "scop1"} <= set(found.identifiers)
    assert "other_scop0" in found.words


@pytest.mark.parametrize(
    "outcomes",
    [
        (),
        (DEFAULT,),
        (Outcome((), Status.REFUSED, "it has no kernels"),),
        (DEFAULT, Outcome((("schedule", "tiled"), ("rows", 2)), Status.MEASURED, milliseconds=(1.62,))),
        (DEFAULT, Outcome((("schedule", "tiled"), ("rows", 2)), Status.HUNG, "no answer within 60 s")),
        (Outcome((), Status.CRASHED), Outcome((("schedule", "tiled"),), Status.MEASURED, milliseconds=(2.0,))),
    ],
    ids=["nothing", "the default", "refused", "two", "no other time", "no default"],
)
def test_short_searches_have_pages(outcomes: tuple[Outcome, ...]) -> None:
    winner = outcomes[-1].point if outcomes and outcomes[-1].milliseconds else ()
    history = History("f_scop0", "f.c", {}, "", outcomes, winner, "")
    checked(page([history]))


def test_names_and_reasons_are_text() -> None:
    wrong = Outcome((("schedule", "<b>"), ("rows", 1)), Status.WRONG, "<script>alert(1)</script> & more")
    fine = Outcome((("schedule", "<b>"), ("rows", 2)), Status.MEASURED, milliseconds=(1.0,))
    history = History("f<i>", "a&b.c", {}, 'a "GPU"', (DEFAULT, wrong, fine), fine.point, "-D 'A<B'")
    assert "<script>alert(1)</script> & more" in checked(page([history])).words


def test_a_picture_has_each_outcome_and_the_best_so_far_goes_down() -> None:
    history = example_history(2)
    text = page([history])
    picture = re.search(r"<svg.*?</svg>", text, re.DOTALL)
    assert picture is not None
    assert picture[0].count("<circle") == len(history.outcomes)
    best = list(history.best_so_far)
    assert best == sorted(best, reverse=True) and best[-1] == min(one.median for one in history.measured)


def test_surfaces_are_those_of_the_paper_where_their_parameters_exist() -> None:
    first, second = surfaces(example_history())
    assert (first.x, first.y, second.x, second.y) == ("tile_x", "tile_y", "block_x", "block_y")
    history = example_history()
    best = min(history.measured, key=lambda one: history.time(one.point)).point
    assert first.cells[dict(best)["tile_x"], dict(best)["tile_y"]].point == best
    assert first.cells.keys() <= {(x, y) for x in first.across for y in first.upwards}


def test_surfaces_are_cuts_through_the_best_point() -> None:
    """Over the sizes of tiles at the best threads, and the other way round: all else is as it is held."""
    history = example_history()
    best = dict(min(history.measured, key=lambda one: history.time(one.point)).point)
    found = [surface for surface in surfaces(history) if surface.held.startswith("at ")]
    assert found
    for surface in found:
        fixed = {name: value for name, value in best.items() if name not in (surface.x, surface.y, "schedule")}
        assert surface.held == "at " + ", ".join(f"{name} {words.value(value)}" for name, value in fixed.items())
        for (x, y), one in surface.cells.items():
            assert dict(one.point) == {**best, surface.x: x, surface.y: y}
        assert set(surface.across) == {x for x, _ in surface.cells}
        assert set(surface.upwards) == {y for _, y in surface.cells}


def streamed(time: float, tile: tuple[int, int], block: tuple[int, int]) -> Outcome:
    sizes = zip(("tile_y", "tile_x", "block_y", "block_x"), (*tile, *block), strict=True)
    return Outcome((("schedule", "streaming"), *sizes), Status.MEASURED, milliseconds=(time,))


def of_points(*outcomes: Outcome) -> History:
    return replace(example_history(), outcomes=outcomes, finals={}, winner=outcomes[0].point)


def test_few_points_beside_the_best_are_no_surface() -> None:
    """48 threads divide 48 cells alone of 32 to 64: four heights of it are a surface, three are not, nor are four of
    nine pairs."""
    others = [streamed(2.0 + y, (y, x), (2, 16)) for y in (4, 8, 12, 16) for x in (32, 48)]
    column = [streamed(1.0 + y / 100, (y, 48), (2, 48)) for y in (4, 8, 12, 16)]
    surface = next(surfaces(of_points(*column, *others)))
    assert (surface.across, surface.upwards, surface.held) == ([48], [4, 8, 12, 16], "at block_y 2, block_x 48")
    surface = next(surfaces(of_points(*column[:3], *others)))
    assert (surface.across, surface.held) == ([32, 48], "the best over all other parameters")
    assert surface.cells[48, 4] == column[0] and surface.cells[48, 16] == others[7]
    square = [streamed(5.0, (y, x), (2, 16)) for y in (4, 8, 12) for x in (32, 48, 64)]
    few = [streamed(1.0 + y, (y, x), (2, 32)) for y, x in ((4, 32), (8, 48), (12, 64), (4, 48))]
    assert next(surfaces(of_points(*few, *square))).held == "the best over all other parameters"


def test_other_spaces_show_the_two_parameters_that_matter_most() -> None:
    history = example_history()
    kept = tuple(one for one in history.outcomes if dict(one.point).get("schedule") != "streaming")
    winner = min((one for one in kept if one.milliseconds), key=lambda one: one.median).point
    (surface,) = surfaces(replace(history, outcomes=kept, winner=winner, finals={}))
    assert (surface.x, surface.y) == ("time_tile", "warps")


def test_the_share_that_a_parameter_explains() -> None:
    flat = [Outcome((("a", a), ("b", b)), Status.MEASURED, milliseconds=(float(b),)) for a in (1, 2) for b in (1, 4)]
    assert share_explained(flat, "a") == pytest.approx(0)
    assert share_explained(flat, "b") == pytest.approx(1)
    assert share_explained(flat[:1], "b") == 0 == share_explained(flat, "c")
    assert [name for name, _ in by_influence(flat, varied(flat))] == ["b", "a"]


def test_points_with_the_kernels_of_the_default_are_known() -> None:
    history = example_history()
    (like,) = history.like_default
    assert history.time(like) == DEFAULT.median
    assert history.says_of_default(like) == "the kernels of the default"
    assert history.says_of_default(history.winner) == ""


def test_without_such_a_point_the_nearest_is_marked() -> None:
    history = example_history()
    others = tuple(one for one in history.outcomes if one.point not in history.like_default)
    near = replace(history, outcomes=others, near_default=history.winner)
    assert near.says_of_default(near.winner) == "nearest to the default"
    assert "nearest to the default" in page([near])


@pytest.mark.parametrize(
    ("time", "shown"), [(0, "0"), (0.01234, "0.0123"), (1.4, "1.40"), (9.996, "10.0"), (99.96, "100"), (45600, "45600")]
)
def test_times_have_three_digits(time: float, shown: str) -> None:
    assert short(time) == shown


@pytest.mark.parametrize("times", [(1.0,), (1.0, 1.01), (0.001, 3000.0), (1.61, 1.63)])
def test_axes_have_round_times_inside(times: tuple[float, ...]) -> None:
    axis = TimeAxis.of(times, 0, 100)
    assert all(0 <= axis.at(tick) <= 100 for tick in axis.ticks)
    assert [axis.at(time) for time in times] == sorted((axis.at(time) for time in times), reverse=True)
    assert len(axis.ticks) >= 1


def test_points_in_words() -> None:
    assert point(()) == "the default"
    assert point((("schedule", "tiled"),)) == "tiled"
    assert point((("schedule", "tiled"), ("rows", 2), ("read_only", True))) == "tiled: rows 2, read_only on"


def test_a_record_has_a_page_without_its_program(tmp_path: Path) -> None:
    """The committed record is made up, as its GPU says."""
    expected = example_history(6)
    (found,) = histories(RECORD)
    assert (found.outcomes, found.finals, found.winner) == (expected.outcomes, expected.finals, expected.winner)
    target = tmp_path / "page.html"
    assert report([str(RECORD), str(target)]) == EXIT_DONE
    words = checked(target.read_text()).words
    assert "a GPU that was made up" in words and point(expected.winner) in words


def test_the_page_does_not_replace_its_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "record.jsonl"
    record.write_bytes(RECORD.read_bytes())
    assert report([str(record), str(record)]) == EXIT_USER
    assert "would overwrite the input" in capsys.readouterr().err
    assert record.read_bytes() == RECORD.read_bytes()


def test_what_is_no_record_has_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text("{}")
    assert report([str(other), str(tmp_path / "page.html")]) == EXIT_USAGE
    assert report([str(tmp_path / "none"), str(tmp_path / "page.html")]) == EXIT_USAGE
    assert "is no record" in capsys.readouterr().err


def test_a_record_whose_default_is_not_beaten(tmp_path: Path) -> None:
    record = tmp_path / "same.tune.jsonl"
    same = Outcome((("schedule", "tiled"), ("rows", 2)), Status.MEASURED, milliseconds=(1.615,), key="other")
    record.write_bytes(b"".join(to_line(Entry("0" * 64, one)) for one in (DEFAULT, same)))
    (found,) = histories(record)
    assert found.winner == () and found.file == "same"
