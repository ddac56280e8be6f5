"""Launches of one compiled SCoP on a rank, step after step, for the same few boxes of its arrays.

before: f(n=.., i_first=0, t=0, A=a); f(n=.., i_first=0, t=1, A=a)             bound, checked and interpreted twice
after:  launches = bind(n=..); launches(i_first=0, t=0, A=a); launches(i_first=0, t=1, A=a)                    and once
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from polytile.diagnostics import DeviceError
from polytile.ir.def_use import mentioned_names
from polytile.ir.host import HostProgram
from polytile.ir.scop import Scop
from polytile.runtime.binding import Call, bind
from polytile.runtime.cupy_engine import CupyEngine, SizedRun, device_failures, require_cupy
from polytile.runtime.engine import Engine
from polytile.runtime.layout import element_dtype, scalar_dtype
from polytile.runtime.prepared_launches import PreparedLaunches, prepared_launches

MOST = 256  # boxes whose launches are kept


class Runnable(Protocol):
    """A compiled SCoP, as far as ranks use it."""

    def run(self, call: Call, *, on: str = "auto", stream: Any = None) -> None:
        """Run it on checked arguments, in a stream without waiting for it."""
        ...

    def engine(self, on: str) -> Engine:
        """Return what runs it."""
        ...

    def prepare(self, on: str) -> None:
        """Build what runs it."""
        ...


class BoxLaunches:
    """Runs of a compiled SCoP: the first one is bound and checked, later ones have other numbers and arrays of the same
    shapes. Boxes lie within a rank's arrays, so that what holds for one holds for all.

    On a GPU the launches of a box are found once, where `step`, the iteration of the time loop, decides none of them.
    """

    def __init__(self, scop: Scop, runnable: Runnable, step: str, fixed: Mapping[str, Any]) -> None:
        self.scop, self.runnable, self.step, self.fixed = scop, runnable, step, fixed
        self.first: Call | None = None
        self.known: dict[tuple[Any, ...], tuple[SizedRun, PreparedLaunches] | None] = {}

    def __call__(self, changing: Mapping[str, Any], where: Mapping[str, Any]) -> None:
        if self.first is None:
            self.first = bind(self.scop, (), {**self.fixed, **changing})
            return self.runnable.run(self.first, **where)
        box = tuple(value for name, value in changing.items() if isinstance(value, int) and name != self.step)
        if "stream" not in where or (found := self._found(box, changing, where["on"])) is None:
            numbers = {name: value for name, value in changing.items() if isinstance(value, int)}
            arrays = {name: value for name, value in changing.items() if name not in numbers}
            values, memory = {**self.first.values, **numbers}, {**self.first.memory, **arrays}
            return self.runnable.run(replace(self.first, values=values, memory=memory), **where)
        run, launches = found
        addresses = [changing[b.name].data.ptr + b.lead for b in run.buffers]
        by_value = [changing[name].item() for name in run.engine.program.by_value]
        try:
            launches.run(require_cupy(), where["stream"].ptr, (*addresses, *by_value, *self._steps(changing)))
        except device_failures() as error:
            raise DeviceError(f"running {run.engine.program.name} failed: {error}") from error
        return None

    def _steps(self, changing: Mapping[str, Any]) -> tuple[int, ...]:
        return (changing[self.step],) if self.step in changing else ()

    def _found(
        self, box: tuple[int, ...], changing: Mapping[str, Any], on: str
    ) -> tuple[SizedRun, PreparedLaunches] | None:
        """Return the launches of a box, cached by its numbers, which come in the same order in all calls.

        Returns None where each call finds its own.
        """
        if box not in self.known:
            if len(self.known) >= MOST:
                self.known.clear()
            self.known[box] = self._made(changing, on)
        return self.known[box]

    def _made(self, changing: Mapping[str, Any], on: str) -> tuple[SizedRun, PreparedLaunches] | None:
        engine = self.runnable.engine(on)
        if self.first is None or not isinstance(engine, CupyEngine):
            return None
        kinds = _passed_to_kernels(engine.program, self.step) if self.step in changing else []
        if kinds is None:
            return None
        values = {name: changing.get(name, value) for name, value in self.first.values.items()}
        run = engine.sized(self.first.layouts, values)
        if not all(b.name in changing for b in run.buffers):  # a temporary
            return None
        by_value = [(name, element_dtype(self.scop.array(name))) for name in engine.program.by_value]
        launches = prepared_launches(run, [*by_value, *kinds])
        return None if launches is None else (run, launches)


def _passed_to_kernels(program: HostProgram, name: str) -> list[tuple[str, Any]] | None:
    """Return a parameter with its type, the same in all kernels that take it; None where it decides what is launched.

    It may decide which part of an array is touched, which only copies of arrays of the host depend on.
    """
    if name in mentioned_names(*program.body):
        return None
    types = {scalar_dtype(p.type) for kernel in program.kernels for p in kernel.parameters if p.name == name}
    return [(name, types.pop() if types else np.dtype(np.int64))] if len(types) < 2 else None
