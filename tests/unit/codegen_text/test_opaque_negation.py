"""Negations are hidden from ptxas where integers are compared; everything else is printed as it was."""

from __future__ import annotations

import pytest

import polytile
from polytile.codegen.targets.cuda.cuda import print_kernels
from polytile.codegen.targets.cuda.opaque_negation import with_opaque_negations
from polytile.codegen.targets.expressions import NEGATIVE
from polytile.compiled_scop import CompiledScop
from polytile.fuzz.ptx import lost_signs
from polytile.ir.expr import (
    INT,
    LLONG,
    UINT,
    Assign,
    Binary,
    Call,
    Cast,
    Declare,
    Expr,
    For,
    Literal,
    Name,
    Stmt,
    Ternary,
    Unary,
)
from polytile.ir.kernel import Kernel
from tests.nvrtc.library import ptx_of

# The end of the inner loop is -k, and where it begins the greater of two numbers.
DOWN = """
void f(int n, int m, int k, unsigned r[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int w = m - 1; w >= k; w--)
            if (i > w + 1)
                r[i] = (unsigned) w / 3;
#pragma endscop
}
"""
# Threads begin where the greatest of three numbers says, two of which are negations.
WINDOWS = """
void f(int n, int m, int k, double A[2 * n + 2 * m + 8])
{
#pragma scop
    for (int i = (0 - n > 0 - m ? 0 - n : 0 - m) > k ? (0 - n > 0 - m ? 0 - n : 0 - m) : k; i <= n; i++)
        A[i + n + m] += i;
#pragma endscop
}
"""
# The user's own choice of the least of three.
CHOICES = """
#define MIN(a, b) ((a) < (b) ? (a) : (b))
void f(int n, int a[n], int b[n], int c[n], int y[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        int v = -b[i];
        y[i] = MIN(MIN(a[i], v), c[i]) + MIN(MIN(a[i], -c[i] - b[i]), i);
    }
#pragma endscop
}
"""
a, b, n = Name("a"), Name("b"), Name("n")


def scop_of(text: str, **options: object) -> CompiledScop:
    (scop,) = polytile.compile(text, **options).scops
    assert scop.program is not None
    return scop


def printed(*body: Stmt, index_type: str = "int") -> tuple[Stmt, ...]:
    return with_opaque_negations(Kernel("k", (), (1, 1, 1), (), (), body, index_type=index_type))


def least(*arguments: Expr) -> Call:
    return Call("min", arguments, INT)


def negative(operand: Expr) -> Call:
    return Call(NEGATIVE, (operand,), INT)


def minus(operand: Expr) -> Unary:
    return Unary("-", operand, INT)


@pytest.mark.parametrize(
    ("operand", "expected"),
    [
        (minus(n), negative(n)),
        (Binary("-", Literal("0"), n), negative(n)),
        (Binary("*", n, Literal("-1")), negative(n)),
        (Cast(INT, minus(n)), negative(n)),
        (Binary("-", minus(n), a), negative(Binary("+", n, a))),
        (Binary("+", minus(n), minus(a)), negative(Binary("+", n, a))),
        (Binary("/", minus(n), Literal("2")), negative(Binary("/", n, Literal("2")))),
        (minus(Binary("/", n, Literal("2"))), negative(Binary("/", n, Literal("2")))),
    ],
)
def test_negations_however_they_are_written(operand: Expr, expected: Expr) -> None:
    assert printed(Assign(b, "", least(a, operand))) == (Assign(b, "", least(a, expected)),)


@pytest.mark.parametrize(
    "operand",
    [
        n,
        minus(Literal("3")),
        Binary("-", Literal("1"), n),
        Binary("-", minus(n), Literal("1")),
        Binary("-", a, n),
        Unary("~", n, INT),
        Unary("-", Name("x", LLONG), LLONG),
    ],
)
def test_what_is_no_negation_of_32_bits(operand: Expr) -> None:
    stmt = Assign(b, "", least(a, operand))
    assert printed(stmt) == (stmt,)


def unsigned(operand: Expr) -> Cast:
    return Cast(UINT, operand)


@pytest.mark.parametrize(
    ("operand", "expected"),
    [
        (Cast(INT, Unary("-", unsigned(n), UINT)), Cast(INT, Call(NEGATIVE, (unsigned(n),), UINT))),
        (
            Binary("-", Cast(INT, Unary("-", unsigned(n), UINT)), a),
            Cast(INT, Call(NEGATIVE, (Binary("+", unsigned(n), a, UINT),), UINT)),
        ),
        (unsigned(minus(n)), unsigned(negative(n))),
        # Of 2^31 the quotient is no negation.
        (Binary("/", Cast(INT, Unary("-", unsigned(n), UINT)), Literal("2")), None),
        (Binary("/", Unary("-", unsigned(n), UINT), Literal("2"), UINT), None),
    ],
)
def test_negations_modulo_two_to_the_32(operand: Expr, expected: Expr | None) -> None:
    assert printed(Assign(b, "", least(a, operand))) == (Assign(b, "", least(a, expected or operand)),)


def test_where_integers_are_compared() -> None:
    choice = Ternary(Binary("<", a, minus(n)), a, minus(n))
    hidden = Ternary(Binary("<", a, negative(n)), a, negative(n))
    assert printed(Assign(b, "", choice)) == (Assign(b, "", hidden),)
    loop = For("i", minus(n), Binary("<=", Name("i"), Binary("-", minus(a), Literal("1"))), 1, ())
    (found,) = printed(loop)
    assert isinstance(found, For)
    assert (found.lower, found.condition) == (negative(n), Binary("<", Name("i"), negative(a)))


def test_variables_that_are_negations() -> None:
    j, w = Name("j"), Name("w")
    body = (Declare("j", INT, minus(n)), Assign(w, "", j), Assign(b, "", least(a, w)))
    assert printed(*body)[2] == Assign(b, "", least(a, negative(minus(w))))
    assert printed(*body, index_type="long long") == body


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("text", [DOWN, WINDOWS, CHOICES], ids=["down", "windows", "choices"])
def test_computes_the_same(text: str) -> None:
    scop = scop_of(text, schedule="classic", block=(4,))
    assert "polytile_negative(" in scop.cuda
    for size in (0, 1, 2, 7, 40):
        for k in (-3, 2):
            values = {"n": size, "m": 5, "k": k}
            scop.validate(
                on="emulator", parameters={p.name: values[p.name] for p in scop.scop.parameters}, sanitize="all"
            )


@pytest.mark.parametrize("text", [DOWN, WINDOWS, CHOICES], ids=["down", "windows", "choices"])
def test_ptxas_finds_no_sign_to_lose(text: str) -> None:
    program = scop_of(text, schedule="classic", block=(4,)).program
    assert program is not None
    assert lost_signs(ptx_of(print_kernels(program))) == []


def test_signs_are_found_where_nothing_hides_them() -> None:
    most = "int x = r[0], m = x > -a ? x : -a; r[1] = m > b ? m : b;"
    text = f'extern "C" __global__ void k(int a, int b, int *r) {{ {most} }}'
    assert len(lost_signs(ptx_of(text))) == 1
