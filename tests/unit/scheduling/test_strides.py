"""Which loop along a warp coalesces which accesses."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl
import pytest

from polytile.frontend.program import read_program
from polytile.ir.schedule import nodes
from polytile.ir.scop import Scop
from polytile.scheduling.cost.strides import APART, COALESCED, DEPTH_WEIGHT, IN_LINES, strided_accesses, thread_distance
from tests.unit.scheduling.conftest import c_text

# An access, and how far apart elements are for neighbouring i and for neighbouring j.
ACCESSES = {
    "A[i][j]": (APART, COALESCED),
    "A[i + 3][j - 2]": (APART, COALESCED),
    "A[j][i]": (COALESCED, APART),
    "A[j + 1][i + 1]": (COALESCED, APART),
    "A[i][2 * j]": (APART, IN_LINES),
    "A[i][2 * j + 1]": (APART, IN_LINES),
    "A[0][4 * i + j]": (IN_LINES, COALESCED),
    "A[0][5 * i]": (APART, COALESCED),
    "A[i][j / 2]": (APART, COALESCED),
    "A[i][(j + 1) / 2]": (APART, COALESCED),
    "A[i][5]": (APART, COALESCED),
    "A[i][6]": (APART, COALESCED),
    "A[3][4]": (COALESCED, COALESCED),
    "A[i + j][i]": (APART, APART),
}


def costs(scop: Scop) -> tuple[int, int]:
    """The strided accesses when i, and when j, runs along a warp."""
    bands = [n for n in nodes(scop.schedule) if n.get_type() == isl.schedule_node_type.band]
    return strided_accesses(scop, bands[0], [0])[0], strided_accesses(scop, bands[1], [0])[0]


def program(scop: Callable[..., Scop], *reads: str) -> Scop:
    body = "for (int i = 3; i < n; i++) for (int j = 2; j < n; j++) x[0] = x[0]"
    return scop("int n, double A[2 * n][8 * n], double x[1]", "".join([body, *(f" + {r}" for r in reads), ";"]))


@pytest.mark.parametrize("access", ACCESSES)
def test_one_access(scop: Callable[..., Scop], access: str) -> None:
    assert costs(program(scop, access)) == tuple(DEPTH_WEIGHT**2 * apart for apart in ACCESSES[access])


def test_all_accesses_of_one_statement(scop: Callable[..., Scop]) -> None:
    total = [DEPTH_WEIGHT**2 * sum(column) for column in zip(*ACCESSES.values(), strict=True)]
    assert list(costs(program(scop, *ACCESSES))) == total


@pytest.mark.parametrize(
    ("access", "apart"),
    [
        ("w->k[i][j]", (APART, COALESCED)),
        ("w->k[j][i]", (COALESCED, APART)),
        ("w->v[i][j].y", (IN_LINES, IN_LINES)),
        ("p[i].y", (IN_LINES, COALESCED)),
    ],
)
def test_numbers_in_structs(scop: Callable[..., Scop], access: str, apart: tuple[int, int]) -> None:
    """Neighbours inside a struct are neighbours, and those in small structs are near each other."""
    structs = "struct point { float x, y; }; struct w { int n; float k[9][9]; struct point v[9][2]; };"
    body = f"for (int i = 0; i < 9; i++) for (int j = 0; j < 2; j++) x[0] = x[0] + {access};"
    found = read_program("test.c", structs + c_text("struct w *w, struct point p[9], float x[1]", body)).scops[0]
    assert costs(found) == tuple(DEPTH_WEIGHT**2 * a for a in apart)


TIMES = {  # how far i and j are from one thread to the next
    "floor(i/8), floor(j/32), i mod 8, j mod 32": (0, 1),
    "floor(j/8), floor(i/32), j mod 8, i mod 32": (1, 0),
    "floor(i/8), floor(j/128), i mod 8, j mod 4, floor((j mod 128)/4)": (0, 4),
    "i + j, i": (1, -1),
    "i, j, 0": None,
}


@pytest.mark.parametrize("times", TIMES)
def test_distance_between_neighbouring_threads(times: str) -> None:
    mapped = isl.Map(f"[n] -> {{ S[i, j] -> [{times}] : 0 <= i < n and 0 <= j < n }}")
    assert thread_distance(mapped, mapped.dim(isl.dim_type.out) - 1) == TIMES[times]
