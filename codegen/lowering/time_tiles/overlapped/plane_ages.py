"""How long planes of steps are kept: until the last step that reads one has read it.

before: step 2 reads planes p - 1 .. p + 1 of step 1, which has made plane p + 1 last
after:  ages 2 .. 0: a ring of three planes
"""

from __future__ import annotations

from collections.abc import Sequence

from polytile.codegen.lowering.time_tiles.rings import Ring
from polytile.diagnostics import InternalError
from polytile.ir.expr import CType
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamRead, planes_behind, read_when


def age(plan: OverlappedTiles, read: StreamRead) -> int:
    """Count the planes of the source that come after the one that is read, until it is read."""
    found = read_when(plan.steps, read, plan.streamed, plan.exchange)
    if found < 0 or (found == 0 and read.source >= read.step):
        raise InternalError(f"step {read.step} reads planes of step {read.source} that are not there yet")
    return found


def late(plan: OverlappedTiles, read: StreamRead) -> int:
    """Count the planes until the step that reads one is complete, whose terms are summed up until then."""
    return planes_behind(plan.steps, read, plan.streamed) - age(plan, read)


def rings(plan: OverlappedTiles, elements: Sequence[CType], names: Sequence[str]) -> tuple[Ring, ...]:
    """Return the ring of each step."""
    found = []
    for step in plan.steps:
        reads = ((r.offset[plan.streamed :], age(plan, r)) for r in plan.reads if r.source == step.index)
        ring = Ring.of(names[step.index], elements[step.index], plan.points, reads)
        if ring.slots > step.slots:
            raise InternalError(f"step {step.index} keeps {step.slots} planes, and {ring.slots} are read")
        found.append(ring)
    return tuple(found)
