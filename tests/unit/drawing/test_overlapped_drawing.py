"""Pictures of overlapped tiles show the boxes of the plan: who computes what, how often, and from which values."""

from __future__ import annotations

from functools import cache, reduce
from itertools import pairwise, product
from pathlib import Path
from xml.etree import ElementTree

import islpy as isl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polytile
from polytile.api import CompiledScop
from polytile.cli.main import main
from polytile.diagnostics import UserError
from polytile.drawing.overlapped import drawing_of
from polytile.drawing.overlapped.build import MAX_ALONG
from polytile.drawing.overlapped.model import Box, StepCells, StreamDrawing, StreamView
from polytile.drawing.overlapped.stripes import stripe
from polytile.ir.overlapped_tiles import StreamStep, owned_planes
from polytile.runtime.parameters import point

from .programs import ONE, TWO

LEFT = ONE.replace("[i + 1]", "[i - 1]").replace("A[i - 1] + A[i] + A[i - 1]", "A[i - 1] + A[i]")
TRIANGLE = TWO.replace("j < N - 1", "j < i")
SEVERAL = """
void f(int T, int N, double E[N], double H[N])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        E[0] = t;
        for (int i = 1; i < N; i++)
            E[i] = E[i] - 0.5 * (H[i] - H[i - 1]);
        for (int i = 0; i < N - 1; i++)
            H[i] = H[i] - 0.7 * (E[i + 1] - E[i]);
    }
#pragma endscop
}
"""
THREE = """
void f(int T, int N, double A[N][N][N], double B[N][N][N])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                for (int k = 1; k < N - 1; k++)
                    B[i][j][k] = A[i - 1][j][k] + A[i + 1][j][k] + A[i][j][k + 1] + A[i][j - 1][k];
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                for (int k = 1; k < N - 1; k++)
                    A[i][j][k] = B[i][j][k];
    }
#pragma endscop
}
"""
LINES = {"tile": (32,), "time_tile": 3}
PLANES = {"tile": (26, 32), "time_tile": 2}
PROGRAMS = {
    "one": (ONE, LINES, {"N": 83, "T": 7}),
    "left": (LEFT, LINES, {"N": 83, "T": 6}),
    "several": (SEVERAL, LINES, {"N": 100, "T": 6}),
    "wide-halos": (ONE, {"tile": (64,), "time_tile": 14}, {"N": 90, "T": 28}),
    "two": (TWO, PLANES, {"N": 71, "T": 4}),
    "triangle": (TRIANGLE, PLANES, {"N": 71, "T": 4}),
}


@cache
def compiled(text: str, tile: tuple[int, ...] = (), time_tile: int | None = None) -> CompiledScop:
    sizes = {"tile": tile, "time_tile": time_tile} if tile else {}
    (scop,) = polytile.compile(text, schedule="overlapped", **sizes).scops  # type: ignore[arg-type]
    assert scop.compilation.overlapped is not None
    return scop


@cache
def drawn(name: str) -> tuple[CompiledScop, StreamDrawing]:
    text, sizes, parameters = PROGRAMS[name]
    scop = compiled(text, **sizes)  # type: ignore[arg-type]
    return scop, drawing_of(scop.compilation, parameters)


programs = pytest.mark.parametrize("name", PROGRAMS)


def instances(scop: CompiledScop, drawing: StreamDrawing, step: StreamStep, box: Box = ()) -> int:
    """How many instances of the source a step has, those that write into a box (the last dimensions of elements)."""
    found = 0
    for name in step.statements:
        statement = scop.compilation.scop.statement(name)
        (write,) = (a for a in statement.accesses if a.writes)
        domain = statement.domain.intersect_params(point(drawing.parameters))
        domain = domain.fix_val(isl.dim_type.set, 0, drawing.first + step.iteration)
        written = write.relation
        offset = written.dim(isl.dim_type.out) - len(box)
        for k, (low, last) in enumerate(box):
            written = written.lower_bound_val(isl.dim_type.out, offset + k, low)
            written = written.upper_bound_val(isl.dim_type.out, offset + k, last)
        found += domain.intersect(written.domain()).count_val().to_python()
    return found


def tiles_of(drawing: StreamDrawing) -> list[tuple[int, ...]]:
    return list(product(*(range(len(axis)) for axis in drawing.grid.axes)))


def made(view: StreamView) -> list[StepCells]:
    return [step for step in view.steps if not step.step.is_input]


@pytest.mark.slow(but=3)
@programs
def test_each_instance_of_a_step_has_a_cell_and_halos_are_counted_as_isl_does(name: str) -> None:
    scop, drawing = drawn(name)
    assert not drawing.space.notes
    for cells in made(drawing.space):
        step = cells.step
        assert len(cells.tiles) == instances(scop, drawing, step)
        boxes = [
            tuple((a + low, b + up) for (a, b), low, up in zip(owner, step.lower, step.upper, strict=True))
            for owner in map(drawing.grid.owner, tiles_of(drawing))
        ]
        assert cells.computed == sum(instances(scop, drawing, step, box) for box in boxes)
    assert any(len(tiles) > 1 for tiles in made(drawing.space)[0].tiles.values())


@programs
def test_owner_boxes_part_the_cells_and_boxes_are_within_tiles(name: str) -> None:
    scop, drawing = drawn(name)
    last = drawing.space.steps[-1]
    owned = [instances(scop, drawing, last.step, drawing.grid.owner(tile)) for tile in tiles_of(drawing)]
    assert sum(owned) == len(last.tiles)
    for axis in drawing.grid.axes:
        assert all(a.owned[1] + 1 == b.owned[0] for a, b in pairwise(axis))
    across = drawing.grid.axes[drawing.plan.streamed :]
    for axis, size in zip(across, drawing.plan.tile, strict=True):
        assert all(tile.cells[1] - tile.cells[0] + 1 == size for tile in axis)


def test_planes_are_shared_out_as_when_kernels_run() -> None:
    scop = compiled(TWO)
    plan = scop.compilation.overlapped
    assert plan is not None and plan.tiles_at_once
    for n in (100, 700, 3000):
        rows, strips = drawing_of(scop.compilation, {"N": n, "T": 2 * plan.iterations}).grid.axes
        planes = owned_planes(plan.chunk, plan.tiles_at_once, n - 2, len(strips), plan.latest)
        assert {tile.owned[1] - tile.owned[0] + 1 for tile in rows[:-1]} <= {planes}
        assert len(rows) == -(-(n - 2) // planes)


@programs
def test_each_tile_has_all_values_that_its_cells_are_computed_from(name: str) -> None:
    _, drawing = drawn(name)
    steps = {cells.step.index: cells for cells in drawing.space.steps}
    for read in drawing.plan.reads:
        reader, source = steps[read.step], steps[read.source]
        for place, tiles in reader.tiles.items():
            at = tuple(x + d for x, d in zip(place, read.offset, strict=True))
            assert at not in source.tiles or set(tiles) <= set(source.tiles[at])


@programs
def test_the_cone_is_what_flow_says_and_lies_in_the_tile(name: str) -> None:
    scop, drawing = drawn(name)
    cone, state = drawing.cone, scop.compilation
    back = state.run.dependences.flow.intersect_params(point(drawing.parameters)).reverse()
    latest = isl.UnionSet(f"{{ {cone.instance[0]}[{', '.join(map(str, cone.instance[1]))}] }}")
    reached = isl.UnionSet("{ }")
    while not latest.is_empty():
        latest = latest.apply(back).subtract(reached)
        reached = reached.union(latest)
    places = {cells.step.index: cells for cells in drawing.space.steps}
    inside = [(index, place) for index, place in cone.all if not drawing.plan.steps[index].is_input]
    sets = [reached.get_set_list().get_at(k) for k in range(reached.n_set())]
    known = [(index, place) for index, place in inside if place in places[index].tiles]
    assert len(known) == sum(own.count_val().to_python() for own in sets)
    assert all(drawing.tile in places[index].tiles[place] for index, place in known)
    assert drawing.tile in places[cone.step].tiles[cone.place]


def test_the_cone_is_at_the_side_with_the_wider_halo() -> None:
    for name, side in (("left", 0), ("one", 0), ("several", 0)):
        _, drawing = drawn(name)
        assert drawing.cone.place[-1] == drawing.grid.owner(drawing.tile)[-1][side]
    scop = compiled(LEFT.replace("[i - 1]", "[i + 1]"), **LINES)  # type: ignore[arg-type]
    drawing = drawing_of(scop.compilation)
    assert drawing.cone.place[-1] == drawing.grid.owner(drawing.tile)[-1][1]


@pytest.mark.parametrize("name", ["two", "triangle"])
def test_planes_are_shown_at_a_moment_at_which_all_that_is_read_is_there(name: str) -> None:
    _, drawing = drawn(name)
    plan, section = drawing.plan, drawing.section
    assert section is not None and drawing.arrives is not None
    assert drawing.arrives - plan.steps[-1].lag == section.place
    for read in plan.reads:
        step, source = plan.steps[read.step], plan.steps[read.source]
        newest = drawing.arrives - source.lag
        assert newest - source.slots < drawing.arrives - step.lag + read.offset[0] <= newest


@pytest.mark.parametrize("name", ["two", "triangle"])
def test_a_section_is_the_same_as_the_panels_at_its_place(name: str) -> None:
    _, drawing = drawn(name)
    assert drawing.section is not None and drawing.section.axis == "i"
    assert drawing.space.axes == ("i", "j") and drawing.section.view.axes == ("j",)
    for cut, whole in zip(drawing.section.view.steps, drawing.space.steps, strict=True):
        assert cut.tiles == {p: tiles for p, tiles in whole.tiles.items() if p[0] == drawing.section.place}


@pytest.mark.parametrize(("text", "sizes"), [(ONE, LINES), (TWO, PLANES)], ids=["one", "two"])
def test_sizes_show_some_tiles_and_one_pair_of_blocks(text: str, sizes: dict[str, object]) -> None:
    drawing = drawing_of(compiled(text, **sizes).compilation)  # type: ignore[arg-type]
    assert drawing.parameters["T"] == 2 * drawing.plan.iterations
    assert all(len(axis) in (3, 4) for axis in drawing.grid.axes)
    assert 0 < drawing.tile[-1] < len(drawing.grid.axes[-1]) - 1


def test_wide_tiles_have_neighbours_on_both_sides_too() -> None:
    drawing = drawing_of(compiled(TWO).compilation)
    assert len(drawing.grid.axes[-1]) == 3 and drawing.tile[-1] == 1
    top = {tiles for tiles in drawing.space.steps[-1].tiles.values() if tiles[0][0] == drawing.tile[0]}
    assert {tile[-1] for tiles in top for tile in tiles} == {0, 1, 2}


@pytest.mark.slow
def test_of_large_spaces_a_part_is_drawn_around_the_tile_and_the_picture_says_so() -> None:
    scop = compiled(TWO, **PLANES)  # type: ignore[arg-type]
    drawing = drawing_of(scop.compilation, {"N": 2000, "T": 40})
    assert drawing.section is not None
    assert [note.split(" of ")[1] for note in drawing.space.notes] == ["0 .. 1999", "1 .. 1999"]
    for view, most in ((drawing.section.view, MAX_ALONG[0]), (drawing.space, MAX_ALONG[1])):
        for cells in view.steps:
            columns = {place[-1] for place in cells.tiles}
            assert len(columns) == max(columns) - min(columns) + 1 == most
    (first, last) = drawing.grid.owner(drawing.tile)[-1]
    assert {first, last} <= {place[-1] for place in drawing.space.steps[-1].tiles}
    assert drawing.space.notes[0] in scop.draw({"N": 2000, "T": 40})


def test_what_is_loaded_is_in_memory_and_in_a_tile() -> None:
    for name in ("one", "several", "two"):
        _, drawing = drawn(name)
        n = drawing.parameters["N"]
        for cells in drawing.space.steps[: len(drawing.plan.inputs)]:
            assert all(0 <= x < n for place in cells.tiles for x in place)
            assert cells.label.endswith(", loaded")


def test_the_text_is_xml_with_the_numbers_of_the_picture() -> None:
    scop, drawing = drawn("one")
    text = scop.draw(PROGRAMS["one"][2])
    assert text == scop.draw(PROGRAMS["one"][2])
    words = [element.text or "" for element in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
    total = sum(cells.computed for cells in made(drawing.space))
    once = sum(len(cells.tiles) for cells in made(drawing.space))
    assert once == 2 * 3 * (83 - 2) and total > once
    expected = f"{once} instances of these iterations {total} times: {total - once} times again"
    assert any(expected in word for word in words)
    assert any("owns 20, more at the sides" in word for word in words)


@pytest.mark.slow
def test_overlapped_tiles_over_three_dimensions_are_refused() -> None:
    scop, why = compiled(THREE), "overlapped tiles over 3 space dimensions: pictures show 1 or 2"
    with pytest.raises(UserError, match=why) as found:
        drawing_of(scop.compilation)
    assert found.value.hint is not None and "--explain" in found.value.hint
    assert f"No picture of tiles: f_scop0 has {why}" in scop.draw()


def test_too_few_iterations_for_a_pair_of_blocks_are_refused() -> None:
    with pytest.raises(UserError, match="no iteration of f_scop0 runs in overlapped tiles") as found:
        drawing_of(compiled(ONE, **LINES).compilation, {"N": 80, "T": 5})  # type: ignore[arg-type]
    assert found.value.hint is not None and "3 iterations come in pairs" in found.value.hint
    with pytest.raises(UserError, match="N=2"):
        drawing_of(compiled(ONE, **LINES).compilation, {"N": 2, "T": 6})  # type: ignore[arg-type]


def test_the_command_draws_overlapped_tiles(tmp_path: Path) -> None:
    source = tmp_path / "one.c"
    source.write_text(ONE)
    words = ["--schedule", "overlapped", "--draw", str(tmp_path / "a.svg"), "-o", str(tmp_path), "-q"]
    assert main([str(source), *words]) == 0
    assert "halo: computed by several tiles" in (tmp_path / "a.svg").read_text()


@given(st.tuples(*[st.integers(0, 40)] * 2), st.tuples(*[st.integers(1, 30)] * 2), st.integers(2, 4))
def test_stripes_fill_a_rectangle(corner: tuple[int, int], size: tuple[int, int], count: int) -> None:
    (left, top), (width, height) = corner, size
    area = float(left), float(top), float(left + width), float(top + height)
    total = sum(abs(_double_area(part)) for k in range(count) for part in stripe(area, k, count).split("z") if part)
    assert total == pytest.approx(2 * width * height)


def _double_area(polygon: str) -> float:
    corners = [tuple(map(float, part.split())) for part in polygon.removeprefix("M").split("L")]
    pairs = zip(corners, [*corners[1:], corners[0]], strict=True)
    return reduce(lambda total, pair: total + pair[0][0] * pair[1][1] - pair[1][0] * pair[0][1], pairs, 0.0)
