"""Placements in stencils over several steps: split tiles, and overlapped tiles that sweep planes in rings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import islpy as isl
import pytest

from polytile.ir.memory import Space
from polytile.ir.plan import WHOLE_KERNEL, Copy, KernelPlan, Owner, Placement
from polytile.ir.scop import Scop
from polytile.scheduling.proof.legality import BLOCKS, THREADS
from polytile.scheduling.proof.placements import wrong_placements

OTHER = "another value arrives"
UNSET = "what is read was never written there"


Run = tuple[Scop, isl.Schedule, isl.UnionMap]  # a tree over executions, and the instances that these carry out


def whys(run: Run, *plans: KernelPlan) -> set[str]:
    scop, tree, instances = run
    return {f.why for f in wrong_placements(scop, tree, plans, instances)}


# Split tiles ----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def jacobi(scop: Callable[..., Scop]) -> Scop:
    body = """for (int t = 0; t < m; t++) {
        for (int i = 1; i < n - 1; i++) B[i] = A[i - 1] + A[i] + A[i + 1];
        for (int i = 1; i < n - 1; i++) A[i] = B[i - 1] + B[i] + B[i + 1];
    }"""
    return scop("int m, int n, double A[n], double B[n]", body)


def split(barrier: bool = True) -> isl.Schedule:
    """Bands of eight steps over A and B. A tile of the first kernel has a base of 256 points, and one less on each side
    at each step (S0a, S1a); the tiles of the second kernel have what is left (S0b, S1b)."""
    steps = {name: f"2*(t - 4T){' + 1' if name[1] == '1' else ''}" for name in ("S0a", "S1a", "S0b", "S1b")}
    domains = []
    for name, step in steps.items():
        inside = f"256b + ({step}) <= i <= 256b + 255 - ({step})"
        left = f"256b + 255 - ({step}) < i < 256b + 256 + ({step})"
        where = inside if name.endswith("a") else left
        domains.append(f"{name}[T, b, t, i] : 0 <= t < m and 0 <= t - 4T < 4 and 0 < i < n - 1 and {where}")

    def both(value: str) -> str:
        return f"[{{ {'; '.join(f'{name}[T, b, t, i] -> [{value}]' for name in steps)} }}]"

    times = f"[{{ {'; '.join(f'{name}[T, b, t, i] -> [{step}]' for name, step in steps.items())} }}]"
    deep = "  " if barrier else ""
    sync = f'{deep}            mark: "sync"\n{deep}            child:\n' if barrier else ""
    text = f'domain: "[m, n] -> {{ {"; ".join(domains)} }}"\nchild:\n  schedule: "{both("T")}"\n'
    text += "  child:\n    sequence:\n"
    for kind in "ab":
        text += f"""    - filter: "{{ S0{kind}[T, b, t, i]; S1{kind}[T, b, t, i] }}"
      child:
        mark: "kernel"
        child:
          mark: "block"
          child:
            schedule: "{both("b")}"
            child:
{sync}              {deep}schedule: "{times}"
              {deep}child:
              {deep}  mark: "thread[128]"
              {deep}  child:
              {deep}    schedule: "{both("i")}"
"""
    return isl.Schedule(text)


INSTANCES = isl.UnionMap("{ S0a[T, b, t, i] -> S0[t, i]; S0b[T, b, t, i] -> S0[t, i] }").union(
    isl.UnionMap("{ S1a[T, b, t, i] -> S1[t, i]; S1b[T, b, t, i] -> S1[t, i] }")
)


def box(array: str, kernel: int, fill: tuple[int, int], drain: tuple[int, int], margin: int = 8) -> Placement:
    """Cells for [256 b - margin, 256 b + 256 + margin), or for the two margins around 256 b + 256."""
    start = 256 if kernel else 0
    width = 2 * margin + (0 if kernel else 256)

    def copied(low: int, high: int, inside: str) -> Copy:
        where = f"256b + {start} + {low} <= i < 256b + {start} + {high} and {inside}"
        return Copy(f"[n] -> {{ [T, b] -> {array}[i] : {where} }}", WHOLE_KERNEL)

    return Placement(
        f"{array}_tile",
        array,
        (),
        WHOLE_KERNEL,
        Space.SHARED,
        Owner.BLOCK,
        f"{{ [[T, b] -> {array}[i]] -> [i - 256b - {start} + {margin}] }}",
        (width,),
        fill=copied(*fill, "0 <= i < n"),
        drain=copied(*drain, "0 < i < n - 1"),
    )


BOXES = {("A", 0): ((-1, 257), (1, 255)), ("B", 0): ((0, 256), (0, 256)), ("A", 1): ((-8, 8), (-7, 7))}
BOXES["B", 1] = ((-8, 8), (-6, 6))


def plan(array: str, kernel: int, **changes: Any) -> KernelPlan:
    return KernelPlan(kernel, (replace(box(array, kernel, *BOXES[array, kernel]), **changes),))


def run(jacobi: Scop, barrier: bool = True) -> Run:
    return jacobi, split(barrier), INSTANCES


@pytest.mark.slow(but="kernels2-B")
@pytest.mark.parametrize("array", ["A", "B"])
@pytest.mark.parametrize("kernels", [(0,), (1,), (0, 1)])
def test_split_tiles(jacobi: Scop, array: str, kernels: tuple[int, ...]) -> None:
    assert whys(run(jacobi), *(plan(array, kernel) for kernel in kernels)) == set()


def test_a_split_tile_without_its_halo(jacobi: Scop) -> None:
    assert UNSET in whys(run(jacobi), plan("A", 0, fill=box("A", 0, (0, 257), (1, 255)).fill))


def test_a_split_tile_without_barriers_between_steps(jacobi: Scop) -> None:
    assert THREADS in whys(run(jacobi, barrier=False), plan("A", 0))


def test_a_split_tile_that_is_not_drained(jacobi: Scop) -> None:
    assert OTHER in whys(run(jacobi), plan("A", 0, drain=None))


def test_a_split_tile_that_loads_what_its_neighbour_stores(jacobi: Scop) -> None:
    assert BLOCKS in whys(run(jacobi), plan("A", 0, fill=box("A", 0, (-8, 264), (1, 255)).fill))


def test_a_split_tile_in_too_few_cells(jacobi: Scop) -> None:
    assert "a cell of A_tile is outside of its extents" in whys(run(jacobi), plan("A", 0, extents=(264,)))


# Overlapped tiles that sweep planes -----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def two_steps(scop: Callable[..., Scop]) -> Scop:
    body = """for (int z = 1; z < n - 1; z++) for (int x = 1; x < m - 1; x++)
        V[z][x] = A[z - 1][x - 1] + A[z - 1][x] + A[z - 1][x + 1] + A[z][x - 1] + A[z][x] + A[z][x + 1]
            + A[z + 1][x - 1] + A[z + 1][x] + A[z + 1][x + 1];
    for (int z = 2; z < n - 2; z++) for (int x = 2; x < m - 2; x++)
        B[z][x] = V[z - 1][x] + V[z + 1][x] + V[z][x - 1] + V[z][x] + V[z][x + 1];"""
    return scop("int n, int m, double A[n][m], double B[n][m]", body, "double V[n][m];")


def sweep(scop: Scop, halo: int = 1, barriers: str = "both") -> Run:
    """Blocks own 32 columns of B and compute those of V around them, too; plane z of V comes with plane z - 1 of B."""
    first = f"S0[b, z, x] : 32b - {halo} <= x < 32b + 32 + {halo} and 0 < z < n - 1 and 0 < x < m - 1"
    own = "S1[b, z, x] : 32b <= x < 32b + 32 and 1 < z < n - 2 and 1 < x < m - 2"
    planes = "[{ S0[b, z, x] -> [z]; S1[b, z, x] -> [z + 1] }]"
    depth = 5 + (barriers in ("both", "planes"))
    blocks = "[{ S0[b, z, x] -> [b]; S1[b, z, x] -> [b] }]"
    lines = [(1, 'mark: "kernel"'), (2, 'mark: "block"'), (3, f'schedule: "{blocks}"')]
    lines += [(4, 'mark: "loop[z]"'), *([(5, 'mark: "sync"')] if depth == 6 else []), (depth, f'schedule: "{planes}"')]
    lines += [(depth + 1, 'mark: "sync"')] if barriers in ("both", "steps") else []
    text = f'domain: "[n, m] -> {{ {first}; {own} }}"\n'
    text += "".join(f'{"  " * (at - 1)}child:\n{"  " * at}{node}\n' for at, node in lines)
    at = "  " * (lines[-1][0] + 1)
    text += f"{at[2:]}child:\n{at}sequence:\n"
    for name in ("S0", "S1"):
        text += f'{at}- filter: "{{ {name}[b, z, x] }}"\n{at}  child:\n{at}    mark: "thread[64]"\n{at}    child:\n'
        text += f'{at}      schedule: "[{{ {name}[b, z, x] -> [x - 32b + 16] }}]"\n'
    return scop, isl.Schedule(text), isl.UnionMap("{ S0[b, z, x] -> S0[z, x]; S1[b, z, x] -> S1[z, x] }")


def ring(array: str, slots: int, halo: int, fill: Copy | None = None) -> Placement:
    cell = f"{{ [[b] -> {array}[z, x]] -> [z mod {slots}, x - 32b + {halo}] }}"
    extents = (slots, 32 + 2 * halo)
    return Placement(f"ring_{array}", array, (), WHOLE_KERNEL, Space.SHARED, Owner.BLOCK, cell, extents, fill=fill)


def planes(ahead: int, halo: int = 2, first: int = 1) -> Copy:
    """Plane z + 1 comes at plane z; the first planes come at once."""
    columns = f"32b - {halo} <= x < 32b + 32 + {halo} and 0 <= x < m and 0 <= i < n"
    which = f"(i = z + 1 or (z = 1 and i <= {first}))"
    return Copy(f"[n, m] -> {{ [b, z] -> A[i, x] : {columns} and {which} }}", "z", ahead, "async")


@pytest.mark.parametrize(("slots", "ahead"), [(3, 0), (4, 1), (5, 2)])
def test_a_ring_of_planes(two_steps: Scop, slots: int, ahead: int) -> None:
    assert whys(sweep(two_steps), KernelPlan(0, (ring("A", slots, 2, planes(ahead)),))) == set()


@pytest.mark.parametrize(("slots", "ahead"), [(2, 0), (3, 1), (4, 2)])
def test_a_ring_of_a_slot_too_few(two_steps: Scop, slots: int, ahead: int) -> None:
    assert OTHER in whys(sweep(two_steps), KernelPlan(0, (ring("A", slots, 2, planes(ahead)),)))


@pytest.mark.parametrize(("halo", "first"), [(1, 1), (2, 0)])
def test_a_ring_that_lacks_planes_or_columns(two_steps: Scop, halo: int, first: int) -> None:
    assert UNSET in whys(sweep(two_steps), KernelPlan(0, (ring("A", 4, 2, planes(1, halo, first)),)))


def test_recomputed_planes(two_steps: Scop) -> None:
    assert whys(sweep(two_steps), KernelPlan(0, (ring("V", 3, 1),))) == set()
    both = KernelPlan(0, (ring("A", 4, 2, planes(1)), ring("V", 3, 1)))
    assert whys(sweep(two_steps), both) == set()


def test_recomputed_planes_with_a_larger_halo(two_steps: Scop) -> None:
    assert whys(sweep(two_steps, halo=2), KernelPlan(0, (ring("V", 3, 2),))) == set()


def test_recomputed_planes_without_a_halo(two_steps: Scop) -> None:
    assert UNSET in whys(sweep(two_steps, halo=0), KernelPlan(0, (ring("V", 3, 1),)))


def test_recomputed_planes_in_two_slots(two_steps: Scop) -> None:
    assert OTHER in whys(sweep(two_steps), KernelPlan(0, (ring("V", 2, 1),)))


def test_recomputed_planes_with_a_barrier_a_plane(two_steps: Scop) -> None:
    """Of the plane that was just made, each thread reads its own column only."""
    assert whys(sweep(two_steps, barriers="planes"), KernelPlan(0, (ring("V", 3, 1),))) == set()


@pytest.mark.parametrize("barriers", ["steps", "none"])
def test_recomputed_planes_without_a_barrier_at_the_end(two_steps: Scop, barriers: str) -> None:
    assert THREADS in whys(sweep(two_steps, barriers=barriers), KernelPlan(0, (ring("V", 3, 1),)))


def test_recomputed_planes_in_memory(two_steps: Scop) -> None:
    """Blocks write the same elements: only cells of their own keep them apart."""
    own = replace(ring("V", 3, 1), through=True)
    assert BLOCKS in whys(sweep(two_steps), KernelPlan(0, (own,)))
