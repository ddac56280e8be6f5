"""Where kernels are validated and timed: a GPU, or what stands in for one where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from typing import Protocol

from polytile.autotuning.conditions import Conditions
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.ir.host import HostProgram
from polytile.options import Options
from polytile.runtime.engine import Engine


class ResourcesError(DeviceError):
    """Kernels ask for more registers, threads or memory than the device has; it can be used as before."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """What is measured: the kernels of a point with what launches them, under the key of their text; `estimate` is in
    milliseconds, and `bound` what the longest kernel waits for by it. It can be pickled, so that another process
    runs them again without compiling the point."""

    key: str
    program: HostProgram
    options: Options
    estimate: float | None = None
    bound: str = ""
    binary: bytes = b""  # as the device's compiler has made it; empty before


@dataclass(frozen=True, slots=True)
class Resources:
    """What each kernel takes, in their order, as far as the device's compiler says it."""

    registers: tuple[int, ...] = ()
    spilled_bytes: tuple[int, ...] = ()
    shared_bytes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class InTurns:
    """Milliseconds of the runs of several kernels by their keys, and of those that are left out the reasons."""

    milliseconds: Mapping[str, tuple[float, ...]]
    left_out: Mapping[str, str] = field(default_factory=dict)


class Built(Protocol):
    """Kernels that are ready to run."""

    @property
    def kernels(self) -> Kernels:
        """Return what they were made of, with the binary."""
        ...

    @property
    def resources(self) -> Resources:
        """Return the registers and the memory that they take."""
        ...

    def engine(self, program: HostProgram) -> Engine:
        """Return what runs a host program that launches them in another way: a version that a validation asks for."""
        ...

    def time(self, best: float) -> tuple[float, ...]:
        """Time runs at the real sizes, in milliseconds, each with inputs of its own; few where two are slower than 1.5
        times `best`. Raises DeviceError."""
        ...


class Device(Protocol):
    """Takes kernels at the sizes of one workload. A DeviceError that is no ResourcesError may have left it unusable for
    this process."""

    @property
    def conditions(self) -> Conditions:
        """Return what times depend on besides the kernels."""
        ...

    def build(self, kernels: Kernels) -> Built:
        """Compile kernels where they have no binary, and load them; raises ResourcesError or DeviceError."""
        ...

    def alone(self) -> AbstractContextManager[None]:
        """Wait until no other process runs or times anything here."""
        ...

    def failure(self, error: DeviceError) -> DeviceError:
        """Return a failure of an engine as a ResourcesError, where it is one."""
        ...

    def in_turns(self, built: Sequence[Built], rounds: int) -> InTurns:
        """Run kernels in turns at the real sizes; what computes something else than the first is left out."""
        ...
