"""Kernels with tiles: guards of padded tiles, who copies what, and how they are named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

import polytile
from polytile.codegen.targets.cuda.cuda import print_kernel
from polytile.diagnostics import UserError
from polytile.ir.expr import For, If
from polytile.ir.expr_trees import walk
from polytile.ir.gpu_ops import Load
from polytile.ir.kernel import Barrier, Kernel
from polytile.ir.memory import Space, constant_extents
from polytile.ir.verify.kernel import check_kernel
from tests.reading import shared


@shared
def kernel(arguments: str, body: str, **settings: Any) -> Kernel:
    text = f"void f({arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    given = {"tile": (32, 32, 8), "block": (8, 16), **settings}
    program = polytile.compile(text, name="test.c", schedule="tiled", **given).scops[0].program
    assert program is not None
    found = program.kernels[0]
    check_kernel(found)
    return found


def product(element: str = "double", *, term: str = "A[i][k] * B[k][j]") -> tuple[str, str]:
    arrays = f"{element} A[n][m], {element} B[m][n], {element} C[n][n]"
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < m; k++)"
    return f"int n, int m, {arrays}", f"{body} C[i][j] += {term};"


def product_guards(found: Kernel) -> list[str]:
    text = print_kernel(found)
    loops = re.findall(r"if \(([^\n]*)\) \{\n *C_acc\[\w+\]\[\w+\] \+=", text)
    return sorted(loops)


def test_products_are_guarded_by_the_serial_loop_alone() -> None:
    """Rows and columns beyond the end have cells of nobody."""
    assert product_guards(kernel(*product())) == ["m >= 8 * k0 + kk + 1"]


def test_products_of_integers_do_not_run_beyond_the_end() -> None:
    """They might overflow."""
    (test,) = product_guards(kernel(*product("int")))
    assert "n >= ti + 32 * bi + 8 * points + 1" in test and "n >= tj + 32 * bj + 16 * points_1 + 1" in test


def test_full_tiles_have_no_guards() -> None:
    """Under the test of a full tile there is none but that of other parts."""
    found = kernel(*product())
    full = [n for n in walk(*found.body) if isinstance(n, If) and n.otherwise]
    assert len(full) == 5  # the sums start, A and B are copied, the products, the sums are stored
    for branch in full:
        inside = list(walk(*branch.then))
        assert not any(isinstance(n, If) for n in inside)
        assert not any(isinstance(n, Load) and n.guard is not None for n in inside)


def test_sums_over_loops_of_unknown_extent_stay_in_registers() -> None:
    """Points of a thread have constant subscripts, whatever the bounds of the loops around them; whether a tile is full
    is asked outside of these loops."""
    arrays = "double O[nf][h][w], double F[nf][nc][kh][kw], double I[nc][h + kh][w + kw]"
    found = kernel(
        f"int nf, int nc, int h, int w, int kh, int kw, {arrays}",
        """
        for (int q = 0; q < nf; q++)
            for (int i = 0; i < h; i++)
                for (int j = 0; j < w; j++)
                    for (int c = 0; c < nc; c++)
                        for (int r = 0; r < kh; r++)
                            for (int s = 0; s < kw; s++)
                                O[q][i][j] += F[q][c][r][s] * I[c][i + r][j + s];
        """,
        tile=(),
        block=(),
        parameters={"nf": 128, "nc": 64, "h": 64, "w": 64, "kh": 5, "kw": 5},
    )
    loops = re.findall(r"for \(int points\w* = 0; points\w* (<=? [^;]*);", print_kernel(found))
    assert loops and all(re.fullmatch(r"< \d+", bound) for bound in loops)
    branches = [n.then for n in walk(*found.body) if isinstance(n, If) and n.otherwise]
    full = next(then for then in branches if any(isinstance(n, For) and n.iterator == "c" for n in walk(*then)))
    assert not any(isinstance(n, If) for n in walk(*full))


def test_why_barriers_are_there() -> None:
    reasons = [n.reason for n in walk(*kernel(*product()).body) if isinstance(n, Barrier)]
    assert reasons == [
        "A_tile and B_tile must be filled before threads read each other's part",
        "all are done with A_tile and B_tile before the next iteration",
        "the block's next tile may touch what this one used",
    ]


def test_loops_and_coordinates_are_called_after_what_they_run_through() -> None:
    found = kernel(*product())
    loops = {n.iterator for n in walk(*found.body) if isinstance(n, For)}
    assert {"bi", "k0", "kk", "points", "points_1"} <= loops
    assert {c.name for c in found.coordinates} >= {"bj", "ti", "tj"}


def test_names_of_the_program_are_not_taken() -> None:
    arguments, body = product()
    found = kernel(f"{arguments}, int k0, double A_tile[n]", body.replace("+= A", "+= k0 * A_tile[0] + A"))
    assert len({s.name for s in found.storage}) == len(found.storage)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    ("tile", "block", "shape"),
    [((32, 32, 8), (8, 16), (32, 8)), ((24, 40, 5), (6, 10), (24, 5)), ((8, 8, 1), (2, 8), (8, 1))],
    ids=["whole rows", "rows that threads do not divide", "one column"],
)
def test_shapes_of_tiles(tile: tuple[int, ...], block: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Whatever the shapes, each cell is copied by one thread: the emulator and the checker see to values."""
    arguments, body = product()
    text = f"void f({arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (scop,) = polytile.compile(text, name="test.c", schedule="tiled", tile=tile, block=block).scops
    assert scop.program is not None
    homes = {s.array: s for s in scop.program.kernels[0].storage if s.space is Space.SHARED}
    if homes:  # a tile of one column is not worth its barriers
        rows, columns = constant_extents(homes["A_tile"])
        assert (rows, columns) >= shape
    for n, m in ((1, 1), (47, 19)):
        scop.validate(on="emulator", parameters={"n": n, "m": m}, seed=1)


def test_bank_conflicts_are_padded_away() -> None:
    """Lanes read B along its columns: rows of 8 doubles would share two banks."""
    arguments, body = product(term="A[i][k] * B[j][k]")
    found = kernel(arguments.replace("B[m][n]", "B[n][m]"), body)
    tile = next(s for s in found.storage if s.array == "B_tile")
    assert constant_extents(tile)[1] % 2 == 1


def replanned(text: str, name: str, change: Callable[[dict[str, Any]], dict[str, Any]], **settings: Any) -> Any:
    """The SCoP of a text with tiles, of whose placements one is changed."""
    saved = polytile.compile(text, name="test.c", schedule="tiled", **settings).scops[0].compilation.saved_schedule()
    (line,) = (line for line in saved.splitlines() if f'"name": "{name}"' in line)
    given = saved.replace(line, "# placement " + json.dumps(change(json.loads(line.partition("# placement ")[2]))))
    return polytile.compile(text, name="test.c", load_schedule=given).scops[0]


WIDE = """void f(int n, double A[40][40], double B[40][40], double C[40][40], double D[40]) {
#pragma scop
#pragma polytile assume(n <= 40)
for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j] + 1.0;
for (int i = 0; i < 40; i++) for (int j = 0; j < 40; j++) D[j] = D[j] * 0.5 + C[i][j];
#pragma endscop
}
"""


@pytest.mark.slow
def test_elements_that_a_plan_copies_without_need_keep_their_values() -> None:
    """What is filled and stored beyond the end is no cell of nobody: no product may run there."""

    def wider(plan: dict[str, Any]) -> dict[str, Any]:
        copies = {what: plan[what] for what in ("fill", "drain")}
        more = {what: {**copy, "elements": copy["elements"].replace("< n", "< 40")} for what, copy in copies.items()}
        assert more != copies
        return {**plan, **more}

    scop = replanned(WIDE, "C_acc", wider, tile=(32, 32, 8), block=(8, 8))
    scop.validate(on="emulator", parameters={"n": 37}, seed=1)


def test_two_placements_of_one_access_are_refused() -> None:
    arguments, body = product()
    text = f"void f({arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    saved = polytile.compile(text, name="test.c", schedule="tiled").scops[0].compilation.saved_schedule()
    (line,) = (line for line in saved.splitlines() if '"name": "C_acc"' in line)
    given = saved.replace(line, line + "\n" + line.replace('"C_acc"', '"C_in"'))
    with pytest.raises(UserError, match="has the placements C_acc and C_in"):
        polytile.compile(text, name="test.c", load_schedule=given)
