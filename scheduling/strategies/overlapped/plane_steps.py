"""The steps of kernels of one step: each field of an iteration is made by a kernel, from planes that it loads.

before: for (t) { S0: B = f(A at -1 .. 1);  S1: A = g(B at -1 .. 1); }
after:  step 0: A of iteration t0 - 1, loaded: box [-1..+1, ..], lag 0, 3 planes;    step 1: B of t0, by S0, lag 1
        step 2: B of iteration t0, loaded: box [-1..+1, ..], lag 0, 3 planes;        step 3: A of t0, by S1, lag 1

Without a loop over time these are fields of a DAG of stencils; what no statement writes is loaded, too, where several
cells of it are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polytile.dataclass import dataclass
from polytile.ir.overlapped_tiles import StreamRead, StreamStep, StreamStore
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.stencil_dag import StencilDag, stencil_dag
from polytile.scheduling.analysis.stencil_form import NotAStencilError, iterated_stencil
from polytile.scheduling.analysis.stencil_values import StencilValues, stencil_values
from polytile.scheduling.candidate import Problem
from polytile.scheduling.strategies.overlapped.plane_schedule import Offset, Reach, boxes, lags, reach, slots
from polytile.scheduling.strategies.overlapped.stream_steps import StreamSteps


@dataclass(frozen=True, slots=True)
class LoadedRead:
    """An access of a statement (its position) that reads what iteration t0 + `iteration` left in an array."""

    statement: str
    access: int
    array: str
    iteration: int
    offset: Offset


@dataclass(frozen=True, slots=True)
class OneStepField:
    """What the statements of a kernel make of an array, from these reads."""

    array: str
    statements: tuple[str, ...]
    reads: tuple[LoadedRead, ...]


def plane_steps(problem: Problem) -> StreamSteps:
    """Return the steps of a time loop around stencils, or of a DAG of them; raises NotAStencilError for neither."""
    scop, dependences = problem.scop, problem.dependences
    try:
        values = stencil_values(scop, dependences, iterated_stencil(scop, dependences))
    except NotAStencilError as reason:
        try:
            dag = stencil_dag(scop, dependences)
        except NotAStencilError:
            raise reason from None
        return _steps(dag.dims, list(_of_dag(scop, dag)), once=True)
    return _steps(values.dims, list(_of_loop(scop, values)), once=False)


def _of_loop(scop: Scop, values: StencilValues) -> Iterator[OneStepField]:
    _check_overwritten(scop, values)
    for field in values.fields:
        reads = (
            LoadedRead(r.statement, r.access, values.fields[r.source].array, -r.back, r.offset)
            for r in values.reads
            if r.statement in field.statements
        )
        yield OneStepField(field.array, field.statements, tuple(reads))


def _check_overwritten(scop: Scop, values: StencilValues) -> None:
    """Raise NotAStencilError where a kernel reads values that it, or one before it in the iteration, overwrites.

    The cell that a thread makes of its own is no such value.
    """
    for r in (r for r in values.reads if r.back > 0):
        reader, period = values.field_of(r.statement), values.fields[r.source].period
        own = r.source == reader and not any(
            any(s.offset)
            for s in values.reads
            if (s.source, s.back, values.field_of(s.statement)) == (r.source, r.back, reader)
        )
        if r.source <= reader and not own and period and r.back % period == 0:
            array = values.fields[r.source].array
            reason = f"{r.statement} reads values of {array} that a kernel of one step has overwritten by then"
            raise NotAStencilError(reason, scop.statement(r.statement).location)


def _of_dag(scop: Scop, dag: StencilDag) -> Iterator[OneStepField]:
    for field in dag.fields:
        found: list[LoadedRead] = []
        for r in field.reads:
            place = scop.statement(r.statement).location
            if scop.written(r.array) and (r.source is None or r.offset is None):
                where = "before it is written" if r.source is None else "at no fixed distance from what it writes"
                raise NotAStencilError(f"{r.statement} reads {r.array} {where}", place)
            if r.offset is not None:
                found.append(LoadedRead(r.statement, r.access, r.array, 0, r.offset))
        several = {r.array for r in found if len({s.offset for s in found if s.array == r.array}) > 1}
        kept = (r for r in found if r.array in several or scop.written(r.array))
        yield OneStepField(field.array, field.statements, tuple(kept))


def _steps(dims: int, fields: Sequence[OneStepField], once: bool) -> StreamSteps:
    steps: list[StreamStep] = []
    reads: list[StreamRead] = []
    for field in fields:
        first = len(steps)
        sources = list(dict.fromkeys((r.array, r.iteration) for r in field.reads))
        made = first + len(sources)
        index = {source: first + k for k, source in enumerate(sources)}
        own = [StreamRead(r.statement, r.access, r.offset, made, index[r.array, r.iteration]) for r in field.reads]
        steps += _kernel_steps(dims, field, sources, own, first)
        reads += own
    stores = tuple(StreamStore(s.index) for s in steps if not s.is_input)
    return StreamSteps(1, dims, tuple(steps), tuple(reads), stores, (), once=once, in_place=not once)


def _kernel_steps(
    dims: int, field: OneStepField, sources: Sequence[tuple[str, int]], reads: Sequence[StreamRead], first: int
) -> Iterator[StreamStep]:
    """Yield the inputs of a kernel, numbered from `first` on, then the step that computes its field."""
    count, zero = len(sources), (0,) * dims
    reaches: list[Reach] = [
        reach(count, k, [r.offset for r in reads if r.source == first + k]) for k in range(count)
    ]
    box, when = boxes(count + 1, dims, reaches), lags(count + 1, count, reaches, 0)
    stay = slots(when, reaches)
    for k, (array, iteration) in enumerate(sources):
        yield StreamStep(first + k, array, (), iteration, *box[k], when[k], stay[k])
    yield StreamStep(first + count, field.array, field.statements, 0, zero, zero, when[count], 1)
