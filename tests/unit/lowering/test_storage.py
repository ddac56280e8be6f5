"""Where values live inside kernels: registers, shared memory, accumulators; and what must stay in device memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polytile.ir.memory import Space

SIZES = [{"n": n, "m": m} for n, m in ((0, 0), (1, 1), (2, 5), (33, 7), (40, 70))]
PAIR = "int n, int m, double A[n][m], double B[n][m]"

SWAP = """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {
    double t = A[i][j]; A[i][j] = B[i][j]; B[i][j] = t * t + t; }"""


def homes(scop: Any) -> dict[str, tuple[Space, int]]:
    """The space and the rank of every array that lives inside a kernel."""
    found = {}
    for kernel in scop.program.kernels:
        for storage in kernel.storage:
            if storage.space in (Space.PRIVATE, Space.SHARED):
                found[storage.array] = (storage.space, len(storage.extents))
    return found


def test_a_scalar_of_one_iteration_is_a_register(validated: Callable[..., Any]) -> None:
    scop = validated((PAIR, SWAP), *SIZES)
    assert homes(scop) == {"t": (Space.PRIVATE, 0)}
    assert not scop.program.buffer("t")


def test_a_small_array_of_one_iteration_is_private(validated: Callable[..., Any]) -> None:
    body = """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {
        double u[3];
        for (int k = 0; k < 3; k++) u[k] = A[i][j] * k;
        for (int k = 0; k < 3; k++) B[i][j] += u[2 - k] * k; }"""
    scop = validated((PAIR, body), *SIZES)
    assert homes(scop)["u"][0] is Space.PRIVATE


def test_two_lifetimes_in_one_thread_share_a_register(validated: Callable[..., Any]) -> None:
    body = """for (int i = 0; i < n; i++) { double s = 0;
        for (int j = 0; j < m; j++) s += A[i][j];
        for (int j = 1; j < m; j++) B[i][j] = B[i][j - 1] + s; }"""
    scop = validated((PAIR, body), *SIZES)
    assert homes(scop) == {"s": (Space.PRIVATE, 0)}


def test_values_that_other_kernels_read_stay_in_device_memory(validated: Callable[..., Any]) -> None:
    body = """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { double t = A[i][j]; B[i][j] = t; }
        for (int i = 0; i < n; i++) { double w[8]; for (int k = 0; k < 8; k++) w[k] = A[i][0] + k;
            for (int j = 0; j < m; j++) B[i][j] += w[j % 8]; }"""
    scop = validated((PAIR, body), *SIZES)
    assert scop.program.buffer("w") or homes(scop)["w"]


def test_block_local_values_of_several_threads_are_shared(validated: Callable[..., Any]) -> None:
    tree = """domain: "[n] -> { S0[i, k] : 0 <= i < n and 0 <= k < 16; S1[i, k] : 0 <= i < n and 0 <= k < 16 }"
child:
  mark: "kernel"
  child:
    mark: "block"
    child:
      schedule: "[n] -> [{ S0[i, k] -> [(i)]; S1[i, k] -> [(i)] }]"
      child:
        mark: "sync"
        child:
          sequence:
          - filter: "[n] -> { S0[i, k] }"
            child:
              mark: "thread[16]"
              child:
                schedule: "[n] -> [{ S0[i, k] -> [(k)] }]"
          - filter: "[n] -> { S1[i, k] }"
            child:
              mark: "thread[16]"
              child:
                schedule: "[n] -> [{ S1[i, k] -> [(k)] }]"
"""
    arguments = "int n, double A[n][16], double B[n][16]"
    body = """for (int i = 0; i < n; i++) { double w[16];
        for (int k = 0; k < 16; k++) w[k] = A[i][k] * k;
        for (int k = 0; k < 16; k++) B[i][k] = w[15 - k]; }"""
    scop = validated((arguments, body), *({"n": n} for n in (0, 1, 5, 33)), load_schedule=tree)
    assert homes(scop) == {"w": (Space.SHARED, 1)}
    assert "__shared__ double w[16];" in scop.cuda and "__syncthreads();  // test.c:" in scop.cuda


def test_no_shared_memory_when_none_is_allowed(compiled: Callable[..., Any]) -> None:
    assert homes(compiled(PAIR, SWAP, max_shared_memory=0)) == {"t": (Space.PRIVATE, 0)}


ACCUMULATORS = {
    "another array": "for (int i = 0; i < n; i++) for (int k = 0; k < m; k++) A[i][0] += B[i][k];",
    "its own row": "for (int i = 0; i < n; i++) for (int k = 1; k < m; k++) A[i][0] += A[i][k];",
    "a difference": "for (int i = 0; i < n; i++) for (int k = m - 1; k > 0; k--) A[i][0] -= A[i][k] * B[i][k];",
    "a maximum": (
        "for (int i = 0; i < n; i++) for (int k = 1; k < m; k++) A[i][0] = A[i][0] > B[i][k] ? A[i][0] : B[i][k];"
    ),
}


@pytest.mark.slow(but="its own row")
@pytest.mark.parametrize("body", ACCUMULATORS.values(), ids=ACCUMULATORS)
def test_accumulators_stay_in_registers(validated: Callable[..., Any], body: str) -> None:
    scop = validated((PAIR, body), *SIZES)
    assert "double A_acc = A[" in scop.cuda


MEMORY = {
    "the loop reads the element itself elsewhere": (
        "for (int i = 0; i < n; i++) for (int k = 0; k < m; k++) A[i][0] += A[i][k] * B[i][k];"
    ),
    "the element moves": "for (int i = 0; i < n; i++) for (int k = 1; k < m; k++) A[i][k] += A[i][k - 1];",
    "another spelling": (
        "for (int i = 0; i < n; i++) for (int k = 1; k < m; k++) A[i][0] += A[i + k - k][k - k] * B[i][k];"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("body", MEMORY.values(), ids=MEMORY)
def test_what_may_change_in_the_loop_stays_in_memory(validated: Callable[..., Any], body: str) -> None:
    scop = validated((PAIR, body), *SIZES)
    assert "_acc" not in scop.cuda


def test_an_empty_loop_does_not_write_its_accumulator(validated: Callable[..., Any]) -> None:
    body = """for (int i = 0; i < n; i++) { for (int k = 0; k < i - 3; k++) A[i][0] += B[i][k % 2];
        for (int k = i; k < 2; k++) A[i][0] *= B[i][k]; }"""
    arguments = "int n, int m, double A[n][m], double B[n][m]"
    scop = validated((arguments, body), *({"n": n, "m": 2} for n in (0, 1, 2, 5, 33)))
    assert "_acc" in scop.cuda


def test_distribution_where_fusion_would_serialise(validated: Callable[..., Any]) -> None:
    body = """for (int k = 0; k < n; k++) for (int i = k + 1; i < n; i++) {
        A[i][k] /= A[k][k];
        for (int j = k + 1; j < n; j++) A[i][j] -= A[i][k] * A[k][j]; }"""
    scop = validated(("int n, double A[n][n]", body), *({"n": n} for n in (0, 1, 2, 5, 33)))
    assert "distributed" in scop.compilation.schedule.strategy
    assert [kernel.block for kernel in scop.program.kernels] == [(128, 1, 1), (32, 8, 1)]


def test_the_original_order_where_it_keeps_values_in_registers(validated: Callable[..., Any]) -> None:
    body = """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {
        double u[3];
        for (int k = 0; k < 3; k++) u[k] = A[i][j] * k;
        for (int k = 0; k < 3; k++) B[i][j] += u[2 - k] * k; }"""
    scop = validated((PAIR, body), *SIZES)
    assert "original order" in scop.compilation.schedule.strategy
    assert len(scop.program.kernels) == 1 and scop.program.kernels[0].block == (32, 8, 1)


def test_memory_is_read_behind_its_guard(validated: Callable[..., Any]) -> None:
    body = "for (int i = 0; i < n; i++) for (int k = i - 2; k < i; k++) if (k >= 0) A[i][0] += B[k][0];"
    scop = validated((PAIR, body), *({"n": n, "m": 1} for n in (0, 1, 2, 5, 33)))
    text = scop.cuda
    assert text.index("if (n >= i + 1)") < text.index("double A_acc = A[")


def test_unsigned_sizes_and_values(validated: Callable[..., Any]) -> None:
    arguments = "unsigned long n, unsigned m, double A[n][m], double B[n][m]"
    body = """for (unsigned long i = 0; i < n; i++) for (unsigned j = 0; j < m; j++)
        B[i][j] = A[i][j] + i / 3 + (n - i) % 5 + (double) (m / (j + 1)) + (j > m - 2 ? 1 : 2);"""
    scop = validated((arguments, body, ""), *({"n": n, "m": m} for n, m in ((0, 0), (1, 2), (5, 3), (33, 40))))
    assert "(long n, long m," in scop.cuda and "(unsigned int)m" in scop.cuda


def test_no_barriers_among_the_instances_of_one_thread(compiled: Callable[..., Any]) -> None:
    body = """#pragma polytile assume(m >= 1)
    for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) B[i][j] = A[i][j];
    for (int i = 1; i < n; i++) if (B[i][0] > 0) { A[0][0] += B[i][0]; B[i][0] = A[0][0] + B[i - 1][0]; }"""
    assert "__syncthreads" not in compiled(PAIR, body).cuda
