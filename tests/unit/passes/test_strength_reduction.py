"""Running pointers: what one serves, where it starts, how it moves."""

from __future__ import annotations

import pytest

from polytile.codegen.passes.strength_reduction import point
from polytile.codegen.targets.cuda.cuda import print_kernel
from polytile.ir.arith import add, compare, lift, mul, sub
from polytile.ir.expr import DOUBLE, Access, Assign, Declare, Expr, For, If, Literal, Name, Stmt
from polytile.ir.kernel import Kernel, KernelParameter
from polytile.ir.memory import Space, Storage
from polytile.ir.polynomial import Polynomial, difference, polynomial, slope
from polytile.ir.ranges import Range

C, I, J, K, L, M, N, T = (Name(name) for name in "cijklmnt")  # noqa: E741


def kernel(*body: Stmt, ranges: tuple[Range, ...] = ()) -> Kernel:
    storage = (
        Storage("A", Space.GLOBAL, DOUBLE, (None, M), "A", read_only=True),
        Storage("B", Space.GLOBAL, DOUBLE, (None, M), "B"),
        Storage("C", Space.GLOBAL, DOUBLE, (None, M, N), "C"),
        Storage("s", Space.SHARED, DOUBLE, (lift(4), lift(4)), "s"),
    )
    parameters = (
        *(KernelParameter(p, J.type) for p in "jlmnt"),
        KernelParameter("A", DOUBLE, "A", const=True),
        KernelParameter("B", DOUBLE, "B"),
        KernelParameter("C", DOUBLE, "C"),
    )
    return Kernel("k", parameters, (1, 1, 1), (), storage, body, ranges=ranges)


def at(array: str, *subscripts: Expr | int) -> Access:
    return Access(array, tuple(lift(s) for s in subscripts))


def loop(*body: Stmt, iterator: Name = I, lower: Expr | int = L, step: int | Name = 1) -> For:
    return For(iterator.name, lift(lower), compare("<", iterator, N), step, body)


def lines(k: Kernel) -> list[str]:
    text = print_kernel(point(k))
    return [line.strip() for line in text[text.index("{") :].splitlines()[1:-1] if line and "__shared__" not in line]


def test_a_row_and_its_neighbours() -> None:
    assign = Assign(at("B", I, J), "", sub(add(at("A", add(I, 1), J), at("A", I, sub(J, 1))), at("A", sub(I, 1), J)))
    assert lines(kernel(loop(assign))) == [
        "double *__restrict__ p_B = &B[(long long)l * m + j];",
        "const double *__restrict__ p_A = &A[(long long)l * m + j - 1];",
        "for (int i = l; i < n; ++i) {",
        "p_B[0] = p_A[m + 1] + p_A[0] - p_A[1 - m];",
        "p_B += m;",
        "p_A += m;",
        "}",
    ]


def test_the_base_is_where_the_offsets_are_short() -> None:
    terms = [at("A", I, J), at("A", add(I, 1), J), at("A", sub(I, 1), J), at("A", I, add(J, 1)), at("A", I, sub(J, 1))]
    got = lines(kernel(loop(Assign(at("B", I, J), "", add(terms[1], terms[2], *terms[3:], terms[0])))))
    assert got[1] == "const double *__restrict__ p_A = &A[(long long)l * m + j];"
    assert got[3] == "p_B[0] = p_A[m] + p_A[-m] + p_A[1] + p_A[-1] + p_A[0];"


def test_offsets_of_64_bits_where_nothing_is_known() -> None:
    """Only ranges say that twice a pitch fits in an int; the stride is as wide."""
    body = loop(Assign(at("B", I, J), "", add(at("A", I, J), at("A", add(I, 2), J), at("A", add(I, 1), J))), step=2)
    assert lines(kernel(body))[3:6] == [
        "p_B[0] = p_A[-m] + p_A[m] + p_A[0];",
        "p_B += (long long)2 * m;",
        "p_A += (long long)2 * m;",
    ]
    known = (Range("m", lift(1), lift(10_000)),)
    assert lines(kernel(body, ranges=known))[4] == "p_B += 2 * m;"


def test_elements_of_another_row_have_another_pointer() -> None:
    got = lines(kernel(loop(Assign(at("B", J, I), "", add(at("A", J, I), at("A", T, I))))))
    assert got[1:3] == [
        "const double *__restrict__ p_A = &A[(long long)j * m + l];",
        "const double *__restrict__ p_A_ = &A[(long long)t * m + l];",
    ]
    assert "p_B[0] = p_A[0] + p_A_[0];" in got and "p_A_ += 1;" in got


def test_what_the_body_declares_is_an_offset() -> None:
    body = (Declare("c", C.type, mul(J, 3)), Assign(at("B", I, C), "", at("A", I, add(C, 1))))
    got = lines(kernel(loop(*body)))
    assert got[0] == "double *__restrict__ p_B = &B[(long long)l * m];"
    assert "p_B[c] = p_A[c];" in got


def test_nested_loops() -> None:
    """The inner loop's pointers start from the outer ones."""
    inner = loop(Assign(at("B", J, J), "+", at("C", J, K, I)), iterator=K)
    got = lines(kernel(loop(inner)))
    assert [line for line in got if "p_C" in line and "=" in line][:2] == [
        "const double *p_C_ = &C[((long long)j * m + l) * n + l];",
        "const double *__restrict__ p_C = &p_C_[0];",
    ]
    assert "p_C += n;" in got and "p_C_ += 1;" in got


@pytest.mark.parametrize(
    "body",
    [
        [Assign(at("s", I, J), "", Literal("1.0", DOUBLE))],  # no global array
        [Assign(at("B", J, J), "", Literal("1.0", DOUBLE))],  # does not move
        [Assign(at("B", mul(I, I), J), "", Literal("1.0", DOUBLE))],  # not evenly
        [Assign(at("B", at("A", I, I), J), "", Literal("1.0", DOUBLE)), Assign(I, "+", lift(1))],
    ],
)
def test_what_stays(body: list[Stmt]) -> None:
    assert point(kernel(loop(*body))).body == (loop(*body),)


def test_guarded_accesses_and_chosen_arrays() -> None:
    body = loop(If(compare("<", J, N), (Assign(at("B", I, J), "", at("A", I, J)),)))
    (_, got) = point(kernel(body), {"A"}).body
    assert isinstance(got, For) and isinstance(got.body[0], If)
    assert got.body[0].then == (Assign(at("B", I, J), "", at("p_A", 0)),)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (mul(add(I, 1), M), mul(I, M), {("m",): 1}),
        (mul(add(I, J), sub(I, J)), sub(mul(I, I), mul(J, J)), {}),
        (sub(I, 1), add(I, 1), {(): -2}),
    ],
)
def test_differences(a: Expr, b: Expr, expected: Polynomial) -> None:
    assert difference(polynomial(a), polynomial(b)) == expected


def test_slopes() -> None:
    assert slope(polynomial(add(mul(I, M), mul(I, 2))) or {}, "i") == {("m",): 1, (): 2}
    assert slope(polynomial(mul(I, I)) or {}, "i") is None
