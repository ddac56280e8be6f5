"""Small C programs that are distributed, and what is read of them."""

from __future__ import annotations

from pathlib import Path

from polytile.frontend.program import read_program
from polytile.ir.scop import Scop

ROOT = Path(__file__).resolve().parents[3]

WAVE = """
void wave(int steps, int nx, int ny, int sx, int sy, int rx, int ry, double c, double u[3][nx][ny], double v[nx][ny],
          double src[steps], double rec[steps])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++) {
                double laplacian = u[(t + 1) % 3][i - 1][j] + u[(t + 1) % 3][i + 1][j] + u[(t + 1) % 3][i][j - 1]
                                 + u[(t + 1) % 3][i][j + 1] - 4 * u[(t + 1) % 3][i][j];
                u[(t + 2) % 3][i][j] = 2 * u[(t + 1) % 3][i][j] - u[t % 3][i][j] + v[i][j] * c * laplacian;
            }
        u[(t + 2) % 3][sx][sy] += src[t] * c;
        rec[t] = u[(t + 2) % 3][rx][ry];
    }
#pragma endscop
}
"""
STAR = """
void star(int steps, int n, int m, double A[2][n][m])
{
#pragma scop
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 2; j < m - 2; j++)
                A[(t + 1) % 2][i][j] = A[t % 2][i - 1][j] + A[t % 2][i + 1][j]
                                     + A[t % 2][i][j - 2] + A[t % 2][i][j + 2];
#pragma endscop
}
"""
ADVECTION = """
void advect(int steps, int n, float a, float A[n], float B[n])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n; i++) B[i] = A[i] - a * (A[i] - A[i - 1]);
        for (int i = 1; i < n; i++) A[i] = B[i];
    }
#pragma endscop
}
"""


def scop_of(text: str, name: str = "program.c") -> Scop:
    """Return the only SCoP of a C text."""
    (found,) = read_program(name, text).scops
    return found


def scop_of_file(path: str) -> Scop:
    """Return the only SCoP of a benchmark program."""
    file = ROOT / "polybench" / path
    (found,) = read_program(str(file), file.read_text(), include_dirs=[str(file.parent)]).scops
    return found
