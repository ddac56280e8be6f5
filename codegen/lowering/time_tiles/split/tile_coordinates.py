"""Where a tile of a plan of split tiles is, and at which steps of its band places are between its sides.

before: S0 runs at step u for  a u <= x - P K <= G - 1 - b u   (a tile that shrinks along x)
after:  int until = min((x - P * K) / a, (G - 1 - (x - P * K)) / b);        the last step at which it runs there
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polytile.codegen.lowering.time_tiles.cell_conditions import AffineForm
from polytile.codegen.lowering.time_tiles.written_cells import TIME, Cells, Writer, cell_name
from polytile.dataclass import dataclass
from polytile.ir.arith import add, both, compare, div, least, lift, most, mul, select, sub
from polytile.ir.expr import BOOL, CType, Declare, Expr, Name, Stmt
from polytile.ir.name_supply import Names
from polytile.ir.split_tiles import SplitTiles, Window
from polytile.ir.substitute import with_values

NEVER_ENDS = 1 << 20  # a step behind all of a band


@dataclass(frozen=True, slots=True)
class Domain:
    """The places of a statement: between `first` and `last` along each dimension (expressions over the parameters, of
    which all hold), where `uniform` conditions hold, and `others`, of the place and time."""

    first: tuple[tuple[Expr, ...], ...]
    last: tuple[tuple[Expr, ...], ...]
    uniform: tuple[Expr, ...]
    others: tuple[Expr, ...]

    @property
    def some(self) -> Expr:
        """Return the condition that there are places, as far as `others` are not asked."""
        pairs = (
            compare("<=", a, b) for lows, highs in zip(self.first, self.last, strict=True) for a in lows for b in highs
        )
        return both(*self.uniform, *pairs)


def domain_of(writer: Writer, dims: int, integer: CType) -> Domain:
    """Return the places of a statement by its conditions."""
    first: list[list[Expr]] = [[] for _ in range(dims)]
    last: list[list[Expr]] = [[] for _ in range(dims)]
    uniform, others = list[Expr](), list[Expr]()
    places = [cell_name(k) for k in range(dims)]
    for bound in writer.bounds:
        own = [k for k, name in enumerate(places) if bound.factor(name)]
        if TIME in bound.names or len(own) > 1 or any(abs(bound.factor(places[k])) != 1 for k in own):
            others.append(compare(">=", bound.value(_names(dims, integer), integer), 0))
        elif own:
            _one_sided(bound, places[own[0]], first[own[0]], last[own[0]], integer)
        else:
            uniform.append(compare(">=", bound.value({}, integer), 0))
    if writer.others is not None:
        others.append(writer.others)
    return Domain(tuple(map(tuple, first)), tuple(map(tuple, last)), tuple(uniform), tuple(others))


def _names(dims: int, integer: CType) -> dict[str, Expr]:
    return {name: Name(name, integer) for name in (TIME, *(cell_name(k) for k in range(dims)))}


def _one_sided(bound: AffineForm, name: str, first: list[Expr], last: list[Expr], integer: CType) -> None:
    rest = bound.without(name)
    if bound.factor(name) > 0:
        first.append(rest.negated().value({}, integer))
    else:
        last.append(rest.value({}, integer))


class TilePlaces:
    """The coordinates of a tile and of a thread's cells in it.

    `grows`, `tile` (K), `corner` (the place of the thread's first cell) and `own` (the same, from place P K) are one
    for each dimension.
    """

    def __init__(self, plan: SplitTiles, cells: Cells, names: Names) -> None:
        self.plan, self.cells, self.integer = plan, cells, cells.integer
        writers = (cells.writers[w.statement] for w in plan.writes)
        self.domains = {w.statement.name: domain_of(w, plan.dims, cells.integer) for w in writers}
        axes = ("row", "column")[2 - plan.dims :]
        self.grows = tuple(Name(names.fresh(f"{axis}s_grow"), BOOL) for axis in axes)
        self.tile = tuple(Name(names.fresh(f"{axis}_tile"), self.integer) for axis in axes)
        self.own = tuple(Name(names.fresh(f"own_{axis}"), self.integer) for axis in axes)
        self.corner = tuple(Name(names.fresh(f"first_{axis}"), self.integer) for axis in axes)

    def declared(self, threads: Sequence[Expr]) -> Iterator[Stmt]:
        """Declare where the cells of a thread are, by its coordinates in the tile; tile and colour are known."""
        plan = self.plan
        for k, thread in enumerate(threads):
            start = self.chosen(k, (plan.corner(k, False), plan.corner(k, True)))
            yield Declare(self.own[k].name, self.integer, add(mul(thread, plan.points[k]), start))
            place = add(mul(self.tile[k], plan.cuts[k].period), self.own[k])
            yield Declare(self.corner[k].name, self.integer, place)

    def chosen(self, k: int, values: tuple[int, int]) -> Expr:
        """Choose the value for tiles that shrink along a dimension, or for those that grow."""
        shrinking, growing = values
        return lift(shrinking) if shrinking == growing else select(self.grows[k], lift(growing), lift(shrinking))

    def place(self, cell: Sequence[Expr | int]) -> tuple[Expr, ...]:
        """Return the place of a cell of the thread."""
        return tuple(add(corner, c) for corner, c in zip(self.corner, cell, strict=True))

    def at(self, condition: Expr, cell: Sequence[Expr | int], time: Expr) -> Expr:
        """Substitute a cell and a time in a condition of time and place."""
        names = {cell_name(k): value for k, value in enumerate(self.place(cell))}
        return with_values(condition, {TIME: time, **names})

    # Steps of a band ---------------------------------------------------------------------------------
    def grown(self, window: Window, k: int, cell: Expr | int) -> Expr:
        """Return the first step at which a window of a tile that grows holds a cell, or one before all of the band."""
        cut, x = self.plan.cuts[k], add(self.own[k], cell)
        below, above = sub(window.low[1], x), sub(x, window.high[1])
        if cut.upper == cut.lower:
            return _first_at_least(most(below, above), cut.lower)
        return most(_first_at_least(below, cut.upper), _first_at_least(above, cut.lower))

    def shrunk(self, window: Window, k: int, cell: Expr | int) -> Expr:
        """Return the last step at which a window of a tile that shrinks holds a cell, or -1 for none."""
        cut, x = self.plan.cuts[k], add(self.own[k], cell)
        below, above = sub(x, window.low[0]), sub(window.high[0], x)
        if cut.upper == cut.lower:
            return _last_at_most(least(below, above), cut.lower)
        return least(_last_at_most(below, cut.lower), _last_at_most(above, cut.upper))

    def inside(self, statement: str, k: int, cell: Expr | int, reach: tuple[int, int] = (0, 0)) -> Expr:
        """Return the condition that a cell is so far from the places of a statement, along one dimension."""
        domain, x = self.domains[statement], add(self.corner[k], cell)
        lows = (compare(">=", x, add(first, reach[0])) for first in domain.first[k])
        highs = (compare("<=", x, add(last, reach[1])) for last in domain.last[k])
        return both(*lows, *highs)


def _first_at_least(wanted: Expr, slope: int) -> Expr:
    """Return the first step u with slope u >= wanted, or any that is not positive where 0 is."""
    if slope == 0:
        return select(compare("<=", wanted, 0), lift(0), lift(NEVER_ENDS))
    return wanted if slope == 1 else div(add(most(wanted, 0), slope - 1), slope)


def _last_at_most(room: Expr, slope: int) -> Expr:
    """Return the last step u with slope u <= room, or a negative number where there is none."""
    if slope == 0:
        return select(compare(">=", room, 0), lift(NEVER_ENDS), lift(-1))
    return most(room, -1) if slope == 1 else sub(div(most(add(room, slope), 0), slope), 1)
