"""Bounds of expressions as linear forms hold for all values of their names, and limits say what they mean."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product

import islpy as isl
import pytest

import polytile
from polytile.codegen.linear_spans import Forms, Span, Values
from polytile.codegen.size_limits import can_hold, size_limits
from polytile.ir.arith import lift
from polytile.ir.evaluate import evaluator
from polytile.ir.expr import (
    INT,
    LLONG,
    LONG,
    UINT,
    ULONG,
    Access,
    Assign,
    Binary,
    Call,
    CType,
    Expr,
    For,
    Name,
    Ternary,
)
from polytile.ir.gpu_ops import BlockIndex, ThreadIndex
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Coordinate, Kernel, KernelParameter, Launch
from polytile.ir.memory import Space, Storage
from polytile.ir.scop import Array, Parameter
from polytile.ir.size_limits import SizeLimit

RANGES = {"i": (-3, 4), "j": (0, 5)}
SIZES = {"n": (-4, 6), "m": (0, 5)}


def _drawn(source: random.Random, depth: int) -> Expr:
    if depth == 0:
        return Name(source.choice("ijnm")) if source.random() < 0.7 else lift(source.randint(-5, 9))
    a, b = (_drawn(source, depth - 1) for _ in range(2))
    kind = source.choice(["+", "-", "*", "/", "%", "min", "max", "floord", "pmod()", "?", "<<", ">>", "&"])
    match kind:
        case "*":
            return Binary("*", lift(source.randint(-3, 4)), b)
        case "/" | "%":
            return Binary(kind, a, lift(source.randint(1, 5)))
        case "<<":
            return Binary("*", a, lift(2 ** source.randint(0, 2)))
        case ">>":
            return Binary(kind, a, lift(source.randint(0, 2)))
        case "&":
            return Binary(kind, a, lift(source.choice([1, 3, 7])))
        case "floord" | "pmod()":
            return Call(kind, (a, lift(source.randint(1, 5))), INT)
        case "min" | "max":
            return Call(kind, (a, b), INT)
        case "?":
            return Ternary(Binary("<", Name("i"), Name("n")), a, b)
    return Binary(kind, a, b)


def _greatest(forms: Forms, sizes: dict[str, int]) -> Fraction:
    return max(c + sum((Fraction(f) * sizes[name] for name, f in terms), Fraction(0)) for terms, c in forms.items())


@pytest.mark.slow(but=("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"))
@pytest.mark.parametrize("seed", range(60))
def test_spans_hold_all_values(seed: int) -> None:
    expr = _drawn(random.Random(seed), 3)
    values = Values({name: Span.of(name) for name in SIZES})
    for name, ends in RANGES.items():
        values.declare(name, Span.between(*ends))
    span, value_at = values(expr), evaluator(expr)
    assert span.most is not None and span.least is not None
    for numbers in product(*(range(low, high + 1) for low, high in (SIZES | RANGES).values())):
        point = dict(zip(SIZES | RANGES, numbers, strict=True))
        value = value_at(point)
        assert -_greatest(span.least, point) <= value <= _greatest(span.most, point), (expr, point)


def _program(size: CType, index: CType, bound: Expr, subscript: Expr) -> HostProgram:
    """One kernel of blocks of 128 threads over 0 .. n - 1, each with a loop up to `bound`."""
    store = Assign(Access("A", (subscript,)), "", lift(0))
    body = (For("k", lift(0), Binary("<", Name("k", index), bound), 1, (store,), index),)
    storage = (Storage("A", Space.GLOBAL, CType("double", "float", 8), (None,), "A"),)
    kernel = Kernel(
        name="k0",
        parameters=(KernelParameter("n", index), KernelParameter("A", CType("double", "float", 8), "A")),
        block=(128, 1, 1),
        coordinates=(Coordinate("b", BlockIndex("x")), Coordinate("t", ThreadIndex("x"))),
        storage=storage,
        body=body,
        index_type=index.name,
    )
    grid = Call("floord", (Binary("+", Name("n", LLONG), lift(127), LLONG), lift(128)), LLONG)
    array = Array("A", CType("double", "float", 8), (None,))
    launch = Launch("k0", (grid, lift(1), lift(1)))
    return HostProgram("f", (Parameter("n", size),), (array,), frozenset(), (), (kernel,), (launch,))


def _limits(size: CType, index: CType, bound: Expr, subscript: Expr) -> list[str]:
    context = isl.Set("[n] -> { : n >= 0 }")
    return [str(limit) for limit in size_limits(_program(size, index, bound, subscript), context)]


def test_the_last_block_decides() -> None:
    place = Binary("+", Binary("*", lift(128), Name("b")), Name("t"))
    assert _limits(INT, INT, lift(4), place) == [f"n <= {2**31 - 1 - 126}"]
    wide = Binary("+", Binary("*", lift(128), Name("b", LONG), LONG), Name("t", LONG), LONG)
    assert _limits(INT, LONG, lift(4), wide) == []


def test_unsigned_sizes_fit_in_signed_indices() -> None:
    assert _limits(UINT, INT, lift(4), Name("k")) == [f"n <= {2**31 - 1}"]
    blocks = 2**31 - 1  # of a grid
    assert _limits(ULONG, LONG, lift(4), Name("k", LONG)) == [f"n <= {128 * blocks - 127}"]


def test_loops_alike_in_two_loops_have_the_values_of_both() -> None:
    program = _program(INT, INT, lift(4), Binary("+", Name("j"), lift(2**30)))
    (loop,) = program.kernels[0].body
    assert isinstance(loop, For)
    inner = replace(loop, iterator="j", condition=Binary("<", Name("j"), Name("k")))
    few = replace(loop, body=(inner,))
    many = replace(few, condition=Binary("<", Name("k"), Name("n")))
    kernel = replace(program.kernels[0], body=(few, many))
    (limit,) = size_limits(replace(program, kernels=(kernel,)), isl.Set("[n] -> { : n >= 0 }"))
    assert str(limit) == f"n <= {2**30 + 1}"


def test_a_number_that_never_fits() -> None:
    program = _program(INT, INT, lift(4), Binary("+", Name("k"), lift(2**31 - 2)))
    limits = size_limits(program, isl.Set("{ : }"))
    assert () in [limit.terms for limit in limits] and not can_hold(limits, [isl.Set("{ S[] }")])


def test_a_number_that_no_int_has_bounds_less_than_a_size() -> None:
    """min(2^31 + 2, n): with the first as the bound every size would be refused."""
    least = Values({"n": Span.of("n")})
    for bounds in (("n", 2**31 + 2), (2**31 + 2, "n")):
        left, right = (Name("n", LONG) if b == "n" else lift(b) for b in bounds)
        assert least(Call("min", (left, right), LONG)).most == {(("n", 1),): 0}
    assert least(Call("min", (Name("n", LONG), lift(2**31 - 1)), LONG)).most == {(): 2**31 - 1}


def test_what_statements_store_is_the_c_s_own() -> None:
    """C says that `a[i] = 100000000 * i` does not overflow in iterations that there are."""
    text = (
        "void f(int n, int a[n])\n{\n#pragma scop\n    for (int i = 0; i < n; i++) a[i] = 100000000 * i;\n"
        "#pragma endscop\n}\n"
    )
    (limit,) = polytile.compile(text).scops[0].program.limits
    assert limit.holds({"n": 2**30})


def test_limits_that_no_running_size_keeps_ask_for_wide_indices() -> None:
    limits = (SizeLimit((("n", 1),), -5),)
    assert not can_hold(limits, [isl.Set("[n] -> { S[i] : 0 <= i < n }")])
    assert can_hold(limits, [isl.Set("[n] -> { S[i] : 0 <= i < n }"), isl.Set("[n] -> { T[] : n < 0 }")])


def test_limits_in_c() -> None:
    spelt = {"n": "n", "m": "m"}
    assert SizeLimit((("n", 1),), 5).in_c(spelt, ()) == "n <= 5"
    assert SizeLimit((("n", -1),), 5).in_c(spelt, ()) == "-5 <= n"
    assert SizeLimit((), -4).in_c(spelt, ()) == "0 <= -4"  # no size does
    assert SizeLimit((("m", -2), ("n", 1)), 2**40).in_c(spelt, ()) == f"n - 2 * m <= {2**40}LL"
    assert SizeLimit((("m", -2), ("n", 1)), 2**40).in_c(spelt, {"n"}) == "-2 * (double)m + (double)n <= 1099511627776.0"
    assert SizeLimit((("m", -2), ("n", 1)), 3).holds({"n": 7, "m": 2})
    assert not SizeLimit((("m", -2), ("n", 1)), 3).holds({"n": 8, "m": 2})
