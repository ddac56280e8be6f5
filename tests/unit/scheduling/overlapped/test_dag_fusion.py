"""Fusion of DAGs of stencils: the structure of benchmarks, random DAGs, and what may not be fused."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from polytile.frontend.program import read_program
from polytile.machine import MAX_THREAD_REGISTERS, machine_of
from polytile.options import Options
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.analysis.stencil_dag import StencilDag, iteration_dag, stencil_dag
from polytile.scheduling.analysis.stencil_form import NotAStencilError, iterated_stencil
from polytile.scheduling.analysis.stencil_values import stencil_values
from polytile.scheduling.candidate import Problem
from polytile.scheduling.strategies.overlapped.dag_fusion import Fusion, Limits, explained, fuse, limits_of
from polytile.scheduling.strategies.overlapped.macro_nodes import MacroNode
from polytile.scheduling.transform.statement_fusion import fuse_locals

from .conftest import problem_of

MACHINE = machine_of("sm_90")
LIMITS = limits_of(MACHINE)
COLUMN = "for (int i = 4; i < N - 4; i++)"
ROWS = f"{COLUMN} for (int j = 4; j < N - 4; j++)"


def problem(body: str, inside: str = "", arrays: str = "A B C D") -> Problem:
    """The problem of a body over arrays of N x N doubles; those `inside` the function are not live behind it."""
    outer = ", ".join(f"double {name}[N][N]" for name in arrays.split())
    local = " ".join(f"double {name}[N][N];" for name in inside.split())
    found = read_program("dag.c", f"void f(int N, {outer})\n{{\n{local}\n#pragma scop\n{body}\n#pragma endscop\n}}\n")
    assert not found.refusals, found.refusals[0].error
    scop = fuse_locals(found.scops[0])
    return Problem(scop, analyse(scop), Options(), MACHINE)


def fused(given: Problem, limits: Limits = LIMITS, iterations: int = 0) -> Fusion:
    scop, dependences = given.scop, given.dependences
    if not iterations:
        return fuse(scop, stencil_dag(scop, dependences), MACHINE, limits)
    values = stencil_values(scop, dependences, iterated_stencil(scop, dependences))
    return fuse(scop, iteration_dag(scop, values, iterations), MACHINE, limits)


def names(fusion: Fusion) -> list[str]:
    return [k.node.names for k in fusion.kernels]


# Benchmarks ------------------------------------------------------------------------------------------------
def test_curl_is_one_kernel_whose_threads_share_six_planes() -> None:
    (kernel,) = fused(problem_of("stencilgen/curl.c")).kernels
    assert kernel.node.names == "{S0 S1 S2 S3 S4 S5}"
    assert kernel.node.exchanged_planes == 6  # of X, Y, Z, CX, CY and CZ
    assert kernel.node.order == 1
    assert len(kernel.node.stored) == 6  # the caller sees CX, CY and CZ, too
    assert kernel.node.read_bytes == 3 * 8


def test_hypterm_is_one_kernel_or_two_under_fewer_registers() -> None:
    given = problem_of("stencilgen/hypterm.c")
    (kernel,) = fused(given).kernels
    assert kernel.node.names == "{S0 S1 S2 S3 S4}"
    assert kernel.tile is not None
    fewer = kernel.node.registers(kernel.tile) - 1
    assert names(fused(given, replace(LIMITS, registers=fewer))) == ["{S0 S1 S2}", "{S3 S4}"]


def test_an_iteration_of_denoise_is_one_kernel_and_two_are_kernels_of_their_own() -> None:
    given = problem_of("stencilgen/denoise.c")
    (kernel,) = fused(given, iterations=1).kernels
    assert len(kernel.node.fields) == 2
    assert kernel.node.made[0].lower == (-1, -1, -1)
    two = fused(given, iterations=2)
    assert [len(k.node.fields) for k in two.kernels] == [2, 2]
    assert "redundancy" in two.stopped[0][2]


def test_iterations_of_cheby_are_fused_while_halos_let_them() -> None:
    given = problem_of("stencilgen/cheby.c")
    assert len(fused(given, iterations=2).kernels) == 1
    assert 1 < len(fused(given, iterations=6).kernels) < 6


# Small DAGs ------------------------------------------------------------------------------------------------
BLUR = f"{ROWS} B[i][j] = A[i - 1][j] + A[i + 1][j]; {ROWS} C[i][j] = B[i][j - 1] + B[i][j + 1];"


def test_what_only_the_kernel_reads_is_never_in_device_memory() -> None:
    fusion = fused(problem(BLUR, inside="B", arrays="A C"))
    (kernel,) = fusion.kernels
    assert [kernel.node.dag.fields[k].array for k in kernel.node.stored] == ["C"]
    assert (fusion.moved_bytes, fusion.unfused_bytes) == (16, 32)
    assert any("B: never stored" in line for line in fusion.lines())


def test_what_the_caller_sees_is_stored() -> None:
    (kernel,) = fused(problem(BLUR)).kernels
    assert len(kernel.node.stored) == 2


def test_kernels_that_share_nothing_stay_apart() -> None:
    assert len(fused(problem(f"{ROWS} B[i][j] = A[i][j]; {ROWS} D[i][j] = C[i][j + 1];")).kernels) == 2


def test_no_path_leads_out_of_a_kernel_and_back() -> None:
    """C, between B and D, is no stencil of B: it can be in no kernel with it."""
    body = f"{ROWS} B[i][j] = A[i][j]; {ROWS} C[i][j] = B[j][i]; {ROWS} D[i][j] = B[i][j] + C[j][i];"
    fusion = fused(problem(body))
    assert names(fusion) == ["{S0}", "{S1}", "{S2}"]
    reasons = {(a, b): reason for a, b, reason in fusion.stopped}
    assert reasons[0, 1] == "S1 reads B at no fixed distance"
    assert reasons[0, 2] == "a path leads out of both and back"


def test_nobody_reads_at_other_cells_what_another_block_overwrites() -> None:
    """A is read at offsets, and then written."""
    apart = fused(problem(f"{ROWS} B[i][j] = A[i][j - 1] + A[i][j + 1]; {ROWS} A[i][j] = B[i][j] * 0.5;"))
    assert names(apart) == ["{S0}", "{S1}"]
    assert apart.stopped == ((0, 1, "A is read at other cells than those that are overwritten"),)
    together = fused(problem(f"{ROWS} B[i][j] = A[i][j] + C[i][j - 1]; {ROWS} A[i][j] = B[i][j] * 0.5;"))
    assert names(together) == ["{S0 S1}"]


def test_a_kernel_that_reads_comes_before_the_one_that_overwrites() -> None:
    fusion = fused(problem(f"{ROWS} B[i][j] = A[j][i]; {ROWS} A[i][j] = C[i][j];"))
    assert names(fusion) == ["{S0}", "{S1}"]


def test_each_limit_stops_fusion_and_says_so() -> None:
    given = problem_of("stencilgen/curl.c")
    for tight, reason in (
        (replace(LIMITS, registers=64), "registers a thread are more than 64"),
        (replace(LIMITS, block_registers=7_000), "registers a block are more than 7000"),
        (replace(LIMITS, shared_bytes=4_000), "bytes of shared memory a block are more than 4000"),
    ):
        fusion = fused(given, tight)
        assert len(fusion.kernels) > 1
        assert any(reason in text for _, _, text in fusion.stopped), fusion.stopped
    halo = fused(problem_of("stencilgen/cheby.c"), replace(LIMITS, halo=40), iterations=2)
    assert len(halo.kernels) == 2
    assert "1/40 of a tile" in halo.stopped[0][2]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"{ROWS} A[i][j] = A[i][j - 1];", "values of A depend on one another"),
        (f"{ROWS} A[i][j] = A[i][j + 1];", "others write"),
        (f"{ROWS} A[i][0] += B[i][j];", "write one element"),
        (f"{ROWS} A[i][j] = B[i][j]; {ROWS} A[i][j] = C[i][j];", "write the same elements of A"),
        (f"{ROWS} {{ A[i][j] = C[i][j]; B[i][j] = A[i - 1][j] + A[i + 1][j]; }}", "A and B depend on one another"),
        (f"{COLUMN} A[i][4] = C[i][4]; {ROWS} B[i][j] = A[i][j]; {COLUMN} A[i][5] = C[i][5];", "both before and after"),
    ],
)
def test_what_is_no_dag_is_refused_with_a_reason(body: str, reason: str) -> None:
    with pytest.raises(NotAStencilError, match=reason):
        fused(problem(body))


def test_explain_says_macro_nodes_limits_and_reasons() -> None:
    first, *lines = explained(problem_of("stencilgen/curl.c"))
    assert "one is made where all is a single macro-node" in first
    assert lines[0].startswith("fusion: 6 fields in 1 macro-node: 72 bytes moved for a cell, 192 by a kernel for each")
    assert f"at most {MAX_THREAD_REGISTERS} registers a thread" in lines[1]
    assert "6 planes that threads share" in lines[2]
    assert any(line.startswith("fusion:   CX by S0: box [-1..+0, -1..+0, 0..+0], lag 1") for line in lines)
    (reason,) = explained(problem_of("polybench/gemm.c"))
    assert reason.startswith("fusion: no DAG of stencils: ")


# Random DAGs -----------------------------------------------------------------------------------------------
def random_dag(random: Random) -> Problem:
    """Up to nine fields, each of up to three arrays made before or given, some not live behind the DAG."""
    count = random.randint(2, 9)
    inside = [f"L{k}" for k in range(count) if random.random() < 0.4]
    made = [f"L{k}" if f"L{k}" in inside else f"F{k}" for k in range(count)]
    body = []
    for k, name in enumerate(made):
        sources = random.choices(["X", "Y", *made[:k]], k=random.randint(1, 3))
        body.append(f"{ROWS} {name}[i][j] = {' + '.join(_reads(random, s) for s in sources)};")
    outside = ["X", "Y", *(name for name in made if name not in inside)]
    return problem("\n".join(body), " ".join(inside), " ".join(outside))


def _reads(random: Random, array: str) -> str:
    if random.random() < 0.1:
        return f"{array}[j][i]"
    places = [(random.randint(-2, 2), random.randint(-2, 2)) for _ in range(random.randint(1, 3))]
    return " + ".join(f"{array}[i + {a}][j + {b}]" for a, b in places)


@pytest.mark.slow(but=("0", "1", "2", "3", "4", "5", "6", "7"))
@pytest.mark.parametrize("seed", range(24))
def test_macro_nodes_of_random_dags_are_convex_ordered_and_within_limits(seed: int) -> None:
    random = Random(seed)
    given = random_dag(random)
    dag = stencil_dag(given.scop, given.dependences)
    limits = Limits(random.choice([56, 72, 255]), 65_536, random.choice([8_000, 40_000, 200_000]))
    fusion = fuse(given.scop, dag, MACHINE, limits)
    assert sorted(k for kernel in fusion.kernels for k in kernel.node.fields) == list(range(len(dag.fields)))
    _check_order(dag, fusion)
    assert fusion.moved_bytes <= fusion.unfused_bytes
    for kernel in fusion.kernels:
        node, tile = kernel.node, kernel.tile
        if len(node.fields) > 1:
            assert tile is not None
            assert node.hazard() is None
            assert node.registers(tile) <= limits.registers
            assert node.shared_bytes(tile) <= limits.shared_bytes
            assert all(2 * halo <= cells for halo, cells in zip(node.overlap(tile), tile.cells, strict=True))
            _check_planes(node)


def _check_order(dag: StencilDag, fusion: Fusion) -> None:
    """Edges lead from earlier kernels to later ones: then there is an order, and so every macro-node is convex."""
    home = {k: n for n, kernel in enumerate(fusion.kernels) for k in kernel.node.fields}
    assert all(home[a] <= home[b] for a, b in dag.edges)


def _check_planes(node: MacroNode) -> None:
    """Each read finds its plane: made a plane before where it is of another thread, and still there."""
    for read in node.reads:
        reader, source = node.steps[read.step], node.steps[read.source]
        age = reader.lag - source.lag - read.offset[0]
        assert (1 if any(read.offset[1:]) else 0) <= age < source.slots
        assert all(a + o >= b for a, o, b in zip(reader.lower, read.offset, source.lower, strict=True))
        assert all(a + o <= b for a, o, b in zip(reader.upper, read.offset, source.upper, strict=True))
