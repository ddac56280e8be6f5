"""Kernel times: medians of repeated runs with the data on the device, measured with CUDA events.

What takes much longer than the best that is known is not run again and again, and what is compared runs in turns, as
clocks and temperatures change. Of a `Ready` run the kernels alone are timed: they wait on the device until the host
has launched them all, so that a busy host does not count:

    before: start, launch k0, .. the host is late .., launch k1, stop
    after:  hold, start, launch k0, launch k1, stop, .. the hold ends, k0, k1 ..
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from math import inf
from statistics import median
from typing import Any

from polytile.dataclass import dataclass
from polytile.runtime.cuda_graphs import capture, worth_a_graph
from polytile.runtime.cupy_engine import Bound, CupyEngine, require_cupy
from polytile.runtime.engine import Engine, NativeEngine
from polytile.runtime.layout import Layout, as_bytes
from polytile.runtime.native import Memory

WARM_UPS = 2
RUNS = 7
SLOW = 1.5  # times as long as the best: two such runs are enough,
VERY_SLOW = 4.0  # and one behind a last warm-up that took so many times as long
LONG = 20.0  # milliseconds: runs that take longer differ less,
LONG_RUNS = 5  # and are fewer
HOLD = 30.0  # microseconds: the device waits for the host to launch a run,
HOLD_A_LAUNCH = 8.0  # so much longer for each launch, a few times what one takes where nothing else runs,
LONGEST_HOLD = 2000.0  # and no longer
_HOLD = """
extern "C" __global__ void hold(unsigned long long nanoseconds)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - start < nanoseconds);
}
"""


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds per run of the whole SCoP, transfers excluded."""

    label: str
    milliseconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.milliseconds)

    @property
    def spread(self) -> float:
        """(slowest - fastest) / median."""
        return (max(self.milliseconds) - min(self.milliseconds)) / self.median if self.median else 0.0

    @property
    def line(self) -> str:
        return f"{self.median:.4g} ms on {self.label} (median of {len(self.milliseconds)}, spread {self.spread:.0%})"


def time_engine(
    engine: Engine, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Memory, *, runs: int = RUNS
) -> Timing:
    """Time generated code on copies of `memory` that stay on the device; needs CuPy whichever way it was compiled.

    Every run starts from the same data.
    """
    cupy = require_cupy()
    if isinstance(engine, CupyEngine):
        copies: dict[str, Any] = {}
        run = ready(engine, layouts, values, memory, copies)
        action: Callable[[], object] = run.launch  # what a caller waits for, launches included
    elif isinstance(engine, NativeEngine):
        copies = {
            name: cupy.asarray(as_bytes(data))
            for name, data in memory.items()
            if not engine.scop.by_value(layouts[name].array)
        }
        resident = {**memory, **copies}

        def action() -> None:
            engine.run(layouts, values, resident)
    else:
        raise TypeError(f"cannot time {engine.label}")
    originals = {name: block.copy() for name, block in copies.items()}

    def restore() -> None:
        for name, block in copies.items():
            block[...] = originals[name]

    return Timing(engine.label, milliseconds_of(action, runs=runs, before=restore))


def _replay(launches: Sequence[Callable[[], None]]) -> Callable[[], None]:
    def action() -> None:
        for launch in launches:
            launch()

    return action


def ready(
    engine: CupyEngine,
    layouts: Mapping[str, Layout],
    values: Mapping[str, int],
    memory: Mapping[str, Any],
    copies: dict[str, Any] | None = None,
) -> Ready:
    """Put all memory in place and return what launches one run, as a CUDA graph where the program has them. Arrays of
    the device are used where they are; `copies` receives those of the host."""
    bound = engine.bind(layouts, values, memory, {} if copies is None else copies)
    launches = bound.record()
    graph = capture(require_cupy(), launches) if engine.program.graphs and worth_a_graph(len(launches)) else None
    return Ready(bound, _replay(launches) if graph is None else graph.launch, len(launches) if graph is None else 1)


@dataclass(frozen=True, slots=True)
class Ready:
    """Launches one run each time it is called, by so many launches; keeps the device memory that it uses."""

    bound: Bound
    launch: Callable[[], None]
    launches: int

    def __call__(self) -> None:
        self.launch()


def milliseconds_of(
    action: Callable[[], object],
    *,
    runs: int | None = RUNS,
    warm_ups: int = WARM_UPS,
    before: Callable[[], None] = lambda: None,
    warmed: Sequence[float] = (),
    best: float = inf,
) -> tuple[float, ...]:
    """Time some runs on the device, in milliseconds, by CUDA events, after warm-up and with `before` in front of each;
    needs CuPy. `runs`: None for as many as their length asks for; fewer where they are slower than `best`, in
    milliseconds, by SLOW. `warmed` are runs before these, which count as warm-up."""
    warming = [*warmed, *(once(action, before) for _ in range(warm_ups))]
    times: list[float] = []
    while not enough(warming, times, runs, best):
        times.append(once(action, before))
    return tuple(times)


def enough(warming: Sequence[float], times: Sequence[float], runs: int | None, best: float) -> bool:
    """Return whether no further run is needed after these, in milliseconds: there are as many as are asked for, or two
    are slower than the best by SLOW, or one, where the last warm-up was by VERY_SLOW."""
    wanted = runs if runs is not None else LONG_RUNS if times and times[0] > LONG else RUNS
    slow = sum(time > SLOW * best for time in times[:2])
    slow += bool(warming) and warming[-1] > VERY_SLOW * best and bool(times)
    return len(times) >= wanted or slow >= 2


def in_turns(
    actions: Sequence[Callable[[], object]], *, rounds: int, before: Callable[[int], None]
) -> list[tuple[float, ...]]:
    """Time runs of each action, in milliseconds, one of each in turn, after a warm-up; `before` gets the number of a
    round, so that all have the same inputs in it. Every other round is in the opposite order."""
    times: list[list[float]] = [[] for _ in actions]
    for turn in range(rounds + 1):
        order = range(len(actions)) if turn % 2 else reversed(range(len(actions)))
        for place in order:
            taken = once(actions[place], partial(before, turn))
            if turn:
                times[place].append(taken)
    return [tuple(one) for one in times]


def once(action: Callable[[], object], before: Callable[[], None] = lambda: None) -> float:
    """Time one run on the device, in milliseconds, behind `before`, which does not count."""
    cupy = require_cupy()
    before()
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    cupy.cuda.Device().synchronize()
    if isinstance(action, Ready):
        _hold(min(HOLD + HOLD_A_LAUNCH * action.launches, LONGEST_HOLD))
    start.record()
    action()
    stop.record()
    stop.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, stop))


def _hold(microseconds: float) -> None:
    """Keep the current stream busy for so long."""
    _hold_kernel()((1,), (1,), (int(1000 * microseconds),))


@cache
def _hold_kernel() -> Any:
    return require_cupy().RawKernel(_HOLD, "hold")
