"""Domains and orders of loops and conditions."""

from __future__ import annotations

import pytest

CASES = {  # iterators of other steps than 1, and from sizes, are the number of the iteration
    "up": ("for (int i = 0; i < n; i++) A[i] = 0;", "[n] -> { S0[i] : 0 <= i < n }"),
    "inclusive": ("for (int i = 1; i <= n; ++i) A[i] = 0;", "[n] -> { S0[i] : 1 <= i <= n }"),
    "down": ("for (int i = n - 1; i >= 0; i--) A[i] = 0;", "[n] -> { S0[i] : 0 <= i < n }"),
    "down without a name": ("for (int i = n - 1; i >= 0; i--) A[0] += 1;", "[n] -> { S0[i] : 0 <= i < n }"),
    "down to m without a name": ("for (int i = n; i > 3; i--) A[0] += 1;", "[n] -> { S0[i] : 0 <= i < n - 3 }"),
    "down by two": (
        "for (int i = n; i > 0; i -= 2) A[i] = 0;",
        "[n] -> { S0[i] : 0 <= i and 0 < n - 2i }",
    ),
    "step": ("for (int i = 3; i < n; i += 4) A[i] = 0;", "[n] -> { S0[i] : 0 <= i and 3 + 4i < n }"),
    "step as a sum": ("for (int i = 0; i < n; i = 3 + i) A[i] = 0;", "[n] -> { S0[i] : 0 <= 3i < n }"),
    "step from m": (
        "for (int i = m; i < n; i += 2) A[i] = 0;",
        "[n, m] -> { S0[i] : 0 <= i and m + 2i < n }",
    ),
    "not equal": ("for (int i = 0; i != n; i++) A[i] = 0;", "[n] -> { S0[i] : 0 <= i < n }"),
    "not equal, down": ("for (int i = n; 0 != i; i--) A[i] = 0;", "[n] -> { S0[i] : 0 < i <= n }"),
    "not equal, step": (
        "for (int i = 0; i != 4 * n; i += 4) A[i] = 0;",
        "[n] -> { S0[i] : 0 <= i < n }",
    ),
    "two bounds": ("for (int i = 0; i < n && i < m; i++) A[i] = 0;", "[n, m] -> { S0[i] : 0 <= i < n and i < m }"),
    "stops at the first failure": (
        "for (int i = 0; i < n && i % 7 != 5; i++) A[i] = 0;",
        "[n] -> { S0[i] : 0 <= i < n and i < 5 }",
    ),
    "triangle": (
        "for (int i = 0; i < n; i++) for (int j = i; j < n; j++) A[j] = 0;",
        "[n] -> { S0[i, j] : 0 <= i <= j < n }",
    ),
    "minimum": ("for (int i = 0; i < (n < m ? n : m); i++) A[i] = 0;", "[n, m] -> { S0[i] : 0 <= i < n and i < m }"),
    "maximum": ("for (int i = max(n, 3); i < m; i++) A[i] = 0;", "[n, m] -> { S0[i] : n <= i < m and i >= 3 }"),
    "fmin": ("for (int i = 0; i < fmin(n, m); i++) A[i] = 0;", "[n, m] -> { S0[i] : 0 <= i < n and i < m }"),
    "floor": (
        "for (int i = floord(n, 4); i <= ceild(m, 3); i++) A[i] = 0;",
        "[n, m] -> { S0[i] : 0 <= i and floor(n/4) + i <= floor((m + 2)/3) }",
    ),
    "truncated quotient": (
        "for (int i = n / 2; i < 0; i++) A[-i] = 0;",
        "[n] -> { S0[i] : i < 0 and 2i >= n and n < 0 }",
    ),
    "remainder of a negative": ("for (int i = -3; i < 4; i++) if (i % 2 == -1) A[i + 3] = 0;", "{ S0[-3]; S0[-1] }"),
    "shift": ("for (int i = 0; i < n >> 1; i++) A[i << 1] = 0;", "[n] -> { S0[i] : 0 <= i and 2i + 2 <= n }"),
    "affine local": (
        "int last = n - 1; for (int i = 0; i < last; i++) { int k = i + 1; A[k] = 0; }",
        "[n] -> { S0[i] : 0 <= i < n - 1 }",
    ),
    "condition": (
        "for (int i = 0; i < n; i++) if (i > 2 && !(i == 5 || i >= m)) A[i] = 0;",
        "[n, m] -> { S0[i] : 2 < i < n and i < m and i != 5 }",
    ),
    "else": (
        "for (int i = 0; i < n; i++) if (i < m) A[i] = 0; else A[i] = 1;",
        "[n, m] -> { S0[i] : 0 <= i < n and i < m; S1[i] : 0 <= i < n and i >= m }",
    ),
    "else if": (
        "for (int i = 0; i < n; i++) if (i < 2) A[i] = 0; else if (i % 2) A[i] = 1; else A[i] = 2;",
        "[n] -> { S0[i] : 0 <= i < n and i < 2; S1[i] : 2 <= i < n and i mod 2 = 1; "
        "S2[i] : 2 <= i < n and i mod 2 = 0 }",
    ),
    "leading conjunct": (
        "for (int i = 0; i < n; i++) if (i > 3 && A[i] > 0) A[i] = 0;",
        "[n] -> { S0[i] : 3 < i < n }",
    ),
    "never": ("for (int i = 0; i < n; i++) { if (i < 0) A[i] = 1; A[i] = 2; }", "[n] -> { S0[i] : 0 <= i < n }"),
    "parameter as a flag": ("for (int i = 0; i < 4; i++) if (m) A[i] = n;", "[m] -> { S0[i] : 0 <= i < 4 and m != 0 }"),
}


@pytest.mark.parametrize("case", CASES)
def test_domain(case, scop_of, same):
    body, domain = CASES[case]
    prelude = "double fmin(double, double); int max(int, int); int floord(int, int); int ceild(int, int);"
    assert same.domain(scop_of(body, before=prelude), domain)


def test_decreasing_loop_runs_downwards(scop_of, same):
    scop = scop_of("for (int i = n - 1; i >= 0; i--) { A[i] = 0; B[i] = 1; }")
    assert same.order(scop, "{ S0[i] -> [-i, 0]; S1[i] -> [-i, 1] }")


def test_sequence_of_loops(scop_of, same):
    scop = scop_of(
        """for (int t = 0; t < m; t++) {
               for (int i = 0; i < n; i++) A[i] = 0;
               A[0] = 1;
               for (int i = n; i > 0; i--) A[i] = 2;
           }"""
    )
    assert same.order(scop, "{ S0[t, i] -> [t, 0, i]; S1[t] -> [t, 1, 0]; S2[t, i] -> [t, 2, -i] }")


def test_branches_keep_their_order(scop_of, same):
    scop = scop_of("for (int i = 0; i < n; i++) { if (i > m) { A[i] = 0; B[i] = 1; } else B[i] = 2; A[i] = 3; }")
    assert same.order(scop, "{ S0[i] -> [i, 0]; S1[i] -> [i, 1]; S2[i] -> [i, 1]; S3[i] -> [i, 2] }")


def test_iterators_keep_their_names_and_stay_apart(scop_of):
    scop = scop_of("for (int i = 0; i < n; i++) for (int j = 0; j < 2; j++) for (int j = 0; j < i; j++) A[j] = 0;")
    assert scop.statement("S0").iterators == ("i", "j", "j_1")


def test_iterator_declared_outside(scop_of, same):
    scop = scop_of("int i; for (i = 0; i < n; i++) A[i] = i; for (i = 0; i < m; i++) B[i] = i;")
    assert same.domain(scop, "[n, m] -> { S0[i] : 0 <= i < n; S1[i] : 0 <= i < m }")
    assert {a.name for a in scop.arrays} == {"A", "B"}


def test_unsigned_sizes_are_not_negative(scop_of):
    scop = scop_of("for (unsigned i = 0; i < u; i++) A[i] = 0;", "unsigned long u, double *A")
    assert scop.context.is_equal(scop.context.__class__("[u] -> { : u >= 0 }"))


def test_assumptions_reach_the_context(scop_of):
    scop = scop_of("#pragma polytile assume(n >= 4 && m <= n)\nfor (int i = 0; i < n; i++) A[i] = m;")
    assert scop.context.is_equal(scop.context.__class__("[n] -> { : n >= 4 }"))


def test_text_and_location(scop_of):
    scop = scop_of("for (int i = 0; i < n; i++)\n    A[i] = (B[i] + 1.0) *\n        2.0;")
    statement = scop.statement("S0")
    assert statement.text == "A[i] = (B[i] + 1.0) * 2.0;"
    assert (statement.location.line, statement.location.column) == (6, 5)
