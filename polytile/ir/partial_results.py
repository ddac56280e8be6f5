"""Records of reductions whose steps were regrouped: what was split into partial results, which statements combine them,
and what runs in another order."""

from __future__ import annotations

from polytile.dataclass import dataclass
from polytile.ir.expr import CType, Expr


@dataclass(frozen=True, slots=True)
class Split:
    """Iterations of a statement's `iterator` (by position), apart: lanes floor(i / unit) mod size, each of `unit`
    neighbours, else chunks floor(i / size)."""

    iterator: int
    size: int
    lanes: bool
    unit: int = 1


@dataclass(frozen=True, slots=True)
class Combination:
    """What a statement does that combines the lanes of partial results into one value.

    before: { double v = 0; for (l < 32) v = v + part[i][l]; x[i] += v; }       one instance reads all lanes
    after:  op "+", array "part", subscripts (i), sizes (32), value "v", type double

    `subscripts` are the leading ones of `array`; one for each lane loop, below its size, follows. The body is one
    Scope: the declaration of `value`, the loops of the fold, then statements that use `value`.
    """

    op: str
    array: str
    subscripts: tuple[Expr, ...]
    sizes: tuple[int, ...]
    value: str
    type: CType


@dataclass(frozen=True, slots=True)
class Gathering:
    """Lanes that add up the chunks of a result: `initial` starts `partial`, an element for each of the lanes, to which
    the statement over chunks adds, and `total` adds these to the result. `threads` are the lanes, then how many
    neighbouring results are kept side by side in each dimension; `shared` is the iterator of that statement, by
    position, which lanes share out."""

    initial: str
    total: str
    partial: str
    threads: tuple[int, ...]
    shared: int

    @property
    def lanes(self) -> int:
        return self.threads[0]


@dataclass(frozen=True, slots=True)
class Privatised:
    """A reduction into `array` that was split into partial results, by names (see
    scheduling/transform/reductions/privatise.py).

    `statement` is what it was called before, `group` are those of its iterators that its results are indexed by.
    The others are statements of the Scop: `initial` and `update` of `partial`, `combine` over lanes (into `middle`
    where there are chunks too), `finish` over chunks, those of `gathering` where lanes share these out.
    """

    statement: str
    initial: str
    update: str
    combine: str | None
    finish: str | None
    array: str
    partial: str
    middle: str | None
    op: str
    group: tuple[int, ...]
    splits: tuple[Split, ...]
    blocked: tuple[tuple[int, tuple[int, ...]], ...] = ()  # iterators of the group that are kept in tiles, with sizes
    gathering: Gathering | None = None

    @property
    def last(self) -> str | None:
        """Return the statement that adds partial results to the array."""
        return self.gathering.total if self.gathering else self.finish or self.combine

    @property
    def keys(self) -> tuple[int, ...]:
        """Return which iterators of that statement its results are indexed by."""
        return tuple(range(len(self.group)))

    @property
    def folds(self) -> tuple[str, ...]:
        """Return the statements that read a partial result of each thread."""
        return tuple(s for s in (self.combine, self.gathering and self.gathering.total) if s)

    @property
    def temporaries(self) -> tuple[str, ...]:
        """Return the arrays of partial results."""
        found = (self.partial, self.middle, self.gathering and self.gathering.partial)
        return tuple(array for array in found if array)

    @property
    def added(self) -> tuple[str, ...]:
        """Return the statements that stand in the place of no other."""
        gathering = (self.gathering.initial, self.gathering.total) if self.gathering else ()
        return tuple(s for s in (self.initial, self.combine, self.finish, *gathering) if s)


@dataclass(frozen=True, slots=True)
class Reversed:
    """A reduction that runs through some of its loops the other way round than the source
    (see scheduling/transform/reductions/term_order.py).

    `update` is its statement; of its iterators, by position, `group` are those that its results are indexed by, and
    `loops` those of the loops that were turned round.
    """

    update: str
    op: str
    group: tuple[int, ...]
    loops: tuple[int, ...]

    @property
    def steps(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Return the statements that add to the array, with their iterators that index the results."""
        return ((self.update, self.group),)

    def __str__(self) -> str:
        return f"the steps of {self.update} run in the reverse order"


@dataclass(frozen=True, slots=True)
class EarlyTerms:
    """Statements that accumulate into the same elements by one operation, one after the other, of which some steps run
    before all others (see scheduling/transform/reductions/early_terms.py).

    `steps` are the statements, with those of their iterators, by position, that results are indexed by; `first` is the
    set of the early steps, as isl text.
    """

    steps: tuple[tuple[str, tuple[int, ...]], ...]
    op: str
    first: str

    @property
    def update(self) -> str:
        """Return the statement that the results are named by."""
        return self.steps[0][0]

    @property
    def group(self) -> tuple[int, ...]:
        """Return its iterators, by position, that index the results."""
        return self.steps[0][1]

    def __str__(self) -> str:
        return f"the steps of {', '.join(name for name, _ in self.steps)} run in another order"


Reordered = Reversed | EarlyTerms
