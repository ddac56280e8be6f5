"""Names: the user's, C++'s and CUDA's may coincide with those of generated code."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import polytile
from polytile.codegen.targets.cuda.cuda import print_kernels
from polytile.ir.name_supply import Names
from polytile.ir.reserved_names import is_free

Validated = Callable[..., Any]

TAKEN = [
    "bi",
    "ti",
    "bj",
    "c0",
    "c1",
    "threadIdx",
    "blockIdx",
    "gridDim",
    "blockDim",
    "warpSize",
    "new",
    "class",
    "template",
    "this",
    "dim3",
    "run",
    "status",
    "kernels",
    "device",
]
SIZES = ({"n": 0}, {"n": 9})


@pytest.mark.slow
def test_arrays_of_such_names(validated: Validated) -> None:
    body = "\n".join(f"{name}[i][j] = 0.5 * {name}[i][j] + i;" for name in TAKEN)
    arrays = ", ".join(f"double {name}[n][n]" for name in TAKEN)
    validated((f"int n, {arrays}", f"for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {{ {body} }}"), *SIZES)


@pytest.mark.slow
def test_parameters_of_such_names(validated: Validated) -> None:
    body = "\n".join(f"for (int i = 0; i < {name}; i++) x{k}[i] += {name};" for k, name in enumerate(TAKEN))
    arguments = ", ".join(f"int {name}, double x{k}[9]" for k, name in enumerate(TAKEN))
    values = [{name: (k + shift) % 7 for k, name in enumerate(TAKEN)} for shift in (0, 3)]
    validated((arguments, body), *values)


@pytest.mark.slow
def test_iterators_of_such_names(validated: Validated) -> None:
    body = "\n".join(
        f"for (int {a} = 0; {a} < n; {a}++) for (int {b} = 0; {b} < n; {b}++) A[{a}][{b}] += {a} - 2 * {b};"
        for a, b in pairwise(TAKEN)
    )
    validated(("int n, double A[n][n]", body), *SIZES)


@pytest.mark.slow
def test_host_iterators_of_such_names(validated: Validated) -> None:
    body = "\n".join(
        f"for (int {name} = 1; {name} < n; {name}++) {{"
        f" for (int i = 0; i < n; i++) A[i] = B[n - 1 - i] + {name}; for (int i = 0; i < n; i++) B[i] = A[i]; }}"
        for name in TAKEN[:6]
    )
    validated(("int n, double A[n], double B[n]", body), *SIZES)


@pytest.mark.slow
def test_scalars_of_such_names(validated: Validated) -> None:
    body = "\n".join(f"double {name} = A[i]; A[i] = 0.5 * {name} + i;" for name in TAKEN)
    validated(("int n, double A[n]", f"for (int i = 0; i < n; i++) {{ {body} }}"), *SIZES)


@pytest.mark.slow(but="c0")
@pytest.mark.parametrize("name", ["t", "c0", "bi", "n0", "k0"])
def test_host_loops_hand_their_iterators_to_kernels(validated: Validated, name: str) -> None:
    body = f"""for (int {name} = 1; {name} < m; {name}++) {{
        for (int i = 0; i < n; i++) x[i] = y[i] + {name};
        for (int i = 0; i < n; i++) y[n - 1 - i] = x[i] * 0.5;
    }}"""
    found = validated(("int n, int m, double x[n], double y[n]", body), *({"n": 7, "m": m} for m in (0, 1, 2, 5)))
    for kernel in found.program.kernels:
        assert len({p.name for p in kernel.parameters}) == len(kernel.parameters)


def test_loops_of_kernels_in_a_host_loop_have_names_of_their_own(validated: Validated) -> None:
    """The host's loop is c0, so that loops of its kernels have another prefix; c_2 was one of them, and the array."""
    body = """#pragma polytile assume(n >= 0 && m >= 0)
    for (int i = 0; i < n; i++) {
        for (int j = row[i]; j < row[i + 1]; j++) x[m - i + n] = -1;
        for (int q = 0; q < m + 2; q++) s[i] += c_2[i] * x[n + q];
    }"""
    arguments = "int n, int m, double *x, long *row, double *s, double *c_2"
    found = validated((arguments, body), {"n": 5, "m": 4}, tile=(3,), block=(1,))
    assert "for (int c__2 = " in print_kernels(found.program)


def test_two_host_loops_of_one_name(validated: Validated) -> None:
    step = "for (int i = 0; i < n; i++) x[i] = y[i] + t; for (int i = 0; i < n; i++) y[n - 1 - i] = x[i] * 0.5;"
    body = f"for (int t = 0; t < m; t++) {{ {step} }} for (int t = m; t > 0; t--) {{ {step} }}"
    validated(("int n, int m, double x[n], double y[n]", body), *({"n": 5, "m": m} for m in (0, 1, 3)))


def test_an_iterator_shadows_a_parameter(validated: Validated) -> None:
    body = "for (int i = 0; i < n; i++) x[i] = k; for (int k = 0; k < n; k++) x[k] += 2 * k;"
    validated(("int n, int k, double x[n]", body), {"n": 0, "k": 3}, {"n": 9, "k": 3})


TWO = """
void f(int n, double A[n], double B[n])
{
    for (int i = 0; i < n; i++) A[i] += 1;
#pragma scop
    for (int i = 0; i < n; i++) A[i] = A[i] + B[i];
#pragma endscop
    A[0] = 7;
#pragma scop
    for (int i = 0; i < n; i++) B[i] = A[n - 1 - i] * 2;
#pragma endscop
}

void g(int n, double A[n], double B[n])
{
#pragma scop
    for (int i = 0; i < n; i++) B[i] = A[i];
#pragma endscop
}
"""


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
def test_several_scops_in_one_file_share_nothing() -> None:
    program = polytile.compile(TWO, name="two.c", strict=True)
    names = [s.name for s in program.scops]
    assert len(set(names)) == 3
    kernels = [k.name for p in program.programs for k in p.kernels]
    assert len(set(kernels)) == len(kernels)
    for scop in program.scops:
        for n in (0, 1, 50):
            scop.validate(on="emulator", parameters={"n": n}, seed=n)
    assert program.host.count("polytile_") >= 3
    assert "for (int i = 0; i < n; i++) A[i] += 1;" in program.host
    assert "A[0] = 7;" in program.host


@pytest.mark.parametrize("wanted", ["x", "for", "AB_0", "A1_2", "INT_MAX", "_x", "polytile_n", "W_x", "F_fixed"])
def test_there_is_always_a_free_name(wanted: str) -> None:
    """Some names are like those of macros whatever number is put behind them."""
    names = Names()
    found = [names.fresh(wanted) for _ in range(3)]
    assert len(set(found)) == 3 and all(is_free(name) for name in found)
