"""Validation: the generated code against the sequential C, on the same inputs, over all of the memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.diagnostics import ValidationError
from polytile.ir.expr import Call, Invoke
from polytile.ir.expr_trees import walk
from polytile.ir.scop import Scop
from polytile.runtime.compare import Comparison
from polytile.runtime.engine import Engine
from polytile.runtime.expectation import Expectation, describe
from polytile.runtime.launches import KernelRuns, together
from polytile.runtime.native import Memory

# What IEEE 754 and every libm define to the last bit; other functions differ between host and GPU.
_EXACT = "sqrt fabs floor ceil trunc round rint nearbyint fmin fmax fma copysign fmod remainder fdim"
EXACT_FUNCTIONS = frozenset(name + suffix for name in _EXACT.split() for suffix in ("", "f")) | {
    "abs",
    "labs",
    "llabs",
    "min",
    "max",
    "floord",
    "pmod()",
}
REPORT = (
    "if the program keeps C's rules (no index out of bounds, no overlapping arrays), report this as a bug of polytile"
)


@dataclass(frozen=True, slots=True)
class Run:
    """A run that agreed: on which sizes, how closely, and which kernels ran."""

    values: dict[str, int]
    comparisons: tuple[Comparison, ...]
    kernels: tuple[KernelRuns, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Validation:
    """Runs that agreed: where, on which inputs, how closely, and what ran in them."""

    scop: str
    label: str
    runs: tuple[Run, ...]
    seed: int
    bitwise: bool
    note: str = ""

    def with_note(self, note: str) -> Validation:
        """Return the same validation with something more to say."""
        return replace(self, note="; ".join(dict.fromkeys(filter(None, (self.note, note)))))

    def followed_by(self, other: Validation) -> Validation:
        """Append the runs of another validation in the same place."""
        return replace(self, runs=(*self.runs, *other.runs)).with_note(other.note)

    @property
    def values(self) -> dict[str, int]:
        """The sizes of the first run."""
        return self.runs[0].values

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """How closely each array agreed, in the run where it did least."""
        worst: dict[str, Comparison] = {}
        for comparison in (c for run in self.runs for c in run.comparisons):
            worst[comparison.array] = max(worst.get(comparison.array, comparison), comparison, key=_distance)
        return tuple(worst.values())

    @property
    def kernels(self) -> tuple[KernelRuns, ...]:
        """The launches of each kernel in all runs together."""
        return together(k for run in self.runs for k in run.kernels)

    @property
    def seconds(self) -> float:
        return sum(run.seconds for run in self.runs)

    @property
    def unrun(self) -> tuple[str, ...]:
        """The kernels that no run has launched: of them nothing is shown."""
        return tuple(k.kernel for k in self.kernels if not k.launches)

    @property
    def line(self) -> str:
        """`gemm_scop0: validated on the emulator (ni=13 nj=17 nk=11; C: max error 0; launches: k0 1)`."""
        every = (" ".join(f"{n}={v}" for n, v in run.values.items()) for run in self.runs if run.values)
        sizes = ", then ".join(dict.fromkeys(every))
        arrays = ", ".join(f"{c.array}: {_agreement(c, self.bitwise)}" for c in self.comparisons) or "no array"
        launches = ", ".join(f"{_short(k.kernel, self.scop)} {k.launches}" for k in self.kernels)
        said = "; ".join(filter(None, (sizes, arrays, launches and f"launches: {launches}", self.note)))
        return f"{self.scop}: {'not validated in full' if self.unrun else 'validated'} on {self.label} ({said})"


def _short(kernel: str, scop: str) -> str:
    """Shorten gemm_scop0_k0 to `k0`."""
    return kernel.removeprefix(f"{scop}_")


def _distance(comparison: Comparison) -> float:
    return comparison.relative


def _agreement(comparison: Comparison, bitwise: bool) -> str:
    return "bitwise equal" if bitwise else f"max error {comparison.relative:.2g}"


def validate(expectation: Expectation, engine: Engine, *, strict: bool) -> Validation:
    """Run generated code on the inputs of `expectation`; raises ValidationError on the first array that differs.

    `strict` asks for equal bits, except on a GPU for programs whose functions C does not define to the last bit.
    """
    return judge(ran(expectation, engine), strict=strict)


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that nobody has looked at yet: where and on what, what it left in memory, and its seconds."""

    expectation: Expectation
    engine: Engine
    memory: Memory
    seconds: float


def ran(expectation: Expectation, engine: Engine) -> Ran:
    """Run generated code on the inputs of `expectation`."""
    memory = expectation.inputs()
    start = time.perf_counter()
    engine.run(expectation.layouts, expectation.values, memory)
    return Ran(expectation, engine, memory, time.perf_counter() - start)


def judge(done: Ran, *, strict: bool) -> Validation:
    """Compare what a run left with what is expected, as `validate` does."""
    expectation, engine, memory, seconds = done.expectation, done.engine, done.memory, done.seconds
    scop = expectation.scop
    inexact = sorted(set(_functions(scop)) - EXACT_FUNCTIONS) if not engine.label.startswith("the emulator") else []
    bitwise = strict and not inexact
    comparisons = expectation.check(memory, bitwise=bitwise)
    for comparison in comparisons:
        if comparison.mismatch:
            raise _disagreement(expectation, engine.label, comparison)
    note = f"{inexact[0]} rounds differently on a GPU, so not bitwise" if strict and inexact else ""
    outputs = tuple(c for c in comparisons if scop.written(c.array))
    run = Run(dict(expectation.values), outputs, engine.launched(expectation.values), seconds)
    return Validation(scop.name, engine.label, (run,), expectation.seed, bitwise, note)


def _functions(scop: Scop) -> Iterator[str]:
    for statement in scop.statements:
        for root in statement.body:
            yield from (n.function for n in walk(root) if isinstance(n, Call | Invoke))


def _disagreement(expectation: Expectation, label: str, comparison: Comparison) -> ValidationError:
    found = comparison.mismatch
    assert found is not None
    allowed = f" by more than {comparison.tolerance:.2g}" if comparison.tolerance else ""
    return ValidationError(
        f"{expectation.scop.name} computes something else on {label}: {found.element} is {found.actual}, the "
        f"sequential C gives {found.expected}; {found.count} of {comparison.elements} elements of {comparison.array} "
        f"differ{allowed} ({describe(expectation)})",
        location=expectation.scop.location,
        hint=REPORT,
    )
