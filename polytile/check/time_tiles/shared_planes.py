"""Planes of inputs that the threads of a block share, of kernels of one step: slots and barriers.

In row p of the stream, threads put what arrived, or the one plane that is read beside their columns, into shared
memory; then there is a barrier; then they make a plane. A thread that is late reads before the next barrier alone: with
another one at the end of the row it is in its own row, without that the others may have put what comes in the next one.
"""

from __future__ import annotations

from collections.abc import Iterator

from polytile.check.relations import Check

ONE_STEP = ("planes in shared memory", "a plane in shared memory, others in registers")
Offsets = list[tuple[int, ...]]


def shape_problems(plan: Check) -> Iterator[str]:
    """Yield what is wrong with tiles of a plan that makes no cell twice, a line each."""
    steps = plan["steps"]
    inputs = {s["index"] for s in steps if not s["statements"]}
    if any(r["source"] not in inputs for r in plan["reads"]):
        yield "a kernel of one step reads what it makes"
    if any(any(s["lower"]) or any(s["upper"]) or s.get("retimed") for s in steps if s["statements"]):
        yield "a kernel of one step makes more than its tiles"
    if plan["dims"] < 2:
        yield "a kernel of one step has no planes"
    beside = [r for r in plan["reads"] if any(r["offset"][1:])]
    if beside and plan.get("barriers", 0) not in (1, 2):
        yield "planes are read with no barrier behind what is put there"


def places(plan: Check, source: Check, offsets: Offsets) -> Iterator[tuple[Offsets, int, int, int]]:
    """Yield where a step finds the cells of an input at these offsets: of some of them the number of places that planes
    take in turns, how many rows after their arrival they are put there, and how many rows too late a reader may be."""
    own = [offset for offset in offsets if not any(offset[1:])]
    others = [offset for offset in offsets if any(offset[1:])]
    late = 2 - plan.get("barriers", 0)
    shared = [r["offset"] for r in plan["reads"] if r["source"] == source["index"] and any(r["offset"][1:])]
    if plan["exchange"] == ONE_STEP[0] and shared:
        yield from ((offsets, source["slots"], 0, behind) for behind in {0, late})
        return
    columns = [*own, *((offset[0], *(0 for _ in offset[1:])) for offset in others)]
    yield columns, source["slots"], 0, 0
    if others:
        (first, *_), reader = shared[0], _reader(plan, source)
        put = reader["lag"] - source["lag"] - first
        yield from ((others, plan.get("shared_planes", 0), put, behind) for behind in {0, late})


def _reader(plan: Check, source: Check) -> Check:
    """Return the step of the first read outside the column."""
    number = next(r["step"] for r in plan["reads"] if r["source"] == source["index"] and any(r["offset"][1:]))
    found: Check = plan["steps"][number]
    return found
