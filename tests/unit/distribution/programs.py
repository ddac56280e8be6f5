"""Small C programs that are distributed, and what is read of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from polytile.distribution import planner
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
# What a phase behind reads beyond a part is computed there, too, besides what neighbours wait for.
READ_BEHIND = """
void read_behind(int steps, int n, double A[2][n], double B[n])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++) A[(t + 1) % 2][i] = A[t % 2][i - 1] + A[t % 2][i + 1];
        for (int i = 1; i < n - 1; i++) B[i] = B[i] * 0.5 + A[(t + 1) % 2][i - 1] + A[(t + 1) % 2][i + 1];
    }
#pragma endscop
}
"""

# Values that do not stay in the arrays of the call: locals for each row, for each step, arrays of the function's own.
ROW_SUMS = """
void rows(int steps, int n, int m, double A[n][m], double B[n][m])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++) {
            double sum = 0;
            for (int k = 0; k < m; k++) sum += A[i - 1][k] * A[i + 1][k];
            for (int j = 0; j < m; j++) B[i][j] = A[i][j] + sum * 0.001;
        }
        for (int i = 1; i < n - 1; i++)
            for (int j = 0; j < m; j++) A[i][j] = B[i][j];
    }
#pragma endscop
}
"""
STEP_SIZES = """
void damped(int steps, int n, double dt, double *energy, double A[n], double B[n])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        double c = dt * t + 0.5, d = c * c;
        *energy = *energy * 0.9 + c;
        for (int i = 1; i < n - 1; i++) B[i] = c * A[i - 1] + *energy * A[i + 1];
        *energy = *energy + 1;
        for (int i = 1; i < n - 1; i++) A[i] = B[i] * d + *energy;
    }
#pragma endscop
}
"""
OWN_ARRAY = """
void smooth(int steps, int n, int m, double A[n][m])
{
    double T[n][m];
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) T[i][j] = A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) A[i][j] = 0.25 * T[i][j];
        for (int j = 0; j < m; j++) A[0][j] = A[1][j];
    }
#pragma endscop
}
"""
PROFILES = """
void profiles(int steps, int n, int m, double c[n], double d[m], double A[2][n][m])
{
#pragma scop
    for (int t = 0; t < steps; t++)
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < m - 2; j++)
                A[(t + 1) % 2][i][j] = c[i + 1] * A[t % 2][i - 2][j + 1] + d[j - 1] * A[t % 2][i + 1][j - 2];
#pragma endscop
}
"""
SWAPPED = """
void swapped(int steps, int n, int m, double (*A)[m], double (*B)[m])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) B[i][j] = 0.25 * (A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]);
        double (*T)[m] = A; A = B; B = T;
    }
#pragma endscop
}
"""
# What is received at each step goes on from one step to the next one: ranks that compute beyond their part must not.
LINES = """
void lines(int steps, int n, int m, double A[2][n][m], double line[n], double last[1])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                A[(t + 1) % 2][i][j] = 0.3 * (A[t % 2][i - 1][j] + A[t % 2][i + 1][j] + A[t % 2][i][j - 1]);
        for (int i = 0; i < n; i++) line[i] += A[(t + 1) % 2][i][6];
        last[0] = A[(t + 1) % 2][7][6];
    }
#pragma endscop
}
"""
# A source that moves, a counter, and what a position hands on to the next step.
SOURCES = """
void sources(int steps, int n, double A[2][n][n], double count[1])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[(t + 1) % 2][i][j] = 0.25 * (A[t % 2][i - 1][j] + A[t % 2][i + 1][j + t % 2]);
        A[(t + 1) % 2][t + 1][3] += 1.0;
        count[0] += 1;
    }
#pragma endscop
}
"""
HANDED_ON = """
void handed_on(int steps, int n, double A[n], double B[n], double w[steps + 1])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++) B[i] = 0.5 * (A[i - 1] + A[i + 1]);
        for (int i = 1; i < n - 1; i++) A[i] = B[i];
        w[t + 1] = w[t] + A[n / 2];
        A[n / 2] += w[t + 1];
    }
#pragma endscop
}
"""
ELSEWHERE = """
void elsewhere(int steps, int n, double A[2][n], double w[1])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++) A[(t + 1) % 2][i] = A[t % 2][i - 1];
        w[0] = A[(t + 1) % 2][3];
        A[(t + 1) % 2][6] = w[0];
    }
#pragma endscop
}
"""
NAMED = {
    "star": STAR,
    "wave": WAVE,
    "advection": ADVECTION,
    "row sums": ROW_SUMS,
    "step sizes": STEP_SIZES,
    "own array": OWN_ARRAY,
    "profiles": PROFILES,
    "swapped": SWAPPED,
    "lines": LINES,
    "sources": SOURCES,
    "read behind": READ_BEHIND,
}


distribute = cache(planner.distribute)  # plans are frozen, and tests of one program share its plan


@cache
def scop_of(text: str, name: str = "program.c") -> Scop:
    """Return the only SCoP of a C text."""
    (found,) = read_program(name, text).scops
    return found


@cache
def named(program: str) -> Scop:
    """Return the SCoP of one of `NAMED`, or of a benchmark program."""
    return scop_of(NAMED[program]) if program in NAMED else scop_of_file(program)


@cache
def scop_of_file(path: str) -> Scop:
    """Return the only SCoP of a benchmark program."""
    file = ROOT / "polybench" / path
    (found,) = read_program(str(file), file.read_text(), include_dirs=[str(file.parent)]).scops
    return found
