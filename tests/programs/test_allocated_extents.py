"""Arrays without a size of which the SCoP computes what it uses: the host asks their memory, and kernels run where they
use it in place."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.diagnostics import UserError
from polytile.runtime.emulator.instrument import CHECKS
from tests.every_schedule import same_in_every_schedule, source

SIZES = ({"n": 0, "m": 3}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 213, "m": 5})
GATHERS = {
    "an index": (
        "T *x, T *restrict y, int *restrict q, int *p",
        "for (int i = 0; i < n; i++) q[i] = p[i] / 2; for (int i = 0; i < n; i++) y[i] = 2 * x[q[i]];",
    ),
    "an index in another loop": (
        "T *x, T *y, int *q",
        "for (int i = 0; i < n; i++) q[i] = i > 0 ? i - 1 : 0;"
        " for (int i = 0; i < n; i++) y[i] = x[q[i]] - x[2 * q[i] + 1];",
    ),
    "an index that is clamped": (
        "T *x, T *y, int *ind, T *at",
        "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) { ind[i * m + j] = 4 * at[i] + j;"
        " if (ind[i * m + j] >= 7) ind[i * m + j] = 0; } y[i] = 0;"
        " for (int j = 0; j < m; j++) y[i] += x[ind[i * m + j]] * j; }",
    ),
    "rows of it": (
        "T *x, T *restrict y, int *restrict q, int *p",
        "for (int i = 0; i < n; i++) q[i] = p[i] % 4;"
        " for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i * m + j] = x[q[i] * m + j];",
    ),
    "columns of it": (
        "T *x, T *restrict y, int *restrict q",
        "for (int j = 0; j < m; j++) q[j] = j / 2;"
        " for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i * m + j] = x[i * m + q[j]];",
    ),
    "a walk": (
        "T *x, T *restrict y, int *next, int *restrict at",
        "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) at[i] = next[at[i]]; y[i] = x[at[i]]; }",
    ),
    "what is written": (
        "T *restrict x, T *y, int *restrict q, int *p",
        "for (int i = 0; i < n; i++) q[i] = p[i] + 1; for (int i = 0; i < n; i++) x[q[i]] = y[i];",
    ),
    "counts": (
        "int *restrict h, int *restrict q, int *p",
        "for (int i = 0; i < n; i++) q[i] = p[i] / 2; for (int i = 0; i < n; i++) h[q[i]] += 3;",
    ),
}

pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.parametrize("number", ["float", "double"])
@pytest.mark.parametrize("name", GATHERS)
def test_same_as_c(name: str, number: str) -> None:
    arguments, body = (re.sub(r"\bT\b", number, text) for text in GATHERS[name])
    text = source(arguments, body)
    (scop,) = polytile.compile(text, name="f.c", strict=True).scops
    assert scop.scop.allocated
    assert same_in_every_schedule(text, SIZES) == []


@pytest.mark.parametrize("number", ["float", "double"])
def test_floating_sums_by_atomics(number: str) -> None:
    body = "for (int i = 0; i < n; i++) q[i] = p[i] % 9 + i % 5; for (int i = 0; i < n; i++) h[q[i]] += w[i];"
    text = source(f"{number} *restrict h, int *restrict q, const int *p, const {number} *w", body)
    (scop,) = polytile.compile(text, name="f.c", atomics=True).scops
    assert [a.source for a in scop.scop.allocated] == ["h"] and "atomic" in scop.cuda
    for n, size in ((0, 0), (1, 40), (7, 40), (513, 100), (513, 100_000)):
        given = {"n": n, "h_size": size}
        assert scop.validate(on="emulator", parameters=given, seed=1, sanitize=CHECKS)


MAIN = """
#include <stdio.h>
#include <stdlib.h>
void gather(int n, int m, T *x, T *y, int *q, const int *p)
{
#pragma scop
    for (int i = 0; i < n; i++)
        q[i] = p[i] / 2;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++)
            y[i * m + j] += x[q[i] * m + j];
    }
#pragma endscop
}
void count(int n, int *restrict h, int *restrict q, const int *restrict p)
{
#pragma scop
    for (int i = 0; i < n; i++)
        q[i] = p[i] / 3;
    for (int i = 0; i < n; i++)
        h[q[i]] += i;
#pragma endscop
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), how = atoi(argv[2]), m = 3, count_of = 30000;
    T *x = malloc((count_of * m + how) * sizeof *x), *y = malloc((n * m + 1) * sizeof *y);
    int *q = malloc((n + 1) * sizeof *q), *p = malloc((n + 1) * sizeof *p), *h = calloc(count_of, sizeof *h);
    if (how == 3) { /* one block for both, y behind x */
        T *both = malloc((count_of * m + n * m + 1) * sizeof *x);
        x = both, y = both + count_of * m;
    }
    for (int i = 0; i < count_of * m; i++) x[i] = 0.25f * i;
    for (int i = 0; i < n * m; i++) y[i] = i;
    for (int i = 0; i < n; i++) p[i] = i * 7919LL % count_of;
    if (how == 2) x += m * 7000, p[0] = count_of - 1;
    gather(n, m, x, y, q, p);
    count(n, h, q, p);
    double sum = 0;
    for (int i = 0; i < n * m; i++) sum += y[i] * (1 + i % 5);
    long at = 0;
    for (int i = 0; i < count_of; i++) at += (long)h[i] * (i % 9);
    printf("%.17g %ld\\n", sum, at);
    return 0;
}
"""


@pytest.fixture(scope="module", params=["float", "double"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    gcc = shutil.which("gcc") or shutil.which("cc")
    if gcc is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("allocated")
    path = folder / "main.c"
    path.write_text(re.sub(r"\bT\b", request.param, MAIN))
    made = {name: folder / name for name in ("sequential", "plain", "managed")}
    subprocess.run([gcc, "-std=gnu99", "-ffp-contract=off", path, "-o", made["sequential"]], check=True, timeout=60)
    compiled = polytile.compile(path, strict=True)
    compiled.build(made["plain"], on="emulator")
    compiled.build(made["managed"], on="emulator", managed=True)
    return made


def run(program: Path, *arguments: object) -> tuple[str, list[str]]:
    """What a program prints, and the SCoPs whose kernels ran."""
    environment = {**os.environ, "POLYTILE_TIMING": "1"}
    finished = subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout, re.findall(r"polytile_(\w+)_scop0: kernels", finished.stderr)


@pytest.mark.parametrize(
    ("how", "kernels"),
    [
        pytest.param(0, ["gather", "count"], id="a block of whole rows"),
        pytest.param(1, ["count"], id="a block with part of a row"),
        pytest.param(2, ["count"], id="a block from the middle on"),
        pytest.param(3, ["count"], id="a block that two arrays share"),
    ],
)
@pytest.mark.parametrize("n", [0, 1, 777])
def test_kernels_run_where_memory_is_shared_and_the_c_elsewhere(
    built: dict[str, Path], n: int, how: int, kernels: list[str]
) -> None:
    expected, _ = run(built["sequential"], n, how)
    assert run(built["plain"], n, how) == (expected, [])
    assert run(built["managed"], n, how) == (expected, kernels)


def test_calls_from_python_know_the_size() -> None:
    program = polytile.compile(source(*GATHERS["an index"]).replace("T ", "double "), name="f.c")
    x, p, y = np.random.default_rng(1).random(6), np.array([11, 0, 5], dtype=np.int32), np.zeros(3)
    q = np.zeros(3, dtype=np.int32)
    program["f"](n=3, x=x, p=p, q=q, y=y, on="emulator")
    assert np.array_equal(y, 2 * x[p // 2])


@pytest.mark.quick
def test_a_stray_index_is_found() -> None:
    body = "for (int i = 0; i < n; i++) { q[i] = -p[i] * p[i]; y[i] = x[q[i]]; }"
    text = source("double *x, double *restrict y, int *restrict q, const int *p", body)
    (scop,) = polytile.compile(text, name="f.c").scops
    with pytest.raises(UserError, match="the C uses more elements of x than validation has made"):
        scop.validate(on="emulator", parameters={"n": 7}, seed=1)


def test_rows_may_be_a_sum_of_sizes(tmp_path: Path) -> None:
    body = (
        "for (int i = m; i >= 1; i -= 3) { q[i] = p[i] / 2; for (int j = p[i]; j < p[i + 1]; j++)"
        " for (int k = 1; k < n; k++) { x[(i - 1) * (m + 1) + i - 1] = y[i + n - k]; if (q[j] > k) break; } }"
    )
    text = source("double *restrict x, double *restrict y, int *restrict q, int *p", body)
    program = polytile.compile(text, name="f.c")
    assert program.scops[0].scop.allocated
    assert "->" not in program.host
    (tmp_path / "host.c").write_text(program.host)
    subprocess.run(["gcc", "-std=gnu99", "-c", "host.c", "-o", "host.o"], check=True, cwd=tmp_path)


def test_it_is_said() -> None:
    (scop,) = polytile.compile(source(*GATHERS["an index"]).replace("T ", "double "), name="f.c").scops
    (warning,) = (r for r in scop.compilation.remarks if r.severity == "warning")
    assert "kernels run where `x` is in device or managed memory, the C elsewhere" in warning.message
    assert warning.hint is not None and warning.hint.endswith("`x[n]`, or --managed")


def test_loops_are_found_so_where_the_heap_is_shared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else the loops inside, which need no size, run on the GPU for memory of the host, too."""
    from polytile.cli.main import main

    path = tmp_path / "f.c"
    body = """
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++)
            y[j] += i + j;
        q[i] = p[q[i]];
        y[i] = x[q[i]];
    }"""
    text = source("double *x, double *restrict y, int *restrict q, const int *p", body)
    path.write_text(text.replace("#pragma scop", "").replace("#pragma endscop", "") + "int main(void) { return 0; }\n")
    command = [str(path), "--autodetect", "-o", str(tmp_path), "--on", "emulator", "--build", str(tmp_path / "a")]
    assert main(command) == 0
    assert "how large the array is is not known" in capsys.readouterr().err
    assert "_elements" not in (tmp_path / "f_host.c").read_text()
    assert main([*command, "--managed"]) == 0
    assert "polytile_f_scop0_elements" in (tmp_path / "f_host.c").read_text()
