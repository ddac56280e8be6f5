"""Values of iterators and sizes have the arithmetic of their types in C, whatever type kernels have them in."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import polytile
from tests.bitwise import same_as_c

PROGRAMS: Mapping[str, tuple[str, str]] = {
    "an int that meets an unsigned, beside a long": (
        "long n, unsigned g[n]",
        "for (int i = 0; i < n; i++) g[i] = (i * 2654435761u) >> 28;",
    ),
    "differences of an int": (
        "long n, int q[n], unsigned char c[n]",
        "for (int i = 0; i < n; i++) { q[i] = (i - 3) / 2u % 1000u; c[i] = (i - 5) >> 1u; }",
    ),
    "comparisons": (
        "long n, int q[n]",
        "for (int i = 0; i < n; i++) { q[i] += (i - 3) > 2u; q[i] += i - 3u > 7 ? 1 : 2; }",
    ),
    "unsigned values as others": (
        "long n, float x[n], double y[n]",
        "for (int i = 0; i < n; i++) { x[i] = (i - 5) * 1u; y[i] = (i << 3) / 3u + ~i % 5u - (-i) / 7u; }",
    ),
    "updates": (
        "long n, unsigned g[n], unsigned char c[n]",
        "for (int i = 0; i < n; i++) { g[i] /= i - 200; g[i] %= i + 1; c[i] /= -1 - i; }",
    ),
    "choices": (
        "long n, const unsigned u[n], long q[n]",
        "for (int i = 0; i < n; i++) q[i] = u[i] % 2 == 0 ? i - 4 : u[i];",
    ),
    "a long that grows, beside an int": (
        "int n, long long g[n], double y[n]",
        "for (long i = 0; i < n; i++) { g[i] = i * i * i * 1000000; y[i] = -i * -i * 100000 * 1000; g[i] += i << 33; }",
    ),
    "conditions on it": (
        "int n, long g[n]",
        "for (long i = 0; i < n; i++) if (i * i * i * i * i * i * i > 5000000000) g[i] += 1;",
    ),
    "fields": (
        "const struct pair *p, int n, unsigned g[n], long q[n]",
        "for (int i = 0; i < n; i++) { g[i] = p->m * 3000000000u + i - p->k / 2u; q[i] = (p->m - 99u) / 3 - i; }",
    ),
    "subscripts that read data": (
        "unsigned n, const unsigned u[n], const int h[9], int g[n]",
        "for (unsigned i = 0; i < n; i++) g[i] = h[(u[i] >> 30) + (i - 3) % 5];",
    ),
    "updated elements that data choose": (
        "unsigned n, const unsigned u[n], int h[16]",
        "for (unsigned i = 0; i < n; i++) h[(u[i] + i * 2654435761u) >> 28] += 1;",
    ),
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_c(name: str) -> None:
    arguments, body = PROGRAMS[name]
    text = "struct pair { unsigned m; short k; };\n"
    text += f"void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (scop,) = polytile.compile(text, name="f.c", strict=True).scops
    assert scop.program is not None
    same_as_c(scop, [{"n": n, "k": 2} for n in (0, 1, 7, 133)], text="struct" not in arguments)
