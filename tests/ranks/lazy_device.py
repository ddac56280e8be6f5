"""A device that does everything as late as it may, in the place of CuPy: what nobody waits for has not happened.

Work in a stream happens when the host waits for the stream, or when a stream that is waited for waits for an event
behind it; until then arrays keep what they had. So a wait that is missing gives wrong numbers, in each run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from polytile.runtime.ranks.kernels import Launch

STREAMS: list[Stream] = []


class Event:
    """A moment in a stream."""

    def __init__(self) -> None:
        self.stream: Stream | None = None
        self.number = 0

    def record(self, stream: Stream) -> None:
        self.stream, self.number = stream, stream.done + len(stream.waiting)

    def synchronize(self) -> None:
        if self.stream is not None:
            self.stream.run(self.number)


class Stream:
    """Work in order, none of it done before it must be."""

    def __init__(self, *, non_blocking: bool, priority: int = 0) -> None:
        assert non_blocking
        self.waiting: deque[Callable[[], None]] = deque()
        self.done = 0
        STREAMS.append(self)

    def later(self, work: Callable[[], None]) -> None:
        self.waiting.append(work)

    def run(self, number: int) -> None:
        """Do all work up to a number."""
        while self.done < number:
            self.done += 1
            self.waiting.popleft()()

    def record(self) -> Event:
        event = Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        self.later(event.synchronize)

    def synchronize(self) -> None:
        self.run(self.done + len(self.waiting))


class Array(np.ndarray[Any, Any]):
    """Memory of the device, with CuPy's copies."""

    def get(self, *, stream: Stream, out: np.ndarray[Any, Any], blocking: bool) -> None:
        assert not blocking
        out[:] = 255  # until it is there
        stream.later(lambda: np.copyto(out, self))

    def set(self, data: np.ndarray[Any, Any], *, stream: Stream) -> None:
        stream.later(lambda: np.copyto(self, data))


def synchronize() -> None:
    for stream in STREAMS:
        stream.synchronize()


def cupy() -> Any:
    """What a module `cupy` has, as far as ranks use it."""
    device = SimpleNamespace(use=lambda: None, synchronize=synchronize)
    cuda = SimpleNamespace(
        Stream=Stream,
        Event=Event,
        Device=lambda *number: device,
        runtime=SimpleNamespace(getDeviceCount=lambda: 1),
        alloc_pinned_memory=bytearray,
        get_elapsed_time=lambda start, end: 1.0,
    )
    made: dict[str, Any] = {name: _of_device(getattr(np, name)) for name in ("zeros", "empty", "array", "asarray")}
    return SimpleNamespace(**made, ndarray=Array, cuda=cuda, asnumpy=np.array, __name__="cupy")


def _of_device(made: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **named: made(*arguments, **named).view(Array)


def launched(launch: Launch) -> Launch:
    """The launch of kernels that run when their stream comes to them."""

    def later(changing: Mapping[str, Any], where: Mapping[str, Any]) -> None:
        where["stream"].later(lambda: launch(changing, {"on": where["on"]}))

    return later
