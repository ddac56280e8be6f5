"""Variables that count along with loops, and iterators that are used after their loops."""

from __future__ import annotations

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.bitwise import same_as_c

SIZES = tuple({"n": n, "m": m} for n, m in ((0, 0), (1, 1), (2, 3), (7, 9), (70, 40)))
VECTORS = "double a[2 * n + 9], double b[n + 1]"
MATRICES = "double a[n + 1][2 * m + 9], double b[n + 1][m + 1]"
PROGRAMS = {
    "one by one": (VECTORS, "j = 0; for (i = 0; i < n; i++) { a[j] = b[i]; j++; }"),
    "by a size": (VECTORS, "j = 1; for (i = 0; i < n; i++) { a[j] = b[i]; j += k; }"),
    "by a size, first": (VECTORS, "j = -1; for (i = 0; i < n; i++) { j += k; b[i] = a[j]; j += 0; }"),
    "by a size, through rows": (
        MATRICES + ", double c[9 * n * m + 9]",
        "j = 0; for (i = 0; i < n; i++) for (int r = 0; r < m; r++) { c[j] = b[i][r]; j += k; }",
    ),
    "by two, from one": (VECTORS, "j = 1; for (i = 0; i < n; i++) { a[j] = b[i] + j; j += 2; }"),
    "before it is used": (VECTORS, "j = n; for (i = n - 1; i >= 0; i--) { j = j - 1; a[j] = b[i]; }"),
    "inside a subscript, first": (VECTORS, "j = 0; for (i = 0; i < n; i++) a[++j] = b[i];"),
    "inside a subscript": (VECTORS, "j = 0; for (i = 0; i < n; i++) a[j++] = b[i];"),
    "inside a subscript beside a choice": (
        VECTORS, "j = 0; for (i = 0; i < n; i++) a[j++] = b[i] > 0 && i > 1 ? b[i] : i > m ? 2 : 3;",
    ),
    "inside a subscript of a choice": (
        VECTORS, "j = 0; for (i = 0; i < n; i++) { a[i] = b[j++] > 0 ? i : 3; a[i] += 1; }",
    ),
    "inside a subscript that is read": (VECTORS, "j = n; for (i = 0; i < n; i++) a[i] += 2 * b[j--];"),
    "in the header": (VECTORS, "for (i = 0, j = n; i < n; i++, j--) a[j] = b[i];"),
    "in steps of the loop": (VECTORS, "j = 0; for (i = 1; i < n; i += 3) { a[j] = b[i]; j += 2; } a[j] += 1;"),
    "in steps downwards": (VECTORS, "j = 0; for (i = n; i > 1; i -= 2) { a[j] = b[i]; j++; } a[j] += j;"),
    "twice an iteration": (
        VECTORS,
        "j = 0; for (i = 0; i < n; i++) { a[j] = b[i]; j++; { a[j] = 1; j++; } } for (i = 0; i < n; i++) a[i] += j;",
    ),
    "over two loops": (
        VECTORS,
        "j = 2; for (i = 0; i < n; i++) { a[j] = b[i]; j++; } for (i = 0; i < n; i++) { a[j] += b[i]; j++; }",
    ),
    "anew in each row": (
        MATRICES,
        "for (i = 0; i < n; i++) { int q = i % 2; for (j = 0; j < m; j++) { a[i][q] = b[i][j]; q += 2; }"
        " a[i][q] = q; }",
    ),
    "along with the outer loop": (
        MATRICES,
        "int q = n; for (i = 0; i < n; i++) { q--; for (j = 0; j < m; j++) if (q > 1) a[q][j] = b[i][j]; }",
    ),
    "two of them": (
        MATRICES,
        "int q = 0, r = 1; for (i = 0; i < n; i++) { r = 1; for (j = 0; j < m; j++) { a[q][r] = b[i][j]; r++; } q++; }",
    ),
    "wider than the iterator": (VECTORS, "long q = 0; for (i = 0; i < n; i++) { a[q] = b[i]; q += 2; }"),
    "a wide product": (
        "long a[2 * n + 9], double b[n + 1]",
        "long q = 3; for (i = 0; i < n; i++) { a[i] = q * 2000000000; if (q > 2) a[i]++; q++; }",
    ),
    "from a size": (VECTORS, "for (i = 0; i < n; i++) { a[k] = b[i]; k++; }"),
    "an iterator afterwards": (VECTORS, "for (i = 0; i < n; i++) a[i] = b[i]; a[i] = 1; a[i + 1] = i;"),
    "an iterator of the SCoP's own afterwards": (VECTORS, "int q; for (q = 0; q < n; q++) a[q] = b[q]; a[0] = q;"),
    "iterators of several loops afterwards": (
        VECTORS,
        "for (i = 1; i <= n; i += 2) a[i] = 3; a[i] = 1; for (i = n; i >= 0; i--) a[i] += 1; a[i + 1] = i;",
    ),
    "a loop from where another ended": (
        VECTORS,
        "for (i = 0; i < n / 2; i++) a[i] = 1; for (j = i; j < n; j++) a[j] = 2;",
    ),
    "an iterator after a loop inside": (
        MATRICES,
        "for (i = 0; i < n; i++) { for (j = i; j < m; j++) a[i][j] = b[i][j]; a[i][j] = 7; }",
    ),
    "through an inner loop": (
        "double *a, double b[n + 1][m + 1]",
        "j = 0; for (i = 0; i < n; i++) for (int r = 0; r < m; r++) { a[j] = b[i][r]; j++; }",
    ),
    "through an inner loop of constant length": (
        "double a[5 * n + 9], double b[n + 1]",
        "j = 1; for (i = 0; i < n; i++) { for (int r = 8; r > 0; r -= 2) { a[j] = b[i] * r; j++; } j++; } a[j] = 3;",
    ),
    "through two inner loops": (
        "double *a, double b[n + 1][m + 1]",
        "j = 0; for (i = 0; i < n; i++) for (int r = 0; r < m; r++) for (int s = 0; s < 3; s++) a[j++] = b[i][r] + s;",
    ),
    "in an inner loop": (VECTORS, "j = 0; for (i = 0; i < n; i++) for (int r = 0; r < k; r++) { a[j] = 1; j++; }"),
    "in both branches": (
        VECTORS,
        "j = -1; for (i = 0; i < n; i++) {"
        " if (b[i] > 0) { j++; a[j] = b[i]; } else { j += 1; a[j] = -b[i]; a[j] *= 2; } }",
    ),
    "cut off at a size": (
        VECTORS,
        "for (i = 0; i < n; i += 4) { int end = i + 4; if (end > n) end = n; for (j = i; j < end; j++) a[j] = b[i]; }",
    ),
    "chosen by both branches": (
        VECTORS,
        "for (i = 0; i < n; i++) { if (i % 2 == 0 && i < m) j = i; else { j = n; if (i == 3 || !(i > 1)) j = 2 * i; }"
        " a[i] = b[j > n ? n : j] + j; }",
    ),
    "added to by what is known": (
        MATRICES,
        "for (i = 0; i < n; i++) { int q = n; q -= i + 1; int r = 1; r += 2 * q - q; for (j = 0; j < m; j++)"
        " a[q][j] = b[r][j]; }",
    ),
    "iterators of the SCoP's own": (
        "double *restrict a, const double *restrict b",
        "for (int t = 0; t < n; t++) { int r, s, q; q = t; q += 2; for (r = 0; r < 3; r++) for (s = 0; s < m; s++)"
        " a[(3 * q + r - 6) * m + s] = b[(q - 2) * m + s] + q; }",
    ),
    "set again and again": (
        VECTORS,
        "for (i = 0; i < n; i++) a[i] = b[i]; j = 1; k2 = j; j = 2; a[k2] = 5; if (m == 3) j = 0; a[j] = 6;"
        " j = n; a[j] = 7;",
    ),
    "what the iteration before left": (
        VECTORS, "j = n; for (i = 0; i < n; i++) { a[i] = b[i] + b[j]; j = i; }",
    ),
    "what two iterations before left": (
        VECTORS, "j = n; int q = 1; q = j; for (i = 0; i < n; i += 2) { a[i] = b[j] + 2 * b[q]; q = j; j = i + 1; }",
    ),
    "what the iteration before left, downwards": (
        MATRICES,
        "for (i = 0; i < n; i++) { int q = m; for (j = m - 1; j >= 0; j--) { a[i][j] = b[i][q] - b[i][j]; q = j; } }",
    ),
    "by what is set before": (
        VECTORS,
        "int q = 2; j = 1; for (i = 0; i < n; i++) { j += q; a[j - 2] = b[i]; } a[0] = j;",
    ),
    "through another variable": (
        VECTORS,
        "j = -1; for (i = 0; i < n; i++) { k2 = j + 1; a[k2] = b[i] - a[k2 + 1]; j = k2 + 1; a[j] = k2; a[k2] *= 2; }",
    ),
    "through a variable of the iteration": (
        MATRICES,
        "for (i = 0; i < n; i++) { j = 0; for (int r = 0; r < m; r++) { int q = j - 1; j = q + 3;"
        " a[i][q + 1] = b[i][r]; j++; j = j - 1; if (q > 3) a[i][q] += j; } }",
    ),
    "through another variable, downwards": (
        VECTORS,
        "j = 2 * n; for (i = 0; i < n; i++) { k2 = j; a[k2] = b[i]; k2 = k2 - 1; j = k2; a[j] = k2 + b[i]; j--; }",
    ),
    "while": (VECTORS, "i = 0; j = 0; while (i < n) { a[j] = b[i]; j += 2; i++; } a[i] = 7;"),
    "around an iterator of its loop's name": (
        VECTORS,
        "j = 0; for (int r = 0; r < n; r++) { for (int r = 0; r < 2; r++) a[j++] = b[r] + r; a[r] += b[r]; }",
    ),
    "along an iterator that is hidden": (
        VECTORS, "j = 0; for (int r = 0; r < n; r++) { a[j] = b[r]; { int r = j; a[r + 1] = r; } j++; }",
    ),
    "from a size that is hidden": (VECTORS, "j = k; for (i = 0; i < n; i++) { int k = i; a[j] = b[k]; j++; }"),
    "two of one name": (
        MATRICES,
        "for (i = 0; i < n; i++) { int q = 0; for (int r = 0; r < m; r++) a[i][q++] = b[i][r]; }"
        " for (i = 0; i < n; i++) { int q = 1; for (int r = 0; r < m; r++) { int l = r; a[i][q++] += b[i][l]; } }",
    ),
    "one that hides another": (
        VECTORS, "j = 1; { int j = 0; for (i = 0; i < n; i++) a[j++] = b[i]; } for (i = 0; i < n; i++) a[j++] += b[i];",
    ),
    "seen after the SCoP": (VECTORS, "l = 5; for (i = 0; i < n; i++) { a[l] = b[i]; l++; }"),
    "an iterator seen after the SCoP": (VECTORS, "for (l = 0; l < n; l++) a[l] = b[l];"),
}


def source(arguments: str, body: str) -> str:
    use = "return l;" if "l = " in body.replace("lo = ", "") else "return 0;"
    return (
        f"int f(int n, int m, int k, {arguments})\n{{\nint i, j, k2, l = 0;\n#pragma scop\n"
        f"#pragma polytile assume(k >= 0 && k <= 3)\n{body}\n#pragma endscop\n{use}\n}}\n"
    )


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    scop = polytile.compile(source(*PROGRAMS[name]), name="f.c", strict=True, raise_bugs=True).scops[0]
    assert scop.program is not None, [remark.message for remark in scop.remarks]
    same_as_c(scop, [{**sizes, "k": 2} for sizes in SIZES])


@pytest.mark.quick
def test_loops_stay_parallel() -> None:
    scop = polytile.compile(source(*PROGRAMS["by two, from one"]), name="f.c").scops[0]
    assert scop.program is not None
    assert [len(k.block) > 0 and k.block != (1,) for k in scop.program.kernels] == [True]
    (statement,) = scop.scop.statements
    assert {a.array: str(a.relation.range()).partition(":")[0] for a in statement.accesses}.keys() == {"a", "b"}


REFUSED = {
    "under a condition on data": "j = 0; for (i = 0; i < n; i++) if (b[i] > 0) { a[j] = b[i]; j++; }",
    "other constants in the branches": "j = 0; for (i = 0; i < n; i++) { if (b[i] > 0) j++; else j += 2; a[j] = 1; }",
    "unknown before both branches": "j = (int) b[0]; if (n > 2) { j++; a[0] = 1; } else { j++; } a[j] = 1;",
    "unknown in a loop": "j = (int) b[0]; for (i = 0; i < n; i++) { if (i > 2) j++; else j++; a[j] = 1; }",
    "chosen by data": "for (i = 0; i < n; i++) { j = i; if (b[i] > 0) j = 0; a[j] = 1; }",
    "handed on by data": "j = 0; for (i = 0; i < n; i++) { a[i] = b[j]; if (b[i] > 0) j = i; }",
    "through a triangle": "j = 0; for (i = 0; i < n; i++) for (int r = 0; r < i; r++) { a[j] = 1; j++; }",
    "by data": "j = 0; for (i = 0; i < n; i++) { a[j] = b[i]; j += (int) b[i]; }",
    "by the iterator": "j = 0; for (i = 0; i < n; i++) { a[j] = b[i]; j += i; }",
    "by a size, up to it": "j = 0; for (i = 0; i < n; i++) { for (int r = 0; r < j; r++) a[r] = b[i]; j += k; }",
    "by what changes": "j = 0; int q = 1; for (i = 0; i < n; i++) { a[j] = b[i]; j += q; if (b[i] > 0) q = 2; }",
    "doubled": "j = 1; for (i = 0; i < n; i++) { a[j] = b[i]; j *= 2; }",
    "in a branch": "j = 0; for (i = 0; i < n; i++) { if (i > 3) j++; a[j] = b[i]; }",
    "under ?:": "j = 0; for (i = 0; i < n; i++) a[i] = b[i] > 0 ? b[j++] : 0;",
    "used twice": "j = 0; for (i = 0; i < n; i++) a[j++] = b[j];",
    "its address is taken": "p = 0; for (i = 0; i < n; i++) { a[p] = b[i]; p++; }",
    "a global one": "g = 0; for (i = 0; i < n; i++) { a[g] = b[i]; g++; }",
    "unsigned": "u = 0; for (i = 0; i < n; i++) { a[u] = b[i]; u++; }",
    "counted by a wider iterator": "j = 0; for (long w = 0; w < n; w++) { a[j] = b[w]; j++; }",
    "cut off": "j = (char) n; for (i = 0; i < n; i++) { a[j] = b[i]; j++; }",
    "an unknown end": "for (i = 0; i < n && i < k; i++) a[i] = 1; a[i] = 2;",
    "through a variable that is kept": (
        "k = 0; j = 0; for (i = 0; i < n; i++) { a[k] = b[i]; k = j + 1; if (b[i] > 0) j = k + 1; }"
    ),
}


ELSEWHERE = ("under ?:", "used twice", "an unknown end")  # no subscript is what stands in their way


def refused(name: str) -> str:
    return (
        f"int g;\nvoid use(int *);\nint f(int n, int k, {VECTORS})\n{{\nint i, j, p = 0; unsigned u; use(&p);\n"
        f"#pragma scop\n{REFUSED[name]}\n#pragma endscop\nreturn p;\n}}\n"
    )


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_refused(name: str) -> None:
    with pytest.raises(UserError):
        polytile.compile(refused(name), name="f.c")


@pytest.mark.parametrize("name", [name for name in REFUSED if name not in ELSEWHERE])
def test_values_that_are_not_known_are_indices_that_are_read(name: str) -> None:
    """They may be any, so that nothing is parallel, and C runs."""
    (scop,) = polytile.compile(refused(name), name="f.c", raise_bugs=True).scops
    assert scop.program is None


def test_elements_of_rows_by_a_size_are_indices_that_are_read() -> None:
    """Their product with the iterator is no row of a matrix that has rows of its own."""
    body = "for (i = 0; i < n; i++) { j = 0; for (int r = 0; r < m; r++) { a[i][j] = b[i][r]; j += k; } }"
    (scop,) = polytile.compile(source(MATRICES, body), name="f.c", raise_bugs=True).scops
    assert scop.program is not None
