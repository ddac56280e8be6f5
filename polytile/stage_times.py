"""What the time of a command goes to, by stage and candidate; kept and told where somebody asks, else it costs nothing.

with stage("schedule"), stage("tiled"): ...    is `schedule: tiled`, and no part of `schedule`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field
from time import perf_counter
from typing import TypeVar

from polytile.dataclass import dataclass

LEAST = 0.001  # seconds; what takes less is not said

T = TypeVar("T")
_Path = tuple[str, ...]


@dataclass(slots=True)
class _Clock:
    """What runs, and since when; `tell` hears of it."""

    runs: bool = False
    tell: Callable[[str], None] | None = None
    path: _Path = ()
    since: float = 0.0
    seconds: dict[_Path, float] = field(default_factory=dict)

    def turn_to(self, path: _Path) -> None:
        now = perf_counter()
        self.seconds[self.path] = self.seconds.get(self.path, 0.0) + now - self.since
        self.path, self.since = path, now
        if self.tell is not None:
            self.tell(": ".join(path[1:] or path))


_CLOCK = _Clock()
_UNTIMED = nullcontext()


def watch(*, runs: bool, tell: Callable[[str], None] | None = None) -> None:
    """Start anew, or stop; `tell` hears of each change what runs then, without the first of the names."""
    _CLOCK.runs, _CLOCK.tell, _CLOCK.path, _CLOCK.seconds = runs or tell is not None, tell, (), {}


def stage(name: str) -> AbstractContextManager[None]:
    """Count the time of what happens inside as `name`; "" is no stage."""
    return _timed(name) if _CLOCK.runs and name else _UNTIMED


@contextmanager
def _timed(name: str) -> Iterator[None]:
    around = _CLOCK.path
    _CLOCK.turn_to((*around, name))
    try:
        yield
    finally:
        _CLOCK.turn_to(around)


def each_in_stage(name: str, items: Iterable[T]) -> Iterator[T]:
    """Count the time of finding each of some items as `name`, but not of what is done with them."""
    iterator = iter(items)
    while True:
        with stage(name):
            try:
                item = next(iterator)
            except StopIteration:
                return
        yield item


def times_inside(name: str) -> list[tuple[str, float]]:
    """Return the stages inside an outermost one, with the seconds of each without those inside of it, the longest
    first."""
    found = [(": ".join(p), s) for p, s in _CLOCK.seconds.items() if p[:1] == (name,) and p[1:] and s >= LEAST]
    return sorted(found, key=lambda one: -one[1])
