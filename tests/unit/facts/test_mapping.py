"""Where loops run: held against the coordinates at which the mapped schedule runs instances."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import islpy as isl
import pytest

import polytile
from polytile.facts import LoopFacts, LoopKind, Where
from polytile.ir.isl_util import maps
from polytile.scheduling.analysis.instance_map import places
from tests.reading import shared

from .trace import at, points

ROOT = Path(__file__).resolve().parents[3]
SUITE = ROOT / "polybench" / "polybench"


@shared
def facts_of(name: str, **settings: object) -> polytile.CompiledScop:
    return polytile.compile(SUITE / f"{name}.c", **settings).scops[0]  # type: ignore[arg-type]


def loop_at(scop: polytile.CompiledScop, line: int) -> LoopFacts:
    return next(loop for loop in scop.loops if loop.line == line)


def moved(relation: isl.Map, level: int, lead: int, end: int) -> bool:
    """Whether coordinates `lead` to `end` of a relation differ somewhere between instances that differ in one iterator
    alone."""
    rank = relation.dim(isl.dim_type.in_)
    seen: dict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
    for p in points(relation.wrap().flatten()):
        others = (*p[:level], *p[level + 1 : rank])
        seen[others].add(p[rank + lead : rank + end])
    return any(len(found) > 1 for found in seen.values())


@pytest.mark.parametrize(
    ("name", "sizes", "settings"),
    [
        ("lu", {"n": 12}, {"schedule": "superposed", "block": (2, 2), "tile": (2, 2)}),
        ("seidel-2d", {"tsteps": 6, "n": 10}, {"schedule": "classic", "block": (2, 2), "tile": (2, 2)}),
        ("trisolv", {"n": 14}, {"schedule": "classic", "block": (4,), "tile": (4,)}),
        ("jacobi-1d", {"tsteps": 9, "n": 40}, {"schedule": "classic", "block": (8,), "tile": (8,)}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_host_and_grid_are_those_of_the_schedule(name: str, sizes: dict[str, int], settings: dict[str, object]) -> None:
    """A loop is on the host where launches differ with its iterator alone, on the grid where blocks do."""
    scop = facts_of(name, **settings)
    state = scop.compilation
    assert state.schedule is not None and state.program is not None
    names = [kernel.name for kernel in state.program.kernels]
    checked = 0
    for place in places(state.schedule):
        for relation in maps(place.block):
            statement = state.source.statement(relation.get_tuple_name(isl.dim_type.in_))
            own = relation.intersect_params(at(sizes)).intersect_domain(statement.domain)
            host = scheduled_depth(state.schedule.tree, place.kernel)
            for facts in (one for one in scop.loops if statement.name in one.statements):
                mapping = [m for m in facts.mappings if m.kernel == names[place.kernel]]
                found = {p.where for m in mapping for p in m.places}
                assert moved(own, facts.level, 0, host) == (Where.HOST in found)
                assert moved(own, facts.level, host, own.dim(isl.dim_type.out)) == (Where.GRID in found)
                checked += 1
    assert checked > 2


def scheduled_depth(tree: isl.Schedule, kernel: int) -> int:
    from polytile.scheduling.cost.mapped_loops import kernels

    return int(list(kernels(tree))[kernel].get_schedule_depth())


@pytest.mark.parametrize(("schedule", "steps"), [("split", 6), ("overlapped", 4)])
def test_time_that_is_tiled_is_serial_all_the_same(schedule: str, steps: int) -> None:
    scop = facts_of("jacobi-1d", schedule=schedule, time_tile=steps)
    time = loop_at(scop, 36)
    assert time.kind is LoopKind.SERIAL
    assert time.witness is not None and time.witness.array == "A"
    tiled = [mapping for mapping in time.mappings if mapping.steps]
    assert tiled and {mapping.steps for mapping in tiled} == {steps}
    assert all([p.where for p in m.places] == [Where.HOST, Where.THREAD] for m in tiled)
    assert f"; {steps} steps of it in a kernel" in scop.explain()
    for line in (37, 39):
        space = loop_at(scop, line)
        assert space.kind is LoopKind.PARALLEL and space.where[:2] == (Where.GRID, Where.BLOCK)
    assert {m.kernel for loop in scop.loops for m in loop.mappings} == {k.name for k in scop.facts.kernels}


@pytest.mark.slow
def test_streams_and_slabs() -> None:
    """Rows stream through overlapped tiles of two dimensions; slabs of split tiles run step by step from the host."""
    streamed = facts_of("jacobi-2d", schedule="overlapped", time_tile=3)
    rows, columns = loop_at(streamed, 20), loop_at(streamed, 21)
    first = streamed.facts.kernels[0].name
    where = {
        loop.iterator: [p.where for m in loop.mappings if m.kernel == first for p in m.places]
        for loop in (rows, columns)
    }
    assert where["i"][-1] is Where.THREAD and Where.BLOCK not in where["i"]
    assert where["j"][:2] == [Where.GRID, Where.BLOCK]
    slabs = facts_of("heat-3d", schedule="split", time_tile=4, tile=(16,))
    time = loop_at(slabs, 36)
    assert time.kind is LoopKind.SERIAL and time.where == (Where.HOST,)
    assert {p.tile for m in time.mappings for p in m.places} == {1, 4}


@pytest.mark.slow
def test_threads_that_sum_share_the_loop() -> None:
    scop = facts_of("atax", schedule="superposed")
    sums = loop_at(scop, 23)
    assert sums.kind is LoopKind.REDUCTION and sums.arrays == ("tmp",)
    assert Where.BLOCK in sums.where and Where.THREAD in sums.where


def test_versions_of_kernels_and_lanes_that_share_loops() -> None:
    """The host chooses among versions of a kernel: loops run in each of them, in some shared by lanes of a warp."""
    text = """void f(int n, int m, int row[n + 1], double v[m], double y[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = row[i]; j < row[i + 1]; j++)
            y[i] += v[j];
#pragma endscop
}
"""
    scop = polytile.compile(text, name="rows.c").scops[0]
    names = [kernel.name for kernel in scop.facts.kernels]
    rows, row = scop.loops
    assert len(names) > 1 and [m.kernel for m in rows.mappings] == [m.kernel for m in row.mappings] == names
    plain, *lanes = ([p.where for p in m.places] for m in row.mappings)
    assert plain == [Where.THREAD] and all(places == [Where.BLOCK, Where.THREAD] for places in lanes)
