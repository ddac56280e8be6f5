"""Index-set splitting: which programs are split, how few pieces are left, and that nothing runs too early."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import islpy as isl
import pytest

import polytile
from polytile.ir.isl_util import sets
from polytile.ir.schedule import nodes
from polytile.ir.scop import Scop
from polytile.runtime.host_interpreter import execute
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.analysis.source_loops import nest_of
from polytile.scheduling.strategies.loop_distribution import Piece, distribute
from polytile.scheduling.strategies.pluto import BandTree, band_trees

SPLIT = "split index sets"
SQUARE = "int n, double A[n][n]"
PATHS = (
    SQUARE,
    "for (int k = 0; k < n; k++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
    " A[i][j] = A[i][j] < A[i][k] + A[k][j] ? A[i][j] : A[i][k] + A[k][j];",
)
ALL, EDGE = "kernel(block[i/8,j/32] thread[8,32] S0)", "kernel(block[{}/128] thread[128] S0)"

PROGRAMS = {
    "shortest paths": (*PATHS, f"serial[k] seq({ALL}, {EDGE.format('j')}, {ALL}, {ALL}, {EDGE.format('j')}, {ALL})"),
    "Gauss-Jordan elimination": (
        SQUARE,
        "for (int k = 0; k < n; k++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
        " if (i != k) A[i][j] -= A[i][k] * A[k][j];",
        f"serial[k] seq({ALL}, {EDGE.format('i')}, {ALL})",
    ),
    "one column against the others": (
        SQUARE,
        "for (int k = 0; k < n; k++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] -= A[i][k];",
        f"serial[k] seq({ALL}, {EDGE.format('i')}, {ALL})",
    ),
    "a vector against its mirror image": (
        "int n, double x[n]",
        "for (int i = 0; i < n; i++) x[i] += 0.5 * x[n - 1 - i];",
        f"seq({EDGE.format('i')}, {EDGE.format('i')})",
    ),
    "an element for all others": (
        "int n, double x[n]",
        "for (int i = 0; i < n; i++) x[i] += x[n / 2];",
        f"seq({EDGE.format('i')}, kernel(seq(S0, S0)), {EDGE.format('i')})",
    ),
    "two vectors, each against an element of the other": (
        "int n, double x[n], double y[n]",
        "for (int t = 0; t < n; t++) for (int i = 0; i < n; i++) { x[i] += y[t]; y[i] += x[t]; }",
        "serial[t] seq(kernel(block[i/128] thread[128] seq(S0, S1)), kernel(seq(S0, S1)), "
        "kernel(block[i/128] thread[128] seq(S0, S1)))",
    ),
    "a loop that runs downwards": (
        "int n, double x[n]",
        "for (int i = n - 1; i >= 0; i--) x[i] += 0.5 * x[n - 1 - i];",
        f"seq({EDGE.format('-i')}, {EDGE.format('-i')})",
    ),
}

UNSPLIT = {
    "uniform dependences": (SQUARE, "for (int i = 1; i < n; i++) for (int j = 1; j < n; j++) A[i][j] = A[i - 1][j];"),
    "a sum": ("int n, double x[n], double s[1]", "for (int i = 0; i < n; i++) s[0] += x[i];"),
    "a product": (
        "int n, double A[n][n], double B[n][n], double C[n][n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)"
        " C[i][j] += A[i][k] * B[k][j];",
    ),
    "more pieces than are allowed": (
        "int n, double x[n + 99]",
        "for (int i = 0; i < n; i++) x[i] = x[7] + x[15] + x[29] + x[44] + x[60];",
    ),
}


def split(scop: Scop) -> BandTree | None:
    found = band_trees(scop, analyse(scop), 10_000_000)
    return next((c for c in found if c.fusion == SPLIT), None)


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_structure(name: str, compiled: Callable[..., Any], shape: Callable[[isl.Schedule], str]) -> None:
    arguments, body, expected = PROGRAMS[name]
    schedule = compiled(arguments, body).compilation.schedule
    assert schedule.strategy == f"classic ({SPLIT})"
    assert shape(schedule.tree) == expected


@pytest.mark.slow(but="a vector against its mirror image")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_bits(name: str, compiled: Callable[..., Any], emulator: None) -> None:
    kernel = compiled(*PROGRAMS[name][:2], strict=True)
    for size in (1, 2, 5, 33):
        kernel.validate(on="emulator", parameters={"n": size}, seed=size)


@pytest.mark.parametrize("name", UNSPLIT)
def test_others_are_left_whole(name: str, scop: Callable[..., Scop]) -> None:
    assert split(scop(*UNSPLIT[name])) is None


def conflicts(n: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Pairs of instances of PATHS, in the order of the source, of which one writes what the other touches."""
    points = list(product(range(n), repeat=3))
    for position, (k, i, j) in enumerate(points):
        for then in points[position + 1 :]:
            written, later = (i, j), (then[1], then[2])
            reads, later_reads = {(i, k), (k, j)}, {(then[1], then[0]), (then[0], then[2])}
            if written == later or written in later_reads or later in reads:
                yield (k, i, j), then


def test_every_conflict_keeps_its_order(
    compiled: Callable[..., Any], before: Callable[[isl.Schedule, isl.UnionSet, isl.UnionSet], bool]
) -> None:
    size = 3
    tree = compiled(*PATHS).compilation.schedule.tree

    def instance(point: tuple[int, ...]) -> isl.UnionSet:
        return isl.UnionSet(f"[n] -> {{ S0[{', '.join(map(str, point))}] : n = {size} }}")

    found = list(conflicts(size))
    assert len(found) > 100
    for first, then in found:
        assert before(tree, instance(first), instance(then)), f"{first} must run before {then}"


def test_filters_split_each_domain(compiled: Callable[..., Any], golden: Callable[[str, str], None]) -> None:
    tree = compiled(*PATHS).compilation.schedule.tree
    filters = [node.filter_get_filter() for node in nodes(tree) if node.get_type() == isl.schedule_node_type.filter]
    golden("schedules/index-sets.txt", "".join(f"{s}\n" for f in filters for s in sets(f)))


def test_a_constant_number_of_launches_for_each_step(compiled: Callable[..., Any]) -> None:
    program = compiled(*PATHS).program
    launched: list[str] = []
    execute(program.body, {"n": 100}, lambda name, _grid, _scope: launched.append(name))
    assert len(launched) == 6 * 100 - 6  # the first and the last vertex have nothing on one side


def test_a_split_schedule_survives_a_file(compiled: Callable[..., Any], shape: Callable[[isl.Schedule], str]) -> None:
    first = compiled(*PATHS)
    again = compiled(*PATHS, load_schedule=first.compilation.schedule_text())
    assert again.program.body == first.program.body
    assert [k.body for k in again.program.kernels] == [k.body for k in first.program.kernels]


def test_pieces_in_the_wrong_order_are_refused(compiled: Callable[..., Any]) -> None:
    arguments, body, _ = PROGRAMS["a vector against its mirror image"]
    text = compiled(arguments, body).compilation.schedule_text()
    first, then = re.findall(r"filter: (.*)", text)
    swapped = text.replace(first, "FIRST").replace(then, first).replace("FIRST", then)
    with pytest.raises(polytile.IllegalSchedule, match="in the other order"):
        compiled(arguments, body, load_schedule=swapped)


# Distribution and fusion ----------------------------------------------------------------------------------------------
def distributed(scop: Scop) -> isl.Schedule:
    pieces = [Piece(s.name, s.domain) for s in scop.statements]
    tree = distribute(scop, nest_of(scop), pieces, analyse(scop).all)
    assert tree is not None
    return tree


FUSIONS = {
    "iterations that match share a loop": (
        "for (int i = 0; i < n; i++) x[i] = 1; for (int j = 0; j < n; j++) y[j] = x[j];",
        "serial[i*] seq(S0, S1)",
    ),
    "iterations that do not match do not": (
        "for (int i = 0; i < n; i++) x[i] = 1; for (int j = 0; j < n; j++) y[j] = x[n - 1 - j];",
        "seq(serial[i*] S0, serial[j*] S1)",
    ),
    "a loop moves past what does not concern it": (
        "for (int i = 0; i < n; i++) x[i] = 1; for (int i = 1; i < n; i++) z[i] = z[i - 1];"
        "for (int i = 0; i < n; i++) y[i] = x[i];",
        "seq(serial[i*] seq(S0, S2), serial[i] S1)",
    ),
    "but not past what it needs": (
        "for (int i = 0; i < n; i++) x[i] = 1; for (int i = 1; i < n; i++) x[i] = x[i] + x[i - 1];"
        "for (int i = 0; i < n; i++) y[i] = x[i];",
        "seq(serial[i*] S0, serial[i] S1, serial[i*] S2)",
    ),
    "a cycle shares its loop only": (
        "for (int t = 0; t < n; t++) { for (int i = 0; i < n; i++) x[i] = y[n - 1 - i];"
        "for (int i = 0; i < n; i++) y[i] = x[i]; }",
        "serial[t] seq(serial[i*] S0, serial[i*] S1)",
    ),
}


@pytest.mark.parametrize("name", FUSIONS)
def test_fusion(name: str, scop: Callable[..., Scop], shape: Callable[[isl.Schedule], str]) -> None:
    body, expected = FUSIONS[name]
    assert shape(distributed(scop("int n, double x[n], double y[n], double z[n]", body))) == expected
