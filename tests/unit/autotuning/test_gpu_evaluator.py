"""The evaluator and its processes, on what stands in for a GPU: outcomes, failures at each stage, equal kernels."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path

import pytest

from polytile.autotuning.gpu_evaluator import GpuEvaluator, Limits
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.space import Point
from polytile.autotuning.worker import STAND_IN
from polytile.autotuning.workload import Workload
from polytile.choices import Choices
from polytile.diagnostics import DeviceError, UsageError, UserError
from polytile.options import Options
from polytile.runtime.cupy_engine import cupy_available
from tests.unit.autotuning.faulty_worker import FAULTS

TEXT = """
void add(int n, int m, double a[n][m], double b[n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 1; j < m; j++)
            b[i][j] = 2.0 * a[i][j] + a[i][j - 1];
#pragma endscop
}
"""
ADD = Workload("add.c", "add_scop0", {"n": 1000, "m": 1000}, text=TEXT, options=Options(schedule="classic"))
FAULTY = (sys.executable, str(Path(__file__).with_name("faulty_worker.py")))
WIDE: Point = (("max_shared_memory", 1 << 30),)
LIMITS = Limits(compile=60, run=8)


def choices(point: Point) -> Choices:
    return Choices(**dict(point))  # type: ignore[arg-type]


def registers(count: int) -> Point:
    return (("registers", count),)


def run(evaluator: GpuEvaluator, *points: Point, best: float = inf) -> dict[Point, Outcome]:
    for point in points:
        evaluator.start(point, best)
    return {found.point: found for found in (evaluator.finished() for _ in points)}


@pytest.fixture(scope="module")
def outcomes() -> Iterator[Mapping[Point, Outcome]]:
    """What comes of the default, of a point for each kind of failure, and of a last one behind all of these."""
    with GpuEvaluator(ADD, choices, width=2, device=STAND_IN, command=FAULTY, limits=LIMITS) as evaluator:
        points = [(), *map(registers, FAULTS), registers(40), WIDE, (("order", "upwards"),)]
        yield run(evaluator, *points)


@pytest.mark.slow
def test_a_point_that_is_measured(outcomes: Mapping[Point, Outcome]) -> None:
    for point in ((), registers(40)):
        found = outcomes[point]
        assert (found.status, found.reason, found.reused) == (Status.MEASURED, "", False)
        assert len(found.milliseconds) == 7 and found.median > 0 and found.estimate is not None
        assert found.bound
        assert len(found.key) == 64 and found.shared_bytes == (0,)
        assert {"compile", "build", "inputs", "wait", "validate", "compare", "time", "all"} == found.seconds.keys()
    assert outcomes[()].key != outcomes[registers(40)].key


STATUSES = {
    "kill": (Status.CRASHED, "{stage}: the process was killed by SIGKILL"),
    "hang": (Status.HUNG, "{stage}: not done after 8 s"),
    "exit": (Status.CRASHED, "{stage}: the process ended with status 3: no more of this"),
    "print": (Status.MEASURED, ""),
    "out of resources": (Status.RESOURCES, "too many resources requested for launch"),
    "lost": (Status.CRASHED, "an illegal memory access was encountered"),
    "bug": (Status.REFUSED, "ZeroDivisionError: division by zero"),
}


@pytest.mark.slow
@pytest.mark.parametrize("count", FAULTS)
def test_a_failure(count: int, outcomes: Mapping[Point, Outcome]) -> None:
    stage, what = FAULTS[count]
    found = outcomes[registers(count)]
    if what == "wrong":
        assert found.status is Status.WRONG and "add_scop0 computes something else" in found.reason
        assert "\n" not in found.reason and not found.milliseconds and found.key
        return
    assert (found.status, found.reason) == (STATUSES[what][0], STATUSES[what][1].format(stage=stage))
    assert bool(found.milliseconds) == (what == "print") and bool(found.key) == (stage != "compile")


@pytest.mark.slow
def test_what_the_compiler_refuses(outcomes: Mapping[Point, Outcome]) -> None:
    found = outcomes[WIDE]
    assert found.status is Status.REFUSED and found.reason and "\n" not in found.reason and not found.key
    assert outcomes[(("order", "upwards"),)].reason == "unknown order 'upwards'"


@pytest.mark.slow
def test_equal_kernels_are_measured_once() -> None:
    known: dict[str, Outcome] = {}
    asked: list[str] = []

    def look(key: str) -> Outcome | None:
        asked.append(key)
        return known.get(key)

    with GpuEvaluator(ADD, choices, look, width=1, device=STAND_IN, command=FAULTY) as evaluator:
        first = run(evaluator, ())[()]
        known[first.key] = first
        point: Point = (("schedule", "classic"),)
        second = run(evaluator, point)[point]
        assert asked == [first.key] * 2 and second.reused and second.point == point
        assert second.milliseconds == first.milliseconds and second.seconds.keys() == {"compile"}
        known[first.key] = Outcome((), Status.HELD, "others measure it", key=first.key)
        assert run(evaluator, point)[point].status is Status.HELD
        assert run(evaluator, registers(40))[registers(40)].status is Status.MEASURED  # it goes on behind that


@pytest.mark.slow
def test_what_is_slow_is_stopped() -> None:
    with GpuEvaluator(ADD, choices, width=1, device=STAND_IN, command=FAULTY) as evaluator:
        usual = run(evaluator, ())[()]
        assert len(run(evaluator, registers(40), best=usual.median / 2)[registers(40)].milliseconds) == 2
        assert len(run(evaluator, registers(41), best=usual.median / 9)[registers(41)].milliseconds) == 1
        again = evaluator.again([(), registers(40), registers(42)])
        assert list(map(len, again.values())) == [9, 9, 9] and list(again) == [(), registers(40), registers(42)]
        assert not evaluator.left_out
        assert not evaluator.again([registers(105)]) and "killed by SIGKILL" in evaluator.left_out[registers(105)]
        assert evaluator.again([(), WIDE]).keys() == {()}
        assert evaluator.left_out.keys() == {WIDE}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workload", "error", "said"),
    [
        (Workload("add.c", "sub_scop0", {}, text=TEXT), UsageError, "there is no SCoP 'sub_scop0'"),
        (Workload("add.c", "add_scop0", {"n": 4}, text=TEXT), UsageError, "m has no value"),
        (Workload("none.c", "add_scop0", {}), UserError, "none.c"),
    ],
)
def test_programs_that_cannot_be_read(workload: Workload, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        GpuEvaluator(workload, choices, width=1, device=STAND_IN)


@pytest.mark.slow
@pytest.mark.skipif(cupy_available(), reason="there is a GPU")
def test_without_a_gpu() -> None:
    with pytest.raises(DeviceError, match=r"CuPy|GPU"):
        GpuEvaluator(ADD, choices, width=1)


def test_a_command_that_does_not_start() -> None:
    with pytest.raises(DeviceError, match="does not start: the process ended with status 1"):
        GpuEvaluator(ADD, choices, width=1, command=(sys.executable, "-c", "raise SystemExit(1)"))
    with pytest.raises(DeviceError, match="no-such-python does not start"):
        GpuEvaluator(ADD, choices, width=1, command=("no-such-python",))


PARENT = """
import sys
from tests.unit.autotuning.test_gpu_evaluator import ADD, FAULTY, choices, registers
from polytile.autotuning.gpu_evaluator import GpuEvaluator
evaluator = GpuEvaluator(ADD, choices, width=2, device="stand-in", command=FAULTY)
evaluator.start(registers(106), float("inf"))
print(*(worker.process.number for worker in evaluator._workers), flush=True)
evaluator.finished()
"""


@pytest.mark.slow
def test_workers_end_with_a_parent_that_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [int(number) for number in parent.stdout.readline().split()]
    assert len(workers) == 2 and all(map(running, workers))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    for _ in range(200):
        if not any(map(running, workers)):
            return
        time.sleep(0.1)
    pytest.fail("a worker runs on")


def running(number: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        os.kill(number, 0)
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_the_emulator_validates() -> None:
    with GpuEvaluator(ADD, choices, width=1, device=STAND_IN) as evaluator:
        assert run(evaluator, ())[()].status is Status.MEASURED
