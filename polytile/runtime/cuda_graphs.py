"""Repeated runs of a host program through CuPy: its launches are kept, and where asked for become a CUDA graph.

A run on the values and memory of the one before launches the same kernels with the same arguments, so that the host
program need not be gone through again. With graphs the second such run records them, because making a graph takes
longer than the launches of a single run; from then on one call does it all. The entry points of the .cu do the same
(templates/support.cu.j2).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from threading import local
from typing import Any

from polytile.dataclass import dataclass
from polytile.ir.host import FEWEST_LAUNCHES, MOST_LAUNCHES

Launch = Callable[[], None]
Launches = Sequence[Launch]
Each = Callable[[Callable[[Launch], None]], None]


@dataclass(frozen=True, slots=True)
class _Latest:
    """A run: what it depended on, its launches (None: more than are kept), and their graph."""

    key: Hashable
    launches: Launches | None
    graph: Any = None


class Replays(local):
    """Runs one program again and again; each thread has a record of its own, as CUDA lets no two launch one graph at
    once."""

    latest: _Latest | None = None

    def run(self, cupy: Any, key: Hashable, each: Each, *, graphs: bool) -> None:
        """Launch what `each` passes to its argument, one after the other; they depend on `key` alone."""
        latest = self.latest
        if latest is None or latest.key != key:
            self.latest = _Latest(key, _launch_and_keep(each))
        elif latest.launches is None:
            each(lambda launch: launch())
        elif graphs and worth_a_graph(len(latest.launches)):
            graph = latest.graph
            if graph is None:
                graph = capture(cupy, latest.launches)
                self.latest = replace(latest, graph=graph)
            graph.launch()
        else:
            for launch in latest.launches:
                launch()


def _launch_and_keep(each: Each) -> Launches | None:
    kept: list[Launch] = []

    def launch_and_keep(launch: Launch) -> None:
        launch()
        if len(kept) <= MOST_LAUNCHES:
            kept.append(launch)

    each(launch_and_keep)
    return kept if len(kept) <= MOST_LAUNCHES else None


def worth_a_graph(launches: int) -> bool:
    """Whether so many launches are enough to gain from a graph, and not too many for its memory."""
    return FEWEST_LAUNCHES <= launches <= MOST_LAUNCHES


def capture(cupy: Any, launches: Launches) -> Any:
    """The launches as a CuPy graph; none of them runs."""
    with cupy.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        try:
            for launch in launches:
                launch()
        finally:
            graph = stream.end_capture()
    return graph
