"""The proof that cells of registers, shared and device memory carry the right values, overlapped tiles included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import islpy as isl
import pytest

from polytile.diagnostics import IllegalSchedule
from polytile.ir.expr import Literal
from polytile.ir.host import Transfer
from polytile.ir.memory import Space, Storage
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.data_transfers import transfers
from polytile.scheduling.analysis.dependences import Dependences, analyse
from polytile.scheduling.proof.legality import BLOCKS, THREADS, prove
from polytile.scheduling.proof.storage import Failure, Realisation, wrong_homes, wrong_values
from polytile.scheduling.proof.transfers import wrong_transfers
from tests.kernel_storage import homes_of

# Two steps of a 3-point stencil on X[t][i], in tiles of 8 points that compute their neighbours' first step again.
FLOW = "[n] -> { S[0, i] -> S[1, j] : i - 1 <= j <= i + 1 and 0 < i, j < n - 1 }"
INSIDE = "0 < i < n - 1"


def tiles(halo: int = 1, sync: str = "sync", owners_only: bool = True, local: bool = True) -> Realisation:
    """`halo` points more on each side at the first step; without `local`, its values go to device memory."""
    first = f"S[b, 0, i] : 8b - {halo} <= i < 8b + 8 + {halo} and {INSIDE}"
    second = f"S[b, 1, i] : 8b <= i < 8b + 8 + {0 if owners_only else 1} and {INSIDE}"
    domain = f"[n] -> {{ {first}; {second} }}"
    tree = f"""domain: "{domain}"
child:
  mark: "kernel"
  child:
    mark: "block"
    child:
      schedule: "[{{ S[b, t, i] -> [b] }}]"
      child:
        mark: "{sync}"
        child:
          schedule: "[{{ S[b, t, i] -> [t] }}]"
          child:
            mark: "thread[16]"
            child:
              schedule: "[{{ S[b, t, i] -> [i - 8b + 1] }}]"
"""
    if not sync:
        tree = tree.replace('        mark: ""\n        child:\n', "")
    executed = isl.UnionSet(domain)
    cell = "L[b, i]" if local else "X[1, i]"
    reads = isl.UnionMap(
        f"[n] -> {{ S[b, 1, i] -> {cell.replace('i]', 'j]')} : i - 1 <= j <= i + 1 and 0 < j < n - 1; "
        "S[b, 0, i] -> X[0, j] : i - 1 <= j <= i + 1; S[b, 1, i] -> X[1, 0] : i = 1 }"
    )
    writes = isl.UnionMap(f"[n] -> {{ S[b, 0, i] -> {cell}; S[b, 1, i] -> X[2, i] }}")
    return Realisation(
        isl.Schedule(tree),
        isl.UnionMap("{ S[b, t, i] -> S[t, i] }").intersect_domain(executed),
        reads.intersect_domain(executed),
        writes.intersect_domain(executed),
        isl.UnionMap("[n] -> { }"),
    )


def failures(found: Realisation) -> list[str]:
    return [f.why for f in wrong_values("X", isl.UnionMap(FLOW), found)]


def test_small_programs_that_own_their_results_are_proven() -> None:
    assert failures(tiles()) == []


def test_a_larger_halo_is_only_a_waste() -> None:
    assert failures(tiles(halo=2)) == []


def test_a_halo_that_is_one_point_short() -> None:
    assert failures(tiles(halo=0)) == ["a value does not arrive"]


def test_two_owners_of_one_result() -> None:
    assert failures(tiles(owners_only=False)) == [BLOCKS, "a value does not arrive"]


def test_recomputed_values_must_stay_in_their_block() -> None:
    """In device memory, blocks would write the same element, and read each other's."""
    assert BLOCKS in failures(tiles(local=False))


def test_no_barrier_between_the_steps() -> None:
    assert failures(tiles(sync="")) == [THREADS]


def test_cells_that_a_next_step_overwrites_too_early() -> None:
    """One row of cells for both steps: a point is overwritten while its neighbour still needs it."""
    one = tiles()
    both = one.writes.union(isl.UnionMap("[n] -> { S[b, 1, i] -> L[b, i] }").intersect_domain(one.instances.domain()))
    assert THREADS in failures(replace(one, writes=both))


# Homes ---------------------------------------------------------------------------------------------------------------
LOCALS = (
    "int n, double A[n][8], double B[n][8]",
    """for (int i = 0; i < n; i++) {
        double t[8];
        for (int j = 0; j < 8; j++) t[j] = A[i][j];
        for (int j = 0; j < 8; j++) B[i][j] = t[j] + t[7 - j];
    }""",
)


@pytest.fixture(scope="module")
def locals_state(compiled: Callable[..., Any]) -> Any:
    return compiled(*LOCALS).compilation


def homes_failures(state: Any, homes: Mapping[int, Mapping[str, Storage]]) -> list[Failure]:
    return wrong_homes(state.run, homes)


def test_chosen_homes_are_proven(locals_state: Any) -> None:
    assert homes_of(locals_state)
    assert homes_failures(locals_state, homes_of(locals_state)) == []


def test_a_home_without_the_dimension_that_tells_values_apart(locals_state: Any) -> None:
    (kernel, homes), *_ = homes_of(locals_state).items()
    ((name, home),) = homes.items()
    smaller = replace(home, space=Space.PRIVATE, extents=(), keeps=())
    assert homes_failures(locals_state, {kernel: {name: smaller}})


def test_a_home_with_fewer_cells_than_elements(locals_state: Any) -> None:
    (kernel, homes), *_ = homes_of(locals_state).items()
    ((name, home),) = homes.items()
    assert [e.text for e in home.extents] == ["8"]
    for extents in ((Literal("7"),), (), (Literal("8"), Literal("8"))):
        found = homes_failures(locals_state, {kernel: {name: replace(home, extents=extents)}})
        assert [f.why for f in found] == ["there are fewer cells than it uses"]


def test_a_home_inside_a_kernel_for_what_the_user_sees(locals_state: Any) -> None:
    array = locals_state.scop.array("B")
    home = Storage("B", Space.PRIVATE, array.element, (), "B", ())
    assert [f.why for f in homes_failures(locals_state, {0: {"B": home}})] == ["it is used outside the kernel"]


# Copies between host and device --------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def copied(scop: Callable[..., Scop]) -> tuple[Scop, Dependences, tuple[Transfer, ...]]:
    found = scop("int n, double A[n], double B[n]", "for (int i = 0; i < n; i++) B[i] = A[i];")
    dependences = analyse(found)
    return found, dependences, transfers(found, dependences)


def test_chosen_transfers_are_proven(copied: tuple[Scop, Dependences, tuple[Transfer, ...]]) -> None:
    assert wrong_transfers(*copied) == []


@pytest.mark.parametrize(
    ("array", "change", "why"),
    [
        ("A", {"copy_in": False}, "A is read before it is written, and not copied in"),
        ("B", {"copy_out": False}, "B is written and seen afterwards, and not copied out"),
        ("B", {"copy_in": False}, "B is copied out with elements that nothing wrote or copied in"),
    ],
)
def test_a_dropped_copy(
    copied: tuple[Scop, Dependences, tuple[Transfer, ...]], array: str, change: dict[str, bool], why: str
) -> None:
    scop, dependences, chosen = copied
    changed = tuple(replace(t, **change) if t.array.name == array else t for t in chosen)
    assert wrong_transfers(scop, dependences, changed) == [why]


# Relaxed reductions --------------------------------------------------------------------------------------------------
SUM = ("int n, double A[n], double s[1]", "for (int i = 0; i < n; i++) s[0] += A[i];")
SUM_TREE = """domain: "[n] -> { S0[i] : 0 <= i < n }"
child:
  mark: "kernel"
  child:
    mark: "thread[32]"
    child:
      schedule: "[{ S0[i] -> [i] }]"
"""


def test_a_relaxed_reduction_is_named_in_the_proof(scop: Callable[..., Scop]) -> None:
    found = scop(*SUM)
    dependences = analyse(found)
    schedule = MappedSchedule(isl.Schedule(SUM_TREE), "test")
    with pytest.raises(IllegalSchedule):
        prove(found, dependences, schedule)
    proof = prove(found, dependences, replace(schedule, relaxed=("S0",)))
    assert proof.proven
    assert "reductions that may change their order: S0" in proof.facts
