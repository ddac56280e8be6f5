"""Loops that isl generates are held against their tree: nothing left out, nothing else, nothing twice."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl
import pytest

import polytile
from polytile.codegen.lowering.ast_generation import generate
from polytile.codegen.lowering.isl_ast import Instance
from polytile.codegen.lowering.verify_ast import UnfaithfulLoopsError, require_faithful
from polytile.ir.expr import INT, Binary, Expr, For, If, Literal, Name, Stmt

TREE = isl.Schedule(
    """{ domain: "[n] -> { S[i] : 0 <= i < n; T[i] : 0 <= i < n and i mod 2 = 1 }",
         child: { schedule: "[n] -> [{ S[i] -> [floor(i/4)]; T[i] -> [floor(i/4)] }]",
         child: { schedule: "[n] -> [{ S[i] -> [i mod 4]; T[i] -> [i mod 4] }]",
         child: { sequence: [ { filter: "{ S[i] }" }, { filter: "{ T[i] }" } ] } } } }"""
)
CONTEXT = isl.Set("[n] -> { : n >= 0 }")
C0, C1, N = Name("c0", INT), Name("c1", INT), Name("n", INT)


def op(left: Expr, operator: str, right: Expr | int) -> Binary:
    return Binary(operator, left, Literal(str(right)) if isinstance(right, int) else right, INT)


def loops(*inner: Stmt, last: Expr = N) -> tuple[Stmt, ...]:
    """for c0 < (n + 3) / 4: for c1 <= min(3, last - 1 - 4 * c0), as two conditions."""
    tile = For("c1", Literal("0"), op(op(C1, "<", 4), "&&", op(op(op(C0, "*", 4), "+", C1), "<", last)), 1, inner)
    return (For("c0", Literal("0"), op(C0, "<", op(op(N, "+", 3), "/", 4)), 1, (tile,)),)


PLACE = op(op(C0, "*", 4), "+", C1)
S, T = Instance("S", (PLACE,)), Instance("T", (PLACE,))
ODD = op(op(C1, "%", 2), "==", 1)


def check(body: tuple[Stmt, ...]) -> None:
    require_faithful(TREE, CONTEXT, "c", body)


def test_what_is_generated() -> None:
    generate(TREE, CONTEXT, "c", INT)
    check(loops(S, If(ODD, (T,))))
    check(loops(If(ODD, (S, T), (S,))))
    check((*loops(S), *loops(If(ODD, (T,)))))  # the order within a time is not looked at


def test_statements_that_isl_moves() -> None:
    """In a loop of a stride of 6, T at j runs where the iterator is j - 3."""
    tree = isl.Schedule(
        """{ domain: "[n] -> { S[i] : 0 <= i < n and i mod 6 = 0; T[j] : 0 <= j < n and j mod 6 = 3 }",
             child: { schedule: "[n] -> [{ S[i] -> [i]; T[j] -> [j] }]" } }"""
    )
    first, last = Instance("S", (C0,)), Instance("T", (op(C0, "+", 3),))

    def stepped(*body: Stmt) -> tuple[Stmt, ...]:
        return (For("c0", Literal("0"), op(C0, "<", N), 6, body),)

    require_faithful(tree, CONTEXT, "c", stepped(first, If(op(op(C0, "+", 3), "<", N), (last,))))
    with pytest.raises(UnfaithfulLoopsError, match="leave out instances of T"):
        require_faithful(tree, CONTEXT, "c", stepped(first))
    with pytest.raises(UnfaithfulLoopsError, match="T that are not there"):
        require_faithful(tree, CONTEXT, "c", stepped(first, last))


def test_a_statement_below_fewer_bands_elsewhere() -> None:
    tree = isl.Schedule(
        """{ domain: "[n] -> { S[i, j] : 0 <= i < n and 0 <= j <= i }",
             child: { schedule: "[n] -> [{ S[i, j] -> [i] }]",
             child: { sequence: [ { filter: "{ S[i, j] : j = 0 }" },
                                  { filter: "{ S[i, j] : j > 0 }",
                                    child: { schedule: "[n] -> [{ S[i, j] -> [j] }]" } } ] } } }"""
    )
    generate(tree, CONTEXT, "c", INT)
    first, later = Instance("S", (C0, Literal("0"))), Instance("S", (C0, C1))

    def rows(start: int, *before: Stmt) -> tuple[Stmt, ...]:
        row = For("c1", Literal(str(start)), op(C1, "<=", C0), 1, (later,))
        return (For("c0", Literal("0"), op(C0, "<", N), 1, (*before, row)),)

    require_faithful(tree, CONTEXT, "c", rows(1, first))
    with pytest.raises(UnfaithfulLoopsError, match="leave out instances of S"):
        require_faithful(tree, CONTEXT, "c", rows(1))
    with pytest.raises(UnfaithfulLoopsError, match="leave out instances of S"):
        require_faithful(tree, CONTEXT, "c", rows(2, first))
    with pytest.raises(UnfaithfulLoopsError, match="instances of S"):
        require_faithful(tree, CONTEXT, "c", rows(-1, first))


WRONG = {
    "the last iteration is missing": (loops(S, If(ODD, (T,)), last=op(N, "-", 1)), "leave out instances of [ST]"),
    "a branch is missing": (loops(If(ODD, (S, T))), "leave out instances of S"),
    "a statement is missing": (loops(S), "leave out instances of T"),
    "a statement runs twice": (loops(S, S, If(ODD, (T,))), "instances of S twice"),
    "a guard is missing": (loops(S, T), "instances of T that are not there"),
    "one iteration too many": (loops(S, If(ODD, (T,)), last=op(N, "+", 1)), "instances of [ST] that are not there"),
    "another statement's": (loops(S, If(ODD, (T,), (T,))), "instances of T that are not there"),
    "a stride": ((replace(loops(S, If(ODD, (T,)))[0], step=2),), "leave out instances of S"),  # type: ignore[call-arg]
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_loops(case: str) -> None:
    body, message = WRONG[case]
    with pytest.raises(UnfaithfulLoopsError, match=message):
        check(body)


STRIDES = """
static void smooth(int count, double v[count])
{
    for (int q = 1; q < count - 1; q++)
        v[q] = 0.25 * v[q - 1] + 0.5 * v[q] + 0.25 * v[q + 1];
}
void f(int m, double A[m + 1], double B[m + 1][m + 1])
{
#pragma scop
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            A[j] = B[j + 1][i / 2];
            smooth(m + 1, B[j]);
        }
#pragma endscop
}
"""


def test_strides_that_isl_gets_wrong() -> None:
    """Of 3i and 2i + 2q + 1 in tiles of 7 isl leaves out instances where only one of them runs (islpy 2026.2.2)."""
    (found,) = polytile.compile(STRIDES, schedule="classic", tile=(32, 1, 7), strict=True).scops
    if found.program is None:
        remarks = [remark.message for remark in found.compilation.remarks]
        assert any("are wrong: loops leave out instances of" in remark for remark in remarks)
    else:
        found.validate(on="emulator", parameters={"m": 5}, seed=1)
