"""Subscripts that add to what data say: of which instances it is known that they use different elements."""

from __future__ import annotations

import islpy as isl
import pytest

from polytile.frontend.program import read_program
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.data_offsets import separate_pairs

TYPES = "int off[n], int w[n][n], unsigned u[n], size_t z[n], unsigned char c[n], double *Y"
IN_A_ROW = "{ S0[k, i] -> S0[k, j] : i != j }"


def scop_of(body: str, before: str = "", counter: str = "int") -> Scop:
    loops = f"for (int k = 0; k < n; k++) for ({counter} i = 0; i < n; i++) {{ {body} }}"
    head = f"#include <stddef.h>\nvoid f(int n, int m, {TYPES})\n"
    text = f"{head}{{\n#pragma scop\n{loops} {before}\n#pragma endscop\n}}\n"
    return read_program("offsets.c", text).scops[0]


def within(scop: Scop, pairs: str) -> bool:
    """Whether all of these pairs, of those that run, are known to use different elements."""
    domain = scop.domain
    wanted = isl.UnionMap(pairs).intersect_domain(domain).intersect_range(domain)
    return bool(wanted.is_subset(separate_pairs(scop, "Y")))


@pytest.mark.parametrize(
    "subscript",
    ["off[k] + i", "i - off[k]", "off[k] - 3 + 2 * i", "off[k] + w[k][k / 2] + i", "off[w[k][2]] + i", "c[k] + i",
     "u[k] + i", "z[k] + i", "(long)(u[k] + i)", "(int)(u[k] - i)", "i + (k % 3 ? off[k] : 7)"],
)  # fmt: skip
def test_what_is_apart_in_each_row(subscript: str) -> None:
    scop = scop_of(f"Y[{subscript}] = i;")
    assert within(scop, IN_A_ROW)
    pairs = separate_pairs(scop, "Y")
    assert pairs.is_subset(isl.UnionMap(IN_A_ROW)), "of other rows nothing is known"


@pytest.mark.parametrize(
    "subscript",
    ["off[i]", "off[i] + i", "off[k] + i / 2", "off[k] + w[k][i] + i", "off[k] + m * i", "u[k] + 2u * i",
     "(unsigned char)(off[k] + i)", "(short)(off[k] + i)", "(unsigned)(off[k] + i) / 2", "z[k] + (u[k] + i)"],
)  # fmt: skip
def test_what_may_be_one_element(subscript: str) -> None:
    assert not within(scop_of(f"Y[{subscript}] = i;"), IN_A_ROW)


def test_offsets_that_the_scop_sets() -> None:
    assert not within(scop_of("Y[off[k] + i] = i;", "off[2] = 1;"), IN_A_ROW)


def test_counters_of_more_bits_than_a_sum() -> None:
    """u[k] + (unsigned)i is the same for i and i + 2^32."""
    assert within(scop_of("Y[u[k] + i] = i;", counter="long"), IN_A_ROW)
    assert not within(scop_of("Y[u[k] + (unsigned)i] = i;", counter="long"), IN_A_ROW)


def test_several_accesses() -> None:
    """All accesses of two instances are apart, or the instances are not."""
    odd = scop_of("Y[off[k] + 2 * i] = 1; Y[off[k] + 2 * i + 1] = 2;")
    assert within(odd, IN_A_ROW) and within(odd, "{ S0[k, i] -> S1[k, j] }")
    assert not within(scop_of("Y[off[k] + i] = 2 * Y[off[k] + i + 1];"), "{ S0[k, i] -> S0[k, i + 1] }")
    assert within(scop_of("Y[off[k] + i] = 2 * Y[off[k] + i + 1];"), "{ S0[k, i] -> S0[k, i + 2] }")
    assert not within(scop_of("Y[off[k] + i] = 2 * Y[7];"), IN_A_ROW)
    wraps = scop_of("Y[u[k] + i] = 1; Y[u[k] + i + 1] = 2;")
    assert within(wraps, IN_A_ROW) and not within(wraps, "{ S0[k, i] -> S1[k, i] }")
