"""The pictures, tables and figures of docs/distribution.md are the predictions.

`pytest --update-golden` writes pictures and tables anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from polytile.distribution.links import H200_NDR, H200_NDR_GRAPHS, LINKS
from polytile.distribution.process_grid import choose_grid
from polytile.distribution.scaling import RANKS, ScalingPoint, StencilWork, scaling_table, strong_scaling, weak_scaling
from polytile.distribution.scaling_figures import BOX_27, STAR_7
from polytile.distribution.timeline import predicted_rows
from polytile.drawing import rank_timeline, scaling
from polytile.drawing.svg import document

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "distribution.md"
TABLES = re.compile(r"(<!-- tables of predictions.*?-->\n).*?(<!-- end of the tables -->)", re.DOTALL)
CUBE = (1024, 1024, 1024)
SMALL = (256, 256, 256)


def predicted_scaling() -> str:
    picture = scaling.picture_of([(STAR_7, 1), (STAR_7, 4), (BOX_27, 1), (BOX_27, 2)], H200_NDR, CUBE, SMALL)
    return document([scaling.to_svg(picture)])


def predicted_timeline() -> str:
    """Of 64 ranks those with 3, 5 and 6 neighbours that a star reads, and one inside with a period of 3 iterations."""
    grid = choose_grid(64, CUBE, ((1, 1),) * 3, ("i", "j", "k"))
    facts = ["1024^3 in all", f"{' x '.join(map(str, grid.shape))} ranks", H200_NDR.name]
    made = []
    for steps, ranks in ((1, (0, 5, 21)), (3, (0, 21))):
        title = f"7 points, a period of {steps} iteration{'s' * (steps > 1)}, predicted"
        made.append(rank_timeline.to_svg(title, facts, predicted_rows(STAR_7, H200_NDR, grid, ranks, steps)))
    return document(made)


PICTURES = {"predicted-scaling.svg": predicted_scaling, "predicted-timeline.svg": predicted_timeline}


@pytest.mark.slow(but="predicted-timeline.svg")
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_current(name: str, request: pytest.FixtureRequest) -> None:
    made: Callable[[], str] = PICTURES[name]
    kept, text = PAGE.parent / "distribution" / name, made()
    if request.config.getoption("--update-golden"):
        kept.write_text(text)
    assert kept.read_text() == text, f"{kept} is old: run pytest --update-golden and look at it"
    assert f"](distribution/{name})" in PAGE.read_text()


@pytest.mark.slow
def test_the_tables_are_current(request: pytest.FixtureRequest) -> None:
    each = ((STAR_7, (1, 4)), (BOX_27, (1, 2)))
    tables = "\n".join(scaling_table(work, H200_NDR, CUBE, sorted({*RANKS, 24, 27}), steps) for work, steps in each)
    page = PAGE.read_text()
    current = TABLES.sub(lambda found: f"{found[1]}\n{tables}\n{found[2]}", page)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(current)
    assert PAGE.read_text() == current, f"{PAGE} is old: run pytest --update-golden and look at the difference"


@cache
def point(kind: Callable[..., ScalingPoint], work: StencilWork, size: int, ranks: int, steps: int) -> ScalingPoint:
    return kind(work, H200_NDR, (size,) * 3, ranks, steps)


def test_the_figures_of_the_text_are_predictions() -> None:
    text = " ".join(PAGE.read_text().split())
    weak = {work: f"{100 * point(weak_scaling, work, 1024, 8, 1).efficiency:.1f}%" for work in (STAR_7, BOX_27)}
    assert f"7 points reach {weak[STAR_7]} with T = 1 and 27 points {weak[BOX_27]}" in text
    small = {work: f"{100 * point(weak_scaling, work, 256, 64, 1).efficiency:.1f}%" for work in (STAR_7, BOX_27)}
    graphs = {w: f"{100 * weak_scaling(w, H200_NDR_GRAPHS, SMALL, 64, 1).efficiency:.1f}%" for w in (STAR_7, BOX_27)}
    assert f"7 points reach {small[STAR_7]}; with launches from a CUDA graph it is {graphs[STAR_7]}" in text
    assert f"it is {small[BOX_27]} and {graphs[BOX_27]}" in text
    took = {
        (work, steps): f"{1e6 * point(strong_scaling, work, 1024, 64, steps).seconds:.0f}"
        for work in (STAR_7, BOX_27)
        for steps in (1, 2, 4)
    }
    one, two, four = (took[BOX_27, steps] for steps in (1, 2, 4))
    assert f"{one} µs an iteration with T = 1, {two} with T = 2 and {four} with T = 4" in text
    assert f"{took[STAR_7, 1]} µs with T = 1, {took[STAR_7, 2]} with T = 2" in text
    assert f"at {took[STAR_7, 4]} µs" in text
    fewer, more = (point(strong_scaling, STAR_7, 1024, ranks, 1) for ranks in (24, 27))
    assert f"work at {100 * fewer.efficiency:.1f}%, 27 as 3 x 3 x 3 at {100 * more.efficiency:.1f}%" in text
    assert f"{1e6 * more.seconds:.0f} µs an iteration and {1e6 * fewer.seconds:.0f}" in text
    models = [f"{100 * found.predicted:.0f}%" for found in scaling.published_beside()]
    assert f"the model gives {models[0]}, {models[1]} and {models[2]} on that cluster" in text


def test_the_links_of_the_page_are_those_of_the_model() -> None:
    rows = dict(re.findall(r"^\| ([^|]*) \| (\d+) \| [^|]* \|$", PAGE.read_text(), re.MULTILINE))
    assert rows == {link.name.removesuffix(" 400").removesuffix(" 200"): f"{link.rate / 1e9:.0f}" for link in LINKS}


def test_the_example_of_the_page_prints_tables(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {})
    said = capsys.readouterr().out
    assert said.startswith("Weak scaling, 1024 x 1024 x 1024 on each rank: 7 points") and "| 64 | 4 x 4 x 4 |" in said
