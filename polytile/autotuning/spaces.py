"""The space of a SCoP at given sizes: a part for each strategy that has kernels of its own for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import log

from polytile.autotuning.kernel_shape import main_kernel
from polytile.autotuning.loop_space import loop_point, loop_space
from polytile.autotuning.overlapped_space import overlapped_point, overlapped_space
from polytile.autotuning.space import Point, Space, Subspace, Value
from polytile.autotuning.split_space import split_point, split_space
from polytile.autotuning.strategy_defaults import compiled_with, strategy_defaults, strategy_of
from polytile.choices import OVERLAPPED, SPLIT, Choices
from polytile.compilation import Compilation
from polytile.compiled_scop import CompiledScop


def space_of(scop: CompiledScop, sizes: Mapping[str, int]) -> Space:
    """Find what may be asked of a SCoP for these values of its parameters, which are all of them: compiles it once or
    twice with each strategy."""
    return Space(tuple(_parts(scop, sizes)))


def _parts(scop: CompiledScop, sizes: Mapping[str, int]) -> Iterator[Subspace]:
    for name, made in strategy_defaults(scop, sizes).items():
        if name == OVERLAPPED:
            yield overlapped_space(made.compilation)
        elif name == SPLIT:
            part = split_space(made.compilation)
            yield from (part,) if part is not None else ()
        else:
            part = _of_loops(name, made, sizes)
            yield from (part,) if part is not None else ()


def _of_loops(name: str, made: CompiledScop, sizes: Mapping[str, int]) -> Subspace | None:
    """That of kernels whose threads have one point each; none where no kernel has blocks."""
    shape = main_kernel(made.compilation)
    if shape is not None and shape.neighbours:
        plain = compiled_with(made, sizes, Choices(schedule=name, points=(1,) * shape.depth))
        shape = main_kernel(plain.compilation) if plain is not None else shape
    return loop_space(name, shape) if shape is not None else None


def default_point(space: Space, scop: CompiledScop) -> Point:
    """Find the point nearest to what the compiler chose by itself, to mark it in a space: the sizes of its plan, or the
    nearest values there are, by their ratio. The empty point where the space has no part for its strategy."""
    part = next((one for one in space.parts if one.schedule == strategy_of(scop)), None)
    if part is None:
        return ()
    chosen = _sizes_of(part, scop.compilation)
    return min(part.points(), key=lambda point: _distance(dict(point), chosen), default=())


def _sizes_of(part: Subspace, compilation: Compilation) -> Mapping[str, Value]:
    """What a part calls the sizes of a compilation."""
    if compilation.stream is not None:
        return overlapped_point(compilation.stream, compilation.stream.chunk)
    if part.schedule == SPLIT:
        return split_point(compilation)
    shape = main_kernel(compilation)
    return loop_point(shape) if shape is not None else {}


def _distance(point: Mapping[str, Value], chosen: Mapping[str, Value]) -> float:
    """How far a point is from known values: by ratios of numbers, and 1 for each word that differs."""
    return sum(_apart(point[name], value) for name, value in chosen.items() if name in point)


def _apart(one: Value, other: Value) -> float:
    if isinstance(one, str) or isinstance(other, str):
        return float(one != other)
    return abs(log((1 + one) / (1 + other)))
