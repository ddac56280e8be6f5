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
    "a subscript that wraps around": (
        "unsigned n, const int h[16], int g[n]",
        "for (unsigned i = 0; i < n; i++) g[i] = h[(i * 2654435761u) >> 28];",
    ),
    "conditions that wrap around": (
        "int n, int g[n]",
        "for (int i = 0; i < n; i++) { if ((i * 1103515245u + 12345u) / 65536 % 2) g[i] = 3;"
        " if ((unsigned)i * 2654435761u < 2000000000u) g[i] += 8; }",
    ),
    "comparisons in 64 bits": (
        "int n, int a, int b, int g[n]",
        "for (int i = 0; i < n; i++) { if ((long)i + a + b > 0) g[i] += 1; if ((long)a * 3 + i < b) g[i] += 2; }",
    ),
    "comparisons of a long": (
        "int n, int a, int g[n]",
        "for (long i = 0; i < n; i++) { if (i * 100000000 < a) g[i] += 1; if (i * 100000000 - a > 5) g[i] += 2; }",
    ),
    "bounds in 64 bits": (
        "int n, int g[n]",
        "for (int i = 0; i < n; i++) for (long j = i * 100000000L; j < i * 100000000L + 3; j++) g[i] += j % 1000003;",
    ),
    "a size that C converts to unsigned": ("int n, int g[n]", "for (size_t i = 0; i < n; i++) g[i] += 1;"),
}

SIZES = [{"n": n, "a": a, "b": b} for n, a, b in ((0, 1, 1), (1, 2**31 - 1, 2**31 - 1), (7, -(2**31), 5), (133, 0, -3))]


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_c(name: str) -> None:
    arguments, body = PROGRAMS[name]
    text = "#include <stddef.h>\nstruct pair { unsigned m; short k; };\n"
    text += f"void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (scop,) = polytile.compile(text, name="f.c", strict=True).scops
    assert scop.program is not None
    same_as_c(scop, SIZES, text="struct" not in arguments)


def test_the_program_asks_whether_a_size_is_below_zero() -> None:
    text = "void f(int n, int *a)\n{\n#pragma scop\nfor (unsigned i = 0; i < n; i++) a[i] = 0;\n#pragma endscop\n}\n"
    (scop,) = polytile.compile(text, name="f.c").scops
    assert scop.scop.checked == "n >= 0"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("body", "wide"),
    [
        ("for (long i = 0; i + 1 < n; i++) a[i] = a[i + 1];", False),
        ("for (long i = 0; i < n; i++) if (i + 1 < n) a[i] = 0;", False),
        ("for (long i = 0; i < n; i++) if (3 * i < n) a[i] = 0;", True),
    ],
)
def test_kernels_have_64_bits_only_where_values_need_them(body: str, wide: bool) -> None:
    text = f"void f(int n, double *a)\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (scop,) = polytile.compile(text, name="f.c").scops
    assert scop.scop.wide == wide
