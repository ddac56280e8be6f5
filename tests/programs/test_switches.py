"""`switch` over names of an `enum`, and in functions that return from its cases."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.every_schedule import same_in_every_schedule, source

BEFORE = """
typedef enum { NONE, HALF, SQUARE = 4, LAST } kind;
#define MANY 7
static float leaky(float x) { return x > 0 ? x : 0.1f * x; }
float activated(float x, kind k)
{
    switch (k) {
        case NONE: return x;
        case HALF: { float y = x / 2; return y; }
        case SQUARE: return x * x;
        case LAST: return leaky(x);
    }
    return 0;
}
int through(int x, int k)
{
    switch (k) { case HALF: case MANY: x++; case 2: return x * 2; default: break; }
    return -x;
}
int broken(int x, int k)
{
    switch (k) { default: return 0; case HALF: if (x > 3) return 9; break; case 2 | SQUARE: x = -x; break; }
    return x;
}
"""
PROGRAMS: Mapping[str, tuple[str, str]] = {
    "a name of an enum": (
        "float x[n], kind k",
        "for (int i = 0; i < n; i++)"
        " switch (k) { case HALF: x[i] /= 2; break; case SQUARE: x[i] *= x[i]; break; default: x[i] = 2; }",
    ),
    "a function that returns from cases": (
        "float x[n], kind k",
        "for (int i = 0; i < n; i++) x[i] = activated(x[i], k);",
    ),
    "by the iteration": (
        "float x[n]",
        "for (int i = 0; i < n; i++) x[i] = activated(x[i], (kind)(i % 6)) + activated(x[i], LAST);",
    ),
    "cases that run into one another": (
        "int x[n], int k",
        "for (int i = 0; i < n; i++) x[i] = through(x[i] % 9, i % 9);",
    ),
    "breaks and returns": (
        "int x[n], int k",
        "for (int i = 0; i < n; i++) x[i] = broken(x[i] % 9, k) + broken(i, i % 8);",
    ),
}
SIZES = tuple({"n": n, "k": k} for n, k in ((0, 0), (1, 4), (7, 1), (130, 5), (66, 6), (65, 7)))


@pytest.mark.quick
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_c(name: str) -> None:
    assert not same_in_every_schedule(BEFORE + source(*PROGRAMS[name]), SIZES)
