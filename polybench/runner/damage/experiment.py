"""Damages of all kernels of programs, and whether validation notices each."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import polytile
from polybench.runner.damage.plant import ALL, NUMBER, PLACES, SECOND, Damage, Damaged, planted
from polybench.runner.digests.processes import Ended, forked
from polybench.runner.errors import EXIT_FAILED, RunnerError
from polybench.runner.tables import Entry
from polytile.api import CompiledScop
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError, ValidationError
from polytile.execution import Execution
from polytile.ir.host import HostProgram
from polytile.recursion_limit import deep_recursion
from polytile.runtime.engine import EmulatorEngine, emulator_engine
from polytile.runtime.expectation import Expectation
from polytile.runtime.host_interpreter import execute
from polytile.runtime.launches import (
    KernelRuns,
    each_version,
    launched_alone,
    with_other_versions,
)
from polytile.runtime.layout import Layout
from polytile.runtime.validate import validate

SEED = 1
SECONDS = 300.0  # for the runs with one damage
NOTICED, CRASHED, MISSED, UNRUN = "noticed", "crashed", "missed", "does not run"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What validation said of one damage."""

    program: str
    damage: Damage
    said: str

    @property
    def bad(self) -> bool:
        """Whether it should have been noticed: every kernel stores what somebody reads."""
        return self.said == MISSED

    def __str__(self) -> str:
        return f"{self.program}: {self.damage.kernel}, {self.damage.what}: {self.said}"


def damage(chosen: argparse.Namespace, entries: Sequence[Entry]) -> int:
    """Damage the kernels of programs and validate them.

    The exit status is 1 when a kernel was damaged everywhere and validation did not notice.
    """
    found: list[Outcome] = []
    failed = 0
    for entry in entries:
        try:
            own = [o for scop in _scops(entry) for o in outcomes(entry.id, scop, chosen.jobs)]
        except Exception as error:  # a bug of the compiler is the failure of one program
            failed += 1
            print(f"{entry.id}: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
            continue
        found += own
        print(f"{entry.id}: {_summary(own)}", flush=True)
        for outcome in own:
            if outcome.bad:
                print(f"  {outcome}", flush=True)
        if chosen.json is not None:
            _append(chosen.json, own)
    kernels = [o for o in found if o.damage.what == ALL]
    print(f"kernels damaged everywhere: {_summary(kernels)}")
    for what in dict.fromkeys(o.damage.what.split(" to ")[0] for o in found if o.damage.what != ALL):
        print(f"{what}: {_summary([o for o in found if o.damage.what.split(' to ')[0] == what])}")
    return EXIT_FAILED if failed or any(o.bad for o in kernels) else 0


@deep_recursion()
def outcomes(program: str, scop: CompiledScop, jobs: int) -> list[Outcome]:
    """Damage one SCoP in all ways, on the inputs that a validation of the sound one chooses."""
    assert scop.program is not None
    damaged, *other_grids = [planted(one, scop.scop) for one in each_version(scop.program)]
    inputs = [expectation for expectation, _ in Execution(scop.compilation, {}).inputs(None, SEED)]
    other = with_other_versions(damaged.program)
    programs = [damaged.program, *(launched_alone(one.program) for one in other_grids)]
    programs += [launched_alone(other)] if other is not None else []
    engines = [emulator_engine(damaged.scop, program, scop.compilation.options) for program in programs]
    strict = scop.compilation.options.strict
    for expectation in () if strict else inputs:
        for tolerances in (expectation.least_tolerances, expectation.tolerances):
            dict(tolerances)  # measured once, here, not in each process
    works = [partial(_said, engines, inputs, number, strict) for number in range(len(damaged.damages) + 1)]
    found: dict[int, str] = {}
    for number, result in forked(works, jobs, SECONDS):
        found[number] = CRASHED if isinstance(result, Ended) else result
    if found[0] != MISSED:
        raise RunnerError(f"{scop.name} is {found[0]} without any damage")
    places = _places_that_run(damaged, programs, inputs)
    return [
        Outcome(
            program, d, UNRUN if found[d.number] == MISSED and d.what in PLACES and d not in places else found[d.number]
        )
        for d in damaged.damages
    ]


def _said(engines: Sequence[EmulatorEngine], inputs: Sequence[Expectation], number: int, strict: bool) -> str:
    """Return what validation says of one damage."""
    for engine, expectation in product(engines, inputs):
        try:
            validate(expectation, _Numbered(engine, number), strict=strict)
        except ValidationError:
            return NOTICED
        except DeviceError:
            return CRASHED
    return MISSED


@dataclass(frozen=True, slots=True)
class _Numbered:
    """An engine whose kernels are damaged as the number says."""

    engine: EmulatorEngine
    number: int
    label: str = "the emulator"

    def run(self, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Mapping[str, Any]) -> None:
        self.engine.run(layouts, {**values, NUMBER: self.number}, memory)

    def launched(self, values: Mapping[str, int]) -> tuple[KernelRuns, ...]:
        return self.engine.launched(values)


def _places_that_run(damaged: Damaged, programs: Iterable[HostProgram], inputs: Iterable[Expectation]) -> set[Damage]:
    """Return the damages of places that there are: a block within, a second time tile."""
    found: set[tuple[str, str]] = set()

    def launch(kernel: str, grid: tuple[int, int, int], scope: Mapping[str, int]) -> None:
        found.update((kernel, place) for place, there in zip(PLACES, _there(grid, scope), strict=True) if there)

    for body, expectation in product((p.body for p in programs), inputs):
        execute(body, {**expectation.values, NUMBER: 0}, launch)
    return {d for d in damaged.damages if (d.kernel, d.what) in found}


def _there(grid: tuple[int, int, int], scope: Mapping[str, int]) -> tuple[bool, bool, bool, bool]:
    return True, max(grid) > 1 and all(size != 2 for size in grid), True, bool(scope[SECOND])


def _scops(entry: Entry) -> Iterator[CompiledScop]:
    yield from (s for s in polytile.compile(entry.path).scops if s.program is not None)


def _summary(found: Sequence[Outcome]) -> str:
    counts = Counter(o.said for o in found)
    return ", ".join(f"{counts[said]} {said}" for said in (NOTICED, CRASHED, MISSED, UNRUN) if counts[said]) or "none"


def _append(path: Path, found: Iterable[Outcome]) -> None:
    with path.open("a") as file:
        for o in found:
            row = {"program": o.program, "kernel": o.damage.kernel, "damage": o.damage.what, "said": o.said}
            file.write(json.dumps(row) + "\n")
