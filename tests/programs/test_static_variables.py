"""Variables that a loop's own block declares `static`: one for all iterations and calls, as C has them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import polytile

pytestmark = pytest.mark.usefixtures("emulator")

PROGRAM = """
#include <stdio.h>
int b[20], c[20], d[20];
double e[20];
unsigned r[20];
void sum(int n) { for (int i = 0; i < n; i++) { static int k = 3; k += i; b[i] = k; } }
void counts(int n) { for (int i = 0; i < n; i++) { static int seen[4]; seen[i & 3] += 1; c[i] = seen[i & 3]; } }
void under_a_condition(int n) { for (int i = 0; i < n; i++) if (i % 2) { static int k; d[i] = ++k; } }
void one_before(int n) { for (int i = 0; i < n; i++) { static double last = .5; e[i] = last; last = i * .25; } }
void random_numbers(int n)
{
    for (int i = 0; i < n; i++) { static unsigned state = 7; state = state * 1103515245u + 12345u; r[i] = state >> 16; }
}
void constants(int n) { for (int i = 0; i < n; i++) { static const double w[3] = {1, 2, 1}; e[i] += w[i % 3]; } }
void only_read(int n)
{
    for (int i = 0; i < n; i++) {
        static double w[3] = {1, 2, 1}, z[2];
        static int zero;
        e[i] += w[i % 3] + z[i % 2] + zero;
    }
}
static int numbered(int x) { static int calls; return x + calls++; }
void in_a_function(int n) { for (int i = 0; i < n; i++) b[i] += numbered(i); }
void of_two_dimensions(int n)
{
    for (int i = 0; i < n; i++) {
        static int t[2][2];
        for (int j = 0; j < 2; j++)
            t[i & 1][j] += i + j;
        c[i] = t[0][0] + t[1][1];
    }
}
void around_the_loop(int n) { static int s = 5; for (int i = 0; i < n; i++) { s += i; b[i] += s; } }
void array_around(int n) { static int s[20]; for (int i = 0; i < n; i++) { s[i] += i; b[i] += s[i]; } }
void by_address(int n) { for (int i = 0; i < n; i++) { static int k = 1; int *p = &k; *p += i; c[i] += k; } }
void structs(int n) { for (int i = 0; i < n; i++) { static struct { int a, b; } s; s.a += i; c[i] += s.a; } }
void unset_struct(int n) { for (int i = 0; i < n; i++) { static struct { int a, b; } s; c[i] += s.a + 1; } }
void of_another_place(int n) { for (int i = 0; i < n; i++) { extern int b[]; b[i] += i; } }
void marked(int n)
{
#pragma scop
    for (int j = 0; j < 2; j++) {
        static int first[20];
        for (int i = 0; i < n; i++) { first[i] += i; d[i] += first[i]; }
    }
#pragma endscop
}
int main(void)
{
    for (int t = 0; t < 3; t++) {
        int n = 20 - 3 * t;
        sum(n); counts(n); under_a_condition(n); one_before(n); random_numbers(n); constants(n); only_read(n);
        in_a_function(n); of_two_dimensions(n); around_the_loop(n); array_around(n); by_address(n); structs(n);
        unset_struct(n); of_another_place(n); marked(n);
    }
    for (int i = 0; i < 20; i++)
        printf("%d %d %d %g %u\\n", b[i], c[i], d[i], e[i], r[i]);
    return 0;
}
"""


@pytest.mark.quick
def test_values_are_kept_as_in_c(tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(PROGRAM)
    compiled = polytile.compile(path, strict=True, raise_bugs=True, autodetect=True)
    parallel = {scop.name for scop in compiled.scops if scop.program is not None}
    assert {"constants_scop0", "only_read_scop0", "of_two_dimensions_scop0", "array_around_scop0"} <= parallel
    compiled.build(tmp_path / "after", on="emulator")
    gcc = shutil.which("gcc")
    assert gcc is not None
    subprocess.run([gcc, "-w", path, "-o", tmp_path / "before"], check=True, timeout=60)
    before, after = (
        subprocess.run([tmp_path / n], capture_output=True, text=True, timeout=60) for n in ("before", "after")
    )
    assert after.returncode == 0 and after.stdout == before.stdout
