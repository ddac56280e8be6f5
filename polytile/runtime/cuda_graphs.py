"""Repeated runs of a host program through CuPy: its launches are kept, and become a CUDA graph.

A run on the values and memory of an earlier one launches the same kernels with the same arguments, so that the host
program need not be gone through again. With graphs the third such run records them, because making a graph takes longer
than the launches of a single run; from then on one call does it all. The entry points of the .cu do the same
(templates/support.cu.j2).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from threading import local
from typing import Any

from polytile.dataclass import dataclass
from polytile.ir.host import EQUAL_RUNS, FEWEST_LAUNCHES, MOST_LAUNCHES, REMEMBERED_RUNS

Launch = Callable[[], None]
Launches = Sequence[Launch]
Each = Callable[[Callable[[Launch], None]], None]


@dataclass(slots=True)
class _Equal:
    """Runs with equal launches: these (None: more than are kept), how many runs there were, and the graph."""

    launches: Launches | None
    runs: int = 1
    graph: Any = None


class Replays(local):
    """Runs one program again and again; each thread has a record of its own, as CUDA lets no two launch one graph at
    once."""

    def __init__(self) -> None:
        self.remembered: dict[Hashable, _Equal] = {}  # the latest is last

    def run(self, cupy: Any, key: Hashable, each: Each, *, graphs: bool) -> None:
        """Launch what `each` passes to its argument, one after the other; they depend on `key` alone."""
        equal = self.remembered.pop(key, None)
        if equal is None:
            equal = _Equal(_launch_and_keep(each))
            for old in list(self.remembered)[: 1 - REMEMBERED_RUNS]:
                del self.remembered[old]
        elif equal.launches is None:
            each(lambda launch: launch())
        elif equal.graph is not None:
            equal.graph.launch()
        else:
            equal.runs += 1
            if graphs and equal.runs == EQUAL_RUNS + 1 and worth_a_graph(len(equal.launches)):
                equal.graph = _captured(cupy, equal.launches)
            for launch in equal.launches if equal.graph is None else (equal.graph.launch,):
                launch()
        self.remembered[key] = equal


def _launch_and_keep(each: Each) -> Launches | None:
    kept: list[Launch] = []

    def launch_and_keep(launch: Launch) -> None:
        launch()
        if len(kept) <= MOST_LAUNCHES:
            kept.append(launch)

    each(launch_and_keep)
    return kept if len(kept) <= MOST_LAUNCHES else None


def worth_a_graph(launches: int) -> bool:
    """Return whether so many launches are enough to gain from a graph, and not too many for its memory."""
    return FEWEST_LAUNCHES <= launches <= MOST_LAUNCHES


def _captured(cupy: Any, launches: Launches) -> Any:
    """Record the launches as a graph; None where CUDA does not record them."""
    try:
        return capture(cupy, launches)
    except cupy.cuda.runtime.CUDARuntimeError:
        return None


def capture(cupy: Any, launches: Launches) -> Any:
    """Capture the launches as a CuPy graph; none of them runs."""
    with cupy.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        try:
            for launch in launches:
                launch()
        finally:
            graph = stream.end_capture()
    return graph
