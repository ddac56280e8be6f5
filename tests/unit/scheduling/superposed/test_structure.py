"""What the loop trees of well-known programs look like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polytile.scheduling.strategies.superposed.loop_tree import Loop, Sequence, statements_of
from polytile.scheduling.strategies.superposed.thread_mapping import Steps, nests_of, share_out
from polytile.scheduling.strategies.superposed.two_level_trees import block_loops, loop_trees

PRODUCT = "i* j* { S0; k+ S1 }"
TREES = {
    "polybench/gemm.c": PRODUCT,
    "polybench/syrk.c": PRODUCT,
    "polybench/syr2k.c": PRODUCT,
    "polybench/2mm.c": "{ i* j* { S0; k+ S1 }; i* j* { S2; k+ S3 } }",
    "polybench/3mm.c": "{ i* j* { S0; k+ S1 }; i* j* { S2; k+ S3 }; i* j* { S4; k+ S5 } }",
    "polybench/doitgen.c": "{ r* q* { p* { S0; s+ S1 }; p* S2 }; e0* S3 }",
    "polybench/mvt.c": "(i* j+) (j+ i*) { S0; S1 }",
    "polybench/bicg.c": "{ i* { S0; S1 }; (i+ i*) (j* j+) { S2; S3 } }",
    "polybench/atax.c": "{ i* { S1; j+ S2 }; (i* j*) { S0; i+ S3 } }",
    "polybench/gemver.c": "{ (i* j+) (j* i*) { S0; S1 }; i* S2; i* j+ S3 }",
    "polybench/gesummv.c": "i* { S0; S1; j+ { S2; S3 }; S4 }",
    "polybench/covariance.c": "{ j* { S0; i+ S1; S2 }; i* j* S3; i* j* { S4; k+ S5; S6; S7 } }",
    "polybench/fdtd-2d.c": "t { j* S0; i* j* { S1; S2 }; i* j* S3 }",
    "polybench/jacobi-2d.c": "t { i* j* S0; i* j* S1 }",
    "polybench/cholesky.c": "(k j k i) { S3; i* { S1; S2 }; i* j* S0 }",
    "polybench/lu.c": "(k j k) { i* S1; i* j* { S0; S2 } }",
    "polybench/trisolv.c": "{ i* S0; (j i) { S2; i* S1 } }",
    "polybench/trmm.c": "{ j* k i* S0; i* j* S1 }",
    "polybench/seidel-2d.c": "t i j S0",
    "polyast/jacobi-2d-alt.c": "i* t { j* S0; j* S1 }",
    "polyast/mri-q.c": "i* s S2",
    "polyast/symm-3.2.c": "j* i { S0; (k* k+) { S1; S2 }; S3 }",
    "polyast/sp-xsolve-1.c": "k* j* i { S0; S1; S2; m* { S3; S6; S9 }; S4; S5; S7; S8 }",
    "polyast/sp-xsolve-2.c": "k* j* i { " + "; ".join(f"S{i}" for i in range(20)) + " }",
}
# Where the tree for blocks is another one: loops that are parallel for all statements come first.
BLOCKS = {"polybench/gemver.c": "{ (j* i*) (i* j+) { S0; S1 }; i* S2; i* j+ S3 }"}


@pytest.mark.slow(but="polyast/jacobi-2d-alt.c")
@pytest.mark.parametrize("path", TREES)
def test_programs(path: str, program: Callable[..., Any], short: Callable[..., str]) -> None:
    (found,) = program(path)
    trees = loop_trees(found.scop, found.dependences)
    assert short(found.scop, trees.thread) == TREES[path]
    assert short(found.scop, trees.block) == BLOCKS.get(path, TREES[path])


@pytest.mark.parametrize(
    ("path", "statement", "iterators"),
    [
        ("polybench/gemm.c", "S1", "ij"),  # j coalesces; k is a reduction's, and serial
        ("polybench/doitgen.c", "S1", "rqp"),
        ("polybench/mvt.c", "S0", "ij"),  # only the reduction's loop coalesces: j along a warp
        ("polybench/mvt.c", "S1", "ji"),
        ("polybench/gesummv.c", "S2", "ij"),
        ("polybench/gesummv.c", "S4", "i"),
        ("polybench/heat-3d.c", "S0", "ijk"),
        ("polyast/jacobi-2d-alt.c", "S0", "ij"),
        ("polyast/mri-q.c", "S2", "i"),
        ("polyast/sp-xsolve-1.c", "S0", "kj"),
        ("polybench/seidel-2d.c", "S0", ""),
    ],
)
def test_loops_for_threads(path: str, statement: str, iterators: str, program: Callable[..., Any]) -> None:
    (found,) = program(path)
    inside = share_out(Steps(found.scop), loop_trees(found.scop, found.dependences).thread, reductions=True)
    names = found.scop.statement(statement).iterators
    nest = next(nest for nest in nests_of(inside) if statement in statements_of(nest.body))
    assert "".join(names[loop.row(statement).iterator] for loop in nest.loops) == iterators


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("polybench/gemm.c", [2]),
        ("polybench/doitgen.c", [2, 1]),
        ("polybench/mvt.c", [2]),  # chunks of both reductions
        ("polybench/atax.c", [1, 1]),  # the loop of the reduction is no leading one
        ("polybench/gemver.c", [2, 1, 2]),
        ("polybench/2mm.c", [2, 2]),
    ],
)
def test_loops_for_blocks(path: str, counts: list[int], program: Callable[..., Any]) -> None:
    (found,) = program(path)
    tree = loop_trees(found.scop, found.dependences).block
    nests = tree.children if isinstance(tree, Sequence) else (tree,)
    assert [len(block_loops(found.scop, nest, 2)) for nest in nests if isinstance(nest, Loop)] == counts
