"""A process that evaluates points: `python -m polytile.autotuning.worker`, told what to do by lines of JSON.

    parent                                      worker
    {"workload": .., "device": "gpu", ..}       {"ready": {"gpu": .., "driver": .., ..}}   or {"failed": ..}
    {"evaluate": {"schedule": "tiled", ..}}     {"stage": "compile"}
                                                {"compiled": key, "estimate": 1.2, "bound": "memory"}
    {"measure": 1.5}, or {"skip": true}         {"stage": "build"} ..
                                                {"ended": {"status": "measured", "milliseconds": [..], ..}}
    {"again": {name: point, ..}, "rounds": 9}   {"stage": "time"} .. {"again": {..}, "left_out": {..}}

A worker ends when nobody writes to it any more, and behind an error that may have left its device unusable, which is
the last that it says: `"lost": true`.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any, TextIO

from polytile.autotuning.cuda_device import CudaDevice
from polytile.autotuning.device import Device, Kernels, ResourcesError
from polytile.autotuning.measurement import Bench, Stages, one_line
from polytile.autotuning.outcome import Status
from polytile.autotuning.stand_in_device import StandInDevice
from polytile.autotuning.workload import Source, Workload
from polytile.choices import Choices
from polytile.compiled_scop import CompiledScop
from polytile.diagnostics import DeviceError, PolytileError, ValidationError
from polytile.runtime.gpu_lock import lock_of

GPU, STAND_IN = "gpu", "stand-in"

Message = dict[str, Any]


class Parent:
    """The other end of the pipes. Lines are read beside the work, so that a worker whose parent is gone ends at once,
    with all that it has started."""

    def __init__(self, lines: TextIO, answers: TextIO) -> None:
        self._answers = answers
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()

    def _read(self, lines: TextIO) -> None:
        for line in lines:
            self._messages.put(json.loads(line))
        with contextlib.suppress(OSError):
            if os.getpgid(0) == os.getpid():
                os.killpg(0, signal.SIGKILL)
        os._exit(0)

    def hear(self) -> Message:
        """Wait for a message."""
        return self._messages.get()

    def say(self, message: Message) -> None:
        """Send one."""
        self._answers.write(json.dumps(message) + "\n")
        self._answers.flush()

    def tell_stage(self, name: str) -> None:
        """Report which stage begins: time limits start anew."""
        self.say({"stage": name})


def main() -> int:
    """Serve until the parent ends, or the device is lost."""
    with _own_output() as answers:
        parent = Parent(sys.stdin, answers)
        try:
            bench = _bench(parent.hear())
        except Exception as error:
            hint = error.hint if isinstance(error, PolytileError) else None
            parent.say({"failed": one_line(error), "hint": hint, "kind": type(error).__name__})
            return 1
        conditions = bench.device.conditions
        parent.say({"ready": {name: getattr(conditions, name) for name in ("gpu", "driver", "compiler", "flags")}})
        while serve(parent, bench, parent.hear()):
            pass
    return 1


@contextlib.contextmanager
def _own_output() -> Iterator[TextIO]:
    """Reserve standard output for messages: what anything prints goes to standard error."""
    kept = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(kept, "w") as answers:
        yield answers


def _bench(told: Message) -> Bench:
    source = Workload.from_json(told["workload"]).read()
    return Bench(source, device_of(told, source), Path(told["folder"]), told["seed"])


def device_of(told: Mapping[str, Any], source: Source) -> Device:
    """Open the device that is asked for; raises DeviceError without one."""
    def lock(name: str) -> Path:
        return Path(told["lock"]) if told["lock"] is not None else lock_of(name, Path(told["locks"]))

    return CudaDevice(source, lock, told["seed"]) if told["device"] == GPU else StandInDevice(source, lock(STAND_IN))


def serve(parent: Parent, bench: Bench, asked: Message) -> bool:
    """Do what one message asks for; returns whether the device can still be used."""
    stages = Stages(parent.tell_stage)
    if "again" in asked:
        points = {name: (told["key"], _choices(told["choices"])) for name, told in asked["again"].items()}
        try:
            found = bench.again(points, asked["rounds"], stages)
        except DeviceError as error:
            lost = not isinstance(error, ResourcesError)
            parent.say({"again": {}, "left_out": dict.fromkeys(points, one_line(error)), "lost": lost})
            return not lost
        parent.say({"again": dict(found.milliseconds), "left_out": dict(found.left_out)})
        return True
    try:
        with stages.stage("compile"):
            scop, kernels = bench.compile(_choices(asked["evaluate"]))
    except Exception as error:
        parent.say({"ended": _ended(Status.REFUSED, one_line(error), stages)})
        return True
    estimated = {"estimate": kernels.estimate, "bound": kernels.bound}
    parent.say({"compiled": kernels.key, **estimated, "seconds": stages.seconds})
    answer = parent.hear()
    return True if "skip" in answer else _measure(parent, bench, scop, kernels, answer["measure"], stages)


def _measure(
    parent: Parent, bench: Bench, scop: CompiledScop, kernels: Kernels, best: float | None, stages: Stages
) -> bool:
    try:
        found = bench.measure(scop, kernels, inf if best is None else best, stages)
    except ResourcesError as error:
        ended = _ended(Status.RESOURCES, one_line(error), stages)
    except ValidationError as error:
        ended = _ended(Status.WRONG, one_line(error), stages)
    except DeviceError as error:
        parent.say({"ended": _ended(Status.CRASHED, one_line(error), stages), "lost": True})
        return False
    except PolytileError as error:  # of the C, or of what was extracted of it
        ended = _ended(Status.REFUSED, one_line(error), stages)
    else:
        taken = found.resources
        ended = _ended(Status.MEASURED, "", stages) | {
            "milliseconds": found.milliseconds,
            "registers": taken.registers,
            "spilled_bytes": taken.spilled_bytes,
            "shared_bytes": taken.shared_bytes,
        }
    parent.say({"ended": ended})
    return True


def _ended(status: Status, reason: str, stages: Stages) -> Message:
    return {"status": status.value, "reason": reason, "seconds": stages.seconds}


def _choices(told: Mapping[str, Any]) -> Choices:
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in told.items()}
    return Choices(**values)


if __name__ == "__main__":
    sys.exit(main())
