"""What statements of one kernel share: elements that a thread has in a register, as another statement of the same point
has loaded or stored them.

before: x[i] = u[i + 1] * p[i + 1]; x[i] -= u[i + 1] * q[i]        seven accesses
after:  of the second statement, only the load of q[i] is a request: x[i] is stored once
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from polytile.scheduling.analysis.affine_references import Reference
from polytile.scheduling.cost.statement_cost import Work


def at_one_point(works: Sequence[Work]) -> Iterator[list[Work]]:
    """Yield the statements that threads run one after another at the same points, without loops of their own."""
    groups: list[list[Work]] = []
    for work in works:
        if set(work.serial_loops) - set(work.points) or work.tiled:
            continue
        same = (group for group in groups if _are_at_one_point(group[0], work))
        found = next(same, None)
        if found is None:
            groups.append([work])
        else:
            found.append(work)
    yield from (group for group in groups if len(group) > 1)


def _are_at_one_point(one: Work, other: Work) -> bool:
    if one.mapped.loops != other.mapped.loops or one.mapped.barriers != other.mapped.barriers:
        return False
    return bool(one.mapped.domain.reset_tuple_id().is_equal(other.mapped.domain.reset_tuple_id()))


def accesses_again(works: Sequence[Work]) -> frozenset[int]:
    """Return the accesses of statements to elements that another one of the same point has accessed before.

    Accesses are given by identity.
    """
    found: set[int] = set()
    for group in at_one_point(works):
        seen: set[Hashable] = set()
        for work in group:
            own = [(r, key) for r in work.references if (key := _element(r)) is not None]
            found |= {id(r) for r, key in own if key in seen}
            seen |= {key for _, key in own}
    return frozenset(found)


def _element(reference: Reference) -> Hashable:
    """Return the element of an access at a point, or None where it cannot be followed."""
    forms = reference.subscripts
    if any(form is None or form.floors for form in forms):
        return None
    return reference.array.name, reference.field, forms


def shared_bytes(work_bytes: Iterable[dict[str, float]]) -> float:
    """Compute the bytes that several statements fetch of the same arrays, at least, more than once."""
    by_array: dict[str, list[float]] = {}
    for own in work_bytes:
        for array, size in own.items():
            by_array.setdefault(array, []).append(size)
    return sum((len(sizes) - 1) * min(sizes) for sizes in by_array.values())
