"""Where kernels run the loops of the source: on the host, over blocks, over threads, inside threads.

Read off the mapped tree, whose band members are linear forms of iterators and tiles of them; of overlapped tiles, which
are no tree, off their plan. A loop over time whose steps run several in a kernel is serial in the source all the same:
its iterations start one after another in tiles, and `steps` says how many of them a kernel runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import islpy as isl

from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.facts.model import LoopMapping, Place, Where
from polytile.facts.transformed import instances_of, origins
from polytile.ir.gpu_ops import WarpReduce
from polytile.ir.iterator_values import iterator_names
from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.ir.scop import SourceLoop, Statement
from polytile.scheduling.cost.mapped_loops import MappedStatement, Part, Role, is_one_thread, kernels, statements

WHERE = {Role.HOST: Where.HOST, Role.BLOCK: Where.GRID, Role.THREAD: Where.BLOCK, Role.SERIAL: Where.THREAD}

INNERMOST = 1 << 16


def kernel_versions(state: Compilation) -> tuple[tuple[str, ...], ...]:
    """Return the names of the kernels of the tree, in its order, each with those of the versions among which the host
    chooses (`f_k0`, `f_k0_private`). Kernels of overlapped tiles come before them, and leave nothing to them in some
    programs; split tiles in registers have one kernel for all of the tree."""
    if state.program is None or state.schedule is None:
        return ()
    found: list[tuple[str, ...]] = []
    for name in (kernel.name for kernel in state.program.kernels):
        if found and name.startswith(f"{found[-1][0]}_"):
            found[-1] = (*found[-1], name)
        else:
            found.append((name,))
    if state.overlapped is not None and len(found) == state.overlapped.kernels:
        return ()
    marks = len(list(kernels(state.run.schedule.tree)))
    return tuple(found[:1] * marks) if state.split is not None else tuple(found[len(found) - marks :])


def sharing_lanes(state: Compilation) -> frozenset[str]:
    """Return the versions of kernels in which threads of a warp share the loops that data end."""
    if state.program is None:
        return frozenset()
    versions = frozenset(name for names in kernel_versions(state) for name in names[1:])
    shared = (k.name for k in state.program.kernels if any(isinstance(n, WarpReduce) for n in k.nodes))
    return versions.intersection(shared)


@dataclass(frozen=True, slots=True)
class MappedKernel:
    """A kernel of the tree: the names of its versions, its statements, and where its threads run serial loops."""

    names: tuple[str, ...]
    statements: tuple[MappedStatement, ...]

    @property
    def within(self) -> Where:
        """Whether it has several threads."""
        return Where.ONE_THREAD if is_one_thread(self.statements) else Where.THREAD


def mapped_kernels(state: Compilation) -> tuple[MappedKernel, ...]:
    """List the kernels of the tree, in its order."""
    if state.program is None or state.schedule is None:
        return ()
    versions = kernel_versions(state)
    if state.overlapped is not None and not versions:
        return ()
    return tuple(
        MappedKernel(versions[k] if k < len(versions) else (f"kernel {k}",), tuple(statements(mark)))
        for k, mark in enumerate(kernels(state.run.schedule.tree))
    )


def kernels_of_statement(state: Compilation, statement: str) -> dict[str, Where]:
    """Find the kernels that run a statement of the source, and where these run its serial loops."""
    instances = instances_of(state.run) if state.schedule is not None else {}

    def runs(mapped: MappedStatement) -> bool:
        return statement in origins(state, state.scop.statement(instances.get(mapped.name, mapped.name)))

    of_tree = [kernel for kernel in mapped_kernels(state) if any(map(runs, kernel.statements))]
    return {name: kernel.within for kernel in of_tree for name in kernel.names}


def mappings_of(state: Compilation, loop: SourceLoop) -> tuple[LoopMapping, ...]:
    """Return where each kernel that runs statements of a loop runs the loop."""
    if state.program is None or state.schedule is None:
        return ()
    found = list(_of_stream(state, state.overlapped, loop)) if state.overlapped is not None else []
    instances = instances_of(state.run)
    for kernel in mapped_kernels(state):
        for mapped in kernel.statements:
            instance = state.scop.statement(instances.get(mapped.name, mapped.name))
            iterators = state.run.scop.statement(mapped.name).iterators
            position = _position(state, instance, iterators, loop)
            if position is not None:
                places = _places(state, mapped, iterators, position, loop)
                places = tuple(replace(p, where=kernel.within) if p.where is Where.THREAD else p for p in places)
                found += [LoopMapping(name, places, _steps(places)) for name in kernel.names]
    return tuple(dict.fromkeys(found))


def _position(state: Compilation, instance: Statement, iterators: tuple[str, ...], loop: SourceLoop) -> int | None:
    """Return which iterator of what runs (an execution of `instance`) counts a loop; None where none does."""
    own = origins(state, instance) & set(loop.statements)
    if not own:
        return None
    wanted = state.source.statement(min(own)).iterators[loop.level]
    return iterators.index(wanted) if wanted in iterators else None


def _places(
    state: Compilation, mapped: MappedStatement, iterators: tuple[str, ...], position: int, loop: SourceLoop
) -> tuple[Place, ...]:
    called = iterator_names(state.source, state.source.statement(loop.statements[0]))
    parts: list[tuple[Part, tuple[str, ...]]] = []
    for one in mapped.loops:
        if one.form[position]:
            others = [iterators[k] for k, factor in enumerate(one.form) if factor and k != position]
            parts += [(part, tuple(called.get(o, o) for o in others)) for part in one.parts]
    places = []
    for part, skewed in sorted(parts, key=lambda two: _order(two[0])):
        places.append(Place(WHERE[part.role], part.tile, skewed))
        if part.tile == 1 and not part.rest and not skewed:
            break  # what is inside runs one iteration
    return tuple(places)


def _order(part: Part) -> tuple[int, int]:
    """Return the key that sorts by bands, outermost first; a loop that no band advances (a serial part of depth 0) is
    the innermost one."""
    depth = INNERMOST if part.role is Role.SERIAL and not part.depth else part.depth
    return depth, part.member


def _steps(places: Sequence[Place]) -> int:
    """Return how many iterations of a host loop over tiles run in a kernel."""
    inside = any(place.where in (Where.THREAD, Where.ONE_THREAD) for place in places[1:])
    first = places[0] if places else None
    return first.tile if first is not None and first.where is Where.HOST and first.tile > 1 and inside else 0


def _of_stream(state: Compilation, plan: OverlappedTiles, loop: SourceLoop) -> Iterator[LoopMapping]:
    """Yield where overlapped tiles run a loop: blocks of iterations are launches, warps have strips, the stream's
    planes come one by one."""
    assert state.program is not None
    made = [state.scop.statement(name) for step in plan.made for name in step.statements]
    own = [(s, p) for s in made if (p := _position(state, s, s.iterators, loop)) is not None]
    if not own:
        return
    statement, position = own[0]
    over_time = loop.level == 0 and not plan.once
    steps = plan.iterations if over_time and not plan.in_place else 0
    places = (Place(Where.HOST, steps), Place(Where.THREAD)) if over_time else _in_space(plan, statement, position)
    places = places[:1] if over_time and plan.in_place else places
    tree = sum(len(names) for names in kernel_versions(state))
    for kernel in state.program.kernels[: len(state.program.kernels) - tree]:
        yield LoopMapping(kernel.name, places, steps)


def _in_space(plan: OverlappedTiles, statement: Statement, position: int) -> tuple[Place, ...]:
    """Return where the loop along a dimension of space runs: planes come one after another, the other dimensions lie
    across threads."""
    dimension = _dimension(plan, statement, position)
    if dimension is None:
        return (Place(Where.THREAD),)
    if plan.streamed and dimension == 0:
        return (Place(Where.GRID, plan.chunk), Place(Where.THREAD)) if plan.chunk else (Place(Where.THREAD),)
    across = dimension - plan.streamed
    places = Place(Where.GRID, plan.owned[across]), Place(Where.BLOCK)
    return (*places, Place(Where.THREAD)) if plan.points[across] > 1 else places


def _dimension(plan: OverlappedTiles, statement: Statement, position: int) -> int | None:
    """Return the dimension of space along which an iterator moves what a statement writes, or None."""
    written = next(a for a in statement.accesses if a.writes)
    elements = isl.PwMultiAff.from_map(written.relation.intersect_domain(statement.domain))
    rank = elements.dim(isl.dim_type.out)
    for k in range(plan.dims):
        affs: list[isl.Aff] = []
        elements.get_pw_aff(rank - plan.dims + k).foreach_piece(lambda _domain, aff: affs.append(aff))  # noqa: B023
        if any(aff.involves_dims(isl.dim_type.in_, position, 1) for aff in affs):
            return k
    return None


def in_words(mapping: LoopMapping) -> str:
    """Format a mapping, outermost first: `host (tiles of 30), thread`."""
    return ", ".join(_in_words(place) for place in mapping.places)


def _in_words(place: Place) -> str:
    notes = [f"tiles of {place.tile}"] if place.tile > 1 else []
    notes += [f"in a wavefront with {', '.join(place.skewed)}"] if place.skewed else []
    return place.where.value + (f" ({', '.join(notes)})" if notes else "")
