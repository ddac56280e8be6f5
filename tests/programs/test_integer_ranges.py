"""Programs whose sizes are near the ends of their types: the same output as the host compiler's, from kernels where all
integers fit, else from the C."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.diagnostics import UsageError
from tests.same_output import kernel_runs, prints_the_same

FROM_LARGE = """
#include <stdio.h>
#include <limits.h>
int slot[64]; double tri[8000]; unsigned d[64]; long long c[64]; int b[256];
__attribute__((noinline)) void every(int t0, int t1) {
    for (int t = t0; t < t1; t += 7) slot[(t - t0) / 7] += t - t0;
}
__attribute__((noinline)) void lower(int t0, int t1) {
    for (int t = t0; t < t1; t++)
        for (int s = 0; s <= t - t0; s++) tri[(t - t0) * 100 + s] += 0.5 * s + (t - t0);
}
__attribute__((noinline)) void last(int n) { for (int i = n - 10; i < n; i++) b[i - (n - 10)] += i; }
__attribute__((noinline)) void back(int hi, int lo) { for (int i = hi; i > lo; i -= 3) b[i - lo] += hi - i; }
__attribute__((noinline)) void under(int n) { for (int i = 0; i < 20; i++) if (i < n - INT_MAX + 10) d[i + 40] += 3; }
__attribute__((noinline)) void wide(long long n) { for (long long i = n - 12; i < n; i++) c[i - (n - 12)] += i; }
__attribute__((noinline)) void between(int lo, int hi) { for (int i = 0; i < hi - lo; i++) b[i] += lo + i; }
__attribute__((noinline)) void far(int n) { for (int i = 0; i < n; i += 100000000) b[i / 100000000] += i; }
__attribute__((noinline)) void wave(int t0, int t1, int m) {
    for (int t = t0; t < t1; t++) for (int i = t - t0 + 1; i < m; i++) tri[(t - t0) * 60 + i] += i * .25;
}
int main(void) {
    const int starts[] = {0, -40, 800000000, -800000000};
    for (int k = 0; k < 4; k++) {
        fflush(stdout); /* so that no call is inlined in a larger SCoP */
        int t0 = starts[k];
        every(t0, t0 + 300); lower(t0, t0 + 70); last(t0 + 13); back(t0 + 200, t0); between(t0, t0 + 100);
        wave(t0, t0 + 33, 50);
    }
    every(1700000000, 1700000300); every(INT_MAX - 90, INT_MAX - 7); lower(1700000000, 1700000070);
    lower(INT_MIN + 5, INT_MIN + 60); wave(-2000000000, -1999999980, 60); back(INT_MAX, INT_MAX - 90);
    last(INT_MAX); last(INT_MIN + 10); under(INT_MAX); under(13); far(2000000000); far(7);
    back(INT_MIN + 100, INT_MIN + 1); between(INT_MAX - 47, INT_MAX - 7); between(5, 5); between(7, 5);
    wide(LLONG_MAX); wide(1LL << 62); wide(50); wide(LLONG_MIN + 20);
    double s = 0;
    for (int i = 0; i < 8000; i++) s += tri[i] * (i % 11);
    for (int i = 0; i < 64; i++) printf("%d %u %lld ", slot[i], d[i], c[i]);
    for (int i = 0; i < 256; i++) printf("%d ", b[i]);
    printf("%.9g\\n", s);
    return 0;
}
"""

UNSIGNED = """
#include <stdio.h>
#include <stddef.h>
#include <stdint.h>
int a[100], b[100], c[100], e[100];
#define F __attribute__((noinline)) void
F sum_in_bound(unsigned lo) { for (unsigned i = lo; i < lo + 10; i++) a[i - lo] += 1; }
F sum_of_size(unsigned n) { for (unsigned i = 0; i < n + 3; i++) b[i] += 1; }
F in_subscript(unsigned off) { for (unsigned i = 3; i < 90; i++) c[i + off] += i; }
F in_condition(unsigned d) { for (unsigned i = 0; i < 50; i++) if (i + d > 5) e[i] += 3; }
F both_sides(unsigned lo, unsigned hi) { for (unsigned i = 0; i < 20; i++) if (lo + i < hi) e[i] += 7; }
F twice(unsigned n) { for (unsigned i = 0; i < 2 * n && i < 80; i++) a[i] += 5; }
F stepped(unsigned n) { for (unsigned i = 1; i < n + 5 && i < 90; i += 6) a[i] += 11; }
F down(unsigned n) { for (unsigned i = 60; i > n + 2; i--) b[i] += 2; }
F two_bounds(unsigned n, unsigned m) { for (unsigned i = 0; i < n && i < m; i++) c[i] += i; }
F until(unsigned n) { for (unsigned i = n - 8; i != n; i++) b[i - (n - 8)] += i; }
F signed_of(unsigned n) { for (int i = 0; i < 40; i++) if (i > (int)n) a[i] += 1; }
F narrowed(uint64_t n) { for (unsigned i = 0; i < 30; i++) if (i < (unsigned)n) c[i] += 13; }
F counted_narrowed(unsigned long n) { for (unsigned i = 0; i < (unsigned)n; i++) b[i] += 17; }
F below(size_t n) { for (size_t i = 0; i < 100 && i < n; i++) a[i] += 1; }
F next_below(size_t n) { for (size_t i = 0; i < 100; i++) if (i + 1 < n) b[i] += 1; }
F half(size_t n) { for (size_t i = 0; i < 100; i++) if (i < n / 2) c[i] += 1; }
F at_least(size_t n) { for (int i = 0; i < 100; i++) if ((size_t)i >= n) e[i] += 1; }
F above(unsigned long n) { for (int i = 0; i < 100; i++) if (i + 5 > n) e[i] += 1; }
F twice_below(unsigned long n) { for (unsigned long i = 0; i < 100; i++) if (2 * i < n) a[i] += 1; }
F rest(unsigned long n) { for (unsigned long i = 0; i < 50; i++) if (i < n % 7) b[i] += 1; }
F size_offset(size_t off) { for (size_t i = 3; i < 90; i++) c[i + off] += i; }
F up_to_sum(unsigned w, int n) { for (int i = 0; i < 40 && i <= w + n; i++) a[i] += 19; }
F below_sum(unsigned w, unsigned n) { for (int i = 0; i < 40 && i < w + n; i++) b[i] += 23; }
F from_sum(unsigned w, unsigned n) { for (int i = 5; i + w < n && i < 60; i++) c[i] += 29; }
F down_to_sum(unsigned w) { for (int i = 60; i + w > 70 && i > 3; i--) e[i] += 31; }
F twice_int(unsigned n) { for (int i = 0; 2u * i < n && i < 80; i++) a[i] += 37; }
int main(void) {
    const unsigned ends[] = {0, 4, 40, 0xfffffffau, 0xffffffffu, 0x80000000u};
    for (int k = 0; k < 6; k++) {
        fflush(stdout); /* so that no call is inlined in a larger SCoP */
        unsigned n = ends[k];
        sum_in_bound(n); in_condition(n); both_sides(n, n + 9); twice(n); stepped(n); down(n); two_bounds(n, 50);
        until(n); signed_of(n); narrowed(n + (uint64_t)0x100000000); narrowed(n);
        narrowed(n + (UINT64_MAX / 2 + 1));
        down_to_sum(n); twice_int(n);
        up_to_sum(n, 8); up_to_sum(n, -3); below_sum(n, 8); below_sum(n, -3); from_sum(n, 8); from_sum(n, -3);
    }
    counted_narrowed(40); counted_narrowed((1ul << 63) + 40); counted_narrowed((1ul << 33) + 7);
    sum_of_size(4294967295u); sum_of_size(60); in_subscript(-3u); in_subscript(4);
    const size_t sizes[] = {0, 1, 50, (size_t)-1, 0x8000000000000000, 0x7fffffffffffffff, 0x4000000000000001};
    for (int k = 0; k < 7; k++) {
        fflush(stdout); /* so that no call is inlined in a larger SCoP */
        size_t n = sizes[k];
        below(n); next_below(n); half(n); at_least(n); above(n); twice_below(n); rest(n);
    }
    size_offset(-3); size_offset(2);
    for (int i = 0; i < 100; i++) printf("%d %d %d %d ", a[i], b[i], c[i], e[i]);
    puts("");
    return 0;
}
"""


@pytest.mark.parametrize("text", [FROM_LARGE, UNSIGNED], ids=["from large numbers", "unsigned"])
def test_programs_near_the_ends_of_types(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prints_the_same(text, "undefined", tmp_path, monkeypatch, autodetect=True)


def test_kernels_run_from_large_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops that start at a large number count their iterations, which are few."""
    main = (
        "int main(void) { every(1700000000, 1700000300); lower(300000000, 300000070); back(1700000200, 1700000000);"
        " last(1700000000); between(1700000000, 1700000100); far(2000000000); under(5); wide(1LL << 61); return 0; }"
    )
    text = FROM_LARGE[: FROM_LARGE.index("int main")] + main
    assert kernel_runs(text, tmp_path, monkeypatch, autodetect=True) == 8


SHIFTED = """
void shift(int lo, int hi, int *restrict a)
{
#pragma scop
    for (int i = lo; i < hi; i++)
        a[i - lo] = i;
#pragma endscop
}
"""


def test_calls_from_python_say_the_limit() -> None:
    (scop,) = polytile.compile(SHIFTED, strict=True, raise_bugs=True).scops
    a = np.zeros(50, np.int32)
    scop(lo=1_700_000_000, hi=1_700_000_050, a=a, on="emulator")
    assert np.array_equal(a, np.arange(1_700_000_000, 1_700_000_050))
    told = r"hi=2147483647, and the C is not run here: they need hi <= 21474\d+"
    with pytest.raises(UsageError, match=told) as error:
        scop(lo=2_147_483_600, hi=2_147_483_647, a=np.zeros(47, np.int32), on="emulator")
    assert "shift" in error.value.hint


@pytest.mark.quick
def test_no_limit_stands_where_all_sizes_are_right() -> None:
    text = "void f(int a[100])\n{\n#pragma scop\n    for (int i = 0; i < 100; i++) a[i] = i;\n#pragma endscop\n}\n"
    program = polytile.compile(text)
    assert program.scops[0].program.limits == ()
    assert "integers would overflow" not in program.header and "sizes beyond" not in program.host
