"""Repeated runs of a host program as CUDA graphs, through CuPy.

A run on the values and memory of the one before launches the same kernels with the same arguments. The second such run
records them, because making a graph takes longer than the launches of a single run; from then on one call does it all.
The entry points of the .cu do the same (templates/support.cu.j2).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from polytile.dataclass import dataclass
from polytile.ir.host import FEWEST_LAUNCHES, MOST_LAUNCHES

Launches = Sequence[Callable[[], None]]


@dataclass(frozen=True, slots=True)
class _Latest:
    """A run: what it depended on, and the graph of its launches."""

    key: Hashable
    graph: Any = None


@dataclass(slots=True)
class Replays:
    """Runs one program again and again; a record replaces another as a whole, so that threads cannot mix them."""

    latest: _Latest | None = None

    def run(self, cupy: Any, key: Hashable, record: Callable[[], Launches]) -> None:
        """Launch what `record` gives, which depends on `key` alone."""
        latest = self.latest
        if latest is not None and latest.key == key and latest.graph is not None:
            latest.graph.launch()
            return
        launches = record()
        if latest is not None and latest.key == key and worth_a_graph(len(launches)):
            self.latest = replace(latest, graph=capture(cupy, launches))
            self.latest.graph.launch()
            return
        for launch in launches:
            launch()
        self.latest = _Latest(key)


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
