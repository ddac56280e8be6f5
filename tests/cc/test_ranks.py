"""`polytile cc --polytile-ranks`: objects have entries for ranks of MPI, and programs are linked with MPI."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cc.conftest import EMULATOR, Compile
from tests.ranks.mpirun import launcher

SMOOTH = """\
#include "sizes.h"
void smooth(int steps, int n, double A[2][n])
{
#pragma scop
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            A[(t + 1) % 2][i] = HALF * (A[t % 2][i - 1] + A[t % 2][i + 1]);
#pragma endscop
}
"""
MAIN = """\
#include <stdio.h>
#include "smooth_mpi.h"
int main(int argc, char **argv)
{
    double A[2][64];
    int rank, status;
    for (int i = 0; i < 64; i++) A[0][i] = A[1][i] = i * i % 13;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    status = smooth_mpi(MPI_COMM_WORLD, 7, 64, A);
    for (int i = 3; i < 64 && rank == 0; i += 20) printf("%.6f ", A[1][i]);
    MPI_Finalize();
    return status;
}
"""
SERIAL = """\
void serial(int n, double *a)
{
#pragma scop
    for (int i = 1; i < n; i++) a[i] += a[i - 1];
    for (int i = 1; i < n; i++) a[i] *= 0.5;
#pragma endscop
}
"""
FLAGS = f"{EMULATOR} --polytile-fp=strict --polytile-ranks=auto"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "smooth.c").write_text(SMOOTH)
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "sizes.h").write_text("#define HALF 0.5\n")
    return tmp_path


def sums() -> str:
    """What the sequential program prints."""
    a = [[float(i * i % 13) for i in range(64)] for _ in range(2)]
    for t in range(7):
        for i in range(1, 63):
            a[(t + 1) % 2][i] = 0.5 * (a[t % 2][i - 1] + a[t % 2][i + 1])
    return "".join(f"{a[1][i]:.6f} " for i in range(3, 64, 20))


def ranks(program: Path) -> str:
    command = [str(launcher()), "-n", "3", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_program_in_one_call(cc: Compile, sources: Path) -> None:
    done = cc("-O2", "-Wall", "-Werror", "smooth.c", "main.c", "-o", "program", POLYTILE_FLAGS=FLAGS)
    assert (done.returncode, done.stderr) == (0, "")
    assert ranks(sources / "program") == sums()
    assert not (sources / "smooth_mpi.h").exists()


@pytest.mark.slow
def test_objects_and_their_header(cc: Compile, sources: Path) -> None:
    (sources / "made").mkdir()
    for words in (("-c", "smooth.c", "-o", "made/smooth.o"), ("-Imade", "-c", "main.c"), ("made/smooth.o", "main.o")):
        done = cc("-O1", *words, POLYTILE_FLAGS=FLAGS)
        assert (done.returncode, done.stderr) == (0, "")
    header = (sources / "made" / "smooth_mpi.h").read_text()
    assert "int smooth_mpi(MPI_Comm comm, int steps, int n, void *A);" in header
    assert ranks(sources / "a.out") == sums()


@pytest.mark.slow
def test_what_cannot_be_distributed_runs_as_ever(cc: Compile, tmp_path: Path) -> None:
    (tmp_path / "serial.c").write_text(SERIAL)
    done = cc("-c", "serial.c", POLYTILE_FLAGS=FLAGS)
    assert done.returncode == 0 and "serial_scop0 cannot be distributed" in done.stderr
    assert (tmp_path / "serial.o").exists() and not (tmp_path / "serial_mpi.h").exists()
    done = cc("-c", "serial.c", POLYTILE_FLAGS=f"{FLAGS} -Werror=polytile")
    assert done.returncode == 1 and "[-Werror=polytile]" in done.stderr


@pytest.mark.parametrize("words", [("-c", "smooth.c"), ("-c", "main.c")])
def test_refused_without_a_compiler_for_mpi(cc: Compile, sources: Path, words: tuple[str, ...]) -> None:
    done = cc(*words, POLYTILE_FLAGS=FLAGS, MPICC="no-such-mpicc")
    assert done.returncode == 4
    assert "no-such-mpicc was not found: there is no C compiler for MPI" in done.stderr
    assert "pip install mpich" in done.stderr and not list(sources.glob("*.o"))
