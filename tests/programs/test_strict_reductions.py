"""`--fp strict`: reductions of integers are shared out, as their bits do not depend on the order; others keep C's."""

from __future__ import annotations

import pytest

import polytile
from polytile.facts.model import LoopKind
from polytile.runtime.emulator.instrument import CHECKS
from tests.every_schedule import same_in_every_schedule, source

SIZES = [{"n": n, "m": m} for n, m in ((0, 3), (1, 1), (7, 5), (40, 33))]
EXACT = {
    "a sum": ("int s[1], const int *x", "for (int i = 0; i < n; i++) s[0] += x[i];"),
    "differences of a narrow type": ("short s[1], const short *x", "for (int i = 0; i < n; i++) s[0] -= x[i];"),
    "a product": ("unsigned s[1], const unsigned *x", "for (int i = 0; i < n; i++) s[0] *= x[i] + 1;"),
    "bits": ("unsigned char s[1], const unsigned char *x", "for (int i = 0; i < n; i++) s[0] ^= x[i];"),
    "a least value": ("long s[1], const long *x", "for (int i = 0; i < n; i++) if (x[i] < s[0]) s[0] = x[i];"),
    "whether one holds": ("_Bool s[1], const int *x", "for (int i = 0; i < n; i++) s[0] |= x[i] > 90;"),
    "whether a bit is set": (
        "_Bool s[1], const long *x",
        "for (int i = 0; i < n; i++) s[0] |= x[i] << 40;",
    ),
    "whether all hold": ("_Bool s[m], const int x[n][m]", "for (int j = 0; j < m; j++) s[j] = 1;"
        " for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) s[j] &= x[i][j] | 1;"),
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

TRUNCATED = {
    "a sum": "for (int i = 0; i < n; i++) s[0] += 0.6 * x[i];",
    "truth values": "for (int i = 0; i < n; i++) z[0] += y[i];",
    "a greatest short": "for (int i = 0; i < n; i++) if (y[i] > t[0]) t[0] = y[i];",
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", EXACT)
def test_integers_are_reduced_in_parallel(name: str) -> None:
    assert "auto" not in same_in_every_schedule(source(*EXACT[name]), SIZES)


@pytest.mark.quick
@pytest.mark.parametrize("name", ORDERED)
def test_others_keep_their_order(name: str) -> None:
    (scop,) = polytile.compile(source(*ORDERED[name]), name="f.c", strict=True).scops
    assert scop.program is None


def test_a_rounded_sum_beside_a_count_stays_in_one_thread() -> None:
    (scop,) = polytile.compile(source(*EXACT["a count beside a rounded sum"]), name="f.c", strict=True).scops
    assert {made.array for made in scop.compilation.scop.privatised} == {"c"}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", TRUNCATED)
def test_what_is_truncated_at_each_step_is_serial_beside_reductions(name: str, strict: bool) -> None:
    arguments = "int s[1], _Bool z[1], short t[1], unsigned c[1], const double *x, const int *y"
    text = source(arguments, f"{TRUNCATED[name]} for (int i = 0; i < n; i++) c[0] &= ~y[i];")
    program = polytile.compile(text, name="f.c", strict=strict)
    (scop,) = program.scops
    assert {made.array for made in scop.compilation.scop.privatised} == {"c"}
    kinds = [(loop.kind, loop.arrays) for loop in program.facts.scops[0].loops]
    assert kinds == [(LoopKind.SERIAL, ()), (LoopKind.REDUCTION, ("c",))]
    for n in (0, 1, 7, 33):
        scop.validate(on="emulator", parameters={"n": n}, seed=n, sanitize=CHECKS)
