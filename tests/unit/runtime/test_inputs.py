"""Sizes, layouts and random memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polytile
from polytile.diagnostics import UsageError, UserError
from polytile.frontend.program import read_program
from polytile.ir.expr import DOUBLE, INT, CType, Literal, Name
from polytile.ir.scop import Array
from polytile.runtime.array_bounds import check_bounds
from polytile.runtime.inputs import (
    Style,
    poisoned,
    random_memory,
    untouched,
)
from polytile.runtime.layout import element_dtype, layouts
from polytile.runtime.parameters import check_parameters, choose_parameters


def test_parameters_get_small_different_primes(sample: Any) -> None:
    assert choose_parameters(sample.scop, {}) == {"n": 13, "m": 17}
    assert choose_parameters(sample.scop, {"n": 5}) == {"n": 5, "m": 13}


def test_parameters_satisfy_the_context(sample: Any) -> None:
    scop = replace(sample.scop, context=isl.Set("[n, m] -> { : n = m + 100 and m >= 40 }"))
    assert choose_parameters(scop, {}) == {"n": 140, "m": 40}
    with pytest.raises(UsageError, match="n=3 contradicts"):
        choose_parameters(scop, {"n": 3})


def test_parameters_run_something(sample: Any) -> None:
    statement = replace(
        sample.scop.statements[0], domain=isl.Set("[n, m] -> { S0[i, j] : 50 <= i < n and 0 <= j < m }")
    )
    scop = replace(sample.scop, statements=(statement,))
    assert choose_parameters(scop, {})["n"] == 51


def test_parameters_are_checked(sample: Any) -> None:
    parameters = sample.scop.parameters
    with pytest.raises(UsageError, match="no parameter 'k'") as caught:
        check_parameters(parameters, {"k": 1})
    assert caught.value.hint == "the parameters are n, m"
    with pytest.raises(UsageError, match="n=2147483648 does not fit its type, int"):
        check_parameters(parameters, {"n": 2**31})


def test_unknown_outermost_extents_come_from_the_accesses(sample: Any) -> None:
    shapes = layouts(sample.scop, {"n": 3, "m": 4})
    assert {name: layout.shape for name, layout in shapes.items()} == {"y": (3, 4), "x": (4,), "a": ()}


def test_negative_indices_get_memory_before_element_zero(sample: Any) -> None:
    statement = sample.scop.statements[0]
    shifted = tuple(
        replace(a, relation=isl.Map("{ S0[i, j] -> y[i - 2, j] }")) if a.array == "y" else a for a in statement.accesses
    )
    scop = replace(sample.scop, statements=(replace(statement, accesses=shifted),))
    layout = layouts(scop, {"n": 3, "m": 4})["y"]
    assert (layout.shape, layout.lead) == ((3, 4), 8)


def test_a_size_that_overflows_is_refused(sample: Any) -> None:
    huge = Array("y", DOUBLE, (Literal("4611686018427387904"), Name("m")))
    scop = replace(sample.scop, arrays=(huge, *sample.scop.arrays[1:]))
    with pytest.raises(UserError, match="the size of y overflows"):
        layouts(scop, {"n": 3, "m": 4})


def test_empty_arrays(sample: Any) -> None:
    memory = random_memory(sample.scop, layouts(sample.scop, EMPTY), EMPTY, 1, Style.SIGNED)
    assert memory["y"].shape == (0, 0)


def test_memory_is_random_and_repeatable(sample: Any) -> None:
    shapes = layouts(sample.scop, SQUARE)
    first, again = (random_memory(sample.scop, shapes, SQUARE, 7, Style.SIGNED) for _ in range(2))
    other = random_memory(sample.scop, shapes, SQUARE, 8, Style.SIGNED)
    assert np.array_equal(first["y"], again["y"]) and not np.array_equal(first["y"], other["y"])
    assert np.all(np.abs(first["y"]) >= 0.5), "no zeros, no denormals"
    assert np.all(np.diagonal(first["y"]) >= 8), "a dominant diagonal"


def test_what_is_not_live_in_is_poison(sample_of: Callable[[CType], Any]) -> None:
    for ctype in (DOUBLE, INT):
        sample = sample_of(ctype)
        y, *others = sample.scop.arrays
        scop = replace(sample.scop, arrays=(replace(y, live_in=False), *others))
        data = random_memory(scop, layouts(scop, FLAT), FLAT, 1, Style.SIGNED)["y"]
        assert untouched(data).all()
        data[1, 2] = 4
        assert untouched(data).sum() == 5
    assert np.isnan(poisoned((1,), np.dtype(np.float64))).all()


def test_structs_are_laid_out_as_in_c() -> None:
    point = CType("struct point", "struct", 16)
    array = Array("p", point, (Name("n"),), fields=(("tag", INT), ("x", DOUBLE)))
    dtype = element_dtype(array)
    assert dtype.itemsize == 16 and dtype.fields is not None and dtype.fields["x"][1] == 8
    with pytest.raises(UserError, match="members besides numbers"):
        element_dtype(replace(array, element=CType("struct point", "struct", 24)))


def test_structs_are_laid_out_as_their_offsets_say() -> None:
    fields = (("tag", INT), ("x", DOUBLE))
    packed = Array("p", CType("struct point", "struct", 14), (Name("n"),), fields=fields, offsets=(0, 5))
    dtype = element_dtype(packed)
    assert dtype.itemsize == 14 and dtype.fields is not None and dtype.fields["x"][1] == 5


EMPTY, SQUARE, FLAT = {"n": 0, "m": 0}, {"n": 4, "m": 4}, {"n": 2, "m": 3}
READ_SIZES = """
void f(int n, int m, const int grid[restrict 2], double a[restrict n], double b[restrict n][m + 1])
{
#pragma scop
    for (int i = 0; i < grid[0]; i++)
        a[i] = b[i][0];
    for (int j = 0; j <= grid[1]; j++)
        for (int i = 0; i < n; i++)
            b[i][j] = a[i];
#pragma endscop
}
"""


@pytest.mark.parametrize(("n", "m"), [(0, 0), (1, 0), (7, 3), (100, 100)])
def test_bounds_that_are_read_stay_within_the_sizes_that_are_given(n: int, m: int) -> None:
    (scop,) = read_program("f.c", READ_SIZES).scops
    chosen = choose_parameters(scop, {"n": n, "m": m})
    assert chosen["grid_0"] <= n
    assert n == 0 or chosen["grid_1"] <= m


def test_sizes_that_are_not_given_hold_what_the_loops_reach() -> None:
    (scop,) = read_program("f.c", READ_SIZES).scops
    chosen = choose_parameters(scop, {})
    assert 0 < chosen["grid_0"] <= chosen["n"] and 0 <= chosen["grid_1"] <= chosen["m"]


def test_subscripts_in_arrays_of_structs_stay_in_range() -> None:
    text = (
        "struct cell { int count; struct { double w; int at; } next[3]; };\n"
        "void f(int n, const struct cell c[n], const double x[7], double y[n]) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) for (int k = 0; k < 3; k++) y[i] += x[c[i].next[k].at];\n#pragma endscop\n}\n"
    )
    (scop,) = read_program("f.c", text).scops
    memory = random_memory(scop, layouts(scop, {"n": 40}), {"n": 40}, 1, Style.SIGNED)
    drawn = [memory["c"][f"next[{k}].at"] for k in range(3)]
    assert all(values.min() >= 0 and values.max() == 6 for values in drawn)


MOVED = """
struct box { long at; int near; };
void f(int n, const int p[n], const struct box b[n], const double x[8 * n], const double z[2 * n], double y[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        y[i] = x[p[i] + 3 * n] - x[2 + p[i] - 1];
        long at = b[i].at;
        for (int k = 0; k < 1 + b[i].near; k++)
            for (int j = 0; j < 10; j++)
                y[i] += z[at + j];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            y[i] += x[p[i] + 2 * j];
#pragma endscop
}
"""


@pytest.mark.parametrize("n", [0, 1, 6, 40])
def test_subscripts_that_sizes_and_iterators_move_stay_in_range(n: int) -> None:
    (scop,) = read_program("f.c", MOVED).scops
    values = choose_parameters(scop, {"n": n})
    for seed in range(5):
        memory = random_memory(scop, layouts(scop, values), values, seed, Style.SIGNED)
        p, at = memory["p"], memory["b"]["at"]
        assert n == 0 or (p.min() >= -1 and p.max() < 5 * n)
        assert n < 6 or (at.min() >= 0 and at.max() <= 2 * n - 10)
        if n == 40:
            assert p.max() > 3 * n and at.max() > n


ONE_NAME = """
void f(int n, const int idx[n + 1], const int row[2], const double x[20], double y[n + 1])
{
#pragma scop
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < row[p]; i++)
            y[0] += x[idx[i]];
    for (int i = 3; i < n; i++)
        y[i] = x[i - 3] + x[row[1] + i];
#pragma endscop
}
"""


@pytest.mark.parametrize("n", [0, 1, 2, 7, 13])
def test_variables_of_one_name_in_two_loops_have_limits_of_their_own(n: int) -> None:
    """With n = 0 the second loop does not run, and its subscripts say nothing about elements and about i."""
    (scop,) = read_program("f.c", ONE_NAME).scops
    values = choose_parameters(scop, {"n": n})
    for seed in range(5):
        memory = random_memory(scop, layouts(scop, values), values, seed, Style.SIGNED)
        assert memory["row"].min() >= 0 and memory["row"].max() <= n + 1
        assert memory["idx"].min() >= 0 and memory["idx"].max() < 20


def test_sizes_stay_moderate_where_only_huge_ones_would_hold_what_the_loops_reach() -> None:
    text = "void f(int n, double a[n]) {\n#pragma scop\nfor (int i = 0; i <= n; i++) if (i < 2000000000) a[i] = 0;\n"
    (scop,) = read_program("f.c", text + "#pragma endscop\n}\n").scops
    assert choose_parameters(scop, {}) == {"n": 13}


BY_HAND = """
float a[160];
void f(int n, int inc) {
#pragma scop
  for (int i = 0; i < n; i++) for (int j = 0; j < inc; j++) a[i * inc + j] += 1;
#pragma endscop
}
"""


def test_sizes_of_an_array_indexed_by_hand_stay_within_what_it_has() -> None:
    (scop,) = read_program("f.c", BY_HAND).scops
    chosen = choose_parameters(scop, {})
    assert 0 < chosen["n"] * chosen["inc"] <= 160 and min(chosen.values()) > 1
    assert choose_parameters(scop, {"inc": 80})["n"] <= 2
    assert layouts(scop, {"n": 2, "inc": 80})["a"].elements == 160


def test_sizes_that_leave_an_array_indexed_by_hand_are_refused() -> None:
    (scop,) = read_program("f.c", BY_HAND).scops
    with pytest.raises(UserError, match="with n=3, inc=80 the program accesses a at index 239, but its extent is 160"):
        check_bounds(scop, {"n": 3, "inc": 80})


def test_scalars_that_are_read_from_elements_have_their_values() -> None:
    """Found by `polytile fuzz --seed 9 --only 63`: the array and what was read from it before disagreed."""
    text = """
struct cell { double x; int k; };
struct cell B[64];
int size[3];
void f(double *restrict y)
{
#pragma scop
    for (int i = 0; i < size[1]; i++)
        if (B[i].k >= B[1].k) y[i] = size[i % 3];
#pragma endscop
}
"""
    (scop,) = polytile.compile(text).scops
    assert ("size_1", "size[1]") in scop.scop.passed
    values = choose_parameters(scop.scop, {"size_1": 5})
    memory = random_memory(scop.scop, layouts(scop.scop, values), values, 1, Style.SIGNED)
    assert memory["size"][1] == 5
    for name, element in scop.scop.passed:
        if element.startswith("B["):
            assert {**values, **memory}[name] == memory["B"]["k"][int(element[2])]
    assert scop.validate(on="emulator", seed=3)
