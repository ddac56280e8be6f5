"""What the points of a thread share: how many elements they load together, how many values live meanwhile.

B[i][j] = A[i-1][j] + A[i][j] + A[i+1][j], four points along i: six loads in place of twelve

A value that a later point needs, too, stays in a register from the first point on, or all sums that it is part of are
open at once; whichever takes fewer registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, product
from math import prod

from polytile.dataclass import dataclass
from polytile.ir.expr import Binary, Node
from polytile.ir.expr_trees import children
from polytile.ir.scop import Statement
from polytile.scheduling.analysis.affine_references import Form, Number, Reference

Element = Number  # the number of a row times _ROW, and the place in it: sets of numbers are fast
_ROW = 1 << 40
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
    """Compute what `reads` load for `counts` points along loops that move the iterators by `steps`, outermost first.

    Elements that `writes` may change between two points are loaded for each.
    """
    return PointReads.of(reads, steps, writes).reuse(counts)


@dataclass(frozen=True, slots=True)
class PointReads:
    """The reads of a statement in points along some loops, for tiles of any sizes: None where each point has an element
    of its own, as a subscript is none that can be followed, or a write may change it."""

    reads: tuple[_Read | None, ...]

    @classmethod
    def of(cls, reads: Sequence[Reference], steps: Sequence[Vector], writes: Sequence[Reference] = ()) -> PointReads:
        found = _Followed(steps)
        shared = (not any(_may_change(write, read) for write in writes) for read in reads)
        return cls(tuple(found.read(read) if kept else None for read, kept in zip(reads, shared, strict=True)))

    def reuse(self, counts: Sequence[int]) -> Reuse:
        """Compute what they load for so many points along the loops, outermost first."""
        tile = _Tile(list(product(*map(range, counts))))
        seen: set[Element] = set()
        first: list[int] = []
        elements = [tile.elements(number, read) for number, read in enumerate(self.reads)]
        for own in elements:
            before = len(seen)
            seen.update(own)
            first.append(len(seen) - before)
        by_point = [set(point) for point in zip(*elements, strict=True)]
        rows = {(element + _ROW // 2) // _ROW for element in seen}
        return Reuse(tuple(first), _waiting(by_point), len(rows))


def reads_neighbours(reads: Sequence[Reference], writes: Sequence[Reference]) -> bool:
    """Return whether several elements of an array are read that no write may change, as in stencils."""
    kept = [r.array.name for r in reads if not any(_may_change(write, r) for write in writes)]
    return len({*kept}) < len(kept)


def take_turns(reads: Sequence[Reference], writes: Sequence[Reference]) -> bool:
    """Return whether an array that is read is written, too, in another version: `A[(t + 1) % 2]` beside `A[t % 2]`."""
    return any(w.array.name == r.array.name and not _may_change(w, r) for w in writes for r in reads)


def _may_change(write: Reference, read: Reference) -> bool:
    """Return whether a store may be to what another point reads.

    So it is in the same array, but for `A[(t + 1) % 2]` and `A[t % 2]`, which generated code distinguishes
    (polytile/ir/polynomial.py).
    """
    if write.array.name != read.array.name:
        return False
    pairs = zip(write.subscripts, read.subscripts, strict=False)  # fields of structs have subscripts of their own
    return not any(w is not None and r is not None and w.floors and r.floors and w != r for w, r in pairs)


@dataclass(frozen=True, slots=True)
class _Read:
    """What a read loads: `form` is the number of its array with the forms of its subscripts, of which each has a
    constant that `moves` with the points along each loop."""

    form: int
    constants: tuple[Number, ...]
    moves: tuple[tuple[Number, ...], ...]


class _Followed:
    """Follows reads along loops that move the iterators by `steps`."""

    def __init__(self, steps: Sequence[Vector]) -> None:
        self._steps = steps
        self._numbers: dict[object, int] = {}  # of arrays with forms of subscripts, which take long to compare
        self._moving: dict[object, bool] = {}  # by coefficients and floors: whether a loop changes quotients

    def read(self, reference: Reference) -> _Read | None:
        forms: list[object] = [reference.array.name, reference.field]
        moves: list[tuple[Number, ...]] = []
        constants: list[Number] = []
        for form in reference.subscripts:
            if form is None or (form.floors and self._moves(form)):
                return None
            forms.append((form.coefficients, form.parameters, form.floors))
            moves.append(tuple(0 if form.floors else _whole(form.along(step)) for step in self._steps))
            constants.append(_whole(form.constant))
        return _Read(self._numbers.setdefault(tuple(forms), len(self._numbers)), tuple(constants), tuple(moves))

    def _moves(self, form: Form) -> bool:
        key = form.coefficients, form.floors
        if key not in self._moving:
            self._moving[key] = any(map(form.moved_by, self._steps))
        return self._moving[key]


class _Tile:
    """The elements that reads load at the `places` of a tile of points. Reads of one row share the numbers of rows."""

    def __init__(self, places: Sequence[tuple[int, ...]]) -> None:
        self.places = places
        self._numbers: dict[tuple[object, ...], int] = {}  # of rows: all of an element's coordinates but the last
        self._rows: dict[tuple[object, ...], list[int]] = {}
        self._moved: dict[tuple[Number, ...], list[Number]] = {}

    def elements(self, number: int, read: _Read | None) -> Sequence[Element]:
        """Return the elements of a read, at each place."""
        if read is None:
            own = [(number, *place) for place in self.places]
            return [self._row(("", *coordinates[:-1])) + coordinates[-1] for coordinates in own]
        if not read.constants:
            return [self._row(()) + read.form] * len(self.places)
        last = read.constants[-1]
        pairs = zip(self._rows_of(read), self._move(read.moves[-1]), strict=True)
        return [row + last + move for row, move in pairs]

    def _row(self, coordinates: tuple[object, ...]) -> int:
        return self._numbers.setdefault(coordinates, len(self._numbers) * _ROW)

    def _rows_of(self, read: _Read) -> list[int]:
        outer, moves = read.constants[:-1], read.moves[:-1]
        key = (read.form, outer, moves)
        if key not in self._rows:
            moved = zip(*map(self._move, moves), strict=True) if moves else [()] * len(self.places)
            rows = [(read.form, *(c + m for c, m in zip(outer, by, strict=True))) for by in moved]
            self._rows[key] = list(map(self._row, rows))
        return self._rows[key]

    def _move(self, moves: tuple[Number, ...]) -> list[Number]:
        """Return how far a coordinate has moved at each place."""
        if moves not in self._moved:
            pairs = [zip(place, moves, strict=True) for place in self.places]
            self._moved[moves] = [sum(u * move for u, move in one) for one in pairs]
        return self._moved[moves]


def _whole(value: Number) -> Number:
    """Return an int where the value is integral: ints are compared faster."""
    return int(value) if value == int(value) else value


def _waiting(points: Sequence[set[Element]]) -> int:
    first, last = dict[Element, int](), dict[Element, int]()
    for number, own in enumerate(points):
        last.update(dict.fromkeys(own, number))
    for number, own in reversed(list(enumerate(points))):
        first.update(dict.fromkeys(own, number))
    more = [0] * len(points)
    for element, number in first.items():
        more[number] += 1
        more[last[element]] -= 1
    return max(accumulate(more), default=0)


@dataclass(frozen=True, slots=True)
class OpenSums:
    """The sums of a statement that are open at once: `own` of a point, `reaches` are how many iterations of each loop
    read one element."""

    own: int
    reaches: tuple[int, ...]

    @classmethod
    def of(cls, statement: Statement, reads: Sequence[Reference], steps: Sequence[Vector], *, free: bool) -> OpenSums:
        """Create the sums of a statement; where sums are `free` to come in another order, a point has one."""
        own = 1 if free else max(1, sum(map(_sums, statement.body)))
        return cls(own, tuple(_reach(reads, step) for step in steps))

    def among(self, counts: Sequence[int]) -> int:
        """Count the elements loaded for so many points along the loops: those of the points in reach.

        They are loaded row by row along the loop that leaves the fewest.
        """
        points = prod(counts)
        least = points
        for count, reach in zip(counts, self.reaches, strict=True):
            least = min(least, points // count * min(count, reach))
        return self.own * least + 1


def _reach(reads: Sequence[Reference], step: Vector) -> int:
    """Return how many iterations of a loop read one element."""
    found: dict[object, list[float]] = {}
    for reference in reads:
        for position, form in enumerate(reference.subscripts):
            if form is not None and not form.floors and (along := form.along(step)):
                key = (reference.array.name, position, form.coefficients, form.parameters)
                found.setdefault(key, []).append(float(form.constant) / abs(float(along)))
    return max((int(max(places) - min(places)) + 1 for places in found.values()), default=1)


def _sums(node: Node, inside: bool = False) -> int:
    """Count the sums of two terms or more that are no terms of another one, except in what multiplies them."""
    plus = isinstance(node, Binary) and node.op in ("+", "-") and node.type.kind == "float"
    below = sum(_sums(child, plus) for child in children(node))
    return below + int(plus and not inside and not below)

