"""What the points of a thread share: how many elements they load together, how many values live meanwhile.

B[i][j] = A[i-1][j] + A[i][j] + A[i+1][j], four points along i: six loads in place of twelve

A value that a later point needs, too, stays in a register from the first point on, or all sums that it is part of are
open at once; whichever takes fewer registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from polytile.ir.expr import Binary, Node, children
from polytile.ir.scop import Statement
from polytile.scheduling.analysis.affine_references import Number, Reference

Element = tuple[object, ...]  # the number of an array with the forms of its subscripts, and the constants of these
Vector = Sequence[int]


@dataclass(frozen=True, slots=True)
class Reuse:
    """What one statement loads for a tile of points.

    `first` has, for each of its reads in their order, how many elements of the tile no read before it has loaded.
    `waiting` are the most elements that wait for a later point when points run in order, `rows` those along the last
    subscript that are loaded.
    """

    first: tuple[int, ...]
    waiting: int
    rows: int

    @property
    def loads(self) -> int:
        return sum(self.first)


def reuse(
    reads: Sequence[Reference],
    steps: Sequence[Vector],
    counts: Sequence[int],
    writes: Sequence[Reference] = (),
) -> Reuse:
    """What `reads` load for `counts` points along loops that move the iterators by `steps`, outermost first. Elements
    that `writes` may change between two points are loaded for each."""
    seen: set[Element] = set()
    first = [0] * len(reads)
    places = list(product(*map(range, counts)))
    by_point: list[set[Element]] = [set() for _ in places]
    numbers: dict[object, int] = {}  # of arrays with forms of subscripts, which take long to compare
    for number, reference in enumerate(reads):
        shared = not any(_may_change(write, reference) for write in writes)
        read = _read(reference, steps, numbers) if shared else None
        for own, place in zip(by_point, places, strict=True):
            element = ("", number, *place) if read is None else read.element(place)
            own.add(element)
            if element not in seen:
                seen.add(element)
                first[number] += 1
    return Reuse(tuple(first), _waiting(by_point), len({element[:-1] for element in seen}))


def reads_neighbours(reads: Sequence[Reference], writes: Sequence[Reference]) -> bool:
    """Whether several elements of an array are read that no write may change, as in stencils."""
    kept = [r.array.name for r in reads if not any(_may_change(write, r) for write in writes)]
    return len({*kept}) < len(kept)


def take_turns(reads: Sequence[Reference], writes: Sequence[Reference]) -> bool:
    """Whether an array that is read is written, too, in another version: `A[(t + 1) % 2]` beside `A[t % 2]`."""
    return any(w.array.name == r.array.name and not _may_change(w, r) for w in writes for r in reads)


def _may_change(write: Reference, read: Reference) -> bool:
    """Whether a store may be to what another point reads: to the same array, but for `A[(t + 1) % 2]` and `A[t % 2]`,
    which generated code tells apart (polytile/ir/polynomial.py)."""
    if write.array.name != read.array.name:
        return False
    pairs = zip(write.subscripts, read.subscripts, strict=True)
    return not any(w is not None and r is not None and w.floors and r.floors and w != r for w, r in pairs)


@dataclass(frozen=True, slots=True)
class _Read:
    """What a read loads: `form` is the number of its array with the forms of its subscripts, of which each has a
    constant that `moves` with the points along each loop."""

    form: int
    constants: tuple[Number, ...]
    moves: tuple[tuple[Number, ...], ...]

    def element(self, place: Sequence[int]) -> Element:
        """That of a point."""
        pairs = zip(self.constants, self.moves, strict=True)
        return (self.form, *(c + sum(u * move for u, move in zip(place, moved, strict=True)) for c, moved in pairs))


def _read(reference: Reference, steps: Sequence[Vector], numbers: dict[object, int]) -> _Read | None:
    """None where a subscript is none that can be followed, so that each point has an element of its own."""
    forms: list[object] = [reference.array.name, reference.field]
    moves: list[tuple[Number, ...]] = []
    constants: list[Number] = []
    for form in reference.subscripts:
        if form is None or (form.floors and any(form.moved_by(step) for step in steps)):
            return None
        forms.append((form.coefficients, form.parameters, form.floors))
        moves.append(tuple(0 if form.floors else _whole(form.along(step)) for step in steps))
        constants.append(_whole(form.constant))
    return _Read(numbers.setdefault(tuple(forms), len(numbers)), tuple(constants), tuple(moves))


def _whole(value: Number) -> Number:
    """An int where the value is one, which is compared faster."""
    return int(value) if value == int(value) else value


def _waiting(points: Sequence[set[Element]]) -> int:
    left: dict[Element, int] = {}
    for own in points:
        for element in own:
            left[element] = left.get(element, 0) + 1
    most, live = 0, set[Element]()
    for own in points:
        for element in own:
            left[element] -= 1
        live = {element for element in live | own if left[element]}
        most = max(most, len(live))
    return most


def open_sums(
    statement: Statement, reads: Sequence[Reference], steps: Sequence[Vector], counts: Sequence[int], *, free: bool
) -> int:
    """How many sums are open at once where elements are loaded row by row along the loop that leaves the fewest: those
    of the points in reach; where sums are `free` to come in another order, one of each point."""
    own = 1 if free else max(1, sum(map(_sums, statement.body)))
    points = prod(counts)
    least = points
    for count, step in zip(counts, steps, strict=True):
        least = min(least, points // count * min(count, _reach(reads, step)))
    return own * least + 1


def _reach(reads: Sequence[Reference], step: Vector) -> int:
    """How many iterations of a loop read one element."""
    found: dict[object, list[float]] = {}
    for reference in reads:
        for position, form in enumerate(reference.subscripts):
            if form is not None and not form.floors and form.along(step):
                key = (reference.array.name, position, form.coefficients, form.parameters)
                found.setdefault(key, []).append(float(form.constant) / abs(float(form.along(step))))
    return max((int(max(places) - min(places)) + 1 for places in found.values()), default=1)


def _sums(node: Node, inside: bool = False) -> int:
    """The sums of two terms or more that are no terms of another one, but for what multiplies them."""
    plus = isinstance(node, Binary) and node.op in ("+", "-") and node.type.kind == "float"
    below = sum(_sums(child, plus) for child in children(node))
    return below + int(plus and not inside and not below)

