"""Kernels of one thread that join an earlier one of their sequence."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl
import pytest

import polytile
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.strategies.serial_kernels import with_serial_kernels_joined

Read = Callable[..., Scop]
ARRAYS = "int n, double s[n], double x[n], double y[n]"
BODY = "for (int k = 1; k < n; k++) {{ s[0] = s[0] + 1; for (int i = 0; i < k; i++) x[i] = y[i] * s[0]; {last} }}"
TREE = """
domain: "[n] -> {{ S0[k] : 0 < k < n; S1[k, i] : 0 < k < n and 0 <= i < k; S2[k] : 0 < k < n }}"
child:
  schedule: "[n] -> [{{ S0[k] -> [(k)]; S1[k, i] -> [(k)]; S2[k] -> [(k)] }}]"
  child:
    sequence:
    - filter: "[n] -> {{ S0[k] }}"
      child: {{ mark: "kernel", child: {{ leaf }} }}
    - filter: "[n] -> {{ S1[k, i] }}"
      child:
        mark: "kernel"
        child:
          mark: "block"
          child:
            schedule: "[n] -> [{{ S1[k, i] -> [(i)] }}]"
    - filter: "[n] -> {{ S2[k] }}"
      child: {{ mark: "kernel", child: {{ leaf }} }}
"""


@pytest.mark.parametrize(
    ("last", "kernels"),
    [
        ("y[k] = s[0];", 2),  # the loop reads y[i] of i < k
        ("y[k - 1] = s[0];", 3),  # the loop reads it before
        ("x[k] = s[0];", 2),
        ("y[k] = x[0];", 3),  # the loop writes it
        ("s[0] = s[0] * 2;", 3),  # the loop reads it before
    ],
)
def test_what_joins(scop: Read, last: str, kernels: int) -> None:
    found = scop(ARRAYS, BODY.format(last=last))
    tree = with_serial_kernels_joined(isl.Schedule(TREE.format()), analyse(found).all)
    assert tree.to_str().count("kernel") == kernels


def test_a_sum_with_what_follows() -> None:
    """alpha is computed and stored in one launch, with two parallel loops behind."""
    text = """void f(int n, double r[n], double y[n], double z[n]) {
    double alpha = 1, sum;
    #pragma scop
    for (int k = 1; k < n; k++) {
        sum = 0;
        for (int i = 0; i < k; i++) sum += r[k - i - 1] * y[i];
        alpha = -(r[k] + sum) * alpha;
        for (int i = 0; i < k; i++) z[i] = y[i] + alpha * y[k - i - 1];
        for (int i = 0; i < k; i++) y[i] = z[i];
        y[k] = alpha;
    }
    #pragma endscop
    r[0] = alpha; }"""
    state = polytile.compile(text, name="f.c", schedule="superposed").scops[0].compilation
    assert state.proof is not None and state.proof.proven
    assert "S5[k]; S2[k]" in state.schedule_text() or "S2[k]; S5[k]" in state.schedule_text()
