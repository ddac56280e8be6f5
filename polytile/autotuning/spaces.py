"""The space of a SCoP at given sizes: a part for each strategy that has kernels of its own for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from math import log

from polytile.autotuning.kernel_shape import main_kernel, main_kernels
from polytile.autotuning.loop_space import loop_point, loop_space
from polytile.autotuning.overlapped_space import overlapped_point, overlapped_space
from polytile.autotuning.search.named import MOST_EXHAUSTIVE
from polytile.autotuning.space import Constraint, Parameter, Point, Space, Subspace, Value
from polytile.autotuning.split_space import split_point, split_space
from polytile.autotuning.strategy_defaults import compiled_with, is_stencil, kernel_text, strategy_defaults, strategy_of
from polytile.autotuning.streaming_space import (
    STREAMING,
    WORDS,
    ZHANG_MUELLER,
    Template,
    few_points,
    one_step,
    paper_space,
)
from polytile.choices import OVERLAPPED, SPLIT, Choices
from polytile.compilation import Compilation
from polytile.compiled_scop import CompiledScop
from polytile.dataclass import dataclass
from polytile.facts.kernel_facts import estimate_of
from polytile.options import STRATEGIES
from polytile.scheduling.strategies.overlapped.plane_steps import plane_steps

ONE_STEP = (STREAMING, ZHANG_MUELLER)
LARGE_BODY = 16  # elements that a statement reads, at least, for its order to matter
PARTS = (*STRATEGIES, *ONE_STEP)


def space_of(scop: CompiledScop, sizes: Mapping[str, int], only: Collection[str] = ()) -> Space:
    """Find what may be asked of a SCoP for these values of its parameters, which are all of them: compiles it a few
    times with each strategy.

    `only` names parts, of PARTS; without, there are all but ZHANG_MUELLER, of which STREAMING is a part."""
    wanted = only or [name for name in PARTS if name != ZHANG_MUELLER]
    made = strategy_defaults(scop, sizes, wanted)
    found = [(name, _part(name, scop, made, sizes)) for name in PARTS if name in wanted]
    parts = {name: part for name, part in found if part is not None}
    for name in [name for name in parts if name in made]:
        near = nearest(parts[name], made[name].compilation)
        for choice in _further(parts[name].choices(dict(near)), made[name], sizes):
            points = {other: len(list(part.points())) for other, part in parts.items()}
            everywhere = sum(points.values()) + points[name] <= MOST_EXHAUSTIVE
            parts[name] = with_choice(parts[name], choice, near, everywhere=everywhere)
            near = (*near, (choice.name, choice.own))
    return Space(tuple(parts.values()))


def _further(near: Choices, made: CompiledScop, sizes: Mapping[str, int]) -> Iterator[FurtherChoice]:
    """Yield what a strategy may be asked for beside sizes, like those near its own: where that makes a difference."""
    graphs = graphs_of(made.compilation)
    if graphs is not None:
        yield graphs
    choice = FurtherChoice(SHARED, 0, made.compilation.machine.shared_per_block)
    few, many = (compiled_with(made, sizes, one) for one in (near, choice.asked(near)))
    if few is not None and many is not None and kernel_text(few) != kernel_text(many):
        yield choice


def _part(
    name: str, scop: CompiledScop, made: Mapping[str, CompiledScop], sizes: Mapping[str, int]
) -> Subspace | None:
    """Build a part, where a strategy has kernels of its own for it."""
    if name in ONE_STEP:
        return _one_step(name, scop, sizes) if is_stencil(scop, plane_steps) else None
    if name not in made:
        return None
    if name == OVERLAPPED:
        return overlapped_space(made[name].compilation)
    return split_space(made[name].compilation) if name == SPLIT else _of_loops(name, made[name], sizes)


def _one_step(name: str, scop: CompiledScop, sizes: Mapping[str, int]) -> Subspace | None:
    """Build the space of streaming kernels of one step, by the templates that the stencil has."""
    templates: dict[str, Template] = {}
    for planes in WORDS:
        found = compiled_with(scop, sizes, one_step(planes, read_only=True))
        template = Template.of(found.compilation, planes) if found is not None else None
        if template is not None:
            templates[planes] = template
    machine, asked = scop.compilation.machine, scop.compilation.options.max_shared_memory
    room = machine.shared_per_block if asked is None else asked
    of = paper_space if name == ZHANG_MUELLER else few_points
    return of(templates, room) if templates else None


def _of_loops(name: str, made: CompiledScop, sizes: Mapping[str, int]) -> Subspace | None:
    """Build the part of kernels whose threads have one point each; None where no kernel has blocks."""
    shape = main_kernel(made.compilation)
    if shape is not None and shape.neighbours:
        plain = compiled_with(made, sizes, Choices(schedule=name, points=(1,) * shape.depth))
        one = main_kernel(plain.compilation) if plain is not None else None
        shape = replace(one, points=shape.points) if one is not None and len(one.points) == len(shape.points) else shape
    if shape is None:
        return None
    large = shape.shares and _has_orders(name, made, sizes)
    room = made.compilation.machine.shared_per_block
    return loop_space(name, shape, main_kernels(made.compilation), large=large, room=room)


def _has_orders(name: str, made: CompiledScop, sizes: Mapping[str, int]) -> bool:
    """Return whether the order of a large body is chosen: that of the source is another one."""
    if max(len(statement.accesses) for statement in made.scop.main) < LARGE_BODY:
        return False
    source = compiled_with(made, sizes, Choices(schedule=name, order="source"))
    return source is not None and kernel_text(source) != kernel_text(made)


def default_point(space: Space, scop: CompiledScop) -> Point:
    """Find the point nearest to what the compiler chose by itself, to mark it in a space: the sizes of its plan, or the
    nearest values there are, by their ratio. The empty point where the space has no part for its strategy."""
    part = next((one for one in space.parts if one.schedule == strategy_of(scop)), None)
    if part is None:
        return ()
    return nearest(part, scop.compilation)


def nearest(part: Subspace, compilation: Compilation) -> Point:
    """Find the point of a part with the sizes of a compilation, or the nearest values there are."""
    chosen = _sizes_of(part, compilation)
    return min(part.points(), key=lambda point: _distance(dict(point), chosen), default=())


def _sizes_of(part: Subspace, compilation: Compilation) -> Mapping[str, Value]:
    """Return the sizes of a compilation as a part names them, and the choices beside these."""
    graphs = compilation.program is not None and compilation.program.graphs
    beside: Mapping[str, Value] = {GRAPHS: graphs, SHARED: compilation.options.max_shared_memory or 0}
    if compilation.overlapped is not None:
        return {**overlapped_point(compilation.overlapped, compilation.overlapped.chunk), **beside}
    if part.schedule == SPLIT:
        return {**split_point(compilation), **beside}
    shape = main_kernel(compilation)
    return {**(loop_point(part.schedule, shape) if shape is not None else {}), **beside}


def _distance(point: Mapping[str, Value], chosen: Mapping[str, Value]) -> float:
    """Compute how far a point is from known values: by ratios of numbers, and 1 for each word that differs."""
    return sum(_apart(point[name], value) for name, value in chosen.items() if name in point)


def _apart(one: Value, other: Value) -> float:
    if isinstance(one, str) or isinstance(other, str):
        return float(one != other)
    return abs(log((1 + one) / (1 + other)))


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
