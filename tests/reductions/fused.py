"""Two reductions over one read of a matrix, mapped by hand."""

from __future__ import annotations

import islpy as isl

from polytile.compilation import Compilation
from polytile.ir.partial_results import Split
from polytile.ir.schedule import MappedSchedule
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.transform.reductions.privatise import privatise

from .trees import compiled, read

BICG = """  sequence:
  - filter: "{ S0_init[j, c, l]; S0_update[i, j]; S0_fold[j, c]; S1_init[i, c, l]; S1_update[i, j]; S1_fold[i, c] }"
    child:
      mark: "kernel"
      child:
        mark: "block"
        child:
          schedule: "[{ S0_init[j, c, l] -> [c]; S0_fold[j, c] -> [c]; S0_update[i, j] -> [floor(i/64)]; \
S1_update[i, j] -> [floor(i/64)]; S1_init[i, c, l] -> [floor(i/64)]; S1_fold[i, c] -> [floor(i/64)] }, \
{ S0_init[j, c, l] -> [floor(j/32)]; S0_fold[j, c] -> [floor(j/32)]; S0_update[i, j] -> [floor(j/32)]; \
S1_update[i, j] -> [floor(j/32)]; S1_init[i, c, l] -> [c]; S1_fold[i, c] -> [c] }]"
          child:
            mark: "sync"
            child:
              sequence:
              - filter: "FIRST"
                child:
                  sequence:
                  - filter: "{ S0_init[j, c, l] }"
                    child:
                      mark: "thread[8,32]"
                      child:
                        schedule: "[{ S0_init[j, c, l] -> [l] }, { S0_init[j, c, l] -> [j] }]"
MIDDLE  - filter: "{ S0_finish[j, c]; S1_finish[i, c] }"
    child:
      mark: "kernel"
      child:
        mark: "block"
        child:
          schedule: "[{ S0_finish[j, c] -> [floor(j/64)]; S1_finish[i, c] -> [floor(i/64)] }]"
          child:
            mark: "thread[64]"
            child:
              schedule: "[{ S0_finish[j, c] -> [j]; S1_finish[i, c] -> [i] }]"
              child:
                sequence:
                - filter: "{ S0_finish[j, c] }"
                  child:
                    schedule: "[{ S0_finish[j, c] -> [c] }]"
                - filter: "{ S1_finish[i, c] }"
                  child:
                    schedule: "[{ S1_finish[i, c] -> [c] }]"
"""

# Each row's partial results are started, made and combined in turn,
TOGETHER = """                  - filter: "{ S0_update[i, j]; S1_init[i, c, l]; S1_update[i, j]; S1_fold[i, c] }"
                    child:
                      mark: "thread[8,32]"
                      child:
                        schedule: "[{ S0_update[i, j] -> [i]; S1_update[i, j] -> [i]; S1_init[i, c, l] -> [i]; \
S1_fold[i, c] -> [i] }, { S0_update[i, j] -> [j]; S1_update[i, j] -> [j]; S1_init[i, c, l] -> [32c + l]; \
S1_fold[i, c] -> [32c] }]"
                        child:
                          sequence:
                          - filter: "{ S1_init[i, c, l] }"
                          - filter: "{ S0_update[i, j] }"
                          - filter: "{ S1_update[i, j] }"
                          - filter: "{ S1_fold[i, c] }"
              - filter: "{ S0_fold[j, c] }"
                child:
                  mark: "thread[8,32]"
                  child:
                    schedule: "[{ S0_fold[j, c] -> [0] }, { S0_fold[j, c] -> [j] }]"
"""

# or started before the loop over a tile's rows, and combined behind it.
APART = """                  - filter: "{ S1_init[i, c, l] }"
                    child:
                      mark: "thread[8,32]"
                      child:
                        schedule: "[{ S1_init[i, c, l] -> [i mod 8] }, { S1_init[i, c, l] -> [l] }]"
                        child:
                          schedule: "[{ S1_init[i, c, l] -> [floor(i/8)] }]"
                  - filter: "{ S0_update[i, j]; S1_update[i, j] }"
                    child:
                      mark: "thread[8,32]"
                      child:
                        schedule: "[{ S0_update[i, j] -> [i mod 8]; S1_update[i, j] -> [i mod 8] }, \
{ S0_update[i, j] -> [j mod 32]; S1_update[i, j] -> [j mod 32] }]"
                        child:
                          schedule: "[{ S0_update[i, j] -> [floor(i/8)]; S1_update[i, j] -> [floor(i/8)] }]"
                          child:
                            sequence:
                            - filter: "{ S0_update[i, j] }"
                            - filter: "{ S1_update[i, j] }"
              - filter: "{ S0_fold[j, c] }"
                child:
                  mark: "thread[8,32]"
                  child:
                    schedule: "[{ S0_fold[j, c] -> [0] }, { S0_fold[j, c] -> [j] }]"
              - filter: "{ S1_fold[i, c] }"
                child:
                  mark: "thread[8,32]"
                  child:
                    schedule: "[{ S1_fold[i, c] -> [i] }, { S1_fold[i, c] -> [0] }]"
"""

GESUMMV = """  mark: "kernel"
  child:
    mark: "block"
    child:
      schedule: "[{ S0_init[i, l] -> [floor(i/8)]; S1_init[i, l] -> [floor(i/8)]; S0_update[i, j] -> [floor(i/8)]; \
S1_update[i, j] -> [floor(i/8)]; S0_fold[i] -> [floor(i/8)]; S1_fold[i] -> [floor(i/8)]; S2[i] -> [floor(i/8)] }]"
      child:
        mark: "sync"
        child:
          sequence:
          - filter: "{ S0_init[i, l]; S1_init[i, l] }"
            child:
              mark: "thread[8,32]"
              child:
                schedule: "[{ S0_init[i, l] -> [i]; S1_init[i, l] -> [i] }, \
{ S0_init[i, l] -> [l]; S1_init[i, l] -> [l] }]"
                child:
                  sequence:
                  - filter: "{ S0_init[i, l] }"
                  - filter: "{ S1_init[i, l] }"
          - filter: "{ S0_update[i, j]; S1_update[i, j] }"
            child:
              mark: "thread[8,32]"
              child:
                schedule: "[{ S0_update[i, j] -> [i]; S1_update[i, j] -> [i] }, \
{ S0_update[i, j] -> [j]; S1_update[i, j] -> [j] }]"
                child:
                  sequence:
                  - filter: "{ S0_update[i, j] }"
                  - filter: "{ S1_update[i, j] }"
          - filter: "{ S0_fold[i] }"
            child:
              mark: "thread[8,32]"
              child:
                schedule: "[{ S0_fold[i] -> [i] }, { S0_fold[i] -> [0] }]"
          - filter: "{ S1_fold[i] }"
            child:
              mark: "thread[8,32]"
              child:
                schedule: "[{ S1_fold[i] -> [i] }, { S1_fold[i] -> [0] }]"
          - filter: "{ S2[i] }"
            child:
              mark: "thread[8,32]"
              child:
                schedule: "[{ S2[i] -> [i] }, { S2[i] -> [0] }]"
"""


def _built(
    name: str, arguments: str, body: str, splits: dict[str, tuple[tuple[Split, ...], dict[int, int]]], tree: str
) -> Compilation:
    source = program = read(name, arguments, body)
    for statement, (parts, blocked) in splits.items():
        found = privatise(program, analyse(program), statement, parts, blocked)
        assert found is not None
        program = found
    domain = program.domain.intersect_params(program.context)
    schedule = MappedSchedule(isl.Schedule(f'domain: "{domain}"\nchild:\n{tree}'), "test")
    return compiled(source, program, schedule)


def bicg(*, apart: bool = False) -> Compilation:
    """s = s + r A and q = q + A p at once: tiles of 64 rows and 32 columns; lanes along y for s, along x for q."""
    first = "S0_init[j, c, l]; S0_update[i, j]; S1_init[i, c, l]; S1_update[i, j]"
    tree = BICG.replace("FIRST", f"{{ {first}{'' if apart else '; S1_fold[i, c]'} }}")
    tree = tree.replace("MIDDLE", APART if apart else TOGETHER)
    arguments = "int n, int m, double A[n][m], double s[m], double q[n], double p[m], double r[n]"
    body = "{ s[j] += r[i] * A[i][j]; q[i] += A[i][j] * p[j]; }"
    splits = {
        "S0": ((Split(0, 64, False), Split(0, 8, True)), {1: (32,)}),
        "S1": ((Split(1, 32, False), Split(1, 32, True)), {0: (64,)}),
    }
    name = "bicg_apart" if apart else "bicg"
    return _built(name, arguments, f"for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {body}", splits, tree)


def gesummv() -> Compilation:
    """y = a (A x) + b (B x), a row of both matrices at once, and what uses the sums in the same block."""
    vectors = "double u[n], double v[n], double x[n], double y[n]"
    arguments = f"int n, double a, double b, double A[n][n], double B[n][n], {vectors}"
    body = """for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) { u[i] += A[i][j] * x[j]; v[i] += B[i][j] * x[j]; }
        y[i] = a * u[i] + b * v[i];
    }"""
    lanes = ((Split(1, 32, True),), {0: (8,)})
    return _built("gesummv", arguments, body, {"S0": lanes, "S1": lanes}, GESUMMV)
