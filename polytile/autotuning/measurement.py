"""What is done with one point, cheapest first: compile and prove, look at its resources, validate, time.

    choices -> kernels and their key -> (is it known?) -> registers, spills -> small sizes against the C -> milliseconds

The GPU is held for runs alone: other processes compile, and compute what they expect, meanwhile.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from pathlib import Path

from polytile.autotuning.conditions import kernel_key
from polytile.autotuning.device import Built, Device, InTurns, Kernels, Resources
from polytile.autotuning.workload import Source
from polytile.choices import Choices
from polytile.compiled_scop import CompiledScop
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError, PolytileError
from polytile.execution import Execution
from polytile.facts.kernel_facts import estimate_of
from polytile.runtime.cuda_text_cache import located_unit
from polytile.runtime.known_inputs import KnownInputs
from polytile.runtime.launches import launched_alone
from polytile.runtime.validate import judge, ran


@dataclass(slots=True)
class Stages:
    """The seconds of each stage; `tell` hears when one begins."""

    tell: Callable[[str], None] = lambda name: None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what happens inside as this stage."""
        self.tell(name)
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begun


@dataclass(frozen=True, slots=True)
class Measured:
    """Times of kernels in milliseconds, and what they take."""

    milliseconds: tuple[float, ...]
    resources: Resources


@dataclass(frozen=True, slots=True)
class Bench:
    """Compiles and measures points of one workload; kernels that were measured are kept in `folder`, from where another
    process takes them."""

    source: Source
    device: Device
    folder: Path
    seed: int
    known: KnownInputs = field(default_factory=KnownInputs)

    def compile(self, choices: Choices) -> tuple[CompiledScop, Kernels]:
        """Compile and prove a point. Raises UserError, UsageError or InternalError."""
        found = self.source.compile(choices)
        program, options = found.program, found.compilation.options
        assert program is not None
        text = located_unit([program], header="kernels.h", title=[]).text
        time = estimate_of(found.compilation)
        milliseconds = None if time is None else time.microseconds / 1000
        longest = max(time.kernels, key=lambda one: one.microseconds, default=None) if time is not None else None
        bound = "" if longest is None else longest.bound
        return found, Kernels(kernel_key(text, self.device.conditions), program, options, milliseconds, bound)

    def measure(self, scop: CompiledScop, kernels: Kernels, best: float, stages: Stages) -> Measured:
        """Validate and time what was compiled. Raises ResourcesError, ValidationError, other DeviceErrors, and
        UserError where the C is undefined for small sizes."""
        with stages.stage("build"):
            built = self.device.build(kernels)
        self._validate(scop, built, stages)
        with self._alone(stages, "time"):
            milliseconds = built.time(best)
        self._keep(built.kernels)
        return Measured(milliseconds, built.resources)

    def _validate(self, scop: CompiledScop, built: Built, stages: Stages) -> None:
        """Compare all versions of the kernels with the C, at small sizes and at those at which all of them run; the C
        runs before the GPU is held, and what it says is compared after that."""
        state = replace(scop.compilation, options=replace(scop.compilation.options, parameters={}))
        execution = Execution(state, {}, self.known)
        with stages.stage("inputs"):
            inputs = [given for given, _ in execution.inputs(None, self.seed)]
            first, *others = execution.versions()
            engines = [built.engine(one) for one in (first, *map(launched_alone, others))]
        try:
            with self._alone(stages, "validate"):
                found = [ran(given, engine) for engine in engines for given in inputs]
        except DeviceError as error:
            raise self.device.failure(error) from error
        with stages.stage("compare"):
            for one in found:
                judge(one, strict=state.options.strict)

    @contextmanager
    def _alone(self, stages: Stages, name: str) -> Iterator[None]:
        """Hold the device in a stage, which does not count the wait for it."""
        with ExitStack() as held:
            with stages.stage("wait"):
                held.enter_context(self.device.alone())
            with stages.stage(name):
                yield

    def again(self, points: Mapping[str, tuple[str, Choices]], rounds: int, stages: Stages) -> InTurns:
        """Run points once more, in turns; each has a name, a key, if one is known, and its choices. Those that cannot
        be built any more are left out; those that nobody has kept are compiled anew."""
        built: dict[str, Built] = {}
        left_out: dict[str, str] = {}
        with stages.stage("build"):
            for name, (key, choices) in points.items():
                try:
                    built[name] = self.device.build(self._kept(key) or self.compile(choices)[1])
                except PolytileError as error:
                    left_out[name] = one_line(error)
        if not built:
            return InTurns({}, left_out)
        with self._alone(stages, "time"):
            found = self.device.in_turns(list(built.values()), rounds)
        names = {name: one.kernels.key for name, one in built.items()}
        times = {name: found.milliseconds[key] for name, key in names.items() if key in found.milliseconds}
        return InTurns(times, left_out | {n: found.left_out[key] for n, key in names.items() if key in found.left_out})

    def _keep(self, kernels: Kernels) -> None:
        unfinished = self.folder / f"{kernels.key}.{os.getpid()}"
        unfinished.write_bytes(pickle.dumps(kernels))
        unfinished.replace(self.folder / kernels.key)

    def _kept(self, key: str) -> Kernels | None:
        if not key or not (self.folder / key).exists():
            return None
        found = pickle.loads((self.folder / key).read_bytes())
        assert isinstance(found, Kernels)
        return found


def one_line(error: Exception) -> str:
    """Return an error without excerpts and hints."""
    message = error.message if isinstance(error, PolytileError) else f"{type(error).__name__}: {error}"
    return " ".join(message.split())
