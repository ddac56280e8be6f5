"""Arrays that one branch reads and another branch's array is written: kernels promise nothing of these."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polytile
from polytile.codegen.passes.merged_loads import without_promises
from polytile.codegen.targets.cuda.cuda import print_kernels
from polytile.compiled_scop import CompiledScop
from polytile.fuzz.ptx import stale_loads
from polytile.ir.gpu_ops import Load
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from tests.nvrtc.library import ptx_of

ROWS = """
void f(int n, int m, {type} x[n][m], {type} y[n][m], int c[n][m], {other} z[n][m])
{{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 1; j < m; j++) {{
            {body}
        }}
#pragma endscop
}}
"""
MIXED = {
    "choice": "x[i][j] = c[i][j] > 3 ? y[i][j] : x[i][j - 1];",
    "scaled": "x[i][j] = c[i][j] > 3 ? x[i][j - 1] * 2 : y[i][j] * 2;",
    "branches": "{type} v; if (c[i][j] > 3) v = y[i][j]; else v = x[i][j - 1]; x[i][j] = v + 1;",
    "excluding": "{type} v = 0; if (j % 2 == 1) v = x[i][j / 2]; if (j % 2 != 1) v = y[i][j]; x[i][j] = v + 1;",
    "least": "x[i][j] = (y[i][j] > y[i][0] ? y[i][j] : y[i][0]) < x[i][j / 2] ? y[i][j] : x[i][j / 2];",
}
PLAIN = {
    "same branch": "if (c[i][j] > 3) x[i][j] = y[i][j] + x[i][j - 1]; else x[i][j] = 1;",
    "both read": "x[i][j] = (c[i][j] > 3 ? y[i][j] : y[i][j - 1]) + x[i][j - 1];",
    "stored alone": "if (c[i][j] > 3) x[i][j] = y[i][j]; else x[i][j] = y[i][j - 1];",
    "other size": "x[i][j] = (c[i][j] > 3 ? z[i][j] : x[i][j - 1]);",
}


def compiled(body: str, type: str = "double", other: str = "float") -> CompiledScop:
    text = ROWS.format(body=body.replace("{type}", type), type=type, other=other)
    (scop,) = polytile.compile(text, schedule="classic").scops
    assert scop.program is not None
    return scop


def program(scop: CompiledScop) -> HostProgram:
    assert scop.program is not None
    return scop.program


def promised(kernel: Kernel) -> set[str]:
    """The arrays that are `__restrict__`."""
    return {p.buffer for p in kernel.parameters if p.buffer is not None and p.restrict}


@pytest.mark.parametrize("name", sorted(MIXED))
def test_branches_of_an_array_that_is_written_and_one_that_is_not(name: str) -> None:
    (kernel,) = program(compiled(MIXED[name])).kernels
    assert promised(kernel) <= {"c"}
    assert {"x", "y"} <= {p.buffer for p in kernel.parameters}


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_other_arrays_keep_their_promise(name: str) -> None:
    for kernel in program(compiled(PLAIN[name])).kernels:
        assert {"x"} <= promised(kernel)


def test_loads_of_the_read_only_cache() -> None:
    (kernel,) = program(compiled(MIXED["choice"])).kernels
    loads = [n for n in kernel.nodes if isinstance(n, Load)]
    assert all(load.cache != "read-only" for load in loads)
    parameters = tuple(replace(p, restrict=p.buffer is not None) for p in kernel.parameters)
    assert promised(without_promises(replace(kernel, parameters=parameters))) == promised(kernel)


@pytest.mark.slow(but=("branches-int", "choice-double", "least-float"))
@pytest.mark.parametrize("type", ["float", "double", "int"])
@pytest.mark.parametrize("name", sorted(MIXED))
def test_computes_the_same(name: str, type: str) -> None:
    scop = compiled(MIXED[name], type)
    for n, m in ((0, 0), (1, 1), (3, 2), (5, 33)):
        scop.validate(on="emulator", parameters={"n": n, "m": m}, sanitize="all")


@pytest.mark.parametrize("name", sorted(MIXED))
def test_no_load_of_two_arrays_is_of_constant_memory(name: str) -> None:
    assert stale_loads(ptx_of(print_kernels(program(compiled(MIXED[name]))))) == []


def test_stale_loads_are_found() -> None:
    chosen = "selp.b64 \t%rd9, %rd7, %rd8, %p1;"
    for load, found in (("ld.global.nc.f64 \t%fd1, [%rd9+8];", 1), ("ld.global.f64 \t%fd1, [%rd9+8];", 0)):
        assert len(stale_loads(f".visible .entry k(\n)\n{{\n\t{chosen}\n\t{load}\n}}\n")) == found


def test_a_choice_of_two_elements_of_an_array_is_no_stale_load() -> None:
    lines = (
        "ld.param.u64 \t%rd1, [k_param_0];",
        "cvta.to.global.u64 \t%rd2, %rd1;",
        "cvta.to.global.u64 \t%rd3, %rd4;",
        "add.s64 \t%rd5, %rd2, 8;",
        "selp.b64 \t%rd6, %rd2, {}, %p1;",
        "ld.global.nc.f64 \t%fd1, [%rd6];",
    )
    for other, found in (("%rd5", 0), ("%rd3", 1)):
        text = "\n\t".join(lines).format(other)
        assert len(stale_loads(f".visible .entry k(\n)\n{{\n\t{text}\n}}\n")) == found
