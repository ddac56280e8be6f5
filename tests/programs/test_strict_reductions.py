"""`--fp strict`: reductions of integers are shared out, as their bits do not depend on the order; others keep C's."""

from __future__ import annotations

import pytest

import polytile
from tests.every_schedule import same_in_every_schedule, source

SIZES = [{"n": n, "m": m} for n, m in ((0, 3), (1, 1), (7, 5), (40, 33))]
EXACT = {
    "a sum": ("int s[1], const int *x", "for (int i = 0; i < n; i++) s[0] += x[i];"),
    "differences of a narrow type": ("short s[1], const short *x", "for (int i = 0; i < n; i++) s[0] -= x[i];"),
    "a product": ("unsigned s[1], const unsigned *x", "for (int i = 0; i < n; i++) s[0] *= x[i] + 1;"),
    "bits": ("unsigned char s[1], const unsigned char *x", "for (int i = 0; i < n; i++) s[0] ^= x[i];"),
    "a least value": ("long s[1], const long *x", "for (int i = 0; i < n; i++) if (x[i] < s[0]) s[0] = x[i];"),
    "of rows": (
        "int s[n], const int x[n][m]",
        "for (int i = 0; i < n; i++) { s[i] = 0; for (int j = 0; j < m; j++) s[i] += x[i][j]; }",
    ),
    "a count beside a rounded sum": (
        "int c[1], float s[1], const float *x",
        "for (int i = 0; i < n; i++) if (x[i] > 0) c[0]++; for (int i = 0; i < n; i++) s[0] += x[i] * 0.1f;",
    ),
}
ORDERED = {
    "a sum of floats": ("float s[1], const float *x", "for (int i = 0; i < n; i++) s[0] += x[i];"),
    "a greatest double": ("double s[1], const double *x", "for (int i = 0; i < n; i++) if (x[i] > s[0]) s[0] = x[i];"),
    "truncated at each step": ("int s[1], const double *x", "for (int i = 0; i < n; i++) s[0] += x[i];"),
    "truth values": ("_Bool s[1], const int *x", "for (int i = 0; i < n; i++) s[0] += x[i];"),
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", EXACT)
def test_integers_are_reduced_in_parallel(name: str) -> None:
    assert "auto" not in same_in_every_schedule(source(*EXACT[name]), SIZES)


@pytest.mark.parametrize("name", ORDERED)
def test_others_keep_their_order(name: str) -> None:
    (scop,) = polytile.compile(source(*ORDERED[name]), name="f.c", strict=True).scops
    assert scop.program is None


def test_a_rounded_sum_beside_a_count_stays_in_one_thread() -> None:
    (scop,) = polytile.compile(source(*EXACT["a count beside a rounded sum"]), name="f.c", strict=True).scops
    assert {made.array for made in scop.compilation.scop.privatised} == {"c"}
