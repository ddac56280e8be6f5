"""A child process says whether MPI takes memory of a GPU: memory of the host stands for what is taken, and an address
that is no memory of the host's for what a library without CUDA does not know."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

from polytile.diagnostics import UsageError
from polytile.runtime.ranks import device_echo, transport
from polytile.runtime.ranks.mpi import communicator
from tests.ranks import lazy_device

NO_ADDRESS = 4096  # where no process has memory


class Device:
    """A module like CuPy, with memory of the host, or at an address that is none."""

    def __init__(self, address: int | None = None, changed: int = 0) -> None:
        self.address, self.changed, self.cuda = address, changed, self

    def Device(self) -> Device:
        return self

    def synchronize(self) -> None: ...

    def arange(self, size: int, dtype: Any) -> Memory:
        return Memory(np.arange(size).astype(dtype), self.address)

    def zeros(self, size: int, dtype: Any) -> Memory:
        return Memory(np.zeros(size, dtype), self.address)

    def asnumpy(self, memory: Memory) -> Any:
        self.changed *= -1
        return memory.data + np.uint8(self.changed > 0)


class Memory:
    """An array that mpi4py takes for one of a GPU."""

    def __init__(self, data: Any, address: int | None) -> None:
        self.data = data
        at = data.ctypes.data if address is None else address
        self.__cuda_array_interface__ = {"shape": data.shape, "typestr": "|u1", "data": (at, False), "version": 3}


def child(device: str) -> list[str]:
    code = f"""
import sys
from tests.ranks.test_device_echo import NO_ADDRESS, Device
from polytile.runtime.ranks.device_echo import DIFFERS, echoes
sys.exit(0 if echoes({device}) else DIFFERS)"""
    return [sys.executable, "-c", code]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("device", "why"),
    [
        ("Device()", None),
        ("Device(NO_ADDRESS)", "a process that sends it (ends with signal SIGSEGV|fails: Abort.*)"),
        ("Device(changed=1)", "other bytes come back than are sent"),
        ("None", "a process that sends it fails: AttributeError: 'NoneType' object has no attribute 'arange'"),
    ],
)
def test_what_the_child_does(device: str, why: str | None) -> None:
    found = device_echo.why_no_echo(child(device))
    assert found is None if why is None else re.fullmatch(why, found or "")


def test_a_child_that_never_ends_or_begins() -> None:
    sleeping = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert device_echo.why_no_echo(sleeping, 0.5) == "a message to itself takes longer than 0.5 s"
    crash = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"]
    assert device_echo.why_no_echo(crash) == "a process that sends it ends with signal SIGSEGV"
    assert device_echo.why_no_echo(["/no such program"]) == "no process can be started: No such file or directory"


class Gpu:
    """A place with a GPU."""

    on, gpu, arrays = "gpu", "host 0000:01:00.0", lazy_device.cupy()


@pytest.mark.parametrize("why", [None, "it ends"])
def test_a_library_that_says_nothing_is_tried_by_name(monkeypatch: pytest.MonkeyPatch, why: str | None) -> None:
    asked: list[str] = []
    monkeypatch.setattr(transport, "why_no_echo", lambda command: asked.append(command[-1]) or why)
    comm, place = communicator(None), Gpu()
    if why is None:
        assert transport.transport_named("mpi", comm, place).name == "mpi"  # type: ignore[arg-type]
    else:
        with pytest.raises(UsageError, match="takes no memory of a GPU: it ends") as raised:
            transport.transport_named("mpi", comm, place)  # type: ignore[arg-type]
        assert raised.value.hint and "leave transport out" in raised.value.hint
    assert asked == ["0000:01:00.0"]


@pytest.mark.parametrize("why", [None, "it ends"])
def test_auto_tries_it_on_request_alone(monkeypatch: pytest.MonkeyPatch, why: str | None) -> None:
    monkeypatch.setattr(transport, "why_no_echo", lambda command: why)
    monkeypatch.setattr(transport, "why_not_shared", lambda comm, place, memory: "several hosts")
    monkeypatch.setattr(transport, "peer_memory", lambda: None)
    comm, place = communicator(None), Gpu()
    assert transport.transport_named("auto", comm, place).name == "host"  # type: ignore[arg-type]
    monkeypatch.setenv("POLYTILE_MPI", "device")
    if why is None:
        assert transport.transport_named("auto", comm, place).name == "mpi"  # type: ignore[arg-type]
    else:
        with pytest.warns(RuntimeWarning, match=r"takes no memory of a GPU \(it ends\)"):
            assert transport.transport_named("auto", comm, place).name == "host"  # type: ignore[arg-type]
