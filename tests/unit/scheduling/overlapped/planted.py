"""Mistakes that stream plans could have, each with what the proof says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polytile.ir.overlapped_tiles import OverlappedTiles, StreamStore

Change = Callable[[OverlappedTiles], OverlappedTiles]


def with_step(plan: OverlappedTiles, index: int, **changes: object) -> OverlappedTiles:
    steps = tuple(replace(s, **changes) if s.index == index else s for s in plan.steps)  # type: ignore[arg-type]
    return replace(plan, steps=steps)


def with_read(plan: OverlappedTiles, number: int, **changes: object) -> OverlappedTiles:
    reads = tuple(replace(r, **changes) if k == number else r for k, r in enumerate(plan.reads))  # type: ignore[arg-type]
    return replace(plan, reads=reads)


def with_stores(plan: OverlappedTiles, *stores: StreamStore) -> OverlappedTiles:
    return replace(plan, stores=stores)


def box(dim: int, side: str, back: int = 0) -> Change:
    """One cell less on a side of what the last step but `back` reads."""

    def change(plan: OverlappedTiles) -> OverlappedTiles:
        along = [r for r in plan.reads if r.step == plan.steps[-1 - back].index]
        far = (min if side == "lower" else max)(along, key=lambda r: r.offset[dim])
        source = plan.steps[far.source]
        bound = list(getattr(source, side))
        bound[dim] += 1 if side == "lower" else -1
        return with_step(plan, source.index, **{side: tuple(bound)})

    return change


def lag(plan: OverlappedTiles) -> OverlappedTiles:
    last = plan.steps[-1]
    return with_step(plan, last.index, lag=last.lag - 1)


def slots(plan: OverlappedTiles) -> OverlappedTiles:
    step = max(plan.steps, key=lambda s: s.slots)
    return with_step(plan, step.index, slots=step.slots - 1)


def stale_source(plan: OverlappedTiles) -> OverlappedTiles:
    """The values of the iteration before, of the same array."""
    for number, read in reversed(list(enumerate(plan.reads))):
        source = plan.steps[read.source]
        older = [s for s in plan.steps if s.array == source.array and s.iteration == source.iteration - 1]
        if older:
            return with_read(plan, number, source=older[0].index)
    raise AssertionError("nothing is older")


def offset(plan: OverlappedTiles) -> OverlappedTiles:
    number, read = next((k, r) for k, r in enumerate(plan.reads) if any(r.offset))
    return with_read(plan, number, offset=tuple(-k for k in read.offset))


def no_read(plan: OverlappedTiles) -> OverlappedTiles:
    return replace(plan, reads=plan.reads[1:])


def read_twice(plan: OverlappedTiles) -> OverlappedTiles:
    return replace(plan, reads=(plan.reads[0], *plan.reads))


def no_store(plan: OverlappedTiles) -> OverlappedTiles:
    return with_stores(plan, *(s for s in plan.stores if s.becomes is None))


def store_twice(plan: OverlappedTiles) -> OverlappedTiles:
    return with_stores(plan, *plan.stores, StreamStore(plan.stores[-1].step))


def not_seen(plan: OverlappedTiles) -> OverlappedTiles:
    """What can be seen afterwards, and no block reads."""
    return with_stores(plan, *(s for s in plan.stores if s.becomes is not None))


def other_input(plan: OverlappedTiles) -> OverlappedTiles:
    """What an iteration too early made becomes the input of the next block."""
    store = next(s for s in plan.stores if s.becomes is not None)
    step = plan.steps[store.step]
    older = next(s for s in plan.made if s.array == step.array and s.iteration == step.iteration - 1)
    return with_stores(plan, replace(store, step=older.index), *(s for s in plan.stores if s != store))


def other_iteration(plan: OverlappedTiles) -> OverlappedTiles:
    """Two steps in each other's place."""
    first, then = plan.made[0], plan.made[-1]
    plan = with_step(plan, first.index, iteration=then.iteration)
    return with_step(plan, then.index, iteration=first.iteration)


def shadow_of_the_user(plan: OverlappedTiles) -> OverlappedTiles:
    return replace(plan, shadows=tuple((k, plan.steps[k].array) for k, _ in plan.shadows))


def fewer_iterations(plan: OverlappedTiles) -> OverlappedTiles:
    return replace(plan, iterations=plan.iterations - 1)


def more_iterations(plan: OverlappedTiles) -> OverlappedTiles:
    return replace(plan, iterations=plan.iterations + 1)


MISTAKES: dict[str, tuple[Change, str]] = {
    "lag one less": (lag, "reads plane z"),
    "slots one less": (slots, "has its slot"),
    "a plane less before": (box(0, "lower"), "before the box"),
    "a plane less behind": (box(0, "upper"), "behind the box"),
    "a cell less on the left": (box(1, "lower"), "before the box"),
    "a cell less on the right": (box(1, "upper"), "behind the box"),
    "values of an iteration before": (stale_source, "reads other values"),
    "an offset to the other side": (offset, "from the one that it writes"),
    "an access with no source": (no_read, "no step is the source of an access"),
    "an access with two sources": (read_twice, "two sources"),
    "no input for the next block": (no_store, "no stores are of input"),
    "elements with two owners": (store_twice, "same elements"),
    "what is seen is not stored": (not_seen, "no block stores"),
    "a stale input": (other_input, "does not become"),
    "iterations that change places": (other_iteration, ""),
    "a second buffer that is the user's": (shadow_of_the_user, "is an array of the program"),
    "a block of fewer iterations": (fewer_iterations, "behind the block"),
    "a block of more iterations": (more_iterations, ""),
}
