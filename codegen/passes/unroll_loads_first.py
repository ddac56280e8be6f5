"""Batches: a loop that adds up loads the elements of several iterations before it adds the first.

before: for (c = 0; c <= (n - t - 1) / 32; ++c) part += A[i][32 * c + t] * x[32 * c + t];
after:  const c_last = (n - t - 1) / 32;
        for (c = 0; c <= c_last - 1; c += 2) {
            double A_at0 = A[i][32 * c + t], x_at0 = x[32 * c + t];
            double A_at1 = A[i][32 * (c + 1) + t], x_at1 = x[32 * (c + 1) + t];
            part += A_at0 * x_at0;
            part += A_at1 * x_at1; }
        for (c_rest = ...; c_rest <= c_last; ++c_rest) part += A[i][32 * c_rest + t] * x[32 * c_rest + t];

More that is left is added up in smaller batches: `double A_at1 = A[i][32 * min(c_rest + 1, c_last) + t], ...`.

Where lanes meet they stay together, and the iterations behind the last one are switched off: `c <= c_last - 1 ? A[i][
32 * (c + 1) + t] : 0`.

An element that its own iteration changes is changed in both places: A_at0 += u[i]; A[i][32 * c + t] = A_at0.

Few threads add up much, so the time is that of waiting for memory: once a batch. Compilers unroll with a second loop
for what is left, which waits for each iteration, and do not unroll where lanes meet in the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from math import ceil, prod

from polytile.codegen.passes import launch_bounds
from polytile.codegen.passes.alignment_versioning import (
    Group,
    Unguarded,
    are_aligned,
    loaded,
    stored,
    unguarded,
    vectors,
)
from polytile.codegen.passes.interleave_reductions import meeting, meets
from polytile.codegen.passes.iteration_loads import (
    HeldLoad,
    Setting,
    held_in,
    iteration,
    targets,
    with_held,
)
from polytile.codegen.passes.loads_before_stores import lasting
from polytile.codegen.passes.plan import Context, LoweredPlan, kept_arrays
from polytile.codegen.passes.slp import together
from polytile.codegen.passes.strip_mine import in_batches, iterations, reaches
from polytile.codegen.passes.unroll_tile_loads_first import of_tile
from polytile.codegen.passes.warp_lanes import warp_lanes
from polytile.dataclass import dataclass
from polytile.ir.arith import zero
from polytile.ir.def_use import reads_memory
from polytile.ir.expr import BOOL, Assign, Binary, Call, Declare, Expr, For, If, Literal, Name, Scope, Stmt
from polytile.ir.expr_trees import statements, with_bodies
from polytile.ir.fold import folded
from polytile.ir.gpu_ops import ThreadIndex
from polytile.ir.kernel import Barrier, Kernel
from polytile.ir.linear_access import Form, elements
from polytile.ir.name_supply import Names
from polytile.ir.plan import LoopPlan
from polytile.ir.polynomial import linear
from polytile.ir.substitute import with_values
from polytile.ir.trip_count import consecutive
from polytile.machine import WARP_SIZE
from polytile.tuning import LoadTuning


def unroll_loads_first(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Run loops in batches: the loads of several iterations first, then what these do."""
    lane = next((c.name for c in kernel.coordinates if c.source == ThreadIndex("x")), None)
    threads, kept = prod(kernel.block), kept_arrays(kernel)
    setting = Setting(
        frozenset(t.array for s in kernel.body for t in targets(s)) - kept,
        kept,
        lane if kernel.block[0] == WARP_SIZE else None,
        threads,
        context.machine.registers_per_sm // threads,
        context.machine.tuning,
        plan.loops,
        plan.register_tiles,
        extents={s.array: s.extents for s in kernel.storage},
        lanes=warp_lanes(kernel),
    )
    body, registers = batched(kernel.body, setting, context.names)
    return replace(kernel, body=body, wanted_registers=registers)


def batched(body: tuple[Stmt, ...], setting: Setting, names: Names) -> tuple[tuple[Stmt, ...], int]:
    """Replace the loops whose loads come first by batches.

    Returns the body, and how many registers a thread may have then (0: as many as the compiler likes).
    """
    wanted = setting.tuning.registers
    tiled = any(isinstance(n, For) and n.label in setting.tiles for n in statements(*body))
    registers = wanted.max_registers if tiled else 0
    body = together(body, setting, names) if tiled else body
    for half in (False, True):
        batches = _in_body(body, replace(setting, half=half), names)
        made = [n for n in statements(*batches) if isinstance(n, For) and n.unroll == 1]
        registers = registers or (launch_bounds.registers(made, setting.kept, wanted) if made else 0)
        if registers != wanted.half_registers:
            break
    return batches, registers


def _in_body(body: tuple[Stmt, ...], setting: Setting, names: Names) -> tuple[Stmt, ...]:
    found: list[Stmt] = []
    for stmt in body:
        plan = setting.loops.get(stmt.label) if isinstance(stmt, For) else None
        if isinstance(stmt, For) and plan is not None and plan.loads_first:
            found += _batches(stmt, plan, setting, names) or [stmt]
        else:
            found.append(with_bodies(stmt, lambda inner: _in_body(inner, setting, names)))
    return tuple(found)


def _batches(loop: For, plan: LoopPlan, setting: Setting, names: Names) -> list[Stmt]:
    """Return the loop in batches.

    Nothing where it is none over consecutive numbers, or loads nothing that it can.
    """
    condition = consecutive(loop)
    bound = condition.right if condition else None
    if bound is None or reads_memory(bound) or any(isinstance(s, For | Barrier) for s in statements(*loop.body)):
        return []
    tuning = setting.tuning.loads
    exclusive = isinstance(loop.condition, Binary) and loop.condition.op == "<"
    end = folded(Binary("-", bound, Literal("1"), loop.type)) if exclusive else bound
    last = Name(names.shared(f"{loop.iterator}_last"), loop.type)
    if loop.label in setting.tiles:
        tile = of_tile(loop, last, _trips(loop.lower, end, tuning.max_batch_iterations), setting, names)
        return [Scope((Declare(last.name, last.type, end), *tile))]
    together = meets(*loop.body)
    few = plan.loads_first == tuning.few_iterations
    wide = None if together or few else _wide(loop, setting)
    found = lasting(loop, setting, alike=wide is None)
    loads = [load for load in found if load.varies(loop.iterator)]
    trips = _trips(loop.lower, end, tuning.max_batch_iterations)
    if wide:
        many = wide.iterations(trips)
    else:
        most = _most_iterations(loop, setting, by_warp=together)
        many = iterations(sum(load.access.type.size for load in loads), min(most, trips), tuning.batch_bytes)
    if many < 2 or not _apart_from_stores(loop, found, setting.changing):
        return []
    # Compilers move what does not vary out of the loop, but not past the condition it is read below.
    once = [load for load in found if load.is_fixed(loop.iterator) and (load.guard or wide)]
    fixed, held = held_in(once, "", Binary("<=", loop.lower, last), names)
    loop = replace(loop, body=with_held(loop.body, {}, (), held))
    wide = wide and _wide(loop, setting)
    if together:
        made = _together(loop, loads, many, last, setting, names)
    else:
        made = _apart(loop, loads, wide, many, last, names, tuning, few=few)
    return [Scope((Declare(last.name, last.type, end), *fixed, *made))]


def _most_iterations(loop: For, setting: Setting, *, by_warp: bool) -> int:
    """Return the number of iterations that a batch may have: fewer where they have reductions of a warp."""
    tuning = setting.tuning.loads
    if meeting(loop.body, setting.lane):
        return tuning.max_joined_iterations
    return tuning.max_reducing_iterations if by_warp else tuning.max_batch_iterations


@dataclass(frozen=True, slots=True)
class _Wide:
    """A loop where the conditions on what it runs hold, with the loads that are vectors then."""

    setting: Setting
    loop: For
    free: Unguarded
    loads: tuple[HeldLoad, ...]
    groups: tuple[Group, ...]

    def iterations(self, trips: int) -> int:
        """Return the number of iterations of a batch.

        What is no vector is the same for all of a warp, and from its cache soon.
        """
        vectors = {number for group in self.groups for number in group}
        sizes = [(load.access.type.size, k in vectors) for k, load in enumerate(self.loads)]
        size = sum(size if vector else size / 2 for size, vector in sizes)
        tuning = self.setting.tuning.loads
        most = min(tuning.max_vector_iterations, trips)
        many = iterations(ceil(size), most, tuning.vector_batch_bytes)
        if self.setting.threads < tuning.spread_threads:
            return many
        registers = self.setting.tuning.registers
        room = 4 * (registers.max_registers - registers.half_spare) // sum(size for size, _ in sizes)
        return max(many, min(most, room // tuning.spread_iterations * tuning.spread_iterations))


def _wide(loop: For, setting: Setting) -> _Wide | None:
    """Return the loop with vectors, if it has some; else None."""
    free = unguarded(loop)
    plain = replace(loop, body=free.body)
    loads = tuple(f for f in lasting(plain, setting) if f.varies(loop.iterator) and not f.guard)
    groups = tuple(vectors(loads, loop.iterator, setting.extents, setting.lanes))
    return _Wide(setting, plain, free, loads, groups) if groups else None


def _together(
    loop: For, loads: Sequence[HeldLoad], many: int, last: Name, setting: Setting, names: Names
) -> Iterator[Stmt]:
    """Yield batches in which a warp reduces; surplus iterations of the last one are switched off."""
    met = meeting(loop.body, setting.lane)
    iterator = Name(loop.iterator, loop.type)
    start: list[Stmt] = []
    work: list[Stmt] = []
    parts: list[Name] = []
    for i in range(many):
        if met:
            parts.append(Name(names.shared(f"{met.part.array}_at{i}"), met.part.type))
            start.append(Declare(parts[i].name, parts[i].type, zero(parts[i].type)))
            loop = replace(loop, body=(*met.before, Assign(parts[i], "", met.part)))
        runs = reaches(iterator, i + 1, last)
        one = iteration(loop, loads, iterator, i, names, None, None if i == 0 else runs)
        start += one.declared
        work.append(Scope(one.body) if i == 0 else If(runs, one.body))
    if met:
        declared_once, rest, own = met.joined(iterator, last, parts)
        work += [declared_once, replace(rest, then=tuple(with_values(s, {loop.iterator: own}) for s in rest.then))]
    yield replace(loop, condition=Binary("<=", iterator, last), step=many, body=(*start, *work), unroll=1)


def _apart(
    loop: For,
    loads: Sequence[HeldLoad],
    wide: _Wide | None,
    many: int,
    last: Name,
    names: Names,
    tuning: LoadTuning,
    *,
    few: bool,
) -> Iterator[Stmt]:
    """Return whole batches, then small ones of what is left.

    There a load that is too many is the last iteration's once more: a condition on each would take one of a thread's
    seven predicates, and so make it wait between them. One batch of each size would be long code, waited for when a
    small kernel starts.
    """

    def batch(first: Name, count: int, surely: int) -> tuple[Stmt, ...]:
        if wide is None:
            return _batch(loop, loads, first, count, surely, last, names)
        otherwise = tuple(_one_by_one(loop, loads, first, count, surely, last, names))
        return tuple(_wide_batch(wide, otherwise, first, count, surely, last, names))

    small = few or (wide is not None and many <= tuning.single_vector_iterations)
    return in_batches(loop, batch, many, last, names, tuning, small=small)


def _batch(
    loop: For, loads: Sequence[HeldLoad], first: Name, count: int, surely: int, last: Name, names: Names
) -> tuple[Stmt, ...]:
    """Build a batch from `first` on, of which so many iterations are surely not beyond the last."""
    parts = [iteration(loop, loads, first, i, names, last if i >= surely else None) for i in range(count)]
    return (*(d for part in parts for d in part.declared), *_works([part.body for part in parts], first, surely, last))


def _one_by_one(
    loop: For, loads: Sequence[HeldLoad], first: Name, count: int, surely: int, last: Name, names: Names
) -> Iterator[Stmt]:
    """Yield such a batch with each iteration's loads in it: for the few that have others in the way of theirs."""
    for i in range(count):
        part = iteration(loop, loads, first, i, names, last if i >= surely else None)
        yield from _works([(*part.declared, *part.body)], first, surely - i, last, i)


def _works(
    bodies: Sequence[tuple[Stmt, ...]], first: Name, surely: int, last: Name, number: int = 0
) -> Iterator[Stmt]:
    """Yield what the iterations of a batch from this number on run, each if it is not beyond the last."""
    for i, body in enumerate(bodies):
        yield Scope(body) if i < surely else If(reaches(first, number + i + 1, last), body)


def _wide_batch(
    wide: _Wide, otherwise: tuple[Stmt, ...], first: Name, count: int, surely: int, last: Name, names: Names
) -> Iterator[Stmt]:
    """Yield a batch with vectors where the conditions hold in all of its iterations, and `otherwise`.

    What is not aligned is a batch of its own: ptxas moves no work between loads from in front of a branch. Where half
    of the threads share the registers it must not: it would spill some.
    """
    parts = [iteration(wide.loop, wide.loads, first, i, names, last if i >= surely else None) for i in range(count)]
    aligned = Name(names.shared("aligned"), BOOL)
    alike = are_aligned(wide.loads, wide.groups, wide.loop.iterator, parts[0].place, parts[1 % count].place)
    made = [loaded(part.declared, part.loads, wide.groups) for part in parts]
    declared = [s for part in made for s in part.declared]
    whole, alone = [s for part in made for s in part.whole], [s for part in made for s in part.alone]
    joins = aligned if wide.setting.half else None
    bodies = [stored(part, wide.groups, joins) for part in parts]
    works = _works(bodies, first, surely, last)
    if joins:
        rest: tuple[Stmt, ...] = (*declared, If(aligned, tuple(whole), tuple(alone)), *works)
    else:
        other = _batch(wide.loop, wide.loads, first, count, surely, last, names)
        rest = (If(aligned, (*declared, *whole, *works), other),)
    body = (Declare(aligned.name, aligned.type, alike), *rest)
    condition = wide.free.hold(wide.loop.iterator, parts[0].place, parts[-1].place)
    yield Scope(body) if condition is None else If(condition, body, otherwise)


def _apart_from_stores(loop: For, loads: Sequence[HeldLoad], changing: AbstractSet[str]) -> bool:
    """Return whether loaded arrays that the loop stores to are used at other elements in each iteration.

    What is stored after the loop, or by other threads, is read by nobody in it.
    """
    stored_to = {target.array for stmt in loop.body for target in targets(stmt)}
    loaded_arrays = {load.access.array for load in loads} & changing & stored_to
    used = set(elements(loop.body, {}, loaded_arrays))
    forms = {array: [form for other, form in used if other == array] for array in loaded_arrays}
    return all(_differ(own, loop.iterator) for own in forms.values())


def _differ(found: Sequence[Form | None], iterator: str) -> bool:
    """Return whether elements of different iterations are different: in all of them the same subscripts vary."""
    known = [form for form in found if form is not None]
    varying = {tuple(f if any(n == iterator and c for n, c in f) else None for f in form) for form in known}
    return len(known) == len(found) and len(varying) == 1 and any(f is not None for form in varying for f in form)


def _trips(start: Expr, end: Expr, most: int) -> int:
    """Return the number of iterations from `start` to `end`, or `most` where their forms do not say it.

    One of a block's chunk has a constant number, `for (c = 16 * b; c <= min(16 * b + 15, n - 1); ++c)`.
    """
    ends = end.arguments if isinstance(end, Call) and end.function == "min" else (end,)
    forms = (linear(Binary("-", one, start, end.type)) for one in ends)
    counts = (form.get("", 0) + 1 for form in forms if form is not None and not any(form[n] for n in form if n))
    return max(min(counts, default=most), 1)
