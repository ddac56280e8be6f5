"""What an estimate of time says: for each kernel and each of its accesses, in words for --explain."""

from __future__ import annotations

from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.ir.host import FEWEST_LAUNCHES
from polytile.ir.scop import AccessKind


@dataclass(frozen=True, slots=True)
class AccessTime:
    """One access of a kernel, summed over a launch."""

    statement: str
    array: str
    kind: AccessKind
    location: str
    requests: float
    sectors: float  # per request
    ideal: bool
    cycles: float  # of L1
    shared: bool = False  # to a tile in shared memory: `sectors` are turns of its banks


@dataclass(frozen=True, slots=True)
class Residency:
    """The blocks with tiles that a multiprocessor has at a time, with what each takes, and in how many `rounds` it runs
    all of its blocks."""

    registers: int  # of a thread
    shared_bytes: int
    blocks: int
    rounds: int

    def __str__(self) -> str:
        blocks = f"{self.blocks} block{'s' * (self.blocks != 1)} on a multiprocessor"
        rounds = f"{self.rounds} round{'s' * (self.rounds != 1)}"
        return f"{blocks} ({self.registers} registers, {self.shared_bytes} bytes shared), {rounds}"


WAITS = ("requests", "l2", "memory", "arithmetic", "latency", "launch")


@dataclass(frozen=True, slots=True)
class KernelTime:
    """One kernel: its launches, and what one of them waits for, in microseconds."""

    number: int
    launches: float
    blocks: float
    threads: int  # of a block
    launch: float
    requests: float = 0.0
    l2: float = 0.0
    memory: float = 0.0
    arithmetic: float = 0.0
    latency: float = 0.0
    accesses: tuple[AccessTime, ...] = ()
    together: float = 0.0  # requests and arithmetic, as far as they are not done at the same time
    residency: Residency | None = None  # of a kernel with tiles

    @property
    def each(self) -> float:
        """Return the microseconds of one launch."""
        waits = (self.requests, self.l2, self.memory, self.arithmetic, self.latency)
        return self.launch + max(self.together, *waits)

    @property
    def microseconds(self) -> float:
        return self.launches * self.each

    @property
    def bound(self) -> str:
        """Return what a launch waits for longest."""
        return max(WAITS, key=lambda name: float(getattr(self, name)))

    def __str__(self) -> str:
        times = ", ".join(f"{name} {getattr(self, name):.3g}" for name in WAITS)
        head = f"kernel {self.number}: {self.microseconds:.3g} us, {self.launches:.0f} x {self.blocks:.0f} blocks of "
        lines = [f"{head}{self.threads} threads; bound by {self.bound} ({times})"]
        lines += [f"  {self.residency}"] if self.residency else []
        for a in self.accesses:
            if a.shared:
                lines.append(f"  {a.array} {a.kind.value} {a.location}: {a.sectors:.4g} turns/request of shared memory")
                continue
            wide = "" if a.ideal else ", not coalesced"
            lines.append(f"  {a.array} {a.kind.value} {a.location}: {a.sectors:.4g} sectors/request{wide}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The time of a mapped schedule, for `parameters`. A kernel whose launches differ has one entry for each sample."""

    kernels: tuple[KernelTime, ...]
    parameters: tuple[tuple[str, int], ...]

    @property
    def microseconds(self) -> float:
        return sum(kernel.microseconds for kernel in self.kernels)

    def of(self, number: int) -> float:
        """Return the microseconds of one kernel."""
        return sum(kernel.microseconds for kernel in self.kernels if kernel.number == number)

    @property
    def fetching(self) -> float:
        """Return the microseconds in which L2 and the memory are busy, be it hidden by something else."""
        return sum(kernel.launches * (kernel.l2 + kernel.memory) for kernel in self.kernels)

    def in_graphs(self, replayed_us: float) -> Estimate:
        """Return the estimate where equal runs replay a CUDA graph, in which a launch takes so long.

        It counts as many launches as there are graphs for.
        """
        if sum(kernel.launches for kernel in self.kernels) < FEWEST_LAUNCHES:
            return self
        return replace(self, kernels=tuple(replace(kernel, launch=replayed_us) for kernel in self.kernels))

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={value}" for name, value in self.parameters)
        head = f"estimated {self.microseconds:.3g} us" + (f" with {sizes}" if sizes else "")
        return "\n".join([head, *(str(kernel) for kernel in self.kernels if kernel.launches)])
