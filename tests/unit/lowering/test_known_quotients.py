"""Quotients of a kernel's instances that the bands above have for values become those values: the same instances."""

from __future__ import annotations

import islpy as isl
import pytest

import polytile
from polytile.codegen.lowering.known_quotients import Coordinates, coordinates_around, with_coordinates
from polytile.ir.isl_util import mark_name
from polytile.ir.schedule import BLOCK, KERNEL, nodes_below

SPLIT = (
    "[n] -> { S[t, i] : 0 <= t and 0 <= i < n and 22*floor(i/22) >= 2*t + i - 6*floor(t/3) - 15;"
    " T[t, i] : 0 <= t and 0 <= i < n and 22*floor((i - 4)/22) >= 2*t - i + 6*floor(t/3) }"
)
CLEAN = (
    "[n, c, b] -> { S[t, i] : 0 <= t and 0 <= i < n and 3c <= t <= 3c + 2 and 22b <= i <= 22b + 21"
    " and 22b >= 2t + i - 6c - 15;"
    " T[t, i] : 0 <= t and 0 <= i < n and 3c <= t <= 3c + 2 and 22b <= i - 4 <= 22b + 21 and 22b >= 2t - i + 6c }"
)
BAND = isl.UnionPwAff("{ S[t, i] -> [floor(t/3)]; T[t, i] -> [floor(t/3)] }")
TILE = isl.UnionPwAff("{ S[t, i] -> [floor(i/22)]; T[t, i] -> [floor((i - 4)/22)] }")
TREE = f"""{{ domain: "{SPLIT}",
    child: {{ schedule: "[n] -> [{BAND}]",
    child: {{ mark: "kernel", child: {{ mark: "block",
    child: {{ schedule: "[n] -> [{TILE}]", child: {{ sequence: [
        {{ filter: "[n] -> {{ S[t, i] }}",
           child: {{ schedule: "[n] -> [{{ S[t, i] -> [(i)] }}]" }} }},
        {{ filter: "[n] -> {{ T[t, i] : t = 3*floor(t/3) }}",
           child: {{ schedule: "[n] -> [{{ T[t, i] -> [(t)] }}]" }} }}
    ] }} }} }} }} }} }}"""


def quotients(points: isl.UnionSet) -> int:
    found: list[isl.Set] = []
    points.foreach_set(found.append)
    return sum(int(part.dim(isl.dim_type.div)) for one in found for part in one.get_basic_sets())


def test_quotients_of_coordinates_are_replaced() -> None:
    coordinates = Coordinates(("c", "b"), (BAND, TILE))
    found = coordinates.fixed(isl.UnionSet(SPLIT))
    assert found.is_equal(isl.UnionSet(CLEAN))
    assert quotients(found) == 0


@pytest.mark.parametrize(
    "other",
    [
        "[n] -> { S[t, i] : 0 <= i < n and i mod 4 = 1 }",  # by another number
        "[n] -> { S[t, i] : 0 <= i < n and i >= 22*floor((i + t)/22) }",  # of another number
        "[n] -> { S[t, i] : 0 <= i < n }",  # none
    ],
)
def test_other_quotients_stay(other: str) -> None:
    coordinates = Coordinates(("c", "b"), (BAND, TILE))
    points = isl.UnionSet(other)
    assert not coordinates.occur(points)
    found = coordinates.fixed(points)
    where = isl.UnionSet("[c, b] -> { S[t, i] : 3c <= t <= 3c + 2 and 22b <= i <= 22b + 21 }")
    assert found.is_equal(points.intersect(where))


def test_pieces_of_a_member() -> None:
    """A member with several formulas has each where it holds."""
    tile = isl.UnionPwAff("{ S[t, i] -> [floor(i/22)] : t >= 5; S[t, i] -> [floor((i - 4)/22)] : t <= 4 }")
    points = isl.UnionSet("{ S[t, i] : 0 <= t <= 9 and 22*floor(i/22) >= i - 3 and 22*floor((i - 4)/22) >= i - 8 }")
    equal = isl.UnionSet(
        "[b] -> { S[t, i] : t >= 5 and 22b <= i <= 22b + 21; S[t, i] : t <= 4 and 22b <= i - 4 <= 22b + 21 }"
    )
    assert Coordinates(("b",), (tile,)).fixed(points).is_equal(points.intersect(equal))


def test_trees() -> None:
    """Bands of coordinates become the parameters; all nodes stay where they are, with the same instances."""
    tree = isl.Schedule(TREE)
    kernel = next(n for n in nodes_below(tree.get_root()) if mark_name(n) == KERNEL)
    block = next(n for n in nodes_below(kernel) if mark_name(n) == BLOCK)
    coordinates = coordinates_around(kernel, block, ("c", "b"))
    assert coordinates.occur(kernel.get_domain())
    found = with_coordinates(kernel, coordinates)
    before, after = list(nodes_below(kernel)), list(nodes_below(found))
    assert [n.get_type() for n in before] == [n.get_type() for n in after]
    for old, new in zip(before, after, strict=True):
        assert coordinates.fixed(old.get_domain()).is_equal(new.get_domain())
        assert quotients(new.get_domain()) == 0


def test_kernels_of_split_tiles_have_no_quotients_of_coordinates() -> None:
    source = """void f(int T, int N, double A[N], double B[N]) {
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++) B[i] = A[i - 1] + A[i + 1];
        for (int i = 1; i < N - 1; i++) A[i] = B[i - 1] + B[i + 1];
    }
#pragma endscop
}"""
    (scop,) = polytile.compile(source, name="f.c", schedule="split", tile=(16,), time_tile=3, block=(8,)).scops
    loops = [line for line in scop.cuda.splitlines() if "for (int i " in line]
    assert loops
    assert all("%" not in line and line.count("floord") <= 1 for line in loops), loops


def test_threads_of_one_iteration_have_no_loops() -> None:
    """Slabs of a time band are cut into blocks as parallel loops are: a thread band of at most one point a thread."""
    sum_of = "+ ".join(f"A[t % 2][i {d}][j][k]" for d in ("- 1", "+ 1"))
    source = f"""void f(int T, int N, double A[2][N][N][N]) {{
#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N - 1; i++) for (int j = 1; j < N - 1; j++) for (int k = 1; k < N - 1; k++)
            A[(t + 1) % 2][i][j][k] = {sum_of};
#pragma endscop
}}"""
    (scop,) = polytile.compile(source, name="f.c", schedule="split", time_tile=2).scops
    assert scop.compilation.schedule is not None and scop.compilation.schedule.strategy == "split"
    kernels = scop.cuda[scop.cuda.index("__global__") :]
    assert "threadIdx.x" in kernels
    assert "+= 32" not in kernels.split("\n}\n")[0]
