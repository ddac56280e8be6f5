"""A choice beside the sizes of a strategy: graphs, or the shared memory that a block may use.

    spaces that stay small:  warps: 4, 8    graphs: on, off    every pair
    others:                  warps: 4, 8    graphs: on, and off where warps is 8, as the strategy has it by itself

What such a choice gains hardly depends on sizes, so that larger spaces have its other value at the strategy's own.
"""

from __future__ import annotations

from collections.abc import Mapping

from polytile.autotuning.space import Constraint, Parameter, Point, Subspace, Value
from polytile.choices import Choices
from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.facts.kernel_facts import estimate_of

GRAPHS, SHARED = "graphs", "max_shared_memory"
SHORT_LAUNCH = 20.0  # microseconds: longer kernels hide what launching the next one takes


@dataclass(frozen=True, slots=True)
class FurtherChoice:
    """A field of Choices with the value that stands for what the strategy does by itself, and another."""

    name: str
    own: Value
    other: Value

    def asked(self, choices: Choices) -> Choices:
        """Return choices with the other value."""
        return Choices(**{**choices.asked, self.name: self.other})


def graphs_of(compilation: Compilation) -> FurtherChoice | None:
    """Offer replays as CUDA graphs or none, where the program has many launches, short ones by estimate."""
    program, estimate = compilation.program, estimate_of(compilation)
    if program is None or estimate is None or not program.launches_often:
        return None
    launches = sum(kernel.launches for kernel in estimate.kernels)
    if not launches or estimate.microseconds >= SHORT_LAUNCH * launches:
        return None
    return FurtherChoice(GRAPHS, program.graphs, not program.graphs)


def with_choice(part: Subspace, choice: FurtherChoice, near: Point, *, everywhere: bool) -> Subspace:
    """Add a choice to a part: its other value everywhere, or at the point that is nearest to the strategy's own."""
    names = tuple(parameter.name for parameter in part.parameters)

    def choices(point: Mapping[str, Value]) -> Choices:
        found = part.choices({name: value for name, value in point.items() if name != choice.name})
        return found if point[choice.name] == choice.own else choice.asked(found)

    def is_near(*given: Value) -> bool:
        *others, value = given
        return everywhere or value == choice.own or tuple(zip(names, others, strict=True)) == near[1:]

    values = choice.own, choice.other
    return Subspace(
        part.schedule,
        (*part.parameters, Parameter(choice.name, values)),
        choices,
        (*part.constraints, Constraint((*names, choice.name), is_near, f"{choice.name} at the strategy's own sizes")),
    )
