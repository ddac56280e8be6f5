"""What pictures show is what the schedule does, and what cannot be drawn is refused."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import polytile
import polytile.drawing.cone
from polytile.api import CompiledScop
from polytile.cli.main import main
from polytile.diagnostics import UserError
from polytile.drawing.build import drawing_of
from polytile.drawing.model import Drawing, Instance
from tests.reading import shared

from .programs import ONE, TWO

ADD = """
void f(int N, double A[N][N], double B[N][N])
{
#pragma scop
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            A[i][j] += B[i][j];
#pragma endscop
}
"""
THREE = """
void f(int N, double A[N][N][N])
{
#pragma scop
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                A[i][j][k] += 1.0;
#pragma endscop
}
"""
SERIAL = """
void f(int N, double A[N])
{
#pragma scop
    for (int i = 1; i < N; i++)
        A[i] = 0.5 * A[i - 1];
#pragma endscop
}
"""
SPLIT = {"schedule": "split", "tile": (16,), "time_tile": 3}


@shared
def compiled(text: str, **settings: object) -> CompiledScop:
    return polytile.compile(text, **settings).scops[0]  # type: ignore[arg-type]


def needed(instance: Instance, n: int) -> set[Instance]:
    """What an instance of ONE reads, if it is computed."""
    name, (t, i) = instance
    before = ("S0", t) if name == "S1" else ("S1", t - 1)
    return {(before[0], (before[1], x)) for x in (i - 1, i, i + 1) if before[1] >= 0 and 0 < x < n - 1}


def cone(instance: Instance, n: int) -> set[Instance]:
    reached: set[Instance] = set()
    latest = needed(instance, n)
    while latest:
        reached |= latest
        latest = {source for sink in latest for source in needed(sink, n)} - reached
    return reached


def of_one(schedule: dict[str, object], n: int, steps: int) -> Drawing:
    return drawing_of(compiled(ONE, **schedule).compilation, {"N": n, "T": steps})


@pytest.mark.parametrize("schedule", [SPLIT, {"schedule": "classic"}], ids=["split", "classic"])
def test_each_instance_is_drawn_once_and_the_cone_is_what_it_needs(schedule: dict[str, object]) -> None:
    n, steps = 70, 7
    drawing = of_one(schedule, n, steps)
    everything = [(name, (t, i)) for name in ("S0", "S1") for t in range(steps) for i in range(1, n - 1)]
    assert sorted(cell.instance for cell in drawing.cells) == everything
    assert drawing.cone is not None and drawing.cone.whole
    assert drawing.cone.sources == needed(drawing.cone.focus, n)
    assert drawing.cone.all == cone(drawing.cone.focus, n)
    assert all(cell.place == (cell.iterators[1],) for cell in drawing.cells)


def test_rows_and_instances_have_the_values_that_the_source_gives_iterators() -> None:
    text = ONE.replace("int t = 0; t < T; t++", "int t = 5; t < 5 + 7 * T; t += 7")
    assert text != ONE
    drawing = drawing_of(compiled(text, schedule="classic").compilation, {"N": 20, "T": 3})
    assert [row.label for row in drawing.space.rows][:4] == ["t = 5, S0", "t = 5, S1", "t = 12, S0", "t = 12, S1"]
    assert drawing.cone is not None
    name, (number, place) = drawing.cone.focus
    assert drawing.cone.name == f"{name}({5 + 7 * number}, {place})"


def test_of_a_large_cone_the_last_rows_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polytile.drawing.cone, "MAX_CONE", 60)
    n = 70
    drawing = of_one(SPLIT, n, 7)
    assert drawing.cone is not None and not drawing.cone.whole
    found = {(t, name) for name, (t, _) in drawing.cone.all}
    assert 2 < len(found) < 13
    assert drawing.cone.all == {i for i in cone(drawing.cone.focus, n) if (i[1][0], i[0]) >= min(found)}


def test_sources_are_in_the_same_tile_or_in_earlier_launches() -> None:
    n = 70
    drawing = of_one(SPLIT, n, 7)
    tiles = {cell.instance: cell.tile for cell in drawing.cells}
    assert len({tile.launch for tile in tiles.values()}) == 2 * 3  # of bands of 3, 3 and 1 steps
    for sink, tile in tiles.items():
        assert all(tiles[source] == tile or tiles[source].launch < tile.launch for source in needed(sink, n))


def test_sizes_show_some_tiles_and_two_bands() -> None:
    drawing = drawing_of(compiled(ONE, **SPLIT).compilation)
    assert drawing.parameters["T"] == 6
    launches = [kernel.launches for kernel in drawing.kernels]
    assert launches == [(1, 3), (2, 4)]
    for launch in (1, 2, 3, 4):
        assert len({cell.tile.block for cell in drawing.cells if cell.tile.launch == launch}) in (3, 4)


@pytest.mark.slow
def test_two_dimensions_have_a_section_through_the_tile_and_panels_of_its_steps() -> None:
    drawing = drawing_of(compiled(TWO, **SPLIT).compilation)
    assert drawing.section is not None and drawing.section.axis == "i"
    assert drawing.section.view.axes == ("j",) and drawing.space.axes == ("i", "j")
    assert [row.values for row in drawing.section.view.rows] == [f"t = {t}" for t in range(6)]
    assert {cell.place[0] for cell in drawing.section.view.cells} == {drawing.section.place}
    own = {cell.row for cell in drawing.space.cells if cell.tile == drawing.tile}
    assert own == set(range(len(drawing.space.rows)))
    assert len(drawing.kernels) == 4
    assert drawing.cone is not None
    focus = next(cell for cell in drawing.space.cells if cell.instance == drawing.cone.focus)
    assert focus.tile == drawing.tile and focus.place[0] == drawing.section.place


@pytest.mark.slow
def test_steps_that_a_section_does_not_meet_have_no_row() -> None:
    loop = "for (int j = 0; j < N; j++)\n            A[(t + 1) % 2][0][j] = t;"
    edge = TWO.replace("T; t++)", f"T; t++) {{\n        {loop}")
    drawing = drawing_of(compiled(edge.replace("#pragma endscop", "    }\n#pragma endscop"), **SPLIT).compilation)
    assert drawing.section is not None
    rows = drawing.section.view.rows
    assert {row.statement for row in rows} == {"S1"}
    assert {cell.row for cell in drawing.section.view.cells} == set(range(len(rows)))


@pytest.mark.slow
def test_many_cells_are_thinned_and_the_picture_says_so() -> None:
    scop = compiled(ONE, schedule="split", tile=(1024,), time_tile=32)
    view = drawing_of(scop.compilation, {"N": 4500, "T": 64}).space
    assert view.stride == 10 and view.notes[-1] == "every 10th place" and view.notes[0] == "every 2nd row"
    assert all(cell.place[0] % 10 == 0 for cell in view.cells)
    assert "every 10th place" in scop.draw({"N": 4500, "T": 64})


def test_without_time_there_is_a_panel_of_blocks() -> None:
    drawing = drawing_of(compiled(ADD, schedule="classic").compilation)
    assert drawing.section is None and drawing.cone is None
    assert [row.label for row in drawing.space.rows] == ["S0"]
    assert len({cell.tile.block for cell in drawing.cells}) > 4


def test_the_text_is_xml_and_the_same_each_time() -> None:
    text = compiled(ADD).draw({"N": 40})
    assert text == compiled(ADD).draw({"N": 40})
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize(
    ("text", "reason"), [(THREE, "3 space dimensions"), (SERIAL, "no schedule to draw")], ids=["three", "serial"]
)
def test_without_tiles_iterations_alone_are_drawn(text: str, reason: str) -> None:
    scop = compiled(text)
    with pytest.raises(UserError, match=reason):
        drawing_of(scop.compilation)
    assert re.findall("<title>f_scop0: ([^<]*)</title>", scop.draw()) == ["iterations and what they depend on"]


def test_scops_are_drawn_beneath_each_other(tmp_path: Path) -> None:
    source = tmp_path / "several.c"
    source.write_text(ADD + THREE.replace("f(", "g(") + ADD.replace("f(", "h("))
    assert main([str(source), "-o", str(tmp_path), "--draw", str(tmp_path / "a.svg"), "--param", "N=20"]) == 0
    drawn = ElementTree.fromstring((tmp_path / "a.svg").read_text())
    titles = [title.text for title in drawn.iter("{http://www.w3.org/2000/svg}title")]
    points = "iterations and what they depend on"
    tiles = [f"{name}_scop0: classic schedule" for name in "fgh"]
    assert [t and t.replace(" (fused)", "") for t in titles] == [
        tiles[0], f"f_scop0: {points}", f"g_scop0: {points}", tiles[2], f"h_scop0: {points}"
    ]  # fmt: skip


def test_a_file_whose_scops_are_refused_says_why() -> None:
    never = SERIAL.replace("int i = 1; i < N", "int i = N; i < N")
    with pytest.raises(UserError, match=str(polytile.compile(never).refusals[0].message)):
        polytile.compile(never).draw()


def test_pictures_are_svg_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["a.c", "--draw", "a.png"]) == 2
    assert "pictures are SVG files" in capsys.readouterr().err
