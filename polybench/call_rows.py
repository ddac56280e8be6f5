"""Rows of the times of calls: a figure, those of peers in the same run, a target and whether it is met."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from time import perf_counter

from polytile.dataclass import dataclass


class OutputDiffers(Exception):
    """An output is not what it has to be."""


@dataclass(frozen=True, slots=True)
class CallRow:
    """One figure: `good` says whether it meets the target, None where there is none. Peers have the same unit."""

    name: str
    figure: float
    unit: str = "us"
    peers: Mapping[str, float] = field(default_factory=dict)
    target: str = ""
    good: bool | None = None

    def at_most(self, most: float, target: str = "") -> CallRow:
        """Return the row with an upper bound as its target, which is shown as `target`."""
        return replace(self, target=target or f"<= {most:g}", good=self.figure <= most)

    def at_least(self, least: float, target: str = "") -> CallRow:
        """Return the row with a lower bound as its target, which is shown as `target`."""
        return replace(self, target=target or f">= {least:g}", good=self.figure >= least)

    def line(self) -> str:
        """Return the row as a line of a table."""
        peers = ", ".join(f"{name} {value:.2f}" for name, value in self.peers.items())
        mark = {None: "", True: "ok", False: "SHORT"}[self.good]
        return f"{self.name:54} {self.figure:10.2f} {self.unit:5} {peers:44} {self.target:25} {mark}".rstrip()


def check(good: bool, what: str) -> None:
    """Raise OutputDiffers where an output is not good."""
    if not good:
        raise OutputDiffers(f"outputs differ: {what}")


def least_us(call: Callable[[], object], *, calls: int = 3000, after: Callable[[], object] = lambda: None) -> float:
    """Return microseconds a call, the least of five rounds behind some calls to warm up; `after` ends each round."""
    for _ in range(30):
        call()
    after()
    return min(_round_us(call, calls, after) for _ in range(5))


def _round_us(call: Callable[[], object], calls: int, after: Callable[[], object]) -> float:
    start = perf_counter()
    for _ in range(calls):
        call()
    after()
    return (perf_counter() - start) / calls * 1e6


def rate(call: Callable[[], object], moved: int, rounds: int = 4) -> float:
    """Return the GB/s of a call that moves so many bytes, the best of some rounds behind one to warm up."""
    call()
    return moved / min(_round_us(call, 1, lambda: None) for _ in range(rounds)) / 1e3
