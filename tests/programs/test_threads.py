"""Functions with SCoPs that threads of a program call at once, on parts of their own of arrays that they share."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import polytile

pytestmark = pytest.mark.usefixtures("emulator")
SOURCE = Path(__file__).resolve().parents[1] / "gpu" / "threads.c"
CALLS = "1000"


def built(folder: Path, *flags: str) -> Path:
    """threads.c as `polytile cc` builds it for the emulator."""
    polytile_cc = [sys.executable, "-m", "polytile", "cc", "--polytile-on=emulator", *flags]
    words = [*polytile_cc, "-O1", "-fopenmp", SOURCE, "-o", folder / "program", "-lpthread"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "program"


def printed(program: Path, how: str, calls: str = CALLS) -> str:
    done = subprocess.run([program, how, calls], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    gcc, program = shutil.which("gcc"), tmp_path_factory.mktemp("c") / "program"
    if gcc is None:
        pytest.skip("needs gcc")
    words = [gcc, "-O1", "-ffp-contract=off", "-fopenmp", SOURCE, "-o", program, "-lpthread"]
    subprocess.run(words, check=True, timeout=60)
    return printed(program, "one")


def test_eight_threads_compute_what_c_does(expected: str, tmp_path: Path) -> None:
    program = built(tmp_path, "--polytile-fp=strict")
    assert printed(program, "pthreads") == expected
    assert printed(program, "openmp") == expected


def test_graphs_and_partial_sums_of_eight_threads_have_the_bits_of_one(tmp_path: Path) -> None:
    program = built(tmp_path, "--polytile-graphs", "--polytile-managed")
    assert printed(program, "pthreads", "300") == printed(program, "one", "300")


FORKS = """
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static double a[64], b[64];
static volatile int done;
void half(int n, double *restrict x)
{
#pragma scop
    for (int i = 0; i < n; i++)
        x[i] /= 2;
#pragma endscop
}
static void *others(void *unused)
{
    while (!done)
        half(64, a);
    return unused;
}
int main(void)
{
    pthread_t thread;
    int wrong = 0;
    pthread_create(&thread, 0, others, 0);
    for (int k = 0; k < 40; k++) {
        pid_t child = fork();
        int status = 1;
        if (child == 0) {
            alarm(20);
            for (int i = 0; i < 64; i++) b[i] = i;
            half(64, b);
            _exit(b[63] != 31.5);
        }
        waitpid(child, &status, 0);
        wrong += status != 0;
    }
    if (wrong == 0) printf("all right\\n");
    fflush(stdout);
    if (wrong) { done = 1; pthread_join(thread, 0); }
    return wrong;  /* while the other thread is in a kernel */
}
"""


def test_processes_are_forked_and_end_while_another_thread_is_in_a_kernel(tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(FORKS)
    polytile.compile(path).build(tmp_path / "program", on="emulator")
    assert printed(tmp_path / "program", "") == "all right\n"


ROWS = """
void rows(int n, int from, int to, double A[n][n])
{
#pragma scop
    for (int i = from; i < to; i++)
        for (int j = 0; j <= i; j++)
            A[i][j] = A[i][j] / 2 + j;
#pragma endscop
}
"""


@pytest.mark.quick
def test_python_threads_call_and_compile_at_once() -> None:
    n, calls = 32, 50
    compiled = polytile.compile(ROWS).scops[0]

    def one_part(t: int, into: np.ndarray) -> None:
        for _ in range(calls):
            compiled(n=n, **{"from": 4 * t, "to": 4 * t + 4}, A=into, on="emulator")
        polytile.compile(ROWS.replace("rows", f"rows{t}"))

    alone, together = np.ones((n, n)), np.ones((n, n))
    for t in range(8):
        one_part(t, alone)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda t: one_part(t, together), range(8)))
    assert np.array_equal(alone, together)
