"""Register tiles of stencils: what threads with several points compute, load and say."""

from __future__ import annotations

import json
import random
import re

import pytest

import polytile
from polytile.check.checker import problems
from polytile.diagnostics import UsageError
from polytile.ir.expr import Access, Assign, For, If, Node, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.kernel import Kernel
from tests.bitwise import same_as_c
from tests.every_schedule import source
from tests.reading import shared

BOX = source(
    "double A[n][m], double B[n][m]",
    """for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)
    B[i][j] = 0.1 * (A[i-1][j-1] + A[i-1][j] + A[i-1][j+1] + A[i][j-1] + A[i][j] + A[i][j+1]
                     + A[i+1][j-1] + A[i+1][j] + A[i+1][j+1]) - 0.3 * A[i][j];""",
)
STEPS = source(
    "double A[n][m], double B[n][m]",
    """for (int t = 0; t < 3; t++) {
    for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)
        B[i][j] = (A[i-1][j] + A[i+1][j] + A[i][j-1] + A[i][j] + A[i][j+1]) * 0.2;
    for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)
        A[i][j] = (B[i-1][j] + B[i+1][j] + B[i][j-1] + B[i][j] + B[i][j+1]) * 0.2;
    }""",
)
CUBE = source(
    "float A[n][m][n], float B[n][m][n]",
    """for (int i = 2; i < n - 2; i++) for (int j = 1; j < m - 1; j++) for (int k = 0; k < n; k++)
    B[i][j][k] = A[i-2][j][k] + A[i][j-1][k] * A[i][j][k] + A[i][j+1][k] + A[i+1][j+1][k] + A[i+2][j-1][k];""",
)
TRIANGLE = source(
    "double A[n + 2][n + 2], double B[n][n]",
    """for (int i = 0; i < n; i++) for (int j = i; j < n - i / 3; j++)
    B[i][j] = A[i][j] + A[i+1][j+1] * A[i+2][j+2] - A[i+1][j];""",
)
TOGETHER = source(
    "double A[n][m], double B[n][m], double C[n][m]",
    """for (int i = 1; i < n - 1; i++) for (int j = 0; j < m; j++) {
        double t = A[i-1][j] + A[i+1][j];
        B[i][j] = t * A[i][j];
        if (i >= 3) C[i][j] = t - B[i][j];
    }""",
)
PARTS = source(
    "double A[n][m], double B[n][m], double C[n][m]",
    """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) B[i][j] = 2.0 * A[i][j];
    for (int i = 1; i < n - 3; i++) for (int j = 0; j < m; j++) C[i][j] = A[i-1][j] + A[i+3][j] - A[i][j];""",
)
TURNS = source(
    "double A[2][n][m]",
    """for (int t = 0; t < 3; t++) for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)
    A[(t + 1) % 2][i][j] = 0.3 * A[t % 2][i-1][j] + 0.2 * A[t % 2][i][j-1] + 0.1 * A[t % 2][i][j]
                           + 0.4 * A[t % 2][i+1][j];""",
)
PLACES = source(
    "double A[n][m], double B[n][m]",
    """for (int i = 1; i < n - 3; i++) for (int j = 0; j < m; j++)
    B[i][j] = (i + 1) * A[i-1][j] + (2 * i + 2) * A[i][j] - 0.5 * ((i + 2) * (i + 2 - (i + 1))) * A[i+1][j];""",
)
PROGRAMS = {
    "box": (BOX, [(2, 1), (4, 1), (8, 1)]),
    "steps": (STEPS, [(1, 2, 1), (1, 8, 1)]),
    "places": (PLACES, [(2, 1), (8, 1)]),  # values of iterators, which differ between points
    "turns": (TURNS, [(1, 2, 1), (1, 8, 1)]),
    "cube": (CUBE, [(1, 4, 1), (2, 2, 1), (4, 4, 1)]),
    "triangle": (TRIANGLE, [(4, 1)]),
    "together": (TOGETHER, [(4, 1)]),
    "parts": (PARTS, [(2, 1)]),
}
SIZES = [{"n": n, "m": m} for n, m in ((0, 0), (1, 3), (3, 2), (5, 7), (8, 9), (37, 34))]


@shared
def compiled(text: str, **settings: object) -> polytile.CompiledScop:
    asked = {"strict": True, "verify_passes": True, "raise_bugs": True, "schedule": "classic", **settings}
    (scop,) = polytile.compile(text, name="f.c", **asked).scops  # type: ignore[arg-type]
    return scop


def kernel_of(scop: polytile.CompiledScop) -> Kernel:
    assert scop.program is not None
    return scop.program.kernels[0]


@pytest.mark.parametrize(("name", "points"), [(n, p) for n, (_, some) in PROGRAMS.items() for p in some])
def test_threads_with_several_points_compute_what_c_does(name: str, points: tuple[int, ...]) -> None:
    block = (2, 3, 4)[-min(3, len(points)) :] if name == "cube" else (3, 8)
    same_as_c(compiled(PROGRAMS[name][0], points=points, block=block), SIZES)


def random_stencil(draw: random.Random) -> tuple[str, tuple[int, ...]]:
    """A nest of several statements that may be in some of its iterations alone, and points for it."""
    rank = draw.choice((2, 3))
    names = "ijk"[:rank]

    def element(array: str, reach: int) -> str:
        return array + "".join(f"[{n} + {draw.randrange(-reach, reach + 1)}]" for n in names)

    def value(depth: int) -> str:
        if depth == 0:
            return draw.choice([element("A", 2), element("A", 2), element("w", 1), "0.5"])
        return f"({value(depth - 1)} {draw.choice('+-*')} {value(depth - 1)})"

    here = "".join(f"[{n}]" for n in names)
    lines = []
    for array in draw.sample("BCD", draw.randrange(1, 4)):
        guard = draw.choice(["", "", f"if ({names[0]} > 3) ", f"if ({names[0]} + {names[-1]} < n - 1) "])
        op = draw.choice(["=", "=", "+="])
        lines.append(f"{guard}{array}{here} {op} {value(draw.randrange(1, 4))};")
    loops = [f"for (int {n} = {draw.randrange(2, 4)}; {n} < {draw.choice('nm')} - 2; {n}++)" for n in names]
    loops[-1] = draw.choice([loops[-1], f"for (int {names[-1]} = {names[0]}; {names[-1]} < n - 2; {names[-1]}++)"])
    size = "[n + m]" * rank
    arrays = ", ".join(f"{draw.choice(('float', 'double'))} {name}{size}" for name in "ABCDw")
    points = draw.choice([(4, 1), (2, 1), (8, 1)] if rank == 2 else [(2, 2, 1), (4, 1, 1), (1, 4, 1), (4, 4, 1)])
    return source(arrays, f"{' '.join(loops)} {{ {' '.join(lines)} }}"), points


@pytest.mark.parametrize("seed", range(6))
def test_random_stencils_compute_what_c_does(seed: int) -> None:
    draw = random.Random(seed)
    text, points = random_stencil(draw)
    settings = {"order": draw.choice(("auto", "source", "sweep")), "block": (2, 4, 8)[-len(points) :]}
    scop = compiled(text, points=points, **settings)
    same_as_c(scop, [{"n": n, "m": m} for n, m in ((0, 1), (6, 6), (9, 14), (23, 18))])


@pytest.mark.parametrize("order", ["source", "tree", "sweep"])
@pytest.mark.parametrize("schedule", ["auto", "superposed"])
def test_orders_and_strategies_have_points_too(order: str, schedule: str) -> None:
    same_as_c(compiled(BOX, points=(4, 1), order=order, schedule=schedule), [{"n": 21, "m": 40}])


def test_full_tiles_load_once_what_points_share_and_have_no_conditions() -> None:
    kernel = kernel_of(compiled(BOX, points=(4, 1)))
    (branch,) = [node for node in walk(*kernel.body) if isinstance(node, If) and node.otherwise]
    assert not any(isinstance(node, If | For) for node in walk(*branch.then))
    loads = [n for n in walk(*branch.then) if isinstance(n, Access) and n.array == "A"]
    stores = [n for n in walk(*branch.then) if isinstance(n, Assign) and isinstance(n.target, Access)]
    assert (len(loads), len(stores)) == ((4 + 2) * 3, 4)
    loops = [n for n in walk(*branch.otherwise) if isinstance(n, For)]
    assert [loop.unroll for loop in loops] == [1]


@pytest.mark.parametrize("order", ["source", "auto"])
def test_every_order_loads_each_element_once(order: str) -> None:
    kernel = kernel_of(compiled(CUBE, points=(4, 4, 1), order=order))
    (branch,) = [node for node in walk(*kernel.body) if isinstance(node, If) and node.otherwise]
    loads = [str(n.subscripts) for n in walk(*branch.then) if isinstance(n, Access) and n.array == "A"]
    assert len(loads) == len({*loads})


def test_the_tree_says_which_points_a_thread_has() -> None:
    scop = compiled(CUBE, points=(2, 4, 1))
    assert scop.compilation.schedule is not None
    text = scop.compilation.schedule.to_text()
    assert "loop[register_tile]" in text
    assert "(i) mod 2" in text and "(j) mod 4" in text and "floor((i)/4)" in text and "floor((j)/16)" in text


def test_a_certificate_and_a_saved_schedule_hold() -> None:
    program = polytile.compile(STEPS, points=(1, 4, 1))
    (scop,) = program.scops
    (found,) = json.loads(program.certificate)["scops"]
    assert list(problems(found)) == []
    again = polytile.compile(STEPS, load_schedule=scop.compilation.saved_schedule()).scops[0]
    assert scop.program is not None and again.program is not None
    assert [k.body for k in again.program.kernels] == [k.body for k in scop.program.kernels]


@pytest.mark.quick
def test_one_point_is_what_there_was() -> None:
    few = {"n": 300, "m": 300}  # so that threads are wanted more than what they share
    assert compiled(BOX, points=(1, 1), parameters=few).cuda == compiled(BOX, parameters=few).cuda


REFUSED = [
    (STEPS, (4, 1, 1), r"f\.c:4:1: error: --points: 4 points along the loop over `t`, which is serial", "1,1,1"),
    (BOX, (1, 4), r"f\.c:4:33: error: --points: 4 points along the loop over `j`, which runs along x", "1,1"),
    (BOX, (4, 2), r"f\.c:4:33: error: --points: 2 points along the loop over `j`, which runs along x", "4,1"),
]


@pytest.mark.parametrize(("text", "points", "message", "instead"), REFUSED)
def test_counts_on_other_loops_are_refused_with_the_loop(
    text: str, points: tuple[int, ...], message: str, instead: str
) -> None:
    with pytest.raises(UsageError) as caught:
        compiled(text, points=points)
    assert re.match(message, str(caught.value))
    assert "for (int" in str(caught.value) and "^" in str(caught.value)
    assert caught.value.hint == f"--points {instead}"


def test_counts_that_fit_no_nest_are_refused() -> None:
    with pytest.raises(UsageError, match="3 counts for 2 loops"):
        compiled(BOX, points=(2, 1, 1))
    serial = source("double A[n]", "for (int i = 1; i < n; i++) A[i] = A[i-1] * 0.5 + A[i];")
    with pytest.raises(UsageError, match="the loop over `i`, which is serial"):
        compiled(serial, points=(4,))


@pytest.mark.parametrize("points", [(3, 1), (16, 1), (0, 1), (8, 4)])
def test_counts_are_few_powers_of_two(points: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="points: "):
        compiled(BOX, points=points)


@pytest.mark.parametrize("schedule", ["tiled", "split", "overlapped"])
def test_strategies_with_tiles_of_their_own_refuse_points(schedule: str) -> None:
    with pytest.raises(UsageError, match=f"the {schedule} strategy has tiles of its own"):
        compiled(STEPS, points=(1, 4, 1), schedule=schedule)


def test_loads_come_first_where_registers_have_room() -> None:
    """Eight points of five elements load 26, of which 52 registers hold all."""
    kernel = kernel_of(compiled(STEPS, points=(1, 8, 1)))
    full = next(n for n in kernel.nodes if isinstance(n, If) and sum(isinstance(s, Assign) for s in n.then) == 8)
    stores = [k for k, stmt in enumerate(full.then) if isinstance(stmt, Assign)]
    assert not any(isinstance(n, Access) for stmt in full.then[stores[0] + 1 :] for n in _read(stmt))
    assert kernel.starts_early


def test_versions_in_turns_are_no_obstacle_to_loads() -> None:
    """Four points load 6 elements of the column and 4 beside it, once, though each stores into the same array."""
    kernel = kernel_of(compiled(TURNS, points=(1, 4, 1)))
    full = next(n for n in kernel.nodes if isinstance(n, If) and sum(isinstance(s, Assign) for s in n.then) == 4)
    assert sum(isinstance(n, Access) for stmt in full.then for n in _read(stmt)) == 10
    first = next(k for k, stmt in enumerate(full.then) if isinstance(stmt, Assign))
    assert not any(isinstance(n, Access) for stmt in full.then[first + 1 :] for n in _read(stmt))
    scop = compiled(TURNS, parameters={"n": 4000, "m": 4000})
    assert any("points: " in line for line in scop.compilation.considered)


def _read(stmt: Stmt) -> list[Node]:
    return list(walk(stmt.value if isinstance(stmt, Assign) else stmt))


def test_loads_stay_near_their_uses_where_registers_have_no_room() -> None:
    """Eight points of a box of 25 elements load 60, for which 120 registers would be needed."""
    terms = " + ".join(f"A[i + {a}][j + {b}]" for a in range(-2, 3) for b in range(-2, 3))
    box = "for (int i = 2; i < n - 2; i++) for (int j = 2; j < m - 2; j++) B[i][j] = " + terms + ";"
    again = box.replace("B[i][j]", "C[i][j]").replace("A[", "B[")
    kernel = kernel_of(compiled(source("double A[n][m], double B[n][m], double C[n][m]", box + again), points=(8, 1)))
    full = next(n for n in kernel.nodes if isinstance(n, If) and sum(isinstance(s, Assign) for s in n.then) == 8)
    first = next(k for k, stmt in enumerate(full.then) if isinstance(stmt, Assign))
    assert any(isinstance(n, Access) for stmt in full.then[first + 1 :] for n in _read(stmt))
