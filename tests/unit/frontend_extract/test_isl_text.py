"""Scops that come as isl text."""

from __future__ import annotations

import islpy as isl
import pytest

from polytile.diagnostics import UserError
from polytile.frontend.isl_text import scop_from_isl
from polytile.ir.expr import DOUBLE, INT, LONG, Access, Assign, Binary, Literal, Name
from polytile.ir.scop import AccessKind, Array, Parameter, Reduction

N = Name("n")
GOOD = {
    "domain": "[n] -> { S[i, j] : 0 <= i, j < n; T[i] : 0 <= i < n }",
    "schedule": "{ T[i] -> [i, 0, 0]; S[i, j] -> [i, 1, j] }",
    "reads": "[n] -> { S[i, j] -> A[i, j]; S[i, j] -> y[i]; S[i, j] -> x[j] }",
    "writes": "{ S[i, j] -> y[i]; T[i] -> y[i] }",
    "bodies": {"S": "y[i] += A[i][j] * x[j]", "T": "y[i] = 0;"},
    "arrays": [Array("A", DOUBLE, (N, N)), Array("x", DOUBLE, (N,)), Array("y", DOUBLE, (N,))],
}


def test_matrix_vector_product(same):
    scop = scop_from_isl("mv", **GOOD)
    assert [p.name for p in scop.parameters] == ["n"]
    assert scop.statement("S").reduction == Reduction("+", "y")
    assert scop.statement("S").iterators == ("i", "j")
    assert same.domain(scop, GOOD["domain"])
    assert same.order(scop, GOOD["schedule"])
    assert same.accesses(scop, AccessKind.READ, GOOD["reads"])


def test_schedule_tree_and_statement_trees(same):
    i = Name("i")
    scop = scop_from_isl(
        "copy",
        domain="[n] -> { S[i] : 0 <= i < n }",
        schedule='{ domain: "[n] -> { S[i] : 0 <= i < n }", child: { schedule: "[{ S[i] -> [(-i)] }]" } }',
        reads="{ S[i] -> B[i + 1] }",
        writes="{ S[i] -> A[i] }",
        bodies={"S": (Assign(Access("A", (i,)), "", Access("B", (Binary("+", i, Literal("1")),))),)},
        arrays=[Array("A", DOUBLE, (None,)), Array("B", DOUBLE, (None,))],
        parameters=[Parameter("n", LONG)],
        context="[n] -> { : n >= 2 }",
    )
    assert scop.parameters == (Parameter("n", LONG),)
    assert scop.context.is_equal(isl.Set("[n] -> { : n >= 2 }"))
    assert same.order(scop, "{ S[i] -> [-i] }")


def test_reads_may_be_larger_and_writes_may_be_conditional():
    scop = scop_from_isl(
        "gather",
        domain="[n] -> { S[i] : 0 <= i < n }",
        schedule="{ S[i] -> [i] }",
        reads="[n] -> { S[i] -> idx[i]; S[i] -> B[x] : 0 <= x < n }",
        writes="{}",
        may_writes="{ S[i] -> A[i] }",
        bodies={"S": "if (idx[i] >= 0) A[i] = B[idx[i]];"},
        arrays=[Array("A", DOUBLE, (N,)), Array("B", DOUBLE, (N,)), Array("idx", INT, (N,))],
    )
    assert [a.kind for a in scop.statements[0].accesses if a.array == "A"] == [AccessKind.MAY_WRITE]


BAD = {
    "domain syntax": ({"domain": "[n] -> { S[i, j : }"}, "domain is not valid isl notation"),
    "domain empty": ({"domain": "{ }"}, "domain is empty"),
    "domain without a name": ({"domain": "{ [i] : 0 <= i < 3 }"}, "domain has a set without a name"),
    "reads syntax": ({"reads": "S -> A"}, "reads is not valid isl notation"),
    "reads missing": ({"reads": "{ }"}, "the body of `S` reads elements of `A` that reads does not contain"),
    "reads of an unknown array": ({"reads": "{ S[i, j] -> q[i] }"}, "reads reaches `q`, which is not in arrays"),
    "reads of the wrong rank": ({"reads": "{ S[i, j] -> A[i] }"}, "reads uses 1 dimensions of `A`, which has 2"),
    "reads from nowhere": ({"reads": "{ U[i] -> x[i] }"}, "reads starts from `U`"),
    "writes missing": ({"writes": "{ S[i, j] -> y[i] }"}, "the body of `T` writes elements of `y`"),
    "writes too many": (
        {"writes": "{ S[i, j] -> y[i]; S[i, j] -> x[j]; T[i] -> y[i] }"},
        "writes promises what the body of `S` does not always write",
    ),
    "schedule syntax": ({"schedule": "domain: x"}, "schedule is not valid isl notation"),
    "schedule incomplete": ({"schedule": "{ T[i] -> [i, 0, 0] }"}, "schedule does not order"),
    "schedule uneven": (
        {"schedule": "{ T[i] -> [i]; S[i, j] -> [i, j] }"},
        "the dates of schedule do not all have the same number of dimensions",
    ),
    "schedule ambiguous": (
        {"schedule": "{ T[i] -> [0, 0]; S[i, j] -> [i, j] }"},
        "schedule gives two instances the same date",
    ),
    "schedule multiple": (
        {"schedule": "{ T[i] -> [i, j, 0] : 0 <= j < 2; S[i, j] -> [i, j, 1] }"},
        "schedule gives an instance more than one date",
    ),
    "body missing": ({"bodies": {"S": "y[i] += A[i][j] * x[j]"}}, "the statement `T` has no body"),
    "body unknown": ({"bodies": {**GOOD["bodies"], "U": "y[0] = 0"}}, "bodies has `U`, but domain does not"),
    "body syntax": ({"bodies": {**GOOD["bodies"], "T": "y[i] = ("}}, "the body of `T` is not C"),
    "body empty": ({"bodies": {**GOOD["bodies"], "T": ";"}}, "the body of `T` does nothing"),
    "body undeclared": ({"bodies": {**GOOD["bodies"], "T": "y[i] = z"}}, "the body of `T`: `z` is used but"),
    "body assigns an iterator": ({"bodies": {**GOOD["bodies"], "T": "i = 1"}}, "the body of `T`: it assigns to `i`"),
    "body with a loop": ({"bodies": {**GOOD["bodies"], "T": "while (1) ;"}}, "writes promises what the body of `T`"),
    "parameter undeclared": ({"parameters": []}, "the parameter `n` is used but not in parameters"),
    "context syntax": ({"context": "n > 0"}, "context is not valid isl notation"),
}


@pytest.mark.parametrize("case", BAD)
def test_refusals(case):
    change, message = BAD[case]
    with pytest.raises(UserError) as caught:
        scop_from_isl("mv", **{**GOOD, **change})
    assert caught.value.message.startswith(message)
    assert caught.value.hint


def test_name_must_be_an_identifier():
    with pytest.raises(UserError, match="cannot be the name"):
        scop_from_isl("m v", **GOOD)
