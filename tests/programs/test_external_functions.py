"""Functions that are defined elsewhere, with summaries of what they access: in kernels, as C computes them."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.check.checker import problems
from polytile.check.command import main as check_main
from polytile.check.source import differences
from polytile.cli.main import main
from polytile.codegen.targets.cuda.cuda import print_kernels
from polytile.compiled_scop import CompiledScop
from polytile.diagnostics import FindingsError, OpaqueCallError, UsageError, UserError
from polytile.runtime.nvrtc import compile_to_ptx, nvrtc

DECLARED = """
#define WIDTH 3
#pragma polytile access(weigh)
double weigh(double x);
#pragma polytile access(place)
int place(int i, int n);
#pragma polytile access(row_sum) reads(a[0:n])
double row_sum(int n, const double *a);
#pragma polytile access(smooth) reads(a[0:WIDTH]) writes(b[0])
void smooth(const double *a, double *b);
#pragma polytile access(normalise) reads(a[0:n]) writes(a[0:n])
void normalise(int n, double *a);
#pragma polytile access(clip) reads(a[0:n], a[0]) may_write(a[0 : n])
void clip(int n, double a[n]);
#pragma polytile access(pair) reads(a) writes(b)
void pair(const float a[2], int b[2 * 1]);
#pragma polytile access(fill) writes(work[0:4])
void fill(int i, double *work);
#pragma polytile access(take) reads(work[1 : 4 - 1]) writes(out[i])
void take(int i, const double *work, double *out);
#pragma polytile access(end) writes(a[n - 1])
void end(long n, double *a);
#pragma polytile access(range) reads(a[0:n]) writes(low[0], high[0:1])
int range(int n, const double *a, double *low, double *high);
#pragma polytile access(count) reads(a[0:n], total[0]) writes(total[0])
void count(int n, const double *a, int *total);
#pragma polytile access(grow) writes(a[0])
void grow(int *a);
static void twice(int k, double *row) { normalise(k, row); row[0] += row_sum(k - 1, row + 1); }
"""
DEFINED = """
#define HALF 0.5
#define n 17
__device__ double weigh(double x) { return HALF * x + 1; }
#undef n
__device__ int place(int i, int n) { return (3 * i + 1) % n; }
__device__ static double plus(double x, double y) { return x + y; }
__device__ double row_sum(int n, const double *a)
{
    double s = 0;
    for (int k = 0; k < n; k++) s = plus(s, a[k]);
    return s;
}
__device__ __forceinline__ void smooth(const double *a, double *b) { *b = (a[0] + a[1] + a[2]) * 0.25; }
__device__ void normalise(int n, double *a)
{
    double s = 1;
    for (int k = 0; k < n; k++) s += a[k] * a[k];
    for (int k = 0; k < n; k++) a[k] /= s;
}
__device__ void clip(int n, double *a) { for (int k = 0; k < n; k++) if (a[k] > 0.25) a[k] = 0.25; }
__device__ void pair(const float *a, int *b) { b[0] = a[0] * 8; b[1] = a[1] * 8; }
__device__ void fill(int i, double *work) { for (int k = 0; k < 4; k++) work[k] = i * k; }
__device__ void take(int i, const double *work, double *out) { out[i] = work[1] + work[2] * work[3]; }
__device__ void end(long n, double *a) { a[n - 1] = 7; }
__device__ int range(int n, const double *a, double *low, double *high)
{
    int widest = 0;
    *low = *high = a[0];
    for (int k = 1; k < n; k++) {
        if (a[k] < *low) *low = a[k];
        if (a[k] > *high) *high = a[widest = k];
    }
    return widest;
}
__device__ void grow(int *a) { a[0] = 3; }
__device__ void count(int n, const double *a, int *total) { for (int k = 0; k < n; k++) *total += a[k] > 0; }
"""
# The body of each SCoP in f(n, m, A[n][m], x[n], y[n], p[2 * n], q[2 * n]), and which of its loops are parallel.
PROGRAMS = {
    "numbers": ("for (int i = 0; i < n; i++) x[i] = weigh(weigh(y[i]) + i) * 2;", [True]),
    "numbers in a condition": ("for (int i = 0; i < n; i++) if (weigh(x[i]) > 1.25) y[i] = 1; else y[i] = 2;", [True]),
    "a row": ("for (int i = 0; i < n; i++) x[i] = row_sum(m, A[i]);", [True]),
    "rows in an expression": (
        "for (int i = 0; i < n; i++) x[i] += 2 * row_sum(m, A[i]) - row_sum(m - 1, &A[i][1]) * weigh(y[i]);",
        [True],
    ),
    "an initial value": ("for (int i = 0; i < n; i++) { double s = row_sum(m, A[i]); x[i] = s * s; }", [True]),
    "neighbours": ("for (int i = 1; i < n - 1; i++) smooth(&x[i - 1], &y[i]);", [True]),
    "in place": ("for (int i = 1; i < n - 1; i++) smooth(&x[i - 1], &x[i]);", [False]),
    "in place, apart": ("for (int i = 0; i < n / 4; i++) smooth(x + 4 * i, &x[4 * i + 3]);", [True]),
    "rows in place": ("for (int i = 0; i < n; i++) normalise(m, A[i]);", [True]),
    "rows in time": ("for (int t = 0; t < 3; t++) for (int i = 0; i < n; i++) normalise(m, A[i]);", [False, True]),
    "rows that follow": (
        "for (int i = 1; i < n; i++) { for (int j = 0; j < m; j++) A[i][j] += A[i - 1][j]; normalise(m, A[i]); }",
        [False, True],
    ),
    "maybe": ("for (int i = 0; i < n; i++) clip(m, A[i]);", [True]),
    "maybe all of it": ("for (int i = 0; i < n; i++) clip(n, x);", [False]),
    "flat rows": ("for (int i = 0; i < n; i++) x[i] = row_sum(m, &F[i * m]);", [True]),
    "flat rows in place": (
        "for (int i = 0; i < n; i++) { normalise(m, F + i * m); for (int j = 0; j < m; j++) F[i * m + j] += 1; }",
        [True, True],
    ),
    "other types": ("for (int i = 0; i < n; i++) pair(&p[2 * i], &q[2 * i]);", [True]),
    "memory of an iteration": (
        "for (int i = 0; i < n; i++) { double work[4]; fill(i, work); take(i, work, y); }",
        [True],
    ),
    "memory of the function": ("for (int i = 0; i < n; i++) { fill(i, own); take(i, own, y); }", [True]),
    "behind a condition on data": ("for (int i = 1; i < n - 1; i++) if (x[i] > 0.5) smooth(&x[i - 1], &y[i]);", [True]),
    "behind a condition": ("for (int i = 1; i < n; i++) if (i % 3 == 1) smooth(&x[i - 1], &y[i - 1]);", [True]),
    "in a loop that data end": (
        "for (int i = 1; i < n - 1; i++) { int k = 0; while (k < q[i]) { smooth(&x[i - 1], &y[i]); k += 100; } }",
        [True, False],
    ),
    "a variable called element": (
        "for (int i = 0; i < n; i++) { element = x[i]; y[i] = row_sum(m, A[i]) + element; }",
        [True],
    ),
    "a loop over elements": (
        "for (int element = 0; element < n; element++) y[element] = row_sum(m, A[element]);",
        [True],
    ),
    "a place that data choose": ("for (int i = 0; i < n; i++) smooth(x, &y[place(i, n)]);", [False]),
    "a name for a place": (
        "for (int i = 0; i < n; i++) { int k = place(i, n); smooth(x, &y[k]); y[k] += 1; }",
        [False],
    ),
    "as often as a value says": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < place(i, m); j++) A[i][j] = 1;",
        [True, False],
    ),
    "an element of many": ("for (int i = 1; i < n; i++) end(i, y);", [True]),
    "a reduction beside": (
        "double s = 0; for (int i = 0; i < n; i++) { normalise(m, A[i]); s += row_sum(m, A[i]); } x[0] = s;",
        [False],
    ),
    "sums of what is written": (
        "for (int i = 0; i < n; i++) smooth(A[i], &x[i]); for (int i = 0; i < n; i++) y[0] += x[i];",
        [True, False],
    ),
    "variables": (
        "for (int i = 0; i < n; i++) { double low, high; range(m, A[i], &low, &high); x[i] = high - low; }",
        [True],
    ),
    "variables of the function": (
        "for (int i = 0; i < n; i++) { q[i] = range(m, A[i], &least, &most); x[i] = most - least; }",
        [True],
    ),
    "elements for variables": ("for (int i = 0; i < n; i++) range(m, A[i], &x[i], y + i);", [True]),
    "a variable that goes on": ("int t = 0; for (int i = 0; i < n; i++) { count(m, A[i], &t); q[i] = t; }", [False]),
    "a variable for each": (
        "for (int i = 0; i < n; i++) { int t = i; count(m, A[i], &t); q[i] = t; }",
        [True],
    ),
    "what the condition of others reads": (
        "double s = 0; for (int i = 0; i < n; i++) if (x[i] > 0.25) { clip(1, &x[i]); s += 1; } y[0] = s;",
        [False],
    ),
    "inside functions that are inlined": ("for (int i = 0; i < n; i++) twice(m, A[i]);", [True]),
    "a bound that a call sets": ("grow(q); for (int i = 0; i < q[0]; i++) x[i] += i;", [False]),
    "a loop that a value ends": (
        "for (int i = 0; i < n; i++) { int c = 0; while (weigh(c) < 3) { c++; } q[i] = c; }",
        [True, False],
    ),
    "ways to go on": (
        "for (int i = 0; i < n; i++) { if (x[i] > 0.5) continue; clip(1, &x[i]); if (x[i] < 0) continue; "
        "x[i] += row_sum(m, A[i]); }",
        [True],
    ),
    "the next column": (
        "for (int j = 1; j < m; j++) for (int i = 0; i < n; i++) end(2, &A[i][j - 1]);",
        [True, True],
    ),
    "several in a nest": (
        "for (int i = 1; i < n - 1; i++) { smooth(&x[i - 1], &y[i]); A[i][0] = y[i]; normalise(m, A[i]); "
        "x[i] = weigh(A[i][m - 1]); }",
        [False],
    ),
}

pytestmark = pytest.mark.usefixtures("emulator")


def source(body: str, declared: str = DECLARED) -> str:
    return (
        f"{declared}\nvoid f(int n, int m, double A[n][m], double *restrict F, double x[restrict n], "
        "double y[restrict n], float p[restrict 2 * n], int q[restrict 2 * n])\n{\n"
        "double own[4], least, most, element;\n#pragma polytile assume(m >= 3 && n >= 4)\n"
        f"#pragma scop\n{body}\n#pragma endscop\n}}\n"
    )


def compiled(tmp_path: Path, body: str, defined: str = DEFINED, **settings: str) -> CompiledScop:
    device = tmp_path / "device.cu"
    device.write_text(defined)
    (scop,) = polytile.compile(source(body), strict=True, raise_bugs=True, device_source=device, **settings).scops
    return scop


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_compute_what_c_computes(name: str, tmp_path: Path) -> None:
    body, _ = PROGRAMS[name]
    scop = compiled(tmp_path, body)
    for n, m in ((4, 3), (37, 5), (130, 9)):
        sizes = {k: v for k, v in (("n", n), ("m", m)) if any(p.name == k for p in scop.scop.parameters)}
        for report in scop.validate(on="emulator", parameters=sizes, seed=n, sanitize="all"):
            assert report.bitwise


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_around_calls_are_parallel_where_accesses_allow_it(name: str, tmp_path: Path) -> None:
    body, expected = PROGRAMS[name]
    scop = compiled(tmp_path, body)
    assert [str(loop.kind.value) == "parallel" for loop in scop.loops] == expected


@pytest.mark.parametrize("name", ["rows in an expression", "in place, apart", "other types", "flat rows in place"])
def test_kernels_compile_for_a_gpu(name: str, tmp_path: Path) -> None:
    library = nvrtc()
    if library is None:
        pytest.skip("the package nvidia-cuda-nvrtc is not installed")
    scop = compiled(tmp_path, PROGRAMS[name][0])
    assert scop.program is not None
    good, log = compile_to_ptx(library, print_kernels(scop.program))
    assert good, log


STENCIL = (
    "for (int t = 0; t < n; t++) { for (int i = 1; i < m - 1; i++) y[i] = weigh(x[i - 1] + x[i + 1]) * 0.5; "
    "for (int i = 1; i < m - 1; i++) x[i] = y[i]; }"
)


@pytest.mark.parametrize("schedule", ["split", "overlapped"])
def test_functions_of_numbers_are_called_in_any_kernel(schedule: str, tmp_path: Path) -> None:
    scop = compiled(tmp_path, STENCIL.replace("m", "n").replace("t < n", "t < m"), schedule=schedule)
    assert not any("found no schedule" in remark.message for remark in scop.remarks)
    for report in scop.validate(on="emulator", parameters={"n": 301, "m": 13}, seed=1):
        assert report.bitwise


WHOLE = PROGRAMS["rows in an expression"][0] + PROGRAMS["neighbours"][0] + PROGRAMS["maybe"][0]
MAIN = """
#include <stdio.h>
int main(void)
{
    enum { n = 37, m = 5 };
    static double A[n][m], F[n * m], x[n], y[n];
    static float p[2 * n];
    static int q[2 * n];
    for (int i = 0; i < n; i++) {
        x[i] = i % 7;
        for (int j = 0; j < m; j++) A[i][j] = 0.125 * (i - j);
    }
    f(n, m, A, F, x, y, p, q);
    for (int i = 0; i < n; i++) {
        printf("%.17g %.17g\\n", x[i], y[i]);
        for (int j = 0; j < m; j++) printf("%.17g\\n", A[i][j]);
    }
    return 0;
}
"""


def test_a_program_with_definitions_for_host_and_device(tmp_path: Path) -> None:
    gcc = shutil.which("gcc") or shutil.which("cc")
    if gcc is None:
        pytest.skip("needs a C compiler")
    program, host, device = tmp_path / "program.c", tmp_path / "host.c", tmp_path / "device.cu"
    program.write_text(source(WHOLE) + MAIN)
    device.write_text(DEFINED)
    host.write_text("#define __device__\n#define __forceinline__\n" + DEFINED)
    before, after = tmp_path / "before", tmp_path / "after"
    for command in ([gcc, "-std=gnu99", "-ffp-contract=off", program, host, "-o", before, "-lm"],):
        subprocess.run(command, check=True, timeout=120)
    compiled_program = polytile.compile(program, strict=True, device_source=device)
    compiled_program.build(after, on="emulator", link=[host])
    run = [subprocess.run([one], capture_output=True, check=True, timeout=120).stdout for one in (before, after)]
    assert run[0] == run[1] and len(run[0]) > 1000
    again = pickle.loads(pickle.dumps(compiled_program))
    assert again.cuda == compiled_program.cuda


def test_certificates_name_what_is_trusted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, device, certificate = tmp_path / "program.c", tmp_path / "device.cu", tmp_path / "c.json"
    program.write_text(source(WHOLE))
    device.write_text(DEFINED)
    words = [str(program), "-o", str(tmp_path), "--device-source", str(device), "--certificate", str(certificate)]
    assert main([*words, "--validate", "--on", "emulator"]) == 0
    content = json.loads(certificate.read_text())
    (scop,) = content["scops"]
    assert {"function": "smooth", "summary": "reads(a[0:3]) writes(b[0])"} in scop["assumed"]["calls"]
    assert list(problems(scop)) == []
    assert list(differences(content, str(program), ())) == []
    capsys.readouterr()
    assert check_main([str(certificate)]) == 0
    assert "f_scop0: weigh is trusted: takes and gives numbers" in capsys.readouterr().out


def test_every_other_strategy_leaves_arrays_where_they_are(tmp_path: Path) -> None:
    body = PROGRAMS["rows that follow"][0]
    for schedule in ("superposed", "tiled", "split", "overlapped"):
        scop = compiled(tmp_path, body, schedule=schedule)
        assert any("functions get addresses of arrays" in remark.message for remark in scop.remarks)
    plain = compiled(tmp_path, body)
    loaded = compiled(tmp_path, body, load_schedule=plain.saved_schedule)
    for report in loaded.validate(on="emulator", parameters={"n": 9, "m": 4}, seed=1):
        assert report.bitwise


WRONG = {
    "an element more": ("b[0] = a[0] + a[1] + a[2];", "b[0] = a[0]; b[1] = 1;"),
    "another one": ("b[0] = a[0] + a[1] + a[2];", "b[0] = a[0] + b[-1];"),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_summary_is_a_race(name: str, tmp_path: Path) -> None:
    defined = f"__device__ void smooth(const double *a, double *b) {{ {WRONG[name][1]} }}\n"
    scop = compiled(tmp_path, "for (int i = 1; i < n - 1; i++) smooth(&x[i - 1], &y[i]);", defined)
    with pytest.raises(FindingsError, match="race") as found:
        scop.validate(on="emulator", parameters={"n": 300}, seed=1, sanitize=["race"])
    assert "its summary" in str(found.value)


def test_a_write_that_does_not_happen_is_found(tmp_path: Path) -> None:
    defined = DEFINED.replace("work[k] = i * k;", "if (i == 3) work[k] = i * k;")
    scop = compiled(tmp_path, PROGRAMS["memory of an iteration"][0], defined)
    with pytest.raises(FindingsError, match="uninitialised"):
        scop.validate(on="emulator", parameters={"n": 300}, seed=1, sanitize=["uninitialised"])


def test_definitions_are_asked_for() -> None:
    (scop,) = polytile.compile(source(PROGRAMS["numbers"][0])).scops
    assert "extern __device__ double weigh(double);" in scop.cuda
    assert any(r.severity == "warning" and "kernels call `weigh`" in r.message for r in scop.remarks)
    with pytest.raises(UsageError, match="`weigh`, whose definition is not known") as asked:
        scop.validate(on="emulator")
    assert asked.value.hint is not None and "--device-source" in asked.value.hint
    with pytest.raises(UsageError, match=r"cannot read /nowhere\.cu"):
        polytile.compile(source(PROGRAMS["numbers"][0]), device_source="/nowhere.cu")


SUMMARIES = {
    "void g(double *a);": ("access(g) writes(a[n])", "`n` is no integer that the function takes"),
    "void g(double *a, int n);": ("access(g) writes(a)", "how many elements `a` has is not known"),
    "void g(double *a, const double *b);": ("access(g) writes(a[0])", "what it accesses through `b`"),
    "void g(const double *a);": ("access(g) writes(a[0])", "cannot write what `a` points to"),
    "void g(double **a);": ("access(g) writes(a[0])", "neither a number nor a pointer to numbers"),
    "void g(double *);": ("access(g) writes(a[0])", "need names"),
    "double *g(double *a);": ("access(g) writes(a[0])", "`g` gives no number"),
    "void g(int i);": ("access(g)", "`g` gives no value and writes nothing"),
    "void h(double *a);": ("access(g) writes(a[0])", "the access summary of `g` stands in front of `h`"),
    "int g;": ("access(g) writes(a[0])", "no declaration of a function follows"),
    "int g(double *a) ;": ("access(g) write(a[0])", "this is no clause of an access summary: `write"),
    "int g( double *a);": ("access(g) writes(a[0:])", "`` is not a C expression"),
    "int g(int a);": ("access(g) writes(a[0])", "`a\\[0\\]` is no element of what a parameter points to"),
    "double sqrt(double x);": ("access(sqrt)", "`sqrt` is known"),
}


@pytest.mark.parametrize("declaration", SUMMARIES)
def test_what_is_wrong_with_a_summary_is_said(declaration: str) -> None:
    pragma, message = SUMMARIES[declaration]
    text = source(PROGRAMS["numbers"][0], f"double weigh(double);\n#pragma polytile {pragma}\n{declaration}\n")
    with pytest.raises(UserError, match=message.replace("(", "\\(").replace("``", "")) as refused:
        polytile.compile(text)
    assert refused.value.location is not None and refused.value.location.line == 2
    assert refused.value.hint


CALLS = {
    "smooth(&x[i]);": "`smooth` takes 2 arguments, but 1 are given",
    "smooth(x, x[i]);": "1 dimension",
    "smooth(A[i], A);": "2 dimensions",
    "double t[3]; double s = 1; smooth(&s, t);": "`smooth` only reads `s`, and gets its address",
    "double t = i; smooth(A[i], &t + 1);": "cannot take an address",
    "double t = 0; normalise(2, &t);": "`t` is one number",
    "normalise(i, p);": "elements of type double here, not float",
    "x[i] = normalise(m, A[i]);": "`normalise` gives no value",
    "normalise(i * i, x);": "what `normalise` accesses here is not known",
    "normalise(q[i], x);": "what `normalise` accesses here is not known",
}


@pytest.mark.parametrize("call", CALLS)
def test_what_is_wrong_with_a_call_is_said(call: str) -> None:
    with pytest.raises(UserError, match=CALLS[call]) as refused:
        polytile.compile(source(f"for (int i = 0; i < n; i++) {{ {call} }}"))
    assert not isinstance(refused.value, OpaqueCallError)
    assert refused.value.location is not None and refused.value.hint


def test_a_value_inside_a_condition_stays_on_the_host() -> None:
    body = "for (int i = 0; i < n; i++) if (row_sum(m, A[i]) > 1) x[i] = 1; for (int i = 0; i < n; i++) y[i] = x[i];"
    program = polytile.compile(source(body))
    (call,) = program.refusals
    assert isinstance(call, OpaqueCallError) and "`row_sum`, which takes arrays" in call.message
    assert len(program.scops) == 1


NAMES = """
#pragma polytile access(negative)
int negative(int x);
#pragma polytile access(pmod)
int pmod(int x, int y);
void f(int n, int a[restrict n], int b[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        b[i] = negative(a[i]) + pmod(a[i], 3) + (a[i] > -n ? a[i] : -n);
#pragma endscop
}
"""
NAMED = """
__device__ int negative(int x) { return x < 0; }
__device__ int pmod(int x, int y) { return x % 16 + y; }
"""


@pytest.mark.parametrize("n", [0, 1, 7, 300])
def test_functions_with_the_names_of_the_compilers_own(n: int, tmp_path: Path) -> None:
    device = tmp_path / "device.cu"
    device.write_text(NAMED)
    (scop,) = polytile.compile(NAMES, raise_bugs=True, device_source=device).scops
    assert "b[i] = negative(a[i]) + pmod(a[i], 3) + " in scop.cuda
    a, b = (np.arange(n) - n // 2).astype(np.int32), np.zeros(n, np.int32)
    scop(a=a, b=b, on="emulator")
    remainder = a - 16 * np.trunc(a / 16).astype(np.int32)
    assert b.tolist() == ((a < 0) + remainder + 3 + np.maximum(a, -n)).tolist()
