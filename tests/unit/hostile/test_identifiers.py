"""The user's names and macros against the generated code's: none may be captured on either side."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.diagnostics import UserError
from polytile.ir.reserved_names import is_free
from polytile.runtime.emulator import compile_object
from polytile.runtime.emulator.build import INCLUDE_DIRECTORY

needs_compilers = pytest.mark.skipif(
    shutil.which("gcc") is None or shutil.which("g++") is None, reason="gcc and g++ are not on PATH"
)
STANDARD = ("chrono", "cstdint", "cstdio", "cstdlib")
LONG = "a" * 1000
WORDS = f"""
bi bj ti tj b0 t0 c0 c1 c_0 c0_ C_acc s_A acc run run_ start device device_Q n_argument domain schedule filter mark S0
S1 threadIdx blockIdx gridDim blockDim warpSize float4 dim3 half uint3 cudaMalloc cudaSuccess cudaStreamDefault rsqrt
__shfl_sync __syncthreads __global__ __device__ __host__ __shared__ __constant__ __forceinline__ __launch_bounds__ __ldg
class new template this operator delete and or not xor bitand bitor compl and_eq or_eq xor_eq not_eq typename private
public protected using namespace export friend catch throw try virtual mutable explicit nullptr constexpr decltype
noexcept static_assert thread_local alignas alignof char16_t wchar_t concept requires co_await import module final
polytile polytile_min polytile_max polytile_floord polytile_pmod polytile_new PolytileSize PolytileRun PolytileBuffer
polytile_shared POLYTILE_EMULATOR_SITE launch0 launch kernel std size_t int64_t printf fprintf getenv assert main errno
stdin stderr NAN INFINITY EOF NULL BUFSIZ INT_MAX M_PI HUGE_VAL y0 j1 gamma index signgam clock time major minor alloca
sqrt sin exp log pow fabs fma floorf abs labs isnan signbit bool true false complex I T A B AB Ab aB i_1 i_2 _X _x __x
asinhf exists implies infty rat nan floor ceil mod floord min max Min MAX Rat ushort fd_set L_tmpnam W_OK va_arg exit
{LONG} {LONG}b i$ $i$j
""".split()
ISL_WORDS = "and ceil ceild exists false floor floord implies infinity infty max min mod nan not or rat true"
ISL = ISL_WORDS.split()


def joined(words: list[str], text: str, glue: str = " ") -> str:
    return glue.join(text.replace("W", word).replace("K", str(k)) for k, word in enumerate(words))


def array(words: list[str]) -> str:
    return f"(int n, {joined(words, 'double *restrict W', ', ')}) LOOP(i < n) {{ {joined(words, 'W[i] += i;')} }} END"


def value(words: list[str]) -> str:
    passed = joined(words, "double W", ", ")
    return f"(int n, double *restrict Q, {passed}) LOOP(i < n) Q[i] = {joined(words, 'W', ' * ')}; END"


def size(words: list[str]) -> str:
    total = joined(words, "W", " + ")
    return f"({joined(words, 'int W', ', ')}, double *restrict Q) LOOP(q < {total}) Q[q] += {total}; END"


def iterator(words: list[str]) -> str:
    loops = joined(words, "for (int W = 0; W < n; W++)")
    return f"(int n, double *restrict Q) SCOP {loops} Q[{joined(words, 'W', ' + ')}] += {words[0]}; END"


def local(words: list[str]) -> str:
    sums = joined(words, "double W = Q[q] + K; Q[q] = W * W;")
    return f"(int n, double *restrict Q) LOOP(q < n) {{ {sums} }} END"


def field(words: list[str]) -> str:
    taken = "(int n, struct HERE *restrict Q) LOOP(q < n)"
    return f"struct HERE {{ {joined(words, 'double W;')} }}; void HERE{taken} {{ {joined(words, 'Q[q].W += q;')} }} END"


def tag(words: list[str]) -> str:
    structs = joined(words, "struct W { double x; int q; };")
    passed = joined(words, "struct W *restrict QK", ", ")
    return f"{structs} void HERE(int n, {passed}) LOOP(q < n) {{ {joined(words, 'QK[q].x += q;')} }} END"


def function(words: list[str]) -> str:
    words = [w for w in words if w not in ("main", "exit")]  # which have a meaning of their own
    return joined(words, "void W(int n, double *restrict Q) LOOP(i < n) Q[i] += i; END")


ROLES: dict[Callable[[list[str]], str], int] = {
    array: 8, value: 20, size: 6, iterator: 3, local: 8, field: 8, tag: 8, function: 20
}  # fmt: skip


def program(role: Callable[[list[str]], str]) -> str:
    """Each word in one role, as many of them in a SCoP as that role bears."""
    words = [w for w in WORDS if role is not size or not (w.lower() in ISL or "$" in w)]
    step = ROLES[role]
    texts = [(f"here{k}", role(words[k : k + step])) for k in range(0, len(words), step)]
    text = "\n".join((t if "void" in t else f"void HERE{t}").replace("HERE", name) for name, t in texts)
    text = re.sub(r"LOOP\((\w+)", r"SCOP for (int \1 = 0; \1", text).replace(" SCOP ", "\n{\n#pragma scop\n")
    text = re.sub(r"(for \(int (\w+) = 0; [^;()]*)\)", r"\1; \2++)", text)
    return text.replace(" END", "\n#pragma endscop\n}\n")


@pytest.mark.slow(but="value")
@needs_compilers
@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.__name__)
def test_every_name_may_be_used(role: Callable[[list[str]], str], tmp_path: Path) -> None:
    compiled = polytile.compile(program(role), name="names.c")
    assert not compiled.refusals
    assert len(compiled.programs) == len(compiled.scops) >= 9
    compiled.write(tmp_path)
    flags = ["-std=gnu99", "-fsyntax-only", "-w", "-Werror=implicit-function-declaration"]
    subprocess.run(["gcc", *flags, str(tmp_path / "names_host.c")], check=True)
    compile_object(tmp_path / "names_kernel.cu", tmp_path / "o", extra_flags=["-fsyntax-only"])


@pytest.mark.parametrize("word", [*ISL, "Max", "NAN", "i$"])
def test_a_size_that_isl_cannot_read_is_refused(word: str) -> None:
    loop = f"for (int q = 0; q < {word}; q++) Q[q] += 1;"
    with pytest.raises(UserError, match="cannot be the name of a size or bound") as refused:
        polytile.compile(f"void f(int {word}, double *Q)\n{{\n#pragma scop\n{loop}\n#pragma endscop\n}}\n")
    assert refused.value.location is not None


def macros_of(command: list[str], folder: Path) -> set[str]:
    """The macros that stand above generated code under a compiler."""
    source = folder / "empty.cu"
    source.write_text("".join(f"#include <{h}>\n" for h in ("cuda_runtime.h", *STANDARD)))
    text = subprocess.run([*command, str(source)], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^#define (\w+)", text, re.MULTILINE))


@needs_compilers
def test_no_macro_of_the_emulator_replaces_a_name(tmp_path: Path) -> None:
    command = ["g++", "-std=c++17", f"-I{INCLUDE_DIRECTORY}", "-E", "-dM", "-x", "c++"]
    assert [m for m in macros_of(command, tmp_path) if is_free(m)] == []


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")
def test_no_macro_of_cuda_replaces_a_name(tmp_path: Path) -> None:
    assert [m for m in macros_of(["nvcc", "-std=c++17", "-E", "-Xcompiler", "-dM"], tmp_path) if is_free(m)] == []


@needs_compilers
def test_names_that_are_renamed_stay_apart() -> None:
    text = """void f(int n, double *restrict new, double *restrict polytile_new, double *restrict polytile_polytile_new)
    {
    #pragma scop
        for (int i = 0; i < n; i++) { new[i] = i; polytile_new[i] = new[i] + 1; polytile_polytile_new[i] = new[i] + 2; }
    #pragma endscop
    }"""
    scop = polytile.compile(text, name="new.c").scops[0]
    arrays = [np.zeros(9) for _ in range(3)]
    scop(9, *arrays)
    assert [a[4] for a in arrays] == [4, 5, 6]


MACROS = """
#include <stdlib.h>
#include <stdio.h>
typedef double real;
static int hits;
#define float FLOAT_IS_FORBIDDEN
void f(int n, real A[n][n], double w)
{
    real B[n][n];
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) B[i][j] = i + j;
#define n 3
#define double float
#define int long
#define if(x) for (; x;)
#define extern static
#define void char
#define exit(x) (hits = x)
#define const
#define polytile_f_scop0 something
#pragma scop
    for (long i = 0; i < 10; i++)
      for (long j = 0; j < 10; j++)
        A[i][j] = B[j][i] + w;
#pragma endscop
#undef double
#undef int
#undef if
#undef extern
#undef void
#undef const
    A[0][0] += B[1][1] + n;
#undef n
}
int main(void)
{
    double (*A)[16] = malloc(16 * 16 * sizeof(double));
    f(16, A, 0.5);
    printf("%g %g %g %d\\n", A[0][0], A[9][3], A[3][9], hits);
    return 0;
}
"""


@needs_compilers
@pytest.mark.parametrize("preprocessor", ["gcc", "pcpp"])
def test_macros_of_the_user_leave_the_call_alone(
    preprocessor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polytile.frontend.preprocess._system_preprocessor", lambda: preprocessor)
    program = polytile.compile(MACROS, name="macros.c")
    executable = program.build(tmp_path / "macros", on="emulator")
    assert subprocess.run([executable], check=True, capture_output=True, text=True).stdout == "5.5 12.5 12.5 0\n"


EXIT = {
    "double exit[10];\nvoid f(int n, double *A) { LOOP }": "hides the function of C's library",
    "static int exit(double x) { return x; }\nvoid f(int n, double *A) { LOOP }": "hides the function of C's library",
    "#include <stdlib.h>\nvoid f(int n, double *A) { int exit = 3; LOOP if (A[0] > exit) (void)0; }": "",
    "void exit();\nvoid f(int n, double *A, double *exit) { LOOP }": "",
}


@needs_compilers
@pytest.mark.parametrize("text", EXIT)
def test_exit_is_that_of_the_library(text: str, tmp_path: Path) -> None:
    loop = "\n#pragma scop\nfor (int i = 0; i < n; i++) A[i] = i;\n#pragma endscop\n"
    source = text.replace("LOOP", loop)
    if EXIT[text]:
        with pytest.raises(UserError, match=EXIT[text]):
            polytile.compile(source, name="exit.c")
        return
    polytile.compile(source, name="exit.c").write(tmp_path)
    flags = ["-std=gnu99", "-fsyntax-only", "-Wall", "-Wno-unknown-pragmas", "-Werror"]
    subprocess.run(["gcc", *flags, str(tmp_path / "exit_host.c")], check=True)


TYPES = {
    "typedef struct { double x; int k; } cell;\nvoid f(int n, cell *restrict cell) { LOOP(cell[i].x = i;) }": "",
    "typedef struct { double x; } cell;\nvoid f(int n, cell cell[n][n]) { LOOP(cell[i][1].x = i;) }": "",
    "typedef struct { double x; } run;\nvoid f(int n, run *A) { LOOP(A[i].x = i;) }": "",
    "typedef struct { double x; } bi;\nvoid f(int n, bi *restrict A, bi *restrict B) { LOOP(B[i] = A[i];) }": "",
    "static struct { double x, y; } P[100];\nvoid f(int n) { LOOP(P[i].x = P[i].y;) }": "",
    "struct sqrt { double x; };\ndouble sqrt(double);\nvoid f(int n, struct sqrt *A) { LOOP(A[i].x = sqrt(2.);) }": "",
    "struct dim3 { double x; int private; };\nvoid f(int n, struct dim3 *this) { LOOP(this[i].private = i;) }": "",
    "struct a { int x; };\ntypedef struct { double y; } a;\nvoid f(int n, struct a *restrict u, a *restrict v) "
    "{ LOOP(v[i].y = u[i].x;) }": "two types called 'struct a'",
    "struct p { int x; };\nstruct p g[99];\nvoid f(int n) { struct p { double y; } l[99]; l[0].y = 1; "
    "LOOP(g[i].x = l[0].y;) }": "two types called 'struct p'",
}  # fmt: skip


@pytest.mark.slow
@needs_compilers
@pytest.mark.parametrize("text", TYPES)
def test_types_are_not_hidden_by_names(text: str) -> None:
    loop = r"\n#pragma scop\nfor (int i = 0; i < n; i++) { \1 }\n#pragma endscop\n"
    source = re.sub(r"LOOP\((.*)\)", loop, text)
    if TYPES[text]:
        with pytest.raises(UserError, match=TYPES[text]):
            polytile.compile(source, name="types.c")
        return
    for scop in polytile.compile(source, name="types.c").scops:
        assert scop.validate(on="emulator", seed=1)
