"""Arrays that lie among one another: `restrict` ones, of which no element is of two, are copied as one; where plain
pointers overlap, the C runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import polytile
from tests.same_output import kernel_runs, prints_the_same

pytestmark = pytest.mark.usefixtures("emulator")

FILE = """
#include <stdio.h>
#include <stdlib.h>
#define REAL {real}
static REAL grid[64];

static void rotate(int n, REAL *restrict re, REAL *restrict im)
{{
#pragma scop
    for (int i = 0; i < n; i++) {{
        REAL t = re[2 * i];
        re[2 * i] = -im[2 * i];
        im[2 * i] = t;
    }}
#pragma endscop
}}

static void colours(int n, REAL *restrict first, REAL *restrict second, REAL *restrict third, REAL *restrict apart)
{{
#pragma scop
    for (int i = 0; i < n; i++) {{
        first[3 * i] = i;
        third[3 * i] += 2;
        second[3 * i] = i * 0.5;
        apart[i] = 7;
    }}
#pragma endscop
}}

static void windows(int low, int high, REAL *restrict a, REAL *restrict b)
{{
#pragma scop
    for (int i = low; i < high; i++) {{
        a[4 * i] = 1;
        b[4 * i + 2] = 2;
    }}
#pragma endscop
}}

static void beside_a_global(int n, REAL *restrict a)
{{
#pragma scop
    for (int i = 0; i < n; i++) {{
        grid[2 * i] += 1;
        a[2 * i] += 2;
    }}
#pragma endscop
}}

static void show(int n, const REAL *a)
{{
    for (int i = 0; i < n; i++) printf("%g ", (double)a[i]);
    printf("\\n");
}}

int main(void)
{{
    int sizes[] = {{0, 1, 2, 7, 33, 1000}};
    for (int s = 0; s < 6; s++) {{
        int n = sizes[s], all = 8 * n + 12;
        REAL *m = malloc(all * sizeof *m);
        for (int i = 0; i < all; i++) m[i] = i + 1;
        rotate(n, m, m + 1);
        rotate(n, m + 2 * n + 1, m + 2 * n);
        show(all, m);
        colours(n, m, m + 1, m + 2, m + 3 * n);
        colours(n, m + 2, m, m + 1, m + 3 * n + 4);
        colours(n, m, m + 3 * n, m + 1, m + 6 * n);
        colours(n, m + 3 * n + 2, m + 1, m + 3 * n, m + 6 * n);
        show(all, m);
        windows(1, n, m, m);
        windows(n / 3, n, m + 1, m);
        show(all, m);
        free(m);
    }}
    beside_a_global(20, grid + 1);
    show(64, grid);
    return 0;
}}
"""


@pytest.mark.parametrize("real", ["float", "double"])
def test_arrays_that_lie_among_one_another(real: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = FILE.format(real=real)
    prints_the_same(text, "address,undefined", tmp_path, monkeypatch)
    assert kernel_runs(text, tmp_path, monkeypatch) == 6 * 8 + 1


@pytest.mark.quick
@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("double *restrict a, const double *restrict b", "a[i] = b[i];"),
        ("double a[n], double b[n]", "a[i] = 1; b[i] = 2;"),
    ],
)
def test_others_are_not_joined(parameters: str, body: str) -> None:
    text = (
        f"void f(int n, {parameters}) {{\n#pragma scop\nfor (int i = 0; i < n; i++) {{ {body} }}\n#pragma endscop\n}}"
    )
    (scop,) = polytile.compile(text, strict=True).scops
    assert "join" not in scop.cuda


OVERLAPPING = """
#include <stdio.h>
#include <stdlib.h>
#define REAL {real}
struct pair {{ REAL *from, *to; }};

static void shift(int n, REAL *a, REAL *b)
{{
    for (int i = 0; i < n; i++)
        a[i] = b[i] + 1;
}}

static void rows(int n, int low, REAL a[][5], REAL *b)
{{
    for (int i = low; i < n; i++)
        for (int j = 1; j < 4; j++)
            a[i][j] = b[i * 5 + j] * 2;
}}

static void fields(int n, const struct pair *p)
{{
    for (int i = 0; i < n; i++)
        p->to[2 * i + 1] += p->from[i];
}}

static void chosen(int n, const int *at, REAL *a, REAL *b)
{{
    for (int i = 0; i < n; i++)
        a[i] = b[at[i]];
}}

int main(void)
{{
    int sizes[] = {{0, 1, 2, 7, 33, 400}};
    for (int s = 0; s < 6; s++) {{
        int n = sizes[s], all = 20 * n + 20;
        REAL *m = malloc(all * sizeof *m), last = 0;
        int *at = malloc((n + 1) * sizeof *at), k = 0;
        while (k < all) {{ m[k] = k % 23; k++; if (printf("") < 0) abort(); }}
        while (k-- > 0) {{ if (k < n) at[k] = k * 5 % n; if (printf("") < 0) abort(); }}
        shift(n, m + 1, m);
        shift(n, m, m + 1);
        shift(n, m, m + n);
        rows(n, n / 2, (REAL (*)[5])m, m + 5);
        rows(n, n / 2, (REAL (*)[5])m, m + 5 * n);
        fields(n, &(struct pair){{m, m + n / 2}});
        fields(n, &(struct pair){{m, m + n}});
        chosen(n, at, m + 1, m);
        chosen(n, at, m + n, m);
        for (k = 0; k < all; k++) printf("%g ", (double)m[k]);
        printf("\\n");
        free(m);
        free(at);
    }}
    return 0;
}}
"""


@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("real", ["float", "double"])
def test_the_c_runs_where_arrays_overlap(
    real: str, marked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = OVERLAPPING.format(real=real)
    if marked:
        text = re.sub(r"\n\{\n(    for .*?\n)\}\n", r"\n{\n#pragma scop\n\1#pragma endscop\n}\n", text, flags=re.DOTALL)
        assert text.count("#pragma scop") == 4
    prints_the_same(text, "address,undefined", tmp_path, monkeypatch, autodetect=not marked)
    assert kernel_runs(text, tmp_path, monkeypatch, autodetect=not marked) >= 4 * 4
