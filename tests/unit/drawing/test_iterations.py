"""Pictures of iterations: points are those that isl counts, where the schedule runs them; arrows are dependences."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import islpy as isl
import pytest

import polytile
from polytile.api import CompiledScop
from polytile.diagnostics import UserError
from polytile.drawing import build, iterations
from polytile.drawing.iterations.model import IterationDrawing, Panel
from polytile.drawing.iterations.point_colours import FOUR, STOPS, colours_of, shade
from polytile.facts import loop_facts
from polytile.ir.expr import DOUBLE, INT, Name
from polytile.ir.scop import Array
from polytile.runtime.parameters import point
from polytile.scheduling.analysis.dependences import analyse
from tests.reading import shared

from .programs import ONE

SVG = "{http://www.w3.org/2000/svg}"
SUITE = Path(__file__).resolve().parents[3] / "polybench" / "polybench"


@shared
def compiled(arguments: str, body: str, **settings: object) -> CompiledScop:
    text = f"void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (scop,) = polytile.compile(text, raise_bugs=True, **settings).scops  # type: ignore[arg-type]
    return scop


def drawing_of(scop: CompiledScop, **parameters: int) -> IterationDrawing:
    return iterations.drawing_of(scop.compilation, loop_facts(scop.compilation), parameters)


def shown(scop: CompiledScop, drawing: IterationDrawing, panel: Panel) -> dict[str, isl.Set]:
    """The instances of a panel's statements at the values that its caption names."""
    found = {}
    for name in panel.statements:
        statement = scop.compilation.source.statement(name)
        own = statement.domain.intersect_params(point(drawing.parameters))
        for iterator, value in panel.slices:
            if iterator in statement.iterators:
                own = own.fix_val(isl.dim_type.set, statement.iterators.index(iterator), isl.Val(value))
        found[name] = own
    return found


def counted(text: str) -> dict[str, int]:
    """How many points a picture has of each statement."""
    found: dict[str, int] = {}
    for group in ElementTree.fromstring(text).iter(f"{SVG}g"):
        name = group.attrib["data-statement"]
        found[name] = found.get(name, 0) + len(group)
    return found


ADD = ("int n, double A[n][n]", "for (int i = 0; i < n; i++)\n for (int j = 0; j < n; j++)\n  A[i][j] += 1.0;")
FOUR_LOOPS = (
    "int n, double A[n][n][n][n]",
    "for (int i = 0; i < n; i++)\n for (int j = 0; j < n; j++)\n  for (int k = 0; k < n; k++)\n"
    "   for (int l = 0; l < n; l++)\n    A[i][j][k][l] += 1.0;",
)
SERIAL = ("int n, double a[n]", "for (int i = 1; i < n; i++)\n a[i] += a[i - 1];")
AROUND = (
    "int n, double A[n][n], double x[n]",
    "for (int i = 0; i < n; i++) {\n x[i] = 1.0;\n for (int j = 0; j < i; j++)\n  x[i] -= A[i][j] * x[j];\n"
    " x[i] = x[i] / A[i][i];\n}",
)


@pytest.mark.slow(but="jacobi-1d")
@pytest.mark.parametrize("name", ["jacobi-1d", "seidel-2d", "lu"])
def test_a_picture_has_as_many_points_as_isl_counts(name: str) -> None:
    (scop,) = polytile.compile(SUITE / f"{name}.c", raise_bugs=True).scops
    drawing, text = drawing_of(scop), scop.draw()
    expected = {
        statement: own.count_val().to_python()
        for panel in drawing.panels
        for statement, own in shown(scop, drawing, panel).items()
    }
    assert counted(text) == expected and sum(expected.values()) > 100
    assert all(re.search(rf"slice at {re.escape(panel.sliced)}", text) for panel in drawing.panels if panel.slices)
    assert any(panel.bold for panel in drawing.panels)
    _check(scop, drawing)


@pytest.mark.slow(but=4)
@pytest.mark.parametrize("program", [ADD, FOUR_LOOPS, SERIAL, AROUND], ids=["add", "four loops", "serial", "around"])
@pytest.mark.parametrize("n", [0, 1, 5, 33])
def test_of_each_size(program: tuple[str, str], n: int) -> None:
    scop = compiled(*program)
    drawing = drawing_of(scop, n=n)
    assert drawing.parameters == {"n": n} and not drawing.notes
    text = scop.draw({"n": n})
    points = {
        name: own.count_val().to_python() for p in drawing.panels for name, own in shown(scop, drawing, p).items()
    }
    assert counted(text) == {name: count for name, count in points.items() if count}
    assert ("the domain is empty at these sizes" in text) == (not any(points.values()))
    _check(scop, drawing)


def _check(scop: CompiledScop, drawing: IterationDrawing) -> None:
    """No two points lie upon each other, and arrows are dependences between points."""
    known = analyse(scop.compilation.source)
    flow, everything = known.flow, known.all
    for panel in drawing.panels:
        assert len({(dot.at, dot.slot) for dot in panel.dots}) == len(panel.dots)
        assert all(dot.slot < panel.slots[0] * panel.slots[1] for dot in panel.dots)
        own = {dot.instance for dot in panel.dots}
        arrows = [(a, flow if panel.arrows.flow else everything) for a in panel.arrows.drawn]
        for arrow, relation in [*arrows, *((bold.arrow, everything) for bold in panel.bold)]:
            assert arrow.source in own and arrow.sink in own
            ends = (f"{name}[{', '.join(map(str, values))}]" for name, values in (arrow.source, arrow.sink))
            pair = isl.UnionMap(f"{{ {' -> '.join(ends)} }}")
            assert not pair.intersect(relation.intersect_params(point(drawing.parameters))).is_empty()


def from_isl(domain: str) -> CompiledScop:
    scop = polytile.scop_from_isl(
        "f",
        domain=domain,
        schedule="{ S[i] -> [i] }",
        reads="{ S[i] -> A[i] }",
        writes="{ S[i] -> A[i] }",
        bodies={"S": "A[i] = A[i] + 1.0;"},
        arrays=[Array("A", DOUBLE, (Name("n", INT),))],
    )
    return polytile.compile_scop(scop, raise_bugs=True)


def test_an_empty_domain_says_so() -> None:
    scop = compiled("int n, int m, double a[n]", "for (int i = 0; i < n - m; i++)\n a[i] += 1.0;")
    text = scop.draw({"n": 3, "m": 4})
    assert "no instance: the domain is empty at these sizes" in text and not counted(text)
    assert "No picture of tiles: no statement of f_scop0 runs at these sizes: n=3, m=4" in text


def test_what_has_no_end_is_refused() -> None:
    with pytest.raises(UserError, match="no end of the instances of S"):
        from_isl("[n] -> { S[i] : 0 <= i and n > 0 }").draw()


def test_axes_of_counted_iterations_say_so() -> None:
    scop = compiled("int n, double a[n]", "for (int i = 4; i < n; i += 3) a[i] = a[i - 3];")
    (panel,) = drawing_of(scop, n=30).panels
    assert panel.axes == ("iteration of i", "")


def test_of_four_loops_a_slice_is_named() -> None:
    (panel,) = drawing_of(compiled(*FOUR_LOOPS)).panels
    assert panel.axes == ("j", "i") and panel.sliced == "k = 0, l = 0"


def test_a_slice_goes_through_the_witness() -> None:
    body = FOUR_LOOPS[1].replace("+= 1.0", "+= A[i - 1][j][k][l - 1]").replace("int i = 0", "int i = 1")
    scop = compiled(FOUR_LOOPS[0], body.replace("int l = 0", "int l = 1"))
    (panel,) = drawing_of(scop).panels
    assert panel.axes == ("l", "i") and panel.sliced == "j = 0, k = 0"
    assert [bold.arrow.sink for bold in panel.bold] == [("S0", (2, 0, 0, 2))]
    assert "loop i is serial: A[i][j][k][l] written at i=1, j=0, k=0, l=1 is read at" in scop.draw()


def test_points_have_the_launches_and_blocks_of_tiles() -> None:
    scop = polytile.compile(ONE, schedule="split", tile=(16,), time_tile=3, raise_bugs=True).scops[0]
    drawn = {cell.instance: cell.tile for cell in build.drawing_of(scop.compilation, {"N": 30, "T": 7}).cells}
    (panel,) = drawing_of(scop, N=30, T=7).panels
    assert {dot.instance: dot.tile for dot in panel.dots} == drawn
    assert len(panel.launches) == 6


def test_overlapped_tiles_run_the_first_iterations_and_the_tree_the_others() -> None:
    scop = polytile.compile(ONE, schedule="overlapped", tile=(32,), time_tile=2, raise_bugs=True).scops[0]
    (panel,) = drawing_of(scop, N=60, T=6).panels
    launches = {(name, t): set() for name in ("S0", "S1") for t in range(6)}  # type: ignore[var-annotated]
    for dot in panel.dots:
        assert dot.tile is not None
        launches[dot.instance[0], dot.instance[1][0]].add((dot.tile.launch, dot.tile.kernel < 0))
    assert [launches["S0", t] for t in range(4)] == [{(1, True)}, {(1, True)}, {(2, True)}, {(2, True)}]
    assert [(launches["S0", t], launches["S1", t]) for t in (4, 5)] == [
        ({(3, False)}, {(4, False)}),
        ({(5, False)}, {(6, False)}),
    ]


def test_statements_beside_a_loop_are_beside_its_points() -> None:
    (panel,) = drawing_of(compiled(*AROUND), n=6).panels
    columns = {name: {dot.at[0] for dot in panel.dots if dot.instance[0] == name} for name in panel.statements}
    assert columns == {"S0": {-1}, "S1": {0, 1, 2, 3, 4}, "S2": {5}}
    assert panel.margins == {-1, 5} and panel.slots == (1, 1)


@pytest.mark.slow
def test_too_many_points_are_fewer_at_smaller_sizes_or_a_part_of_them() -> None:
    scop = compiled(*ADD)
    assert drawing_of(scop, n=2000).notes == ("n = 50 instead of 2000: pictures have at most 3,000 points",)
    assert "n = 50 instead of 2000" in scop.draw({"n": 2000})
    constant = compiled("double A[900][900]", ADD[1].replace("< n", "< 900"))
    drawing = drawing_of(constant)
    assert drawing.notes == ("i = 0 .. 47 of 0 .. 899, j = 0 .. 47 of 0 .. 899: pictures have at most 3,000 points",)
    assert len(drawing.panels[0].dots) == 48 * 48


def test_many_dependences_are_those_of_a_few_instances() -> None:
    (panel,) = drawing_of(compiled(*SERIAL), n=200).panels
    assert panel.arrows.total == 198 and len(panel.arrows.drawn) == 1
    assert panel.arrows.sinks == (panel.arrows.drawn[0].sink,)


def test_without_flow_the_reuse_of_storage_is_drawn() -> None:
    (panel,) = drawing_of(
        compiled("int n, double a[n]", "for (int i = 0; i < n - 1; i++)\n a[i] = a[i + 1];"), n=9
    ).panels
    assert not panel.arrows.flow and len(panel.arrows.drawn) == panel.arrows.total == 7


def test_many_statements_have_panels_of_their_own_or_shapes() -> None:
    body = "\n".join(f"s{k} = {k}.0;" for k in range(12))
    arguments = ", ".join(f"double s{k}[1]" for k in range(12))
    scop = compiled(f"int n, double a[n], {arguments}", re.sub(r"s(\d+) =", r"s\1[0] =", body) + "\n" + SERIAL[1])
    panels = drawing_of(scop, n=4).panels
    assert [len(panel.statements) for panel in panels] == [9, 3, 1]
    assert panels[0].slots == (3, 3) and counted(scop.draw({"n": 4})) == {**{f"S{k}": 1 for k in range(12)}, "S12": 3}


def test_colours_differ_in_lightness() -> None:
    def light(colour: str) -> float:
        red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    assert all(light(a) - light(b) > 20 for a, b in pairwise(STOPS))
    four = sorted(light(shade(position)) for position in FOUR)
    assert all(b - a > 20 for a, b in pairwise(four))


def test_neighbouring_blocks_have_different_shades() -> None:
    scop = compiled(*FOUR_LOOPS, block=(1, 1, 4), schedule="classic")
    (panel,) = drawing_of(scop, n=6).panels
    colours = {dot.at: (dot.tile, colour) for dot, colour in colours_of(panel).items()}
    beside = [((x, y), at) for x, y in colours for at in ((x + 1, y), (x, y + 1)) if at in colours]
    assert len(panel.launches) == 1 and len({tile for tile, _ in colours.values()}) > 4
    assert all((colours[a][0] == colours[b][0]) == (colours[a][1] == colours[b][1]) for a, b in beside)


@pytest.mark.slow
def test_pictures_have_no_ids_and_are_the_same_each_time() -> None:
    scop = compiled(*AROUND)
    text = scop.draw()
    assert text == compiled(*AROUND).draw()
    assert not re.search(r"\bid=|url\(|href", text)


def test_text_of_the_source_is_escaped() -> None:
    body = 'for (int i = 0; i < n; i++)\n a[i] = a[i] < 2.0 && i > 1 ? 1.0 : 2.0; /* </script> & "x" */'
    text = compiled("int n, double a[n]", body).draw()
    assert "&lt; 2.0 &amp;&amp;" in text and ElementTree.fromstring(text).tag == f"{SVG}svg"
