"""What the cost model predicts for each access of mapped schedules, against what the emulator counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

import polytile
from polytile.api import Program
from polytile.ir.memory import Space
from polytile.ir.scop import AccessKind
from polytile.scheduling.cost.schedule_cost import timed
from tests.kernel_storage import copies_of, homes_of

SUITE = Path(__file__).resolve().parents[2] / "polybench" / "polybench"

pytestmark = pytest.mark.usefixtures("emulator")

# Sizes of which rows are whole sectors, and extents whole warps where the mapping begins at 0.
SIZES: dict[str, dict[str, int]] = {
    "gemm": {"ni": 16, "nj": 64, "nk": 12},
    "doitgen": {"nr": 4, "nq": 8, "np": 64},
    "atax": {"m": 96, "n": 1536},  # whole batches of vectors
    "mvt": {"n": 128},
    "jacobi-2d": {"tsteps": 1, "n": 228},
}
EDGES = {"jacobi-2d": 0.01}  # its warps begin at column 0, which is no interior one: the first has 31 lanes

# Stores of several rows' sums that a warp found together: one request where the model has one for each row, and the
# sectors of all.
JOINED = {("mvt", "superposed"): {("x1_mid", "store", "mvt.c:48")}}

# Loads that make a whole batch for each element: with few chunks a thread adds up one, and the batch's other loads,
# which are not used and repeat its last one, are made nevertheless. The model counts what is used.
BATCH = 16
BATCHED = {
    ("atax", "superposed"): {("y_part_all", "load", "atax.c:26")},
    ("mvt", "superposed"): {("x1_mid", "load", "mvt.c:48"), ("x2_mid", "load", "mvt.c:51")},
}

VECTORS = {"atax": (16,)}

Key = tuple[str, str, str]  # array, load or store, place in the source
Cost = tuple[float, float]  # requests, sectors


CLASSIC, SUPERPOSED = "classic", "superposed"
both = pytest.mark.parametrize("schedule", [CLASSIC, SUPERPOSED])


@cache
def compiled(name: str, schedule: str) -> Program:
    points = (1, 1, 1) if name == "jacobi-2d" else ()  # of a thread: others load at lines of one point for all
    block = (8, 32) if schedule == CLASSIC else ()
    return polytile.compile(SUITE / f"{name}.c", schedule=schedule, block=block, points=points)


def total(costs: Iterable[tuple[Key, float, float]]) -> dict[Key, Cost]:
    found: dict[Key, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for key, requests, sectors in costs:
        found[key][0] += requests
        found[key][1] += sectors
    return {key: (requests, sectors) for key, (requests, sectors) in found.items()}


@cache
def counted(name: str, schedule: str) -> dict[Key, Cost]:
    program = compiled(name, schedule)
    (scop,) = program.scops
    result = scop.count(parameters=SIZES[name], seed=1, unit=program.unit)
    assert result is not None
    return total(
        ((s.array, s.access, s.location.short if s.location else ""), s.requests, s.sectors)
        for s in result.counts.sites
        if s.space == "global"
    )


def predicted(name: str, schedule: str) -> dict[Key, Cost]:
    (compiled_scop,) = compiled(name, schedule).scops
    state = compiled_scop.compilation
    scop = state.run.scop
    estimate = timed(scop, state.run.schedule, state.kernel_plans, state.machine, SIZES[name])
    lines = {s.name: s.location.short for s in scop.statements}
    shared = {a for home in homes_of(state).values() for a, s in home.items() if s.space is not Space.GLOBAL}
    handed = {(kernel, array) for kernel, copies in copies_of(state).items() for array in copies}
    return total(
        (
            (a.array, "store" if a.kind.value.endswith("write") else "load", lines[a.statement]),
            kernel.launches * a.requests,
            kernel.launches * a.requests * a.sectors,
        )
        for kernel in estimate.kernels
        for a in kernel.accesses
        if a.array not in shared and (a.kind is not AccessKind.READ or (kernel.number, a.array) not in handed)
    )


@pytest.mark.slow(but="doitgen-classic")
@both
@pytest.mark.parametrize("name", SIZES)
def test_sectors_per_request(name: str, schedule: str) -> None:
    """For every access that the kernels make."""
    measured, expected = counted(name, schedule), predicted(name, schedule)
    assert set(measured) <= set(expected)
    for key, (requests, sectors) in measured.items():
        predicted_requests, predicted_sectors = expected[key]
        if key in JOINED.get((name, schedule), ()):
            assert sectors == pytest.approx(predicted_sectors, rel=1e-9) and requests < predicted_requests
            continue
        ratio = predicted_sectors / predicted_requests
        assert ratio == pytest.approx(sectors / requests, rel=EDGES.get(name, 1e-6)), key


@pytest.mark.slow(but="gemm-classic")
@both
@pytest.mark.parametrize("name", SIZES)
def test_requests(name: str, schedule: str) -> None:
    """How often warps ask: the model knows what stays in registers; a compiler may forward a value more."""
    measured, expected = counted(name, schedule), predicted(name, schedule)
    for key, (requests, _) in measured.items():
        if key in JOINED.get((name, schedule), ()):
            continue  # above
        made = BATCH if key in BATCHED.get((name, schedule), ()) else 1
        assert made * expected[key][0] == pytest.approx(requests, rel=EDGES.get(name, 1e-6)), key


@pytest.mark.slow(but="doitgen")
@pytest.mark.parametrize("name", ["doitgen", "atax", "mvt"])
def test_superposed_schedules_have_ideal_requests_only(name: str) -> None:
    """Rows of neighbours, two of them for each lane where that is a vector, or one element for all lanes, counted as
    predicted."""
    for key, (requests, sectors) in counted(name, SUPERPOSED).items():
        assert sectors / requests in (1, 8, *VECTORS.get(name, ())) or key in JOINED.get((name, SUPERPOSED), ())
