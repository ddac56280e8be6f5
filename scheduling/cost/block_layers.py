"""What layers of blocks fetch from device memory again.

Blocks start in the order of their numbers: all of one number along the outermost dimension of the grid, a layer, before
those of the next.

    B[i][j][k] from A[i - 2 .. i + 2][j][k], blocks of 2 x 4 x 32: a layer reads 6 planes of A, of which the next one
    reads 4, too; blocks of 8 x 1 x 32: of 12 planes again 4, in a quarter of the layers

What two layers share is in L2 for the second one as far as what a layer touches fits there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from polytile.scheduling.analysis.reference_groups import ReferenceGroup
from polytile.scheduling.cost.mapped_loops import Role
from polytile.scheduling.cost.statement_cost import Work

KEPT = 0.2  # of L2's bytes, for the next layer: 4 x 2 x 32 blocks of derivative move 20% less than 2 x 4 x 32 (H100)


def fetched_again(works: Iterable[Work], placed: Collection[str], l2_bytes: int) -> float:
    """Compute the bytes that the layers of one launch read from device memory although an earlier layer has read them.

    Counts arrays that are not placed in the kernel. Of several statements that read an array, the one counts that reads
    most.
    """
    touched, again = defaultdict[str, float](float), defaultdict[str, float](float)
    for work in works:
        outer = _outermost(work)
        if outer is None:
            continue
        layer, layers = list(work.launch_tile), work.shares[outer].blocks
        layer[outer] = work.shares[outer].inside
        reads, writes = work.read_and_written
        read = dict(_bytes(work, reads, layer, placed))
        written = dict(_bytes(work, writes, layer, placed))
        for name, all_of_it in _bytes(work, reads, work.launch_tile, placed):
            again[name] = max(again[name], work.filled * (layers * read[name] - all_of_it))
        for name in {*read, *written}:
            touched[name] = max(touched[name], work.filled * max(read.get(name, 0.0), written.get(name, 0.0)))
    lost = max(0.0, 1.0 - KEPT * l2_bytes / max(1.0, sum(touched.values())))
    return lost * sum(max(0.0, one) for one in again.values())


def _outermost(work: Work) -> int | None:
    """Return the loop along the outermost dimension of the grid, or None unless that has several blocks."""
    for number, loop in enumerate(work.mapped.loops):
        part = loop.part(Role.BLOCK)
        if part is not None and part.member == 0 and work.shares[number].blocks > 1:
            return number
    return None


def _bytes(
    work: Work, groups: Iterable[ReferenceGroup], tile: Sequence[float], placed: Collection[str]
) -> Iterator[tuple[str, float]]:
    """Yield the bytes that a statement's groups touch of each array in a tile of its loops."""
    found = defaultdict[str, float](float)
    for group in groups:
        if group.array.name not in placed:
            found[group.array.name] += work.footprint(group, tile)
    yield from found.items()
