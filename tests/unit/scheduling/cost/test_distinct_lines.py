"""Distinct lines, against the lines that a tile's addresses really touch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import pytest

from polytile.ir.scop import Scop
from polytile.scheduling.analysis.reference_groups import Step
from polytile.scheduling.cost import distinct_lines, memory_cost
from polytile.scheduling.cost.dual_numbers import variables

LINE = 128
PER_LINE = LINE // 8


def nest(scop: Callable[..., Scop], *reads: str) -> Scop:
    """A statement over (i, j) that reads these references of a matrix and of vectors, and writes x[0]."""
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[0] = x[0]"
    arguments = "int n, double A[4 * n][4 * n], double B[4 * n][4 * n], double v[4 * n], double x[1]"
    return scop(arguments, "".join([body, *(f" + {r}" for r in reads), ";"]))


Subscripts = Callable[[int, int], tuple[int, ...]]


def touched(tiles: Sequence[int], references: Sequence[Subscripts]) -> int:
    """Lines of one array that references touch in a tile at the origin, with rows that share no line."""
    lines = set()
    for i, j in product(range(tiles[0]), range(tiles[1])):
        for subscripts in references:
            *row, column = subscripts(i, j)
            lines.add((*row, column // PER_LINE))
    return len(lines)


EXACT: dict[str, tuple[tuple[str, ...], list[Subscripts]]] = {
    "rows": (("A[i][j]",), [lambda i, j: (i, j)]),
    "columns": (("A[j][i]",), [lambda i, j: (j, i)]),
    "broadcast over j": (("v[i]",), [lambda i, j: (i,)]),
    "one element": (("v[5]",), [lambda i, j: (5,)]),
    "strided": (("A[i][2 * j]",), [lambda i, j: (i, 2 * j)]),
    "far apart": (("A[i][40 * j]",), [lambda i, j: (i, 40 * j)]),
    "strided rows": (("A[3 * i][j]",), [lambda i, j: (3 * i, j)]),
    "diagonal": (("A[i][i]",), [lambda i, j: (i, i)]),
    "sum": (("v[i + j]",), [lambda i, j: (i + j,)]),
    "a column and what is right of it": (("A[i][j]", "A[i][j + 1]"), [lambda i, j: (i, j), lambda i, j: (i, j + 1)]),
    "rows above each other": (("A[i][j]", "A[i + 2][j]"), [lambda i, j: (i, j), lambda i, j: (i + 2, j)]),
}


@pytest.mark.slow(but=12)
@pytest.mark.parametrize("case", EXACT)
@pytest.mark.parametrize("tiles", [(1, 1), (4, 16), (16, 16), (8, 40), (32, 3), (5, 64)])
def test_lines_of_a_tile(scop: Callable[..., Scop], case: str, tiles: tuple[int, int]) -> None:
    """What the model counts is exact for boxes, and never less than what a tile touches."""
    reads, subscripts = EXACT[case]
    program = nest(scop, *reads)
    counted = distinct_lines(program, [program.statements[0].name]).evaluate(tiles) - 1  # x[0]
    exact = touched(tiles, subscripts)
    assert counted >= exact
    gap = case == "rows above each other" and tiles[0] < 2  # rows i + 1 count too
    if not gap:
        assert counted == exact


@pytest.mark.parametrize("tiles", [(4, 4), (16, 16), (7, 33)])
@pytest.mark.parametrize(
    ("read", "subscripts"),
    [
        ("A[i + j][i]", lambda i, j: (i + j, i)),
        ("A[i][j / 2]", lambda i, j: (i, j // 2)),
        ("A[i][j % 8]", lambda i, j: (i, j % 8)),
        ("A[i + j][i + 2 * j]", lambda i, j: (i + j, i + 2 * j)),
    ],
)
def test_bounds(scop: Callable[..., Scop], read: str, subscripts: Subscripts, tiles: tuple[int, int]) -> None:
    """Where dimensions depend on one another, or remainders address, the model bounds the lines from above, and by no
    more than one line for each iteration."""
    program = nest(scop, read)
    counted = distinct_lines(program, [program.statements[0].name]).evaluate(tiles) - 1
    assert touched(tiles, [subscripts]) <= counted <= tiles[0] * tiles[1]


def test_groups_share_lines(scop: Callable[..., Scop]) -> None:
    """References with the same linear part are one group, others are groups of their own."""
    program = nest(scop, "A[i][j - 1 + 1]", "A[i + 1][j + 1]", "A[j][i]", "B[i][j]")
    model = distinct_lines(program, [program.statements[0].name])
    found = [(f.group.array.name, f.group.references) for f in model.footprints]
    assert sorted(found) == [("A", 1), ("A", 2), ("B", 1), ("x", 1)]


def test_two_statements_under_one_loop(scop: Callable[..., Scop]) -> None:
    """Fused as they are, two statements share their lines; with one reversed they do not; shifted they overlap."""
    body = (
        "for (int i = 0; i < n; i++) a[i] = v[i]; for (int i = 0; i < n; i++) b[i] = v[i];"
    )
    program = scop("int n, double a[n], double b[n], double v[n]", body)
    first, second = (s.name for s in program.statements)

    def lines(other: Step) -> float:
        return distinct_lines(program, [first, second], [[Step(first, 0), other]]).evaluate([64])

    each = 64 / PER_LINE
    assert lines(Step(second, 0)) == 3 * each
    assert lines(Step(second, 0, sign=-1)) == 4 * each
    assert lines(Step(second, 0, shift=3)) == 3 * each + 1


def test_formula(scop: Callable[..., Scop]) -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) "
    program = scop("int n, double A[n][n], double B[n][n], double C[n][n]", body + "C[i][j] += A[i][k] * B[k][j];")
    text = distinct_lines(program, [program.statements[0].name]).text(("i", "j", "k"))
    assert sorted(text.split(" + ")) == ["t_i*ceil(t_j/16)", "t_i*ceil(t_k/16)", "t_k*ceil(t_j/16)"]


def test_floats_fill_a_line_twice_as_well(scop: Callable[..., Scop]) -> None:
    program = scop("int n, float v[n], float w[n]", "for (int i = 0; i < n; i++) v[i] = w[i];")
    assert distinct_lines(program, [program.statements[0].name]).evaluate([64]) == 4
    assert distinct_lines(program, [program.statements[0].name], line=32).evaluate([64]) == 16


def test_writes_at_unknown_places_are_bounded(scop: Callable[..., Scop]) -> None:
    """A subscript that depends on data may be another line in each iteration."""
    program = scop(
        "int n, int m, double a[m], int where[n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) if (where[i] > j) a[j] = 1.0;",
    )
    name = program.statements[0].name
    assert distinct_lines(program, [name]).evaluate([8, 32]) >= 1 + 2


@pytest.mark.parametrize("tiles", [(32, 32), (8, 100), (3, 17)])
def test_derivatives_are_differences(scop: Callable[..., Scop], tiles: tuple[int, int]) -> None:
    """The analytic derivatives of the memory cost are the limits of its differences."""
    program = nest(scop, "A[i][j]", "A[i + 1][j + 2]", "B[j][i]", "v[i + j]", "v[3 * j]")
    model = distinct_lines(program, [program.statements[0].name])
    slopes = memory_cost(model, tiles).slopes
    for loop in range(2):
        moved = [[t + d * (k == loop) for k, t in enumerate(tiles)] for d in (-1e-4, 1e-4)]
        low, high = (model.mean(variables(m)).value / (m[0] * m[1]) for m in moved)
        assert slopes[loop] == pytest.approx((high - low) / 2e-4, rel=1e-4, abs=1e-9)
