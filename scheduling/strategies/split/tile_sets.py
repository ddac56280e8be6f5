"""The tiles of split tiling as sets: bands of steps, cut into tiles that shrink and tiles that grow, by dimension.

      t ^ ____      ____          shrinking tiles first (\\__/ upside down), all at once;
        | \\  /\\  /\\  /           growing ones then fill what is between them.
        |  \\/__\\/__\\/            With d dimensions there are 2^d colours: in which dimensions a tile grows.

With u = t - H b the step within band b, along each dimension, for a statement with offsets lo and hi of the cone:

  shrinking tile K:  a u + lo <= x - P K <= G - 1 - b u - hi
  growing tile K:    G - 1 - b u - hi < x - P K   and   x - P (K + 1) < a u + lo

[Grosser et al. 2013, sections 3 and 4; they stretch and subtract, which gives the same sets.] Slopes may be rational.
"""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product
from math import ceil, lcm

import islpy as isl

from polytile.dataclass import dataclass
from polytile.scheduling.analysis.stencil_form import StencilForm, StencilStatement
from polytile.scheduling.strategies.split.cone import Cone

Colour = tuple[bool, ...]  # whether tiles grow, by dimension


@dataclass(frozen=True)
class Cut:
    """How one dimension is cut: shrinking tiles end `top` wide, growing ones begin `base` wide, in bands of `height`
    steps."""

    cone: Cone
    top: int
    base: int
    height: int

    @cached_property
    def spread(self) -> int:
        """Return by how much a shrinking tile is wider at its first step than at its last one."""
        lower, upper = self.cone.lower, self.cone.upper
        return ceil((lower.slope + upper.slope) * (self.height - 1) + lower.most + upper.most)

    @cached_property
    def width(self) -> int:
        """Return G: the places of a shrinking tile at its first step."""
        return self.spread + self.top

    @cached_property
    def period(self) -> int:
        """Return P: the places from one tile to the next of its colour."""
        return self.width + self.base

    def first(self, *, grows: bool) -> int:
        """Return the least place of tile 0, at any step: a tile's places are within one period from there."""
        lower = self.cone.lower
        return ceil(lower.slope * (self.height - 1) + lower.most) if grows else 0

    def constraints(self, statement: str, x: str, u: str, k: str, *, grows: bool) -> str:
        """Return isl's constraints for the places `x` of a statement in tile `k` at step `u`."""
        lower, upper = self.cone.lower, self.cone.upper
        lo, hi = lower.offsets[statement], upper.offsets[statement]
        q = lcm(*(value.denominator for value in (lower.slope, upper.slope, lo, hi)))
        left = f"{q}*({x} - {self.period}*{k}) - {_times(q, lower.slope)}*({u}) - {_times(q, lo)}"
        right = f"{q}*({self.width - 1} - {x} + {self.period}*{k}) - {_times(q, upper.slope)}*({u}) - {_times(q, hi)}"
        return f"{right} < 0 and {left} < {q * self.period}" if grows else f"{left} >= 0 and {right} >= 0"


def _times(factor: int, value: Fraction) -> int:
    return int(factor * value)


def colours(dims: int) -> list[Colour]:
    """Return all colours, in an order in which tiles depend on those of earlier ones alone."""
    return sorted(product((False, True), repeat=dims), key=lambda colour: (sum(colour), colour))


@dataclass(frozen=True, slots=True)
class Tiling:
    """A stencil cut into tiles along its first dimensions, or all, each by one of `cuts`, all of the same height."""

    form: StencilForm
    cuts: tuple[Cut, ...]
    domains: tuple[isl.Set, ...] = field(compare=False)  # of the statements, in their order
    _known: dict[tuple[str, ...], isl.UnionPwAff] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def height(self) -> int:
        return self.cuts[0].height

    @property
    def domain(self) -> isl.UnionSet:
        """Return all instances."""
        return reduce(lambda all_, one: all_.union(one), map(isl.UnionSet.from_set, self.domains))

    def tile_of(self, statement: StencilStatement, colour: Colour) -> isl.Map:
        """Map each instance of a colour to its tile, `{ S[t, x] -> [b, K..] }`, without quotients."""
        coordinates = statement.placed.apply_range(self._coordinates(colour))
        return coordinates.intersect(statement.placed.apply_range(self._tiles(statement.name, colour)))

    def instances(self, colour: Colour) -> isl.UnionSet:
        """Return what the tiles of a colour run; its quotients are those of `coordinate` and of the band of steps."""
        sets = (
            isl.UnionSet.from_set(self.tile_of(s, colour).domain().intersect(domain))
            for s, domain in zip(self.form.statements, self.domains, strict=True)
        )
        return reduce(lambda all_, one: all_.union(one), sets)

    def band(self) -> isl.UnionPwAff:
        """Return the band of steps of each instance."""
        return self._value(f"floor(t/{self.height})")

    def coordinate(self, dimension: int, colour: Colour) -> isl.UnionPwAff:
        """Return the number of the tile of each instance along a dimension."""
        return self._value(self._tile_number(dimension, colour))

    def step(self) -> isl.UnionPwAff:
        """Return the step of each instance."""
        return self._value("t")

    def folded_step(self) -> isl.UnionPwAff:
        """Return the order inside a tile: levels * t + level."""
        k = self.form.levels
        return self._values(tuple(f"{k}*t + {s.level}" for s in self.form.statements))

    def place(self, dimension: int) -> isl.UnionPwAff:
        """Return the place of each instance along a dimension."""
        return self._value(f"x{dimension}")

    def _value(self, expression: str) -> isl.UnionPwAff:
        return self._values((expression,) * len(self.form.statements))

    def _values(self, expressions: tuple[str, ...]) -> isl.UnionPwAff:
        """Evaluate an expression of each statement's time and place, cached: all colours have most of them."""
        if expressions not in self._known:
            self._known[expressions] = self._found(expressions)
        return self._known[expressions]

    def _found(self, expressions: tuple[str, ...]) -> isl.UnionPwAff:
        names = self._place_names()
        total: isl.UnionPwAff | None = None
        for statement, expression in zip(self.form.statements, expressions, strict=True):
            value = isl.Map(f"{{ [{', '.join(names)}] -> [{expression}] }}")
            pw = isl.PwMultiAff.from_map(statement.placed.apply_range(value)).get_pw_aff(0)
            one = isl.UnionPwAff.from_pw_aff(pw.gist(statement.placed.domain()).coalesce())
            total = one if total is None else total.union_add(one)
        assert total is not None
        return total

    def _place_names(self) -> list[str]:
        return ["t", *(f"x{k}" for k in range(self.form.dims))]

    def _tile_number(self, dimension: int, colour: Colour) -> str:
        cut = self.cuts[dimension]
        return f"floor((x{dimension} - {cut.first(grows=colour[dimension])})/{cut.period})"

    def _coordinates(self, colour: Colour) -> isl.Map:
        """Build `{ [t, x] -> [b, K..] }` for all places."""
        numbers = [f"floor(t/{self.height})", *(self._tile_number(k, colour) for k in range(len(self.cuts)))]
        return isl.Map(f"{{ [{', '.join(self._place_names())}] -> [{', '.join(numbers)}] }}")

    def _tiles(self, statement: str, colour: Colour) -> isl.Map:
        """Build `{ [t, x] -> [b, K..] }` for the places of a statement in tiles of a colour."""
        u = f"(t - {self.height}*b)"
        tests = [f"0 <= {u} < {self.height}"]
        for k, (cut, grows) in enumerate(zip(self.cuts, colour, strict=True)):
            tests.append(cut.constraints(statement, f"x{k}", u, f"K{k}", grows=grows))
        tiles = ["b", *(f"K{k}" for k in range(len(self.cuts)))]
        text = f"[{', '.join(self._place_names())}] -> [{', '.join(tiles)}] : {' and '.join(tests)}"
        return isl.Map(f"{{ {text} }}")
