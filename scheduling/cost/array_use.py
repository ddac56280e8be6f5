"""What one launch of a kernel moves of each array between device memory and the multiprocessors.

    C[i][j] = 0, and then C[i][j] += A[i][k] * B[k][j] in the same threads: C is written, and not read
    A[t][i] = A[t-1][i-1] + A[t-1][i+1] in tiles of t and i: what a tile reads it has written, but for its first row
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from polytile.dataclass import dataclass
from polytile.machine import SECTOR_BYTES
from polytile.scheduling.analysis.affine_references import Reference
from polytile.scheduling.analysis.reference_groups import ReferenceGroup
from polytile.scheduling.cost.statement_cost import Work

_SAME = 1.01  # of a size that is no larger


@dataclass(frozen=True, slots=True)
class ArrayUse:
    """The bytes of an array that one launch touches, reads and writes."""

    touched: float = 0.0
    read: float = 0.0
    written: float = 0.0

    def largest(self, other: ArrayUse) -> ArrayUse:
        return ArrayUse(
            max(self.touched, other.touched), max(self.read, other.read), max(self.written, other.written)
        )


def array_uses(works: Iterable[Work], placed: Collection[str]) -> dict[str, ArrayUse]:
    """Return for each array that is not placed in the kernel the largest footprints of its groups in one launch."""
    found: dict[str, ArrayUse] = {}
    for work in works:
        made = {name: use.written for name, use in found.items() if use.written and not use.read}
        for name, use in _uses(work, placed):
            if use.read <= _SAME * made.get(name, 0.0):  # still in registers, or near
                use = ArrayUse(use.touched, 0.0, use.written)
            found[name] = found.get(name, ArrayUse()).largest(use)
    return found


def _uses(work: Work, placed: Collection[str]) -> Iterable[tuple[str, ArrayUse]]:
    """Yield the uses of the groups of one statement."""
    reads, writes = work.read_and_written
    for group in work.groups:
        if group.array.name in placed:
            continue
        own = [[g for g in groups if _is_part(g, group)] for groups in (reads, writes)]
        touched, read, written = (sum(_bytes(work, g) for g in groups) for groups in ([group], *own))
        if read and written and _flows(work, group):
            read = max(0.0, touched - written)
        yield group.array.name, ArrayUse(touched, read, written)


def _is_part(part: ReferenceGroup, group: ReferenceGroup) -> bool:
    members = {id(r) for r in group.members}
    return all(id(r) in members for r in part.members)


def _bytes(work: Work, group: ReferenceGroup) -> float:
    """Compute the bytes that a group touches in one launch.

    Where each loop moves another subscript, points that a statement has not are elements that it does not touch.
    """
    size = min(work.footprint(group, work.launch_tile), work.instances * SECTOR_BYTES * group.references)
    movers = [sum(1 for d in group.dimensions if d.slopes[i]) for i, n in enumerate(work.launch_tile) if n > 1]
    return size * work.filled if movers and all(n == 1 for n in movers) else size


def _flows(work: Work, group: ReferenceGroup) -> bool:
    """Return whether all that a group reads it has written in an earlier iteration of a loop that threads run."""
    writes = [r for r in group.members if r.access.writes]
    reads = [r for r in group.members if not r.access.writes]
    return any(all(_is_behind(r, writes[0], work.thread_step(i)) for r in reads) for i in work.serial_loops)


def _is_behind(read: Reference, write: Reference, step: tuple[int, ...]) -> bool:
    """Return whether a read is of what the write sets some steps of a loop earlier."""
    for one, other in zip(read.subscripts, write.subscripts, strict=True):
        moved = other.along(step) if one is not None and other is not None else 0
        if one is not None and other is not None and moved and (other.constant - one.constant) * moved > 0:
            return True
    return False
