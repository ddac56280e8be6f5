"""Validation: the generated code against the sequential C, on the same inputs, over all of the memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.diagnostics import ValidationError
from polytile.ir.expr import Call, Invoke, walk
from polytile.ir.scop import Scop
from polytile.runtime.compare import Comparison
from polytile.runtime.engine import Engine
from polytile.runtime.expectation import Expectation, describe

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
class Validation:
    """A run that agreed: where, on which inputs, and how closely."""

    scop: str
    label: str
    values: dict[str, int]
    seed: int
    bitwise: bool
    comparisons: tuple[Comparison, ...]
    seconds: float
    note: str = ""

    def with_note(self, note: str) -> Validation:
        """The same, with something more to say."""
        return replace(self, note="; ".join(filter(None, (self.note, note))))

    @property
    def line(self) -> str:
        """`kernel_gemm_scop0: validated on the emulator (ni=13 nj=17 nk=11; C: max error 0)`."""
        sizes = " ".join(f"{n}={v}" for n, v in self.values.items())
        arrays = ", ".join(f"{c.array}: {_agreement(c, self.bitwise)}" for c in self.comparisons) or "no array"
        note = f"; {self.note}" if self.note else ""
        return f"{self.scop}: validated on {self.label} ({sizes + '; ' if sizes else ''}{arrays}{note})"


def _agreement(comparison: Comparison, bitwise: bool) -> str:
    return "bitwise equal" if bitwise else f"max error {comparison.relative:.2g}"


def validate(expectation: Expectation, engine: Engine, *, strict: bool) -> Validation:
    """Run generated code on the inputs of `expectation`; raises ValidationError on the first array that differs.

    `strict` asks for equal bits, except on a GPU for programs whose functions C does not define to the last bit.
    """
    scop = expectation.scop
    inexact = sorted(set(_functions(scop)) - EXACT_FUNCTIONS) if not engine.label.startswith("the emulator") else []
    bitwise = strict and not inexact
    memory = expectation.inputs()
    start = time.perf_counter()
    engine.run(expectation.layouts, expectation.values, memory)
    seconds = time.perf_counter() - start
    comparisons = expectation.check(memory, bitwise=bitwise)
    for comparison in comparisons:
        if comparison.mismatch:
            raise _disagreement(expectation, engine.label, comparison)
    note = f"{inexact[0]} rounds differently on a GPU, so not bitwise" if strict and inexact else ""
    outputs = tuple(c for c in comparisons if scop.written(c.array))
    return Validation(
        scop.name, engine.label, dict(expectation.values), expectation.seed, bitwise, outputs, seconds, note
    )


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
