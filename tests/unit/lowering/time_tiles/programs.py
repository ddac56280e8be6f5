"""Programs for stream kernels: stars and boxes, several fields, coefficients, sides that move, in one to three
dimensions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from polytile.ir.time_tile import Exchange

from .plans import Case, Numbers, Runner, random


def wrap(arguments: str, body: str) -> str:
    return f"void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


STAR = wrap(
    "int tsteps, int nx, int ny, double A[2][nx][ny]",
    """
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                A[(t + 1) % 2][i][j] = 0.2 * A[t % 2][i - 1][j] + 0.21 * A[t % 2][i][j - 1]
                    + 0.19 * A[t % 2][i][j] + 0.22 * A[t % 2][i][j + 1] + 0.18 * A[t % 2][i + 1][j];""",
)
JACOBI = wrap(
    "int tsteps, int n, double A[n][n], double B[n][n]",
    """
    for (int t = 0; t < tsteps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j]);
    }""",
)
WIDE = wrap(
    "int tsteps, int nx, int ny, float A[2][nx][ny], float C[nx][ny], float w",
    """
    for (int t = 0; t < tsteps; t++)
        for (int i = 2; i < nx - 2; i++)
            for (int j = 2; j < ny - 1; j++)
                A[(t + 1) % 2][i][j] = w * A[t % 2][i - 2][j] + C[i][j+1] * A[t % 2][i][j - 2]
                    + 0.19f * A[t % 2][i+1][j] + 0.22f * A[t % 2][i][j + 1]
                    + 0.18f * A[t % 2][i + 2][j] * (i + j);""",
)
BOX = wrap(
    "int tsteps, int nx, int ny, double A[2][nx][ny]",
    """
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                A[(t + 1) % 2][i][j] = 0.1 * A[t % 2][i - 1][j-1] + 0.11 * A[t % 2][i-1][j]
                    + 0.12* A[t % 2][i-1][j+1] + 0.09 * A[t % 2][i][j - 1] + 0.08*A[t%2][i][j]
                    + 0.07*A[t%2][i][j+1]
                    + 0.18 * A[t % 2][i + 1][j-1]+0.13*A[t%2][i+1][j]+0.15*A[t%2][i+1][j+1];""",
)
FDTD = wrap(
    "int tmax, int nx, int ny, double ex[nx][ny], double ey[nx][ny], double hz[nx][ny], double fict[tmax]",
    """
    for (int t = 0; t < tmax; t++) {
        for (int j = 0; j < ny; j++)
            ey[0][j] = fict[t];
        for (int i = 1; i < nx; i++)
            for (int j = 0; j < ny; j++)
                ey[i][j] = ey[i][j] - 0.5 * (hz[i][j] - hz[i - 1][j]);
        for (int i = 0; i < nx; i++)
            for (int j = 1; j < ny; j++)
                ex[i][j] -= 0.5 * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < nx - 1; i++)
            for (int j = 0; j < ny - 1; j++)
                hz[i][j] = hz[i][j] - 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }""",
)
LINE = wrap(
    "int tsteps, int n, double A[n], double B[n]",
    """
    for (int t = 0; t < tsteps; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = 0.33333 * (A[i-1] + A[i] + A[i + 1]);
        for (int i = 1; i < n - 1; i++)
            A[i] = 0.33333 * (B[i-1] + B[i] + B[i + 1]);
    }""",
)
WIDE_LINE = wrap(
    "int tsteps, int n, float A[2][n]",
    """
    for (int t = 0; t < tsteps; t++)
        for (int i = 3; i < n - 2; i++)
            A[(t+1)%2][i] = 0.3f * A[t%2][i-3] + 0.2f* A[t%2][i] - 0.4f*A[t%2][i + 2];""",
)
MOVING_SIDES = wrap(
    "int tsteps, int nx, int ny, double A[nx][ny], double B[nx][ny]",
    """
    for (int t = 1; t <= tsteps; t++) {
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                if ((i + j) % 2 == 0) B[i][j] = 0.5 * (A[i][j - 1] + A[i + 1][j]);
        for (int i = 1; i < nx - 1; i++)
            for (int j = 2; j < i; j++)
                A[i][j] = 0.2 * B[i][j+1] + A[i][j];
    }""",
)
STAR_3D = wrap(
    "int tsteps, int nx, int ny, int nz, double A[2][nx][ny][nz]",
    """
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
              for (int k = 1; k < nz - 1; k++)
                A[(t + 1) % 2][i][j][k] = 0.2 * A[t % 2][i - 1][j][k] + 0.21 * A[t % 2][i][j - 1][k]
                    + 0.19 * A[t % 2][i][j][k-1] + 0.15 * A[t % 2][i][j][k] + 0.22 * A[t % 2][i][j][k+1]
                    + 0.12 * A[t%2][i][j+1][k]+ 0.18 * A[t % 2][i + 1][j][k];""",
)
BOX_3D = wrap(
    "int tsteps, int nx, int ny, int nz, float A[nx][ny][nz], float B[nx][ny][nz], float C[nx][ny][nz]",
    """
    for (int t = 1; t <= tsteps; t++) {
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny; j++)
                for (int k = 2; k < nz - 1; k++)
                    B[i][j][k] = 0.3f * A[i - 1][j - 1][k - 2] + 0.2f * A[i][j - 1][k + 1]
                        + C[i][j - 1][k] * A[i + 1][j][k] + 0.1f * A[i][j][k] - 0.4f * A[i + 1][j - 1][k + 1];
        for (int i = 1; i < nx - 1; i++)
            for (int j = 0; j < ny - 2; j++)
                for (int k = 0; k < nz; k++)
                    A[i][j][k] = A[i][j][k] + 0.25f * B[i + 1][j + 2][k] - 0.15f * B[i - 1][j][k];
    }""",
)

BYTES = wrap(
    "int tsteps, int nx, int ny, int nz, unsigned char A[2][nx][ny][nz]",
    """
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                for (int k = 1; k < nz - 1; k++)
                    A[(t + 1) % 2][i][j][k] = 3 * A[t % 2][i][j - 1][k + 1] + A[t % 2][i + 1][j][k - 1]
                        + 7 * A[t % 2][i - 1][j + 1][k];""",
)


def points_in_space(element: str, radius: int, offsets: Callable[[int, int, int], bool]) -> str:
    """A stencil of all offsets up to a radius that are asked for, with different weights."""
    along = range(-radius, radius + 1)
    found = [at for at in product(along, along, along) if offsets(*at)]
    suffix = "f" if element == "float" else ""
    total = " + ".join(
        f"{(k * 7 % 11 + 1) / (8 * len(found)):.4f}{suffix} * A[t % 2][i + {a}][j + {b}][k + {c}]"
        for k, (a, b, c) in enumerate(found)
    )
    nest = " ".join(
        f"for (int {x} = {radius}; {x} < {n} - {radius}; {x}++)" for x, n in zip("ijk", ("nx", "ny", "nz"), strict=True)
    )
    return wrap(
        f"int tsteps, int nx, int ny, int nz, {element} A[2][nx][ny][nz]",
        f"for (int t = 0; t < tsteps; t++) {nest} A[(t + 1) % 2][i][j][k] = {total};",
    )


def star(a: int, b: int, c: int) -> bool:
    return (a != 0) + (b != 0) + (c != 0) < 2


def box(*_: int) -> bool:
    return True


@dataclass(frozen=True)
class Example:
    case: Case
    sizes: list[dict[str, int]]
    arrays: Callable[..., dict[str, Numbers]]
    scalars: dict[str, Any] = field(default_factory=dict)

    @property
    def times(self) -> str:
        """The parameter that counts iterations."""
        return "tmax" if "tmax" in self.sizes[0] else "tsteps"


def sizes(*given: tuple[int, int, int]) -> list[dict[str, int]]:
    return [{"nx": nx, "ny": ny, "tsteps": steps} for nx, ny, steps in given]


def squares(*given: tuple[int, int]) -> list[dict[str, int]]:
    return [{"n": n, "tsteps": steps} for n, steps in given]


def boxes(*given: tuple[int, int, int, int]) -> list[dict[str, int]]:
    return [{"nx": nx, "ny": ny, "nz": nz, "tsteps": steps} for nx, ny, nz, steps in given]


def solids(nx: int, ny: int, nz: int, **_: int) -> dict[str, Numbers]:
    return {name: random(nx, ny, nz, dtype=np.float32, seed=k) for k, name in enumerate("ABC")}


def cubes(element: Any) -> Callable[..., dict[str, Numbers]]:
    return lambda nx, ny, nz, **_: {"A": random(2, nx, ny, nz, dtype=element)}


def planes(nx: int, ny: int, **_: int) -> dict[str, Numbers]:
    return {"A": random(2, nx, ny)}


def fields(nx: int, ny: int, tmax: int) -> dict[str, Numbers]:
    drive = random(max(tmax, 1), seed=5)
    return {"ex": random(nx, ny), "ey": random(nx, ny, seed=3), "hz": random(nx, ny, seed=4), "fict": drive}


def wide(nx: int, ny: int, **_: int) -> dict[str, Numbers]:
    return {"A": random(2, nx, ny, dtype=np.float32), "C": random(nx, ny, dtype=np.float32, seed=2)}


ONE = [("A", ("S0",))]
TWO = [("B", ("S0",)), ("A", ("S1",))]
FIELDS = [("ey", ("S0", "S1")), ("ex", ("S2",)), ("hz", ("S3",))]


def examples() -> dict[str, Example]:
    """By name; iterations that are no whole pair of blocks are those of another program."""
    return {
        "star": Example(
            Case(STAR, ONE, 3, live=[1], chunk=16),
            sizes((1, 1, 6), (5, 7, 6), (3, 3, 12), (9, 9, 5), (30, 260, 6), (70, 300, 13)),
            planes,
        ),
        "star of single columns": Example(
            Case(STAR, ONE, 4, live=[1], points=(1,), threads=(3,), chunk=1, tiles_at_once=12),
            sizes((5, 7, 8), (30, 100, 8), (70, 30, 16)),
            planes,
        ),
        "jacobi": Example(
            Case(JACOBI, TWO, 2, chunk=20),
            squares((1, 4), (5, 4), (130, 4), (270, 9)),
            lambda n, **_: {"A": random(n, n), "B": random(n, n, seed=3)},
        ),
        "wide": Example(
            Case(WIDE, ONE, 2, live=[1], chunk=5, tiles_at_once=9),
            sizes((3, 7, 4), (31, 265, 4), (100, 300, 9)),
            wide,
            {"w": np.float32(0.3)},
        ),
        "box": Example(
            Case(BOX, ONE, 3, live=[1], chunk=20, points=(2,)),
            sizes((3, 7, 6), (31, 165, 6), (100, 200, 13)),
            planes,
        ),
        "fdtd": Example(
            Case(FDTD, FIELDS, 2, chunk=20, points=(2,)),
            [{"tmax": t, "nx": nx, "ny": ny} for nx, ny, t in [(1, 1, 4), (3, 7, 4), (31, 165, 6), (100, 200, 13)]],
            fields,
        ),
        "line": Example(
            Case(LINE, TWO, 3),
            squares((1, 6), (5, 6), (130, 6), (1270, 13)),
            lambda n, **_: {"A": random(n), "B": random(n, seed=3)},
        ),
        "wide line": Example(
            Case(WIDE_LINE, ONE, 5, live=[1], points=(2,)),
            squares((1, 10), (5, 10), (130, 10), (1270, 23)),
            lambda n, **_: {"A": random(2, n, dtype=np.float32)},
        ),
        "moving sides": Example(
            Case(MOVING_SIDES, TWO, 3, chunk=20),
            sizes((3, 7, 6), (31, 165, 6), (150, 200, 13), (180, 320, 6)),
            lambda nx, ny, **_: {"A": random(nx, ny), "B": random(nx, ny, seed=3)},
        ),
        "star in space": Example(
            Case(STAR_3D, ONE, 2, live=[1], threads=(4, 32), points=(3, 1), exchange=Exchange.BLOCK, chunk=8),
            boxes((1, 1, 1, 4), (5, 3, 7, 4), (30, 21, 75, 5), (12, 40, 33, 8)),
            lambda nx, ny, nz, **_: {"A": random(2, nx, ny, nz)},
        ),
        "star in patches": Example(
            Case(
                STAR_3D,
                ONE,
                3,
                live=[1],
                threads=(4, 32),
                points=(3, 2),
                exchange=Exchange.BLOCK,
                chunk=2,
                tiles_at_once=60,
            ),
            boxes((5, 3, 7, 6), (40, 21, 75, 6)),
            lambda nx, ny, nz, **_: {"A": random(2, nx, ny, nz)},
        ),
        "box in space": Example(
            Case(BOX_3D, TWO, 2, threads=(4, 32), points=(3, 1), exchange=Exchange.BLOCK, gap=1, chunk=20),
            boxes((5, 3, 7, 4), (45, 31, 75, 4)),
            solids,
        ),
        "star of single cells": Example(
            Case(STAR_3D, ONE, 2, live=[1], threads=(8, 32), points=(1, 1), exchange=Exchange.BLOCK, gap=1),
            boxes((5, 3, 7, 4), (30, 21, 75, 5)),
            lambda nx, ny, nz, **_: {"A": random(2, nx, ny, nz)},
        ),
        "star of 13 points": Example(
            Case(
                points_in_space("float", 2, star),
                ONE,
                2,
                live=[1],
                threads=(4, 32),
                points=(4, 4),
                exchange=Exchange.BLOCK,
                chunk=6,
            ),
            boxes((1, 1, 1, 4), (7, 6, 9, 4), (19, 29, 140, 5)),
            cubes(np.float32),
        ),
        "star of 13 points, a row a warp": Example(
            Case(
                points_in_space("double", 2, star),
                ONE,
                2,
                live=[1],
                threads=(12, 32),
                points=(1, 4),
                exchange=Exchange.BLOCK,
            ),
            boxes((5, 5, 5, 4), (12, 23, 131, 4)),
            cubes(np.float64),
        ),
        "box of 27 points": Example(
            Case(
                points_in_space("double", 1, box),
                ONE,
                2,
                live=[1],
                threads=(4, 32),
                points=(2, 2),
                exchange=Exchange.BLOCK,
                gap=1,
            ),
            boxes((3, 3, 3, 4), (8, 17, 75, 5)),
            cubes(np.float64),
        ),
        "box of 125 points": Example(
            Case(
                points_in_space("float", 2, box),
                ONE,
                2,
                live=[1],
                threads=(11, 32),
                points=(1, 1),
                exchange=Exchange.BLOCK,
                gap=1,
            ),
            boxes((5, 5, 5, 4), (9, 14, 40, 4)),
            cubes(np.float32),
        ),
        "star that waits late": Example(
            Case(
                STAR_3D,
                ONE,
                3,
                live=[1],
                threads=(3, 32),
                points=(4, 2),
                exchange=Exchange.BLOCK,
                split_barrier=True,
                chunk=6,
            ),
            boxes((1, 1, 1, 6), (5, 3, 7, 6), (30, 21, 75, 7), (12, 40, 130, 6)),
            cubes(np.float64),
        ),
        "star of 13 points that waits late": Example(
            Case(
                points_in_space("float", 2, star),
                ONE,
                2,
                live=[1],
                threads=(4, 32),
                points=(6, 1),
                exchange=Exchange.BLOCK,
                split_barrier=True,
            ),
            boxes((5, 5, 5, 4), (9, 23, 41, 5)),
            cubes(np.float32),
        ),
        "box of 27 points that waits late": Example(
            Case(
                points_in_space("float", 1, box),
                ONE,
                2,
                live=[1],
                threads=(4, 32),
                points=(3, 2),
                exchange=Exchange.BLOCK,
                split_barrier=True,
                gap=1,
                chunk=5,
            ),
            boxes((3, 3, 3, 4), (12, 17, 75, 5)),
            cubes(np.float32),
        ),
        "fields that wait late": Example(
            Case(
                BOX_3D,
                TWO,
                2,
                threads=(3, 32),
                points=(5, 1),
                exchange=Exchange.BLOCK,
                split_barrier=True,
                gap=1,
                chunk=20,
            ),
            boxes((5, 3, 7, 4), (45, 31, 75, 4)),
            solids,
        ),
        "rows that all wait": Example(
            Case(
                STAR_3D,
                ONE,
                2,
                live=[1],
                threads=(4, 32),
                points=(2, 2),
                exchange=Exchange.BLOCK,
                split_barrier=True,
                gap=1,
            ),
            boxes((5, 3, 7, 4), (14, 21, 75, 5)),
            cubes(np.float64),
        ),
        "bytes in space": Example(
            Case(BYTES, ONE, 2, live=[1], threads=(4, 32), points=(2, 2), exchange=Exchange.BLOCK, gap=1, chunk=5),
            boxes((3, 3, 3, 4), (9, 11, 75, 5)),
            lambda nx, ny, nz, **_: {"A": (100 * random(2, nx, ny, nz)).astype(np.uint8)},
        ),
    }


def same_as_c(example: Example, folder: Path) -> None:
    """What C computes, under all of the emulator's checks."""
    runner = Runner(example.case, folder, checks=True)
    for given in example.sizes:
        runner.compare(example.times, "f", given, example.arrays(**given), **example.scalars)
    assert runner.most > 0
