"""Access relations, arrays, and the trees of statements."""

from __future__ import annotations

from polytile.ir.expr import DOUBLE, FLOAT, INT, LONG, UINT, Assign, Binary, Cast, Declare, For, If, Name
from polytile.ir.expr_trees import walk
from polytile.ir.scop import AccessKind, Origin

READ, WRITE, MAY_WRITE = AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE


def test_affine_subscripts(scop_of, same):
    scop = scop_of("for (int i = 0; i < n; i++) A[2 * i + m] = B[i / 2] + B[n - 1 - i];")
    assert same.accesses(scop, WRITE, "[n, m] -> { S0[i] -> A[2i + m] }")
    assert same.accesses(scop, READ, "[n] -> { S0[i] -> B[floor(i/2)]; S0[i] -> B[n - 1 - i] }")


def test_remainder_subscript(scop_of, same):
    scop = scop_of(
        "for (int t = 0; t < n; t++) for (int i = 1; i < m; i++) C[(t + 1) % 2][i] = C[t % 2][i - 1];",
        "int n, int m, double C[2][m]",
    )
    assert same.accesses(scop, WRITE, "[n, m] -> { S0[t, i] -> C[(t + 1) mod 2, i] }")
    assert same.accesses(scop, READ, "[n, m] -> { S0[t, i] -> C[t mod 2, i - 1] }")


def test_compound_assignment_reads_and_writes(scop_of, same):
    scop = scop_of("for (int i = 0; i < n; i++) A[i] -= B[0];")
    assert same.accesses(scop, READ, "{ S0[i] -> A[i]; S0[i] -> B[0] }")
    assert same.accesses(scop, WRITE, "{ S0[i] -> A[i] }")


def test_chains_and_commas_are_split(scop_of, same):
    scop = scop_of("for (int i = 0; i < n; i++) { A[i] = B[i] = 2; A[i]++, B[i]--; }")
    assert [s.text for s in scop.statements] == ["B[i] = 2;", "A[i] = B[i];", "A[i]++;", "B[i]--;"]
    assert same.order(scop, "{ S0[i] -> [i, 0]; S1[i] -> [i, 1]; S2[i] -> [i, 2]; S3[i] -> [i, 3] }")


def test_guarded_read_is_exact(scop_of, same):
    scop = scop_of("for (int i = 0; i < n; i++) A[i] = i > 0 && i < m ? B[i - 1] : 0.0;")
    assert same.accesses(scop, READ, "[m] -> { S0[i] -> B[i - 1] : 0 < i < m }")


def test_pointer_notation(scop_of, same):
    scop = scop_of("for (int i = 0; i < n; i++) *(A + i) = *B + (B + 1)[i];")
    assert same.accesses(scop, WRITE, "{ S0[i] -> A[i] }")
    assert same.accesses(scop, READ, "{ S0[i] -> B[0]; S0[i] -> B[i + 1] }")


def test_data_dependent_condition(scop_of, same):
    scop = scop_of("for (int i = 0; i < n; i++) if (A[i] > 0) { A[i] = B[i + 1]; } else A[i + 1] = 0;")
    (statement,) = scop.statements
    assert isinstance(statement.body[0], If)
    assert same.accesses(scop, READ, "{ S0[i] -> A[i]; S0[i] -> B[i + 1] }")
    assert same.accesses(scop, MAY_WRITE, "{ S0[i] -> A[i]; S0[i] -> A[i + 1] }")
    assert same.accesses(scop, WRITE, "{ }")


def test_written_on_both_branches(scop_of, same):
    scop = scop_of("for (int i = 0; i < n; i++) if (B[i] > 0) A[i] = 1; else if (B[i] < 0) A[i] = 2; else A[i] = 0;")
    assert same.accesses(scop, WRITE, "{ S0[i] -> A[i] }")
    assert same.accesses(scop, MAY_WRITE, "{ }")


def test_loop_under_a_data_dependent_condition(scop_of, same):
    scop = scop_of(
        """for (int i = 0; i < n; i++)
               if (B[i] > 0) { double t = 0; for (int j = 0; j <= i; j++) { t += B[j]; } A[i] = t; }"""
    )
    (statement,) = scop.statements
    assert statement.iterators == ("i",)
    kinds = [type(s) for s in statement.body[0].then]
    assert kinds == [Declare, For, Assign]
    assert same.accesses(scop, READ, "{ S0[i] -> B[j] : 0 <= j <= i }")
    assert {a.name for a in scop.arrays} == {"A", "B"}


def test_local_variables_are_kept_apart(scop_of):
    scop = scop_of(
        """for (int i = 0; i < n; i++) { double t = B[i]; double w[3]; w[0] = t; A[i] = w[0]; }
           for (int i = 0; i < n; i++) { double t = A[i]; B[i] = t; }"""
    )
    local = {a.name: a for a in scop.arrays if a.origin is Origin.LOCAL}
    assert set(local) == {"t", "w", "t_1"}
    assert local["w"].rank == 1
    assert not local["t"].live_in
    assert not local["t"].live_out


def test_shadowing(scop_of, same):
    scop = scop_of("for (int i = 0; i < n; i++) { double A = B[i]; B[i] = A * 2; } A[0] = 1;")
    assert same.accesses(scop, WRITE, "{ S0[i] -> A_1[]; S1[i] -> B[i]; S2[] -> A[0] }")


def test_scalars(scop_of):
    body = "s = 0; for (int i = 0; i < n; i++) s += x * A[i]; A[0] = s;"
    scop = scop_of(body, "int n, double *A, double x, double s")
    arrays = {a.name: a for a in scop.arrays}
    assert arrays["x"].rank == 0
    assert scop.by_value(arrays["x"])
    assert arrays["s"].origin is Origin.LOCAL or not arrays["s"].live_out
    assert [p.name for p in scop.parameters] == ["n"]


def test_integer_used_as_a_value_only(scop_of):
    scop = scop_of("for (int i = 0; i < n; i++) A[i] = m * n;")
    assert [p.name for p in scop.parameters] == ["n"]
    assert "m" in {a.name for a in scop.arrays}
    value = scop.statement("S0").body[0].value
    assert value.right == Name("n", INT)


def test_struct_fields(scop_of, same):
    scop = scop_of(
        "for (int i = 0; i < n; i++) { p[i].y = p[i].x + q->x; p[i] = *q; }",
        "int n, struct v *p, struct v *q",
        before="struct v { double x; int k; double y; };",
    )
    assert same.accesses(scop, WRITE, "{ S0[i] -> p[i, 2]; S1[i] -> p[i, f] : 0 <= f <= 2 }")
    assert same.accesses(scop, READ, "{ S0[i] -> p[i, 0]; S0[i] -> q[0, 0]; S1[i] -> q[0, f] : 0 <= f <= 2 }")


def test_extents(scop_of):
    scop = scop_of("for (int i = 0; i < n; i++) C[i][0] = D[i];", "int n, int m, double C[n][m + 2], double D[12 * 2]")
    arrays = {a.name: a for a in scop.arrays}
    assert arrays["C"].rank == 2
    assert [p.name for p in scop.parameters] == ["n", "m"]
    assert isinstance(arrays["C"].extents[1], Binary)


def test_size_of_a_conditional_local_is_no_promise(scop_of):
    scop = scop_of("if (n > 5) { double t[n - 5]; t[0] = A[0]; A[1] = t[0]; } A[0] = 1;")
    assert scop.context.is_equal(scop.context.__class__("[n] -> { : }"))


def test_delinearised(scop_of, same):
    scop = scop_of(
        """for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)
               A[i * m + j] = B[(i - 1) * m + j] + B[i * m + j - 1] + B[i * m + (m - 1 - j)] + B[(i + 1) * m - 1];"""
    )
    assert scop.array("A").rank == 2
    assert same.accesses(scop, WRITE, "{ S0[i, j] -> A[i, j] }")
    assert same.accesses(
        scop, READ, "[m] -> { S0[i, j] -> B[i - 1, j]; S0[i, j] -> B[i, j - 1]; S0[i, j] -> B[i, m - 1 - j]; "
        "S0[i, j] -> B[i, m - 1] }"
    )  # fmt: skip


def test_delinearised_in_three_dimensions(scop_of, same):
    scop = scop_of(
        """for (int i = 0; i < k; i++) for (int j = 0; j < n; j++) for (int l = 0; l < m; l++)
               A[(i * n + j) * (m + 2) + l + 1] = B[i * (n * m) + j * m];""",
        "int k, int n, int m, double *A, double *B",
    )
    assert same.accesses(scop, WRITE, "{ S0[i, j, l] -> A[i, j, l + 1] }")
    assert same.accesses(scop, READ, "{ S0[i, j, l] -> B[i, j, 0] }")


def test_delinearised_with_an_assumption(scop_of, same):
    scop = scop_of(
        "#pragma polytile assume(m <= n)\nfor (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i * n + j] = 1;"
    )
    assert same.accesses(scop, WRITE, "{ S0[i, j] -> A[i, j] }")


def test_types(scop_of):
    scop = scop_of(
        "C[0] = c + h; L[0] = l + u; F[0] = f * 2; F[1] = sqrt(f) + (float) l; C[1] = c << 1;",
        "char c, short h, long l, unsigned u, float f, int *C, long *L, float *F",
        before="double sqrt(double);",
    )
    values = [s.body[0].value for s in scop.statements]
    assert [v.type for v in values] == [INT, LONG, FLOAT, DOUBLE, INT]
    assert Cast(DOUBLE, next(n for n in walk(values[3]) if getattr(n, "array", "") == "f")) in walk(values[3])
    assert UINT.signed is False


def test_statement_names_avoid_arrays(scop_of):
    scop = scop_of("for (int i = 0; i < n; i++) S0[i] = 1;", "int n, double *S0")
    assert scop.statements[0].name != "S0"


def test_two_dimensional_pointer(scop_of, same):
    scop = scop_of("for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) (*P)[i][j] = Q[i][j];",
                   "int n, int m, double (*P)[n][m], double (*Q)[m]")  # fmt: skip
    assert scop.array("P").rank == 3
    assert scop.array("Q").rank == 2
    assert same.accesses(scop, WRITE, "{ S0[i, j] -> P[0, i, j] }")
