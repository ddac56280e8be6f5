"""Inputs that are drawn on the device, and runs on them, with a module that plays CuPy by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isnan
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from polytile.frontend.program import read_program
from polytile.ir.scop import Scop
from polytile.runtime import device_compare, resident_runs, timing
from polytile.runtime.device_compare import all_finite, allowed_difference, relative_difference
from polytile.runtime.resident_runs import SMALL, WAYS, DeviceInputs, Drawn, ResidentRuns

TEXT = """
struct pair { int a; double b; };
void f(int n, double factor, double A[n][n], float x[n], int k[n], struct pair s[n], double *sum)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] += factor * x[j] * s[j].b;
    for (int i = 0; i < n; i++)
        k[i] += 1;
    sum[0] = A[0][0];
#pragma endscop
}
"""


class Block(np.ndarray[Any, Any]):
    """Device memory, on the host."""

    def set(self, data: np.ndarray[Any, Any]) -> None:
        assert data.dtype == self.dtype and data.shape == self.shape
        self[...] = data


def draw(seed: np.uint64, scale: Any, data: np.ndarray[Any, Any]) -> None:
    """What the kernel computes, by NumPy."""
    with np.errstate(over="ignore"):
        z = seed + (np.arange(data.size, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    share = (z >> np.uint64(11)) * 2.0**-53 if data.itemsize == 8 else (z >> np.uint64(40)) * 2.0**-24
    data[...] = (scale * (0.5 + share)).reshape(data.shape)


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(
        empty=lambda shape, dtype: np.full(shape, 7, dtype).view(Block),
        ones=lambda shape, dtype: np.ones(shape, dtype).view(Block),
        asarray=lambda data: data.copy().view(Block),
        ElementwiseKernel=lambda *_: draw,
    )
    monkeypatch.setattr(resident_runs, "require_cupy", lambda: module)
    resident_runs._kernel.cache_clear()


@pytest.fixture(scope="module")
def scop() -> Scop:
    return read_program("f.c", TEXT).scops[0]


VALUES = {"n": 20}


def drawn(inputs: DeviceInputs, way: Drawn, run: int) -> dict[str, Any]:
    memory = inputs.allocate()
    inputs.set_numbers(memory, way)
    inputs.fill(memory, way, run)
    return memory


def test_each_run_has_inputs_of_its_own(cupy: None, scop: Scop) -> None:
    inputs, same = DeviceInputs(scop, VALUES, 1), DeviceInputs(scop, VALUES, 1)
    assert [few.dtype.itemsize for few in inputs.samples()].count(4) == len(WAYS)
    first, second, again = drawn(inputs, WAYS[0], 0), drawn(inputs, WAYS[0], 1), drawn(same, WAYS[0], 0)
    for name in ("A", "x"):
        assert first[name].min() >= 0.5 and first[name].max() < 1.5 and abs(first[name].mean() - 1) < 0.2
        assert (first[name] != second[name]).mean() > 0.9 and (first[name] == again[name]).all()
    other = drawn(DeviceInputs(scop, VALUES, 2), WAYS[0], 0)
    assert first["x"].dtype == np.float32 and (other["A"] != first["A"]).all()
    assert (first["k"] == second["k"]).all() and first["s"].dtype == np.uint8 and first["s"].size == 20 * 16


def test_what_a_run_has_changed_is_set_anew(cupy: None, scop: Scop) -> None:
    inputs = DeviceInputs(scop, VALUES, 1)
    memory = drawn(inputs, WAYS[0], 0)
    before = {name: np.array(data) for name, data in memory.items()}
    memory["k"] += 1
    memory["A"] *= 2
    inputs.fill(memory, WAYS[0], 0)
    assert all((memory[name] == before[name]).all() for name in before)


def test_ways_to_draw(cupy: None, scop: Scop) -> None:
    inputs = DeviceInputs(scop, VALUES, 1)
    plain, small = drawn(inputs, WAYS[0], 0), drawn(inputs, Drawn(SMALL, numbers=0.0625), 0)
    assert (small["A"] == plain["A"] * SMALL).all() and small["factor"] == plain["factor"] * 0.0625
    dominant = drawn(inputs, Drawn(dominant=True), 0)
    assert (np.diag(dominant["A"]) == np.diag(plain["A"]) + 40).all() and dominant["A"][0, 1] == plain["A"][0, 1]
    assert dominant["x"].sum() == pytest.approx(1, rel=0.2)


def test_results_are_numbers_that_are_written(cupy: None, scop: Scop) -> None:
    assert DeviceInputs(scop, VALUES, 1).results == ("A", "k", "sum")


Step = Callable[[dict[str, Any]], None]


@pytest.fixture
def runs(cupy: None, scop: Scop, monkeypatch: pytest.MonkeyPatch) -> ResidentRuns:
    """Runs of engines that are functions of the memory."""

    def ready(engine: Step, layouts: Mapping[str, Any], values: Mapping[str, int], memory: dict[str, Any]) -> Any:
        return lambda: engine(memory)

    def once(action: Callable[[], object], before: Callable[[], None] = lambda: None) -> float:
        before()
        action()
        return 1.0

    for module in (resident_runs, timing):
        monkeypatch.setattr(module, "once", once)
    monkeypatch.setattr(resident_runs, "ready", ready)
    return ResidentRuns(scop, VALUES, 1)


def double(memory: dict[str, Any]) -> None:
    memory["A"] *= 2


def test_differences_from_the_first(runs: ResidentRuns) -> None:
    def other(memory: dict[str, Any]) -> None:
        memory["A"] *= 2
        memory["A"][3, 4] += 0.25
        memory["k"][0] += 1

    engines: Any = [double, double, other]
    first, second, third = runs.differences(engines)
    assert first == second == {"A": 0.0, "k": 0.0, "sum": 0.0}
    assert 0.25 / 3 < third["A"] < 0.25 / 2 and third["k"] == np.inf and third["sum"] == 0.0


def test_inputs_are_made_smaller_where_results_are_not_finite(runs: ResidentRuns) -> None:
    def explosive(memory: dict[str, Any]) -> None:
        memory["A"][...] = np.where(memory["A"] > 1e-3, np.inf, memory["A"])

    engine: Any = explosive
    assert runs.time(engine) == (1.0,) * 7 and runs._way == Drawn(SMALL)
    assert runs.differences([engine, engine])[1]["A"] == 0.0


def test_what_looks_at_results_is_compiled_before(runs: ResidentRuns) -> None:
    runs.compile()


def test_results_that_are_never_finite_are_timed(runs: ResidentRuns) -> None:
    def broken(memory: dict[str, Any]) -> None:
        memory["A"][...] = np.nan

    engine: Any = broken
    assert runs.time(engine, runs=3) == (1.0,) * 3 and runs._way == WAYS[0]
    assert isnan(runs.differences([engine])[0]["A"])
    assert runs.in_turns([engine, engine], 2) == [(1.0, 1.0)] * 2


def test_large_arrays_are_compared_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_compare, "PIECE", 3)
    reference, ones = np.arange(10.0), np.ones(1, int)
    other = reference.copy()
    other[7] += 0.9
    assert relative_difference(other, reference) == pytest.approx(0.1)
    assert relative_difference(reference, reference) == relative_difference(np.zeros(0), np.zeros(0)) == 0
    assert relative_difference(np.ones(2), np.zeros(2)) == 1
    assert relative_difference(ones, ones) == 0 and relative_difference(ones, ones - 1) == np.inf
    assert isnan(relative_difference(reference, np.full(10, np.inf)))


def test_what_is_finite_and_what_rounding_allows() -> None:
    assert all_finite(np.ones(3)) and all_finite(np.arange(3)) and not all_finite(np.array([0.0, np.nan]))
    double, single, integer = (allowed_difference(np.dtype(t)) for t in (np.float64, np.float32, np.int32))
    assert single > double > integer == 0
