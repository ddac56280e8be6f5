"""Certificates of tiled kernels, whose placements have copies: right ones are accepted, and tampered ones refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import islpy as isl
import pytest

import polytile
from polytile.check import checker
from polytile.check.checker import problems

Scop = dict[str, Any]
Change = Callable[[Scop], None]
POLYBENCH = Path(__file__).resolve().parents[3] / "polybench" / "polybench"
CONVOLUTION = """void f(int c, int n, int m, double in[c][n + 2][m + 2], double w[n][c][3][3], double out[n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            out[i][j] = 0;
            for (int k = 0; k < c; k++)
                for (int p = 0; p < 3; p++)
                    for (int q = 0; q < 3; q++)
                        out[i][j] += in[k][i + p][j + q] * w[i][k][p][q];
        }
#pragma endscop
}
"""


def certificate(source: Path | str, block: tuple[int, ...] = ()) -> Scop:
    found: Scop = json.loads(polytile.compile(source, schedule="tiled", block=block).certificate)["scops"][0]
    return found


@cache
def genuine(name: str) -> Scop:
    return certificate(CONVOLUTION, block=(8, 16)) if name == "convolution" else certificate(POLYBENCH / f"{name}.c")


def placements(scop: Scop) -> dict[str, Any]:
    return {p["name"]: p for plan in scop["plans"] for p in plan.get("placements", ())}


@pytest.mark.slow(but="gemm")
@pytest.mark.parametrize("name", ["gemm", "syrk", "symm", "doitgen", "convolution"])
def test_tiles_are_accepted(name: str) -> None:
    assert {p["memory"] for p in placements(genuine(name)).values()} == {"private", "shared"}
    assert list(problems(genuine(name))) == []


def put(name: str, key: str, value: Any) -> Change:
    def change(scop: Scop) -> None:
        placements(scop)[name][key] = value

    return change


def fewer(name: str, kind: str, those: str) -> Change:
    """A copy of those elements alone."""

    def change(scop: Scop) -> None:
        made = placements(scop)[name][kind]
        made["elements"] = str(isl.Map(made["elements"]).intersect(isl.Map(those)))

    return change


def more(name: str, kind: str, those: str) -> Change:
    """A copy of those elements, too."""

    def change(scop: Scop) -> None:
        made = placements(scop)[name][kind]
        made["elements"] = str(isl.Map(made["elements"]).union(isl.Map(those)))

    return change


def without(name: str, kind: str) -> Change:
    def change(scop: Scop) -> None:
        del placements(scop)[name][kind]

    return change


def without_barrier(scop: Scop) -> None:
    """The tree without its only sync mark."""

    def visit(node: isl.ScheduleNode) -> isl.ScheduleNode:
        if node.get_type() == isl.schedule_node_type.mark and node.mark_get_id().get_name() == "sync":
            return node.delete()
        for k in range(node.n_children()):
            node = visit(node.child(k)).parent()
        return node

    printer = isl.Printer.to_str(isl.DEFAULT_CONTEXT).set_yaml_style(isl.yaml_style.BLOCK)
    scop["mapped"] = printer.print_schedule(visit(isl.Schedule(scop["mapped"]).get_root()).get_schedule()).get_str()
    assert "sync" not in scop["mapped"]


def filled_once(scop: Scop) -> None:
    """A tile for all of the kernel, in cells for one of its loops."""
    tile = placements(scop)["A_tile"]
    tile["level"] = tile["fill"]["at"] = "kernel"
    tile["cell"] = "{ [[b0, b1] -> A[e0, e1]] -> [e0 - 64 b0, e1 mod 16] }"
    tile["fill"]["elements"] = (
        "[ni, nk] -> { [b0, b1] -> A[e0, e1] : 64 b0 <= e0 < 64 b0 + 64 and 0 <= e0 < ni and 0 <= e1 < nk }"
    )


def of_the_neighbour(scop: Scop) -> None:
    """The two reads of one array trade tiles."""
    one, other = placements(scop)["A_tile"], placements(scop)["A_tile_2"]
    one["uses"], other["uses"] = other["uses"], one["uses"]


def ahead(mode: str, tiles: int) -> Change:
    """The tile of A is filled one iteration early, into one of so many tiles."""

    def change(scop: Scop) -> None:
        tile = placements(scop)["A_tile"]
        tile["extents"] = [tiles, *tile["extents"]]
        tile["cell"] = f"{{ [[b0, b1, l0] -> A[e0, e1]] -> [l0 mod {tiles}, e0 - 64 b0, e1 - 16 l0] }}"
        tile["fill"].update(ahead=1, mode=mode)

    return change


@pytest.mark.slow(but="async")
@pytest.mark.parametrize("mode", ["plain", "async"])
def test_tiles_that_are_filled_ahead(mode: str) -> None:
    scop = copy.deepcopy(genuine("gemm"))
    ahead(mode, 2)(scop)
    assert list(problems(scop)) == []


ONE_CELL = "{ [[b0, b1, l0] -> A[e0, e1]] -> [e0 - 64 b0, 0 * l0] }"
SAME_COLUMNS = "{ [[b0, b1, l0] -> B[e0, e1]] -> [e0 - 16 l0, floor((e1 - 64 b1)/2)] }"
SOME = "{ [[b0, b1, l0] -> A[e0, e1]] -> [e0 - 64 b0, e1 - 16 l0] : e1 > 3 }"
COLUMNS = "{ [b0, b1, l0] -> A[e0, e1] : e1 mod 16 < 15 }"
ROWS = "[n] -> { [b0, b1, t0, t1] -> C[e0, e1] : e0 < n - 1 }"
HALO = "{ [b0, b1, l0] -> in[e0, e1, e2] : e2 <= 64 b1 + 32 }"
NEXT = "[ni, nj] -> { [b0, b1, t0, t1] -> C[e0, e1] : e0 = 64 b0 + 64 and e1 = 64 b1 and e0 < ni and 0 <= e1 < nj }"
TAMPERED = {
    "an extent too small": ("gemm", put("A_tile", "extents", [64, 15]), "cells of A_tile are outside of its extents"),
    "a row too few in registers": ("syrk", put("C_acc", "extents", [3, 4]), "cells of C_acc are outside"),
    "a column that is not filled": ("gemm", fewer("A_tile", "fill", COLUMNS), "nothing was written"),
    "a tile that is not filled": ("gemm", without("B_tile", "fill"), "nothing was written"),
    "sums that are not loaded": ("gemm", without("C_acc", "fill"), "nothing was written"),
    "sums that are not stored": ("gemm", without("C_acc", "drain"), "what is seen of C afterwards"),
    "a sum that is not stored": ("syrk", fewer("C_acc", "drain", ROWS), "what is seen of C"),
    "a halo that is not filled": ("convolution", fewer("in_tile", "fill", HALO), "nothing was written"),
    "a tile that is filled once": ("gemm", filled_once, "has another element than the one that is read"),
    "a level further out": ("gemm", put("A_tile", "level", "kernel"), "places that are not those of kernel"),
    "a level inside of the copies": ("gemm", put("A_tile", "level", "k"), "not those of k"),
    "a level that is not there": ("gemm", put("A_tile", "level", "k9"), "the loop k9 of kernel 0, which is there 0"),
    "no barrier": ("gemm", without_barrier, "uses of A that meet are not ordered"),
    "no barrier around triangles": ("syrk", without_barrier, "uses of A that meet are not ordered"),
    "a cell of many elements": ("gemm", put("A_tile", "cell", ONE_CELL), "another element"),
    "a cell of two elements": ("gemm", put("B_tile", "cell", SAME_COLUMNS), "another element"),
    "the neighbour's tile": ("syrk", of_the_neighbour, "nothing was written"),
    "an access that is not there": ("gemm", put("A_tile", "uses", [["S1", 7]]), "access 7 of S1, which is none to A"),
    "an access to another array": ("gemm", put("A_tile", "uses", [["S1", 2]]), "access 2 of S1, which is none to A"),
    "cells that share memory": (
        "gemm",
        put("A_tile", "layout", {"swizzle": [4, 8]}),
        "two cells of A_tile share memory",
    ),
    "a layout of fragments": ("gemm", put("A_tile", "layout", {"fragment": "m16n8k8.a"}), "not known here"),
    "sums that another block has": ("gemm", more("C_acc", "drain", NEXT), "cells of C_acc are outside"),
    "a copy of what has no cell": ("gemm", put("A_tile", "cell", SOME), "what is copied has no cell in A_tile"),
    "copies ahead in cells that are in use": ("gemm", ahead("plain", 1), "uses of A that meet are not ordered"),
    "asynchronous copies into cells that are in use": ("gemm", ahead("async", 1), "before an asynchronous copy has"),
}


@pytest.mark.slow(but=("a-column-that-is-not-filled", "a-tile-that-is-filled-once", "no-barrier"))
@pytest.mark.parametrize("case", TAMPERED, ids=lambda case: case.replace(" ", "-"))
def test_tampered_tiles_are_refused(case: str) -> None:
    program, change, expected = TAMPERED[case]
    scop = copy.deepcopy(genuine(program))
    change(scop)
    assert expected in " / ".join(problems(scop))


def test_what_takes_too_long_is_not_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "MAX_OPERATIONS", 1000)
    found = list(problems(genuine("gemm")))
    assert "the placements of C are not checked: that takes isl more than 1000 operations" in found
