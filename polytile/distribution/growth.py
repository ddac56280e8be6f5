"""How far beyond its part a rank computes, and which halos its arrays have: the flow, applied backwards.

for (t) for (i) B[t + 1][i] = B[t][i - 1] + B[t][i + 1];       with T = 2 steps between two exchanges
    step 1 of a period computes 0..n, step 0 -1..n+1, and the halo is 2 wide at both sides
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polytile.distribution.boxes import Reach
from polytile.distribution.reads import Read

Growth = tuple[tuple[Reach, ...], ...]  # by the number of further steps of the period, then by axis


def widest(a: Sequence[Reach], b: Sequence[Reach]) -> tuple[Reach, ...]:
    """Return what covers both."""
    return tuple((max(p, r), max(q, s)) for (p, q), (r, s) in zip(a, b, strict=True))


def phase_growth(phases: Sequence[Sequence[str]], reads: Sequence[Read], steps: int, axes: int) -> tuple[Growth, ...]:
    """Return how far beyond the owned box each phase computes, by how many steps of the period follow.

    A writer must cover what reads of its values, at most `steps` - 1 iterations later, take.
    """
    number = {name: k for k, phase in enumerate(phases) for name in phase}
    nothing = tuple((0, 0) for _ in range(axes))
    found: list[list[tuple[Reach, ...]]] = [[nothing] * steps for _ in phases]
    for follow in range(steps):
        for at in reversed(range(len(phases))):
            for read in reads:
                if number[read.statement] == at:
                    _cover(found, number, read, at, follow, steps)
    return tuple(tuple(one) for one in found)


def _cover(
    found: list[list[tuple[Reach, ...]]], number: Mapping[str, int], read: Read, at: int, follow: int, steps: int
) -> None:
    """Let the sources of a read compute what it takes when `follow` steps come behind it."""
    reach = read.reach(found[at][follow])
    for source in read.sources:
        fewest, most = source.steps
        last = steps - 1 - follow if most is None else min(most, steps - 1 - follow)
        for ago in range(fewest, last + 1):
            of = number[source.statement]
            found[of][follow + ago] = widest(found[of][follow + ago], reach)
