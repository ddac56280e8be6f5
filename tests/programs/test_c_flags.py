"""Flags of the C compiler that change values and types: programs print what gcc's print, with kernels."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import polytile
from polytile.api import Program
from polytile.cli.main import main

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

# Each function is followed by a sum over all that it may have changed, which the volatile pointer keeps out of SCoPs.
CHARACTERS = r"""
typedef char byte;
struct pixel { char r, g; byte b; short sum; };
char c[N], d[N], grid[20][10]; signed char s8[N]; byte e[N]; int r[N], hist[256]; long l[N]; double f[N];
struct pixel p[N];
static inline int twice(char x) { return 2 * x; }
void halve(int n, const char *restrict x, int *restrict y) { for (int i = 0; i < n; i++) y[i] = x[i] / 2 + (x[i] > 9); }
void largest(void) { char best = 0; for (int i = 0; i < N; i++) if (c[i] > best) best = c[i]; r[1] = best; }
void shifted(void) { for (int i = 0; i < N; i++) d[i] = c[i] >> 3; }
void fields(void) { for (int i = 0; i < N; i++) { p[i].r = i * 3; p[i].b = p[i].r - 1; p[i].sum = p[i].r * p[i].b; } }
void casts(void) { for (int i = 0; i < N; i++) l[i] = (char)(r[i] * 7) + (signed char)r[i] + (c[i] == '\xfc'); }
void local(void) { for (int i = 0; i < N; i++) { char t = i * 5; f[i] = t * 0.5; } }
void matrix(void) { for (int i = 0; i < 20; i++) for (int j = 0; j < 10; j++) grid[i][j] = grid[i][j] * 2 + i * 7; }
void histogram(void) { for (int i = 0; i < N; i++) hist[c[i] & 255] += c[i]; }
void compared(void) { for (int i = 0; i < N; i++) { if (c[i] < 0) r[i] = -1; e[i] = s8[i] == c[i]; } }
void inlined(void) { for (int i = 0; i < N; i++) r[i] += twice(200 + i) + twice(c[i]); }
long long all(void)
{
    volatile char *seen = c;
    long long s = 0;
    for (int i = 0; i < N; i++)
        s = s * 31 + seen[i] + d[i] * 3 + e[i] * 5 + r[i] * 7 + l[i] * 11 + (long)(f[i] * 2) + p[i].r + p[i].b * 3
            + p[i].sum * 5 + grid[i % 20][i % 10] + hist[i % 256];
    return s;
}
void first(volatile char *v) { for (int i = 0; i < N; i++) { v[i] = i * 7; s8[i] = i * 7; } }
int main(void)
{
    first(c);
    halve(N, c, r); SAY; largest(); SAY; shifted(); SAY; fields(); SAY; casts(); SAY; local(); SAY; matrix(); SAY;
    histogram(); SAY; compared(); SAY; inlined(); SAY;
    return 0;
}
"""
WRAPPING = r"""
int a[N], b[N], c[N], hist[16], s; long l[N], m; short h[N]; signed char q[N]; long long w[N];
void overflows(void) { for (int i = 0; i < N; i++) b[i] = a[i] + 60 < a[i] ? 1 : 0; }
void negated(void) { for (int i = 0; i < N; i++) c[i] = -a[i] < 0 && a[i] < 0; }
void absolute(void) { for (int i = 0; i < N; i++) c[i] += abs(a[i]) < 0; }
void products(void) { for (int i = 0; i < N; i++) { l[i] = a[i] * a[i]; w[i] = w[i] * 1000003 + a[i] * 7 - 3; } }
void sum(void) { s = 0; for (int i = 0; i < N; i++) s += a[i]; }
void longer_sum(void) { m = 1; for (int i = 0; i < N; i++) m = m + a[i] * 3 - c[i]; }
void narrow(void) { for (int i = 0; i < N; i++) { h[i] += a[i]; q[i]++; h[i] -= a[i] * 5; } }
void hashes(void) { for (int i = 0; i < N; i++) hist[((a[i] * 31 + 7) * 31 + i) & 15] += a[i]; }
void mean(void) { for (int i = 1; i < N; i++) b[i] = (a[i - 1] + a[i]) / 2; }
void iterators(void) { for (int i = 0; i < N; i++) w[i] += (i * 50000000 + 2147483600) / 2; }
void compared(void) { for (int i = 0; i < N; i++) if (a[i] - 2147483600 > a[i]) b[i] += 1000; }
void doubled(void) { for (int i = 0; i < N; i++) { int x = a[i], k = 0; while (x > 0) { x += x; k++; } c[i] += k; } }
void some(void) { for (int i = 0; i < N; i++) if (a[i] > 0) s += a[i] * 2; }
long long all(void)
{
    volatile int *seen = b;
    long long t = s + 3LL * m;
    for (int i = 0; i < N; i++)
        t = t * 31 + seen[i] + c[i] * 3LL + l[i] * 5 + h[i] * 7 + q[i] * 11 + w[i] + hist[i % 16];
    return t;
}
void first(volatile int *v)
{
    for (int i = 0; i < N; i++) {
        v[i] = i % 3 ? 2147483600 + i % 48 : i % 2 ? -2147483600 + i % 4 : i * 12345;
        h[i] = 32767 - i; q[i] = 120 + i % 8; w[i] = 9223372036854775807LL - i;
    }
    v[6] = -2147483647 - 1;
}
int main(void)
{
    first(a);
    overflows(); SAY; negated(); SAY; absolute(); SAY; products(); SAY; sum(); SAY; longer_sum(); SAY; narrow(); SAY;
    hashes(); SAY; mean(); SAY; iterators(); SAY; compared(); SAY; doubled(); SAY; some(); SAY;
    return 0;
}
"""
# What is indexed, compared and counted; with arguments near the end of int the C runs.
INDICES = r"""
#include <limits.h>
int store[4 * N], *a = store + N, b[N]; long l[N]; double m[N * N];
void shifted(int n, int k) { for (int i = 0; i < n; i++) a[i + k] += i; }
void sum_and_part(int n, int k) { for (int i = 0; i < n; i++) if (i + k > k) b[i] += 1; }
void sum(int n, int k) { for (int i = 0; i < n; i++) if (i + k > 5) b[i] += 3; }
void from(int lo) { for (int i = lo; i < lo + 10; i++) b[i - lo] += 7; }
void up_to(int n) { for (int i = 0; i < n + 3 && i < N; i++) b[i] += 11; }
void inclusive(int n) { for (int i = n - 3; i <= n && i < N; i++) b[i & 63] += 13; }
void until(int s, int e) { int q = 0; for (int i = s; i != e; i++) q += i; b[0] += q; }
void hashed(int n, int s) { for (int i = 0; i < n; i++) a[(i * 1103515245 + s) & 63] += i; }
void divided(int n, int k) { for (int i = 0; i < n; i++) l[i] += (i + k) / 4; }
void widened(int n, int k) { for (int i = 0; i < n; i++) if ((long)(i + k) < 100) l[i] += 17; }
void multiplied(int n, int k) { for (int i = 0; i < n; i++) if (i * 3 + k < 2 * k) l[i] += 19; }
void down(int n, int lo) { for (int i = n; i >= lo && i >= n - 5; i--) b[n - i] += 23; }
void rows(int n, int w) { for (int i = 0; i < n; i++) for (int j = 0; j < w; j++) m[i * w + j] += i - j; }
void counted(int n, int k) { int t = k; for (int i = 0; i < n; i++) { t += 3; if (t > 10) b[i] += t; } }
void chosen(int n, int k) { for (int i = 0; i < n; i++) l[i] = i + k > k ? 1 : 2; }
long long all(void)
{
    volatile int *seen = store;
    long long s = 0;
    for (int i = 0; i < 4 * N; i++) s = s * 31 + seen[i];
    for (int i = 0; i < N; i++) s = s * 31 + b[i] + l[i] * 3 + (long)m[i * 7];
    return s;
}
int main(void)
{
    shifted(10, 3); SAY; shifted(10, -5); SAY; sum_and_part(20, 5); SAY; sum_and_part(20, INT_MAX - 7); SAY;
    sum(20, INT_MIN); SAY; sum(20, -3); SAY; sum(20, INT_MAX - 2); SAY; from(5); SAY; from(INT_MAX - 4); SAY;
    up_to(10); SAY; up_to(INT_MAX - 1); SAY; inclusive(10); SAY; until(3, 9); SAY; hashed(50, 3); SAY;
    hashed(50, INT_MAX); SAY; divided(20, 7); SAY; divided(20, INT_MAX - 4); SAY; widened(20, 90); SAY;
    widened(20, INT_MAX - 4); SAY; multiplied(20, 30); SAY; multiplied(20, INT_MAX / 2 + 40); SAY;
    multiplied(20, INT_MAX - 10); SAY; down(10, 2); SAY; down(INT_MIN + 8, INT_MIN + 2); SAY; rows(5, 9); SAY;
    counted(20, 2); SAY; counted(20, INT_MAX - 20); SAY; chosen(20, 3); SAY; chosen(20, INT_MAX - 3); SAY;
    return 0;
}
"""
CONSTANTS = r"""
#define PI 3.14159265358979323846
typedef double real;
float x[N], y[N]; double a[N], b[N]; int r[N];
double half(double v) { return v * 0.5 + 0.1; }
void single(void) { for (int i = 0; i < N; i++) y[i] = x[i] * 0.1 + sizeof(0.1); }
void added(void) { for (int i = 0; i < N; i++) b[i] = a[i] * 0.1 + 1e-3; }
void inlined(void) { for (int i = 0; i < N; i++) b[i] += half(0.1) + half(i * 0.3); }
void called(void) { for (int i = 0; i < N; i++) a[i] = fmax(a[i], 0.3) * PI + (real)0.1; }
void known(void) { double w = 0.7; for (int i = 0; i < N; i++) b[i] += w * x[i] + (1.0 / 3) * y[i]; }
void chosen(void) { for (int i = 0; i < N; i++) r[i] = a[i] > 0.1 ? (int)(0.1 * 30) : (int)(0x1.8p0 * i); }
void powers(void) { for (int i = 0; i < N; i++) { b[i] = 0.1; for (int k = 0; k < 5; k++) b[i] = b[i] * 1.1 + a[i]; } }
long long all(void)
{
    volatile float *seen = y;
    double s = 0;
    for (int i = 0; i < N; i++) s = s * 0.99L + seen[i] + a[i] * 5 + b[i] * 7 + r[i];
    return s * 1e9L;
}
void first(volatile float *v) { for (int i = 0; i < N; i++) { v[i] = i * 1.7f; a[i] = i * .1 - 10; } }
int main(void)
{
    first(x);
    single(); SAY; added(); SAY; inlined(); SAY; called(); SAY; known(); SAY; chosen(); SAY; powers(); SAY;
    return 0;
}
"""
TYPES = r"""
enum colour { RED, GREEN = 200, BLUE };
enum level { LOW = -3, HIGH = 300 };
struct record { char tag; int value; short half; double weight; };
union cell { char c; int i; };
typedef enum { OFF, ON } state;
enum colour picture[N], other[N]; enum level levels[N]; state states[N];
struct record s[N], copy[N]; int r[N]; long l[N];
void set(void) { for (int i = 0; i < N; i++) picture[i] = i % 3 == 0 ? BLUE : GREEN; }
void copied(int n, const enum colour *restrict x, enum colour *restrict y) { for (int i = 0; i < n; i++) y[i] = x[i]; }
void truncated(void) { for (int i = 0; i < N; i++) { states[i] = picture[i] > GREEN; levels[i] = i * 400; } }
void fields(void) { for (int i = 0; i < N; i++) { s[i].value = s[i].tag * s[i].half; s[i].weight += s[i].value; } }
void whole(void) { for (int i = 0; i < N; i++) copy[i] = s[i]; }
void sizes(void) { for (int i = 0; i < N; i++) l[i] = i * sizeof(struct record) + sizeof(enum colour) + sizeof(state); }
void local(void) { for (int i = 0; i < N; i++) { enum colour c = picture[i]; r[i] = c + levels[i] * states[i]; } }
long long all(void)
{
    volatile int *seen = r;
    long long t = 0;
    for (int i = 0; i < N; i++)
        t = t * 31 + seen[i] + l[i] * 3 + picture[i] * 5 + other[i] * 7 + levels[i] * 11 + states[i] * 13
            + s[i].value * 17 + (long long)copy[i].weight + copy[i].tag;
    return t;
}
void first(volatile struct record *v)
{
    for (int i = 0; i < N; i++) { v[i].tag = i; v[i].half = 3 * i; v[i].weight = i * .5; }
}
int main(void)
{
    first(s);
    set(); SAY; copied(N, picture, other); SAY; truncated(); SAY; fields(); SAY; whole(); SAY; sizes(); SAY;
    local(); SAY;
    return 0;
}
"""
WIDE_CHARACTERS = r"""
#include <stddef.h>
struct glyph { wchar_t code; int width; };
wchar_t w[N]; struct glyph g[N]; long l[N];
void tripled(void) { for (int i = 0; i < N; i++) w[i] = w[i] * 3 + i; }
void fields(void) { for (int i = 0; i < N; i++) { g[i].code = -i; g[i].width = g[i].code + sizeof(struct glyph); } }
void compared(void) { for (int i = 0; i < N; i++) l[i] = w[i] == L'\xffff' ? 1 : (wchar_t)(i * 70000) - L'a'; }
long long all(void)
{
    volatile wchar_t *seen = w;
    long long s = 0;
    for (int i = 0; i < N; i++) s = s * 31 + seen[i] + g[i].code * 3LL + g[i].width + l[i];
    return s;
}
void first(volatile wchar_t *v) { for (int i = 0; i < N; i++) v[i] = 60000 + 100 * i; }
int main(void) { first(w); tripled(); SAY; fields(); SAY; compared(); SAY; return 0; }
"""
# What the host reads is changed through pointers to another type.
ALIASES = r"""
struct header { int n; float v[7]; };
void cleared(struct header *p, float *w) { for (int i = 0; i < p->n; i++) w[i] = 0; }
void moved(int n, float *x, int *y) { for (int i = 0; i < n; i++) x[i] = y[i] + 1; }
long long all(void) { return 0; }
int main(void)
{
    static struct header h[4];
    static int y[N];
    long long s = 0;
    h[1].n = 3;
    cleared(&h[1], (float *)&h[1].n);
    for (int i = 0; i < N; i++) { volatile int *v = y; v[i] = i; }
    moved(N - 1, (float *)y + 1, y);
    for (int i = 0; i < N; i++) s = s * 31 + ((volatile int *)y)[i];
    printf("%d %lld\n", h[1].n, s);
    return 0;
}
"""
HEAD = """#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#define N 200
#define SAY printf("%lld\\n", all())
"""
# Flags, the program, how many of its functions have kernels, and whether the flags change what it prints.
CASES = {
    "unsigned characters": ("-funsigned-char", CHARACTERS, 10, True),
    "signed characters again": ("-funsigned-char -fsigned-char", CHARACTERS, 10, False),
    "characters that are not signed": ("-fno-signed-char", CHARACTERS, 10, True),
    "integers that wrap": ("-fwrapv", WRAPPING, 12, None),
    "indices that wrap": ("-fwrapv", INDICES, 13, None),
    "no use of overflow": ("-O2 -fno-strict-overflow", WRAPPING, 12, None),
    "short enumerations": ("-fshort-enums", TYPES, 7, True),
    "packed structs": ("-fpack-struct", TYPES, 7, True),
    "structs packed to two": ("-fpack-struct=2 -fshort-enums", TYPES, 7, True),
    "types as they are": ("-fno-short-enums -fno-pack-struct -mms-bitfields", TYPES, 7, False),
    "short wide characters": ("-fshort-wchar", WIDE_CHARACTERS, 3, True),
    "wide characters as they are": ("", WIDE_CHARACTERS, 3, False),
    "memory of any type": ("-fno-strict-aliasing", ALIASES, 2, None),
    "constants of single precision": ("-fsingle-precision-constant", CONSTANTS, 7, True),
}


@pytest.mark.parametrize("name", CASES)
def test_prints_what_gcc_prints(name: str, tmp_path: Path) -> None:
    flags, body, least, differs = CASES[name]
    file = tmp_path / "program.c"
    file.write_text(HEAD + body)
    expected = _gcc(file, *flags.split())
    program = polytile.compile(file, cflags=flags, autodetect=True, strict=True)
    assert len([s for s in program.scops if s.program is not None]) >= least, _refused(program)
    program.build(tmp_path / "built", on="emulator")
    assert _printed(tmp_path / "built") == expected
    assert differs is None or (_gcc(file) != expected) is differs


def _refused(program: Program) -> str:
    return "\n".join(str(error) for error in program.left_out)


def _gcc(file: Path, *flags: str) -> str:
    exact = ("-std=gnu99", "-O1", "-ffp-contract=off", "-w", *flags)
    subprocess.run(["gcc", *exact, str(file), "-o", str(file.with_suffix("")), "-lm"], check=True, timeout=60)
    return _printed(file.with_suffix(""))


def _printed(program: Path) -> str:
    return subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.quick
def test_certificates_record_flags(tmp_path: Path) -> None:
    text = "char c[9]; int r[9];\nvoid f(void)\n{\n    for (int i = 0; i < SIZE; i++) r[i] = c[i];\n}\n"
    (tmp_path / "f.c").write_text("#ifdef __CHAR_UNSIGNED__\n#define SIZE 4\n#else\n#define SIZE 5\n#endif\n" + text)
    file, proof = str(tmp_path / "f.c"), str(tmp_path / "f.json")
    told = [file, "--autodetect", "-q", "-o", str(tmp_path), "--certificate", proof]
    assert main([*told, "--cflags=-funsigned-char", "--validate", "--on", "emulator"]) == 0
    assert main(["check", proof, "--source", file]) == 0
    Path(proof).write_text(Path(proof).read_text().replace('"-funsigned-char"', ""))
    assert main(["check", proof, "--source", file]) == 1
