"""Which cells of a tile a thread touches: a rank for each of its rows and columns, and one comparison for each cell.

Along a dimension a tile touches a place x from step s(x) on where it grows, and until step h(x) where it shrinks. Cells
of tiles that shrink (or grow) along both are touched where their row is and their column is; where rows shrink and
columns grow, those with s(column) <= h(row), and the other way round.

before: touched = max(since(r), since(v)) <= min(until(r), until(v));          for each of a thread's R x V cells
after:  row_rank[r] = h(r), -s(r) or 0;  column_rank[v] = s(v), -h(v) or 0;    R + V times
        touched = column_rank[v] <= row_rank[r];
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from polytile.codegen.lowering.time_tiles.rings import each
from polytile.codegen.lowering.time_tiles.split.tile_coordinates import NEVER_ENDS, TilePlaces
from polytile.dataclass import dataclass
from polytile.ir.arith import add, both, compare, either, least, lift, mod, most, mul, select, sub
from polytile.ir.expr import BOOL, Access, Assign, CType, Expr, If, Name, Stmt
from polytile.ir.gpu_ops import PrivateArray, Shuffle
from polytile.ir.name_supply import Names
from polytile.ir.split_tiles import SplitTiles, Window

NOWHERE = 2 * NEVER_ENDS  # a rank beyond those of all steps


@dataclass(frozen=True, slots=True)
class Touch:
    """The places that a statement writes, or reads of one array: windows of the tile, and how far they reach from what
    it writes, along each dimension. It does so at steps u of a band with u mod `every` = `odd`."""

    statement: str
    windows: tuple[Window, ...]
    reach: tuple[tuple[int, int], ...]
    every: int = 1
    odd: int = 0

    def at_or_after(self, step: Expr) -> Expr:
        """Return the first of its steps from one on, which is not negative."""
        return add(step, mod(add(mul(step, self.every - 1), self.odd), self.every)) if self.every > 1 else step

    def at_or_before(self, step: Expr) -> Expr:
        """Return the last of its steps until one, which is at least -1."""
        return sub(step, mod(add(step, self.every - self.odd), self.every)) if self.every > 1 else step


@dataclass(frozen=True, slots=True)
class Band:
    """Names of a launch: the first step of the band, and of its steps those that there are; whether it is the last."""

    start: Name
    begin: Name
    finish: Name
    last: Name


class TouchedCells:
    """Conditions on a thread's cell `v`, by values of its rows and columns, which are declared on the way; those of a
    scope are declared once. `column` is where column `v` is, counted from the thread's first (its own: `v`).
    """

    def __init__(
        self,
        plan: SplitTiles,
        places: TilePlaces,
        band: Band,
        names: Names,
        v: Sequence[Name],
        lane: Name,
        column: Expr | None = None,
    ) -> None:
        self.column: Expr = v[-1] if column is None else column
        self.plan, self.places, self.band, self.names, self.v, self.lane = plan, places, band, names, tuple(v), lane
        self.integer: CType = places.integer
        self._known: dict[tuple[str, int, tuple[Stmt, ...]], Expr] = {}
        self._declared: list[Stmt] = []

    def declared(self) -> tuple[Stmt, ...]:
        """Return the declarations since the last ones."""
        found, self._declared = tuple(self._declared), []
        return found

    def ends(self) -> None:
        """End the scope of what was declared."""
        self._known = {}

    def touched(self, touches: Sequence[Touch]) -> Expr:
        """Return the condition that the tile touches a cell at any step of the band, in one of several ways."""
        return either(*(self._touched(one, together) for one, together in self._joined(touches)))

    def touched_first(self, touch: Touch) -> Expr:
        """Return the condition that the tile touches a cell at the first step that there is."""
        dims = range(self.plan.dims)
        return both(*(self.along("at_first", BOOL, k, partial(self._at_first, touch, k)) for k in dims))

    def along(self, name: str, ctype: CType, k: int, of: Callable[[Access, Expr], Stmt]) -> Expr:
        """Return a value of each of a thread's rows or columns, which a statement computes by their number.

        Rows are those of a warp: each lane computes the value of one, and the others get it from there.
        """
        key = name, k, (of(Access("", (self.v[k],), ctype), self.v[k]),)
        if key not in self._known:
            columns = k == self.plan.dims - 1
            self._known[key] = self._of_columns(name, ctype, of) if columns else self._of_rows(name, ctype, of)
        return self._known[key]

    def _of_columns(self, name: str, ctype: CType, of: Callable[[Access, Expr], Stmt]) -> Expr:
        points, v = self.plan.points[-1:], self.v[-1:]
        part = Access(self.names.fresh(name), v, ctype)
        self._declared += [PrivateArray(part.array, ctype, points), each(points, v, of(part, self.column))]
        return part

    def _of_rows(self, name: str, ctype: CType, of: Callable[[Access, Expr], Stmt]) -> Expr:
        points, v = self.plan.points[:1], self.v[:1]
        own = Access(self.names.fresh(f"{name}_of_lane"), (lift(0),), ctype)
        part = Access(self.names.fresh(name), v, self.integer)
        number = select(own, lift(1), lift(0)) if ctype is BOOL else own
        self._declared += [PrivateArray(own.array, ctype, (1,)), of(own, self.lane)]
        self._declared += [PrivateArray(part.array, self.integer, points)]
        self._declared += [each(points, v, Assign(part, "", Shuffle("from", number, v[0])))]
        return compare("!=", part, 0) if ctype is BOOL else part

    # Touches -----------------------------------------------------------------------------------------
    def _joined(self, touches: Sequence[Touch]) -> Iterator[tuple[Touch, tuple[str, ...]]]:
        """Merge touches of the same windows by statements at different rows (or places, in one dimension)."""
        groups: dict[object, list[Touch]] = {}
        for touch in touches:
            domain = self.places.domains[touch.statement]
            columns = (domain.first[1:], domain.last[1:])
            groups.setdefault((touch.windows, touch.reach, touch.every, touch.odd, columns), []).append(touch)
        for group in groups.values():
            yield group[0], tuple(touch.statement for touch in group)

    def _touched(self, touch: Touch, statements: tuple[str, ...]) -> Expr:
        if self.plan.dims == 1:
            return compare("<", self._ranks(touch, statements, 0), NOWHERE)
        rows, columns = (self._ranks(touch, statements, k) for k in range(2))
        return compare("<=", columns, rows)

    def _inside(self, touch: Touch, statements: tuple[str, ...], k: int, v: Expr) -> Expr:
        """Return the condition that a cell is among the places of one of some statements along a dimension.

        Cells as far from these places as the statements read count, too.
        """
        if k:
            return self.places.inside(touch.statement, k, v, touch.reach[k])
        domains = self.places.domains
        one = (both(self.places.inside(s, 0, v, touch.reach[0]), domains[s].some) for s in statements)
        return either(*one)

    def _ranks(self, touch: Touch, statements: tuple[str, ...], k: int) -> Expr:
        """Return the ranks of rows (k = 0) or columns.

        The rank of a row is the greater the more of the other dimension is touched, that of a column the less the more.
        One dimension is one of columns.
        """
        name = "column_rank" if k == self.plan.dims - 1 else "row_rank"
        return self.along(name, self.integer, k, partial(self._rank, touch, statements, k))

    def _rank(self, touch: Touch, statements: tuple[str, ...], k: int, to: Access, v: Expr) -> Stmt:
        columns, window = k == self.plan.dims - 1, touch.windows[k]
        since = touch.at_or_after(most(self.places.grown(window, k, v), self.band.begin))
        until = touch.at_or_before(least(self.places.shrunk(window, k, v), self.band.finish))
        rank = since if columns else sub(0, since)
        if self.plan.dims == 2:
            rank = select(self.places.grows[1 - k], lift(0), rank)
        nowhere, inside = lift(NOWHERE if columns else -NOWHERE), self._inside(touch, statements, k, v)
        grown = both(inside, compare("<=", since, touch.at_or_before(self.band.finish)))
        shrunk = both(inside, compare(">=", until, touch.at_or_after(self.band.begin)))
        growing = Assign(to, "", select(grown, rank, nowhere))
        shrinking = Assign(to, "", select(shrunk, sub(0, until) if columns else until, nowhere))
        return If(self.places.grows[k], (growing,), (shrinking,))

    def _at_first(self, touch: Touch, k: int, to: Access, v: Expr) -> Stmt:
        cut, window, x = self.plan.cuts[k], touch.windows[k], add(self.places.own[k], v)
        low = mul(self.band.begin, self.places.chosen(k, (cut.lower, -cut.upper)))
        high = mul(self.band.begin, self.places.chosen(k, (-cut.upper, cut.lower)))
        after = compare(">=", x, add(low, self.places.chosen(k, window.low)))
        before = compare("<=", x, add(high, self.places.chosen(k, window.high)))
        return Assign(to, "", both(self._inside(touch, (touch.statement,), k, v), after, before))
