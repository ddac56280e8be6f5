"""Conditions on minima, maxima and quotients are as few sets of constraints as can be."""

from __future__ import annotations

import islpy as isl
import pytest

# What tools that generate code define.
MACROS = """#include <math.h>
#define floord(n, d) floor(((double)(n)) / ((double)(d)))
#define ceild(n, d) ceil(((double)(n)) / ((double)(d)))
#define max(x, y) ((x) > (y) ? (x) : (y))
#define min(x, y) ((x) < (y) ? (x) : (y))
"""

TILES = """
for (int c = max(max(ceild(n - 31, 32), ceild(t, 7)), 2); c <= min(min(floord(n + 30, 32), floord(m + t, 5)), t);
     c++)
  if (32 * c >= max(t, m) && c < min(t, floord(m, 3)))
    A[c] = 0;
"""


def test_bounds_of_tiles_are_one_set_of_constraints(scop_of):
    """Each minimum is a choice, and five of them were up to 32 sets for each statement inside."""
    domain = scop_of(TILES, "int n, int m, int t, double *A", before=MACROS).statements[0].domain
    below = "c <= t and c < t and c <= floor((n + 30)/32) and c <= floor((m + t)/5) and c < floor(m/3)"
    above = "c >= 2 and 32c >= n - 31 and 7c >= t and 32c >= t and 32c >= m"
    assert domain.n_basic_set() == 1
    assert domain.is_equal(isl.Set(f"[n, m, t] -> {{ S0[c] : {below} and {above} }}"))


MIXED = {
    "larger of what is below": ("i < max(n, m)", "i < n or i < m"),
    "smaller of what is above": ("i > min(n, m) - 3", "i > n - 3 or i > m - 3"),
    "taken away": ("i < 9 - max(n, m)", "i < 9 - n and i < 9 - m"),
    "added": ("i + max(n, m) <= 2 * min(n, m)", "i + n <= 2n and i + n <= 2m and i + m <= 2n and i + m <= 2m"),
    "a quotient from above": ("i >= floord(n, 4)", "i >= floor(n/4)"),
    "a quotient from below": ("i <= ceild(n, 4)", "4i < n + 4"),
    "two quotients": ("i + ceild(n, 4) <= floord(m, 3)", "i <= floor(m/3) - floor((n + 3)/4)"),
    "twice a quotient": ("i < 2 * floord(n, 4)", "i < 2*floor(n/4)"),
    "equal": ("i == max(n, m)", "(i = n and m <= n) or (i = m and n < m)"),
    "not equal": ("i != floord(n, 4)", "i != floor(n/4)"),
}


@pytest.mark.parametrize("name", MIXED)
def test_comparison(name, scop_of):
    condition, holds = MIXED[name]
    domain = scop_of(f"for (int i = 0; i < 100; i++) if ({condition}) A[i] = 0;", before=MACROS).statements[0].domain
    assert domain.is_equal(isl.Set(f"[n, m] -> {{ S0[i] : 0 <= i < 100 and ({holds}) }}"))
