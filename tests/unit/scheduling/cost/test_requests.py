"""Sectors per warp request, against the addresses of the lanes one by one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.cost import Lane, Request, predict

OUTER, INNER = 0, 1


def reads(scop: Callable[..., Scop], access: str, *lanes: Lane, element: str = "double", **parameters: int) -> Request:
    body = f"for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[0] = x[0] + {access};"
    arguments = f"int n, int m, {element} A[4 * n][m], {element} N[n][2], {element} v[8 * n], {element} x[1]"
    program = scop(arguments, body)
    found = predict(program, program.statements[0].name, lanes, parameters)
    return next(r for r in found if r.access.array != "x" and r.access.kind is AccessKind.READ)


# Access, iterator along x, sectors (doubles), whether ideal.
CASES = [
    ("A[i][j]", INNER, 8.0, True),
    ("A[i][j]", OUTER, 32.0, False),
    ("A[j][i]", OUTER, 8.0, True),
    ("A[i][j + 1]", INNER, 9.0, True),
    ("A[i][j + 4]", INNER, 8.0, True),
    ("A[i + 1][j]", INNER, 8.0, True),
    ("A[i][2 * j]", INNER, 16.0, False),
    ("A[i][4 * j]", INNER, 32.0, False),
    ("A[i][j / 2]", INNER, 4.0, True),
    ("A[i][j % 8]", INNER, 2.0, True),
    ("A[j][j]", INNER, 32.0, False),
    ("A[j][j]", OUTER, 1.0, True),
    ("A[i + j][i]", INNER, 32.0, False),
    ("v[i + j]", INNER, 8.75, True),
    ("v[i]", INNER, 1.0, True),
    ("v[3]", OUTER, 1.0, True),
    ("v[4 * i + j]", INNER, 8.0, True),
    ("v[2 * i + j]", INNER, 8.5, True),
    ("N[i][1]", OUTER, 16.0, False),
    ("N[j][0]", INNER, 16.0, False),
]


@pytest.mark.parametrize(("access", "along", "sectors", "ideal"), CASES)
def test_doubles(scop: Callable[..., Scop], access: str, along: int, sectors: float, ideal: bool) -> None:
    found = reads(scop, access, Lane(along))
    assert (found.sectors, found.ideal, found.exact) == (sectors, ideal, True)


@pytest.mark.parametrize(("element", "sectors"), [("float", 4.0), ("double", 8.0), ("char", 1.0), ("short", 2.0)])
def test_sizes_of_elements(scop: Callable[..., Scop], element: str, sectors: float) -> None:
    assert reads(scop, "v[j]", Lane(INNER), element=element).sectors == sectors
    assert reads(scop, "A[j][i]", Lane(INNER), element=element).sectors == 32


def test_backwards(scop: Callable[..., Scop]) -> None:
    """Lane 0 is at a multiple of the warp, the other lanes below it: one sector more."""
    assert reads(scop, "A[i][j]", Lane(INNER, sign=-1)).sectors == 9


@pytest.mark.parametrize(
    ("x", "sectors"),
    [(32, 8.0), (16, 8.0), (8, 8.0), (4, 8.0), (1, 32.0)],
)
def test_blocks_narrower_than_a_warp(scop: Callable[..., Scop], x: int, sectors: float) -> None:
    """A warp takes several rows, 32 / x, of x columns each."""
    assert reads(scop, "A[i][j]", Lane(INNER, x), Lane(OUTER, 64)).sectors == sectors
    assert reads(scop, "v[i]", Lane(INNER, x), Lane(OUTER, 64)).sectors == max(1, 32 // x // 4)


def test_a_block_of_fewer_threads_than_a_warp(scop: Callable[..., Scop]) -> None:
    assert reads(scop, "A[i][j]", Lane(INNER, 8)).sectors == 2
    assert reads(scop, "A[i][j]", Lane(INNER, 4), Lane(OUTER, 2)).sectors == 2


@pytest.mark.parametrize(("m", "sectors"), [(64, 8.0), (65, 8.75), (66, 8.5), (3, 8.75)])
def test_rows_of_known_length(scop: Callable[..., Scop], m: int, sectors: float) -> None:
    """The start of a row shifts with i, unless rows are whole sectors."""
    assert reads(scop, "A[i][j]", Lane(INNER), m=m).sectors == sectors


@pytest.mark.parametrize("m", [1, 2, 3, 5, 64])
@pytest.mark.parametrize("access", ["A[j][i]", "A[i][j]", "A[j][2 * i]", "A[2 * j + 1][0]"])
def test_against_addresses(scop: Callable[..., Scop], access: str, m: int) -> None:
    """The mean over many i of the sectors that 32 lanes along j touch."""
    subscripts = {
        "A[j][i]": lambda i, j: (j, i),
        "A[i][j]": lambda i, j: (i, j),
        "A[j][2 * i]": lambda i, j: (j, 2 * i),
        "A[2 * j + 1][0]": lambda i, j: (2 * j + 1, 0),
    }[access]

    def sectors(i: int) -> int:
        elements = (subscripts(i, j) for j in range(32))
        return len({8 * (row * m + column) // 32 for row, column in elements})

    mean = sum(map(sectors, range(64))) / 64
    assert reads(scop, access, Lane(INNER), m=m).sectors == pytest.approx(mean)

