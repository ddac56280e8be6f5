"""Kernels that wait for those before them themselves: which do, and through which pointers they read."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import polytile
from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.cuda.cuda import print_kernel, print_unit
from polytile.compiled_scop import CompiledScop
from polytile.diagnostics import InternalError
from polytile.ir.gpu_ops import AwaitLaunches
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from polytile.ir.verify.kernel import check_kernel
from polytile.runtime.compilers import nvcc
from tests.reading import shared

STEPS = """
void f(int t, int n, double A[n], double B[n], double c[n])
{
#pragma scop
    for (int s = 0; s < t; s++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = c[i] * (A[i - 1] + A[i + 1]);
        for (int i = 1; i < n - 1; i++)
            A[i] = c[i] * (B[i - 1] + B[i + 1]);
    }
#pragma endscop
}
"""
ONCE = """
void f(int n, double A[n], double B[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        B[i] = A[i];
#pragma endscop
}
"""
# The second kernel walks along rows, reads what the first wrote and stores as it goes.
SERIAL = """
void f(int n, double A[n][n], double B[n][n], double C[n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            B[j][i] = A[i][j];
    for (int i = 0; i < n; i++)
        for (int j = 1; j < n; j++)
            C[i][j] = C[i][j - 1] * B[i][n - j];
#pragma endscop
}
"""
# The first kernel is one thread that loads what the second wrote in the very block of instructions that the wait is in:
# nvcc 13.0 moves that load ahead where r is read through a pointer that nothing aliases.
HASTY = """
void f(int t, int n, double r[n + 1], double y[n], double a[1], double b[1], double c[1])
{
#pragma scop
    for (int s = 0; s < t; s++) {
        c[0] = -r[0];
        b[0] = 1.0;
        a[0] = -r[0];
        for (int i = 0; i < n; i++)
            r[i] = b[0] * y[i] + a[0] * c[0];
    }
#pragma endscop
}
"""


@shared
def program(text: str) -> HostProgram:
    (scop,) = polytile.compile(text, schedule="classic").scops
    assert scop.program is not None
    return scop.program


def unit(found: HostProgram) -> str:
    return print_unit([found], header="f.h", title=[])


def test_all_kernels_of_a_time_loop_wait_first() -> None:
    found = program(STEPS)
    assert [k.starts_early for k in found.kernels] == [True, True]
    text = unit(found)
    assert text.count("    polytile_await_launches();") == 2 and text.count("run.early().launch(") == 2
    assert f"run.may_overlap({found.kernels[0].name});" in text
    assert "if (ahead && overlapping && launched) {" in text


def test_arrays_that_kernels_write_are_not_read_as_constants() -> None:
    """Loads through `const` and `__restrict__` may go ahead of the wait: c is never written, A and B are."""
    first, second = program(STEPS).kernels
    assert {p.name: p.restrict for p in first.parameters if p.buffer} == {"A": False, "B": True, "c": True}
    assert {p.name: p.restrict for p in second.parameters if p.buffer} == {"A": True, "B": False, "c": True}
    assert "const double *A" in print_kernel(first) and "const double *__restrict__ c" in print_kernel(first)


def test_one_launch_has_nothing_to_wait_for() -> None:
    found = program(ONCE)
    assert len(found.kernels) == 1 and not found.kernels[0].starts_early
    assert "await_launches" not in unit(found) and "early" not in unit(found)


def test_loops_that_store_and_load_stay() -> None:
    found = program(SERIAL)
    assert [k.starts_early for k in found.kernels] == [True, False]
    text = unit(found)
    assert text.count("run.early().launch(") == 1 and text.count("run.launch(") == 1


def test_the_wait_opens_the_kernel() -> None:
    kernel = program(STEPS).kernels[0]
    with pytest.raises(InternalError, match="does not open the kernel"):
        check_kernel(replace(kernel, body=(*kernel.body[1:], AwaitLaunches())))


@pytest.mark.slow
@pytest.mark.parametrize("text", [STEPS, SERIAL, HASTY])
def test_the_emulator_takes_such_launches(checking_compiler: None, text: str) -> None:
    for scop in polytile.compile(text, schedule="classic").scops:
        for n in (0, 1, 2, 5, 300):
            parameters = {"n": n, "t": 3} if "t" in {p.name for p in scop.scop.parameters} else {"n": n}
            scop.validate(on="emulator", parameters=parameters, sanitize=("address", "undefined", "race"))


TOUCHES = re.compile(r"\b(?:LDG?|STG?|ATOMG?|RED|LDGSTS)\.\S+")


@pytest.mark.slow(but=("serial", "hasty"))
@pytest.mark.skipif(nvcc() is None, reason="needs nvcc")
@pytest.mark.skipif(shutil.which("nvdisasm") is None, reason="needs nvdisasm")
@pytest.mark.parametrize("source", [STEPS, SERIAL, HASTY], ids=["steps", "serial", "hasty"])
def test_machine_code_touches_no_memory_before_the_wait(source: str, tmp_path: Path) -> None:
    """Loads of what no kernel writes may precede it (ACQBULK), and are held behind it here to tell them apart."""
    (scop,) = polytile.compile(source, schedule="auto").scops
    assert scop.program is not None
    found = _with_constants_held(scop.program)
    early = [kernel for kernel in _machine_code(found, tmp_path) if "ACQBULK" in kernel]
    assert len(early) == sum(k.starts_early for k in found.kernels) > 0
    for kernel in early:
        assert TOUCHES.findall(kernel.partition("ACQBULK")[0]) == []


def _with_constants_held(found: HostProgram) -> HostProgram:
    """The program with no promise that what its kernels never write is written by nobody else."""
    written = {p.buffer for k in found.kernels for p in k.parameters if not p.const}

    def held(kernel: Kernel) -> Kernel:
        parameters = (p if p.buffer in written else replace(p, restrict=False) for p in kernel.parameters)
        return replace(kernel, parameters=tuple(parameters))

    return replace(found, kernels=tuple(map(held, found.kernels)))


def _machine_code(found: HostProgram, folder: Path) -> list[str]:
    """The instructions of each kernel, for an H100 or H200."""
    (folder / "f.h").write_text(print_header([found], guard_name="F_H"))
    (folder / "f.cu").write_text(unit(found))
    command = [str(nvcc()), "-std=c++17", "-O3", "-arch=sm_90", "-cubin", "-o", "f.cubin", "f.cu"]
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    shown = subprocess.run(["nvdisasm", "-c", "f.cubin"], cwd=folder, check=True, capture_output=True, text=True)
    return re.split(r"\n\s*\.section\s+\.text\.", shown.stdout)[1:]


# Threads compute four neighbouring points each, and load for the next one what they have for the last.
POINTS = """
void f(int t, int n, double A[n][n][n], double B[n][n][n])
{
#pragma scop
    for (int s = 0; s < t; s++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    B[i][j][k] = 0.125 * (A[i + 1][j][k] - 2.0 * A[i][j][k] + A[i - 1][j][k])
                               + 0.125 * (A[i][j + 1][k] - 2.0 * A[i][j][k] + A[i][j - 1][k])
                               + 0.125 * (A[i][j][k + 1] - 2.0 * A[i][j][k] + A[i][j][k - 1]) + A[i][j][k];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    A[i][j][k] = B[i][j][k];
    }
#pragma endscop
}
"""


@shared
def points(text: str) -> CompiledScop:
    (scop,) = polytile.compile(text, schedule="classic", points=(1, 4, 1, 1)).scops
    return scop


def test_several_points_of_a_thread_load_before_they_store() -> None:
    """
    before: v11 = A[..]; B[i][j][k] = v7 + v11; v12 = A[..]; ...; B[i + 3][j][k] = ..;
    after:  v11 = A[..]; B_new = v7 + v11; v12 = A[..]; ...; B[i][j][k] = B_new; ..; B[i + 3][j][k] = B_new_4;
    """
    found = points(POINTS).program
    assert found is not None and found.kernels[0].starts_early
    text = print_kernel(found.kernels[0])
    block = text[text.index("int i = 4 *") : text.index("} else")]
    assert block.rindex(" A[") < block.index(" B[")
    assert re.findall(r" B\[.*\] = (\w+);", block) == ["B_new", "B_new_2", "B_new_3", "B_new_4"]


def test_points_that_read_what_they_store_stay() -> None:
    """Each adds to its own element, which may be the one that the next point loads as far as the code can tell."""
    found = points(POINTS.replace("B[i][j][k] = 0", "B[i][j][k] = B[i][j][k] + 0")).program
    assert found is not None and not found.kernels[0].starts_early


def test_fields_of_structs_are_stored_last_in_their_types() -> None:
    """
    before: B[i].x = A[i - 1] + A[i + 1]; B[i].y = A[i];
    after:  double B_new = A[i - 1] + A[i + 1]; float B_new_2 = A[i]; B[i].x = B_new; B[i].y = B_new_2;
    """
    text = """
struct pair { double x; float y; };
void f(int t, int n, double A[n][n], double C[n][n], struct pair B[n][n])
{
#pragma scop
    for (int s = 0; s < t; s++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 0; j < n; j++)
                if (C[i][j] > 0.5) {
                    B[i][j].x = A[i - 1][j] + A[i + 1][j];
                    B[i][j].y = A[i][j];
                }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                A[i][j] = B[i][j].x + B[i][j].y;
    }
#pragma endscop
}
"""
    (scop,) = polytile.compile(text, schedule="classic", points=(1, 4, 1)).scops
    assert scop.program is not None and scop.program.kernels[0].starts_early
    found = re.findall(r"(\w+) (B_new\w*) =", print_kernel(scop.program.kernels[0]))
    assert found[:2] == [("double", "B_new"), ("float", "B_new_2")]
    scop.validate(on="emulator", parameters={"n": 9, "t": 2})


@pytest.mark.slow
def test_the_emulator_takes_launches_of_several_points(checking_compiler: None) -> None:
    for n in (0, 1, 2, 3, 5, 9, 35):
        points(POINTS).validate(on="emulator", parameters={"n": n, "t": 3}, sanitize=("address", "undefined", "race"))
