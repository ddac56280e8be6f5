"""On a real GPU: NVRTC through CuPy and nvcc, arrays on the device, times. Skipped, with the reason, elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polytile
from polybench.runner.cli import main
from polybench.runner.rows import read
from polytile.runtime.compilers import nvcc
from polytile.runtime.cupy_engine import cupy_available
from polytile.runtime.driver import driver_arch
from polytile.runtime.engine import on_gpu

pytestmark = pytest.mark.skipif(driver_arch() is None, reason="no GPU that the CUDA driver can use")
needs_cupy = pytest.mark.skipif(not cupy_available(), reason="CuPy cannot be used")
SUITE = Path(__file__).resolve().parents[2] / "polybench" / "polybench"

SOURCE = """
void kernel(int n, int m, double a, double y[n], double A[n][m], double *x)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            y[i] += a * A[i][j] * x[j];
#pragma endscop
}
"""


@pytest.fixture(scope="module")
def kernel() -> Any:
    return polytile.compile(SOURCE).scops[0]


def arguments() -> dict[str, Any]:
    generator = np.random.default_rng(1)
    return {
        "n": 300,
        "m": 200,
        "a": 2.0,
        "y": generator.random(300),
        "A": generator.random((300, 200)),
        "x": generator.random(200),
    }


def test_the_driver_is_asked() -> None:
    arch = driver_arch()
    assert arch is not None and arch.startswith("sm_") and on_gpu("auto") == (cupy_available() or nvcc() is not None)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("path", sorted(SUITE.glob("*.c")), ids=lambda p: p.stem)
def test_the_suite_agrees_with_the_sequential_programs(path: Path, strict: bool) -> None:
    for scop in polytile.compile(path, strict=strict).scops:
        labels = [v.label for v in scop.validate(on="gpu", seed=4)]
        assert len(labels) == cupy_available() + (nvcc() is not None)


@pytest.mark.quick
@needs_cupy
def test_numpy_arrays_are_copied(kernel: Any) -> None:
    given = arguments()
    expected = given["y"] + 2.0 * given["A"] @ given["x"]
    kernel(**given)
    assert np.allclose(given["y"], expected)


@needs_cupy
def test_device_arrays_are_used_in_place(kernel: Any) -> None:
    import cupy

    given = arguments()
    expected = given["y"] + 2.0 * given["A"] @ given["x"]
    on_device = {k: cupy.asarray(v) if isinstance(v, np.ndarray) else v for k, v in given.items()}
    pointer = on_device["y"].data.ptr
    kernel(**on_device)
    assert on_device["y"].data.ptr == pointer
    assert np.allclose(on_device["y"].get(), expected)
    mixed = {**arguments(), "y": cupy.asarray(arguments()["y"])}
    kernel(**mixed)
    assert np.allclose(mixed["y"].get(), expected)


@needs_cupy
def test_dlpack_arrays_of_another_library() -> None:
    torch = pytest.importorskip("torch")
    kernel = polytile.compile(SOURCE).scops[0]
    given = arguments()
    expected = given["y"] + 2.0 * given["A"] @ given["x"]
    tensors = {k: torch.from_numpy(v).cuda() if isinstance(v, np.ndarray) else v for k, v in given.items()}
    kernel(**tensors)
    assert np.allclose(tensors["y"].cpu().numpy(), expected)


@needs_cupy
def test_device_arrays_that_overlap_are_refused(kernel: Any) -> None:
    import cupy

    given = {k: cupy.asarray(v) if isinstance(v, np.ndarray) else v for k, v in arguments().items()}
    given["x"] = given["y"]
    with pytest.raises(polytile.UsageError, match="share memory"):
        kernel(**given)


@needs_cupy
def test_times(kernel: Any) -> None:
    for timing in kernel.time(parameters={"n": 1000, "m": 1000}):
        assert len(timing.milliseconds) >= 5 and 0 < timing.median < 1000


@needs_cupy
def test_a_sweep_compares_each_setting_on_the_device(tmp_path: Path) -> None:
    settings = ('{"schedule": "overlapped", "time_tile": 2}', '{"schedule": "classic"}')
    job = '{"program": "polybench/jacobi-2d", "dataset": "small", "settings": %s}\n'
    (tmp_path / "jobs.jsonl").write_text("".join(job % one for one in settings))
    assert main(["sweep", str(tmp_path / "jobs.jsonl"), "--json", str(tmp_path / "rows.jsonl")]) == 0
    found = read(tmp_path / "rows.jsonl")
    assert {row["strategy"] for row in found} == {"overlapped", "classic (fused)"}
    assert all(row["median_ms"] > 0 and row["largest_difference"] < 1e-14 for row in found)


HALVED = """
void halved(int n, float x[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int t = 0; t < 140; t++)
            x[i] = 0.5 * x[i];
#pragma endscop
}
"""


def test_subnormal_numbers_are_kept_where_every_bit_counts() -> None:
    """Through CuPy, too, whose RawModule has them flushed to zero."""
    (scop,) = polytile.compile(HALVED, strict=True).scops
    for validation in scop.validate(on="gpu", parameters={"n": 1000}, seed=1):
        assert "bitwise" in validation.line


@pytest.mark.skipif(nvcc() is None or shutil.which("gcc") is None, reason="needs nvcc and gcc")
def test_eight_threads_have_the_bits_of_one() -> None:
    """Without and with graphs and managed memory: temporaries, partial sums, atomic updates, parts of shared arrays."""
    script = Path(__file__).with_name("threads.sh")
    command = {"POLYTILE": f"{sys.executable} -m polytile", "ARCH": driver_arch() or "", "N": "9000"}
    done = subprocess.run(
        [script, "100"], env={**os.environ, **command}, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


FORKED = """
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static double a[256];
static void add(int n, double *x)
{
#pragma scop
    for (int i = 0; i < n; i++)
        x[i] += 1;
#pragma endscop
}
static int sum(void)
{
    double all = 0;
    for (int i = 0; i < 256; i++) all += a[i];
    return (int)all / 256;
}
int main(void)
{
    int status = -1;
    pid_t child;
    add(256, a);
    child = fork();
    if (child == 0) { add(256, a); _exit(sum()); }
    waitpid(child, &status, 0);
    add(256, a);
    printf("%d %d %d\\n", WIFEXITED(status), WEXITSTATUS(status), sum());
    return 0;
}
"""


@pytest.mark.skipif(nvcc() is None or shutil.which("gcc") is None, reason="needs nvcc and gcc")
def test_a_forked_process_runs_the_c(tmp_path: Path) -> None:
    """CUDA, which the process before has used, works in none that is forked from it."""
    (tmp_path / "program.c").write_text(FORKED)
    polytile.compile(tmp_path / "program.c").build(tmp_path / "program", on="gpu")
    done = subprocess.run([tmp_path / "program"], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("1 2 2\n", "")
