"""Conditions of more alternatives or remainders than domains can have are left in their statements, like those on data:
kernels come at once, and compute what C does."""

from __future__ import annotations

import time

import pytest

import polytile
from polytile.compiled_scop import CompiledScop
from polytile.ir.scop import AccessKind
from polytile.runtime.emulator.instrument import CHECKS

CLAUSES = (
    "(i < p || j > q)",
    "(i > r || j < s)",
    "(i + j < p || j > r)",
    "(i - j > q || i < s)",
    "(2 * i < p + j || j > q + 3)",
    "(i > s || j + i < r)",
    "(i < q || j > p + s)",
    "(i > p - q || 2 * j < s)",
)
REMAINDERS = ("i % 2 == 0", "i % 3 == 1", "i % 5 != 2", "i % 7 < 5", "i % 11 > 3", "i % 13 != 0")
MOST_SECONDS = 10.0  # of processor time

ALTERNATIVES = """void f(int n, int m, int p, int q, int r, int s, {real} v[n + 1][m])
{{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            if ({condition})
                v[i][j] += 1;
{otherwise}
#pragma endscop
}}
"""
TEN_LOOPS = """void f(int n, {real} v[n + 1], {real} w[n + 1])
{{
#pragma scop
    for (int i = 0; i < n; i++)
        if ({condition})
            v[i] += 1;
    for (int i = 0; i < n; i++)
{loops}            w[i] += i0 * i1 + i{last};
#pragma endscop
}}
"""


def compiled(text: str) -> CompiledScop:
    start = time.process_time()
    (scop,) = polytile.compile(text, name="f.c").scops
    assert time.process_time() - start < MOST_SECONDS
    assert scop.compilation.program is not None and scop.compilation.program.kernels
    return scop


@pytest.mark.quick
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize(
    ("real", "count", "otherwise"),
    [("float", 8, ""), ("double", 20, ""), ("double", 8, "            else\n                v[i][j] -= 1;")],
)
def test_many_alternatives(real: str, count: int, otherwise: str) -> None:
    condition = " && ".join((CLAUSES * 3)[:count])
    scop = compiled(ALTERNATIVES.format(real=real, condition=condition, otherwise=otherwise))
    (statement,) = scop.compilation.source.statements
    assert statement.domain.n_basic_set() == 1
    assert AccessKind.MAY_WRITE in {a.kind for a in statement.accesses} or otherwise
    for n, m in ((0, 3), (20, 33)):
        values = {"n": n, "m": m, "p": 9, "q": 4, "r": 5, "s": 11}
        assert scop.validate(on="emulator", parameters=values, sanitize=CHECKS)


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize(("count", "nested", "depth"), [(4, False, 7), (6, False, 7), (6, True, 9)])
def test_many_remainders_beside_a_deep_nest(count: int, nested: bool, depth: int) -> None:
    condition = (") if (" if nested else " && ").join(REMAINDERS[:count])
    loops = "".join(f"        for (int i{d} = 0; i{d} < 2; i{d}++)\n" for d in range(depth))
    scop = compiled(TEN_LOOPS.format(real="double", condition=condition, loops=loops, last=depth - 1))
    for n in (0, 33):
        assert scop.validate(on="emulator", parameters={"n": n}, sanitize=CHECKS)
