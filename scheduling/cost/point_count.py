"""How many points a set has, level by level: counted approximately, by Gauss's quadrature, so that the size of the set
does not matter. For polytopes of up to four dimensions whose sides do not change places it is exact up to rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.identity_key import remembered
from polytile.ir.isl_util import OverBudgetError, budget

DEFAULT_SIZE = 2000  # of a parameter that nobody knows
# Gauss's nodes and weights for three points on [-1/2, 1/2]: exact up to degree five.
_NODES = ((-0.3872983346207417, 5 / 18), (0.0, 8 / 18), (0.3872983346207417, 5 / 18))
_FEW = 3  # values that are taken one by one
_MOST_OPERATIONS = 200_000  # of isl
_MOST_PIECES = 12  # more are counted by their hull


def fix_parameters(context: isl.Set, known: Mapping[str, int], default: int = DEFAULT_SIZE) -> dict[str, int]:
    """Choose a value for each parameter: the known one, else `default`, moved into what the context allows."""
    values: dict[str, int] = {}
    kind = isl.dim_type.param
    for i in range(context.dim(kind)):
        name = str(context.get_dim_name(kind, i))
        fixed = context.fix_val(kind, i, isl.Val(known.get(name, default)))
        if fixed.is_empty():
            fixed = _nearest(context, i, known.get(name, default))
        value = fixed.params().plain_get_val_if_fixed(kind, i)
        values[name] = int(value.to_python()) if value.is_int() else known.get(name, default)
        context = fixed
    return values


def _nearest(context: isl.Set, position: int, wanted: int) -> isl.Set:
    """Fix one parameter in the context at its largest value up to `wanted`, else at its least."""
    kind = isl.dim_type.param
    for bounded in (context.upper_bound_val(kind, position, isl.Val(wanted)), context):
        if bounded.is_empty():
            continue
        as_set = isl.Set.from_params(bounded).move_dims(isl.dim_type.set, 0, kind, position, 1)
        for found in (as_set.dim_max_val(0), as_set.dim_min_val(0)):
            if found.is_int():
                return context.fix_val(kind, position, found)
    return context


def at(points: isl.Set, values: Mapping[str, int]) -> isl.Set:
    """Return the set for these values of its parameters."""
    kind = isl.dim_type.param
    for i in range(points.dim(kind)):
        name = str(points.get_dim_name(kind, i))
        if name in values:
            points = points.fix_val(kind, i, isl.Val(values[name]))
    return points


def counts(points: isl.Set, values: Mapping[str, int]) -> tuple[float, ...]:
    """Return for each number of leading dimensions, from none to all, how many points their projection has."""
    box = _box(points)
    if box is not None and all(name in values for name in box.parameters):
        nest = box.nest(values)
        return (0.0,) * (box.rank + 1) if nest is None else nest.counts()
    rank = int(points.dim(isl.dim_type.set))
    pieces = _pieces(at(points, values).remove_divs())
    total = [0.0] * (rank + 1)
    for piece in pieces:
        if not piece.is_empty():
            for level, found in enumerate(_Nest.of(piece, values).counts()):
                total[level] += found
    total[0] = min(total[0], 1.0)
    return tuple(total)


def range_of_box(points: isl.Set, values: Mapping[str, int], level: int) -> tuple[int, int] | None:
    """Return the least and the largest value of a dimension of a box.

    Returns None for a set that is no box, or has no such values.
    """
    box = _box(points)
    if box is None or any(name not in values for name in box.parameters):
        return None
    nest = box.nest(values)
    if nest is None:
        return None
    lows = [-rest for own, _, rest in nest.bounds[level] if own > 0]
    highs = [rest for own, _, rest in nest.bounds[level] if own < 0]
    return (max(lows), min(highs)) if lows and highs else None


def filled(points: isl.Set, values: Mapping[str, int]) -> float:
    """Return which part of what `counts` counts is in the set, where divisions cut something out.

    It is half of it where trapezoids between others make up the set, as `remove_divs` fills the gaps.

        { [t, x] : 8 t' <= t < 8 t' + 8 and 20 k + t - 8 t' <= x <= 20 k + 9 - t + 8 t' }:  about a third of all [t, x]
    """
    known = at(points, values)
    if not any(piece.dim(isl.dim_type.div) for piece in known.get_basic_sets()):
        return 1.0
    total = counts(points, values)[-1]
    if total == 0:
        return 1.0
    within = sum(_Nest.of(piece, values).counts()[-1] for piece in _pieces(_with_quotients(known)))
    return min(1.0, within / total)


def _with_quotients(points: isl.Set) -> isl.Set:
    """Return the set with its divisions as dimensions of their own, which come first."""
    kind = isl.dim_type.set
    rank = int(points.dim(kind))
    lifted = points.reset_tuple_id().lift().flatten()
    quotients = int(lifted.dim(kind)) - rank
    return lifted.move_dims(isl.dim_type.param, 0, kind, rank, quotients).move_dims(
        kind, 0, isl.dim_type.param, 0, quotients
    )


def _pieces(points: isl.Set) -> list[isl.BasicSet]:
    """Return convex sets without common points; a hull, where those are many or take long to find."""
    try:
        with budget(_MOST_OPERATIONS):
            pieces = list(points.coalesce().make_disjoint().get_basic_sets())
    except OverBudgetError:
        return [points.simple_hull()]
    return pieces if len(pieces) <= _MOST_PIECES else [points.simple_hull()]


Values = tuple[float, ...]
Bound = tuple[int, tuple[int, ...], int]  # coefficient of the level itself, of the levels around, constant


@dataclass(frozen=True, slots=True)
class _Nest:
    """A convex set as a nest of loops: for each level the constraints `own * x + around . y + constant >= 0`."""

    bounds: tuple[tuple[Bound, ...], ...]

    @classmethod
    def of(cls, piece: isl.BasicSet, values: Mapping[str, int]) -> _Nest:
        kind = isl.dim_type.set
        rank = int(piece.dim(kind))
        levels = []
        for level in range(rank):
            outer = piece.project_out(kind, level + 1, rank - level - 1).remove_divs()
            levels.append(tuple(b for c in outer.get_constraints() for b in _bounds(c, level, values)))
        return cls(tuple(levels))

    def counts(self) -> tuple[float, ...]:
        """Return, for each number of outer levels, from none to all, how often their iterations run."""
        return self._below((), [self._seen_from(level) for level in range(len(self.bounds))], {})

    def _seen_from(self, level: int) -> list[int]:
        """Return the outer levels on whose values the bounds from this level on depend."""
        inner = [around for bounds in self.bounds[level:] for _, around, _ in bounds]
        return [outer for outer in range(level) if any(around[outer] for around in inner)]

    def _below(self, around: Values, seen: Sequence[Sequence[int]], known: dict[Values, Values]) -> Values:
        """Count the points from a level on, once for all values around that these do not depend on.

        20 loops of two iterations are 20 levels to look at, not a million points.
        """
        level = len(around)
        if level == len(self.bounds):
            return (1.0,)
        key = (level, *(around[outer] for outer in seen[level]))
        if key not in known:
            total = [1.0] + [0.0] * (len(self.bounds) - level)
            for value, share in samples(*self._range(level, around)):
                for depth, found in enumerate(self._below((*around, value), seen, known), 1):
                    total[depth] += share * found
            known[key] = tuple(total)
        return known[key]

    def _range(self, level: int, around: Sequence[float]) -> tuple[float, float]:
        low, high = float("-inf"), float("inf")
        for own, others, constant in self.bounds[level]:
            rest = constant + sum(c * x for c, x in zip(others, around, strict=True))
            if own > 0:
                low = max(low, -rest / own)
            elif own < 0:
                high = min(high, rest / -own)
        if low == float("-inf") or high == float("inf"):  # nothing bounds it
            return 0.0, float(DEFAULT_SIZE - 1)
        return low, high


_Side = tuple[int, int, tuple[int, ...], int]  # level (-1: of none), its coefficient, those of parameters, constant


@dataclass(frozen=True, slots=True)
class _Box:
    """A convex set whose constraints are each on one level, with a coefficient of 1 or -1: nothing but numbers changes
    with the values of its parameters."""

    rank: int
    parameters: tuple[str, ...]
    sides: tuple[_Side, ...]

    def nest(self, values: Mapping[str, int]) -> _Nest | None:
        """Return the box for values of its parameters, or None where it is empty."""
        known = [values[name] for name in self.parameters]
        bounds: list[list[Bound]] = [[] for _ in range(self.rank)]
        for level, own, factors, constant in self.sides:
            rest = constant + sum(f * v for f, v in zip(factors, known, strict=True))
            if level >= 0:
                bounds[level].append((own, (0,) * level, rest))
            elif rest < 0:
                return None
        for side in bounds:
            low = max((-rest for own, _, rest in side if own > 0), default=None)
            high = min((rest for own, _, rest in side if own < 0), default=None)
            if low is not None and high is not None and low > high:
                return None
        return _Nest(tuple(map(tuple, bounds)))


@remembered
def _box(points: isl.Set) -> _Box | None:
    """Return the box that a set is, or None where it is another set."""
    pieces = points.get_basic_sets()
    if len(pieces) != 1 or pieces[0].dim(isl.dim_type.div):
        return None
    rank, n_param = int(points.dim(isl.dim_type.set)), int(points.dim(isl.dim_type.param))
    sides: list[_Side] = []
    for constraint in pieces[0].get_constraints():
        own = _coefficients(constraint, isl.dim_type.set, rank)
        factors = _coefficients(constraint, isl.dim_type.param, n_param)
        moved = [level for level, c in enumerate(own) if c]
        if len(moved) > 1 or (moved and abs(own[moved[0]]) != 1):
            return None
        level, c = (moved[0], own[moved[0]]) if moved else (-1, 0)
        constant = int(constraint.get_constant_val().to_python())
        sides.append((level, c, factors, constant))
        if constraint.is_equality():
            sides.append((level, -c, tuple(-f for f in factors), -constant))
    names = tuple(str(points.get_dim_name(isl.dim_type.param, i)) for i in range(n_param))
    return _Box(rank, names, tuple(sides))


def _coefficients(constraint: isl.Constraint, kind: isl.dim_type, number: int) -> tuple[int, ...]:
    return tuple(int(constraint.get_coefficient_val(kind, i).to_python()) for i in range(number))


def samples(low: float, high: float) -> list[tuple[float, float]]:
    """Return the values between two bounds and what each counts for."""
    width, middle = high - low + 1, (low + high) / 2
    if width <= 0:
        return []
    if width < 1 + 1e-9:  # one value; where the loops around stand between integers, it may do so too
        return [(middle, width)]
    if width <= _FEW and low == floor(low):
        return [(float(v), 1.0) for v in range(int(low), floor(high) + 1)]
    return [(middle + width * node, width * weight) for node, weight in _NODES]


def _bounds(constraint: isl.Constraint, level: int, values: Mapping[str, int]) -> list[Bound]:
    kind = isl.dim_type.set
    own = int(constraint.get_coefficient_val(kind, level).to_python())
    if own == 0:
        return []
    around = tuple(int(constraint.get_coefficient_val(kind, i).to_python()) for i in range(level))
    constant = int(constraint.get_constant_val().to_python())
    parameter = isl.dim_type.param
    for i in range(constraint.dim(parameter)):
        c = int(constraint.get_coefficient_val(parameter, i).to_python())
        constant += c * values.get(str(constraint.get_dim_name(parameter, i)), 0)
    found: list[Bound] = [(own, around, constant)]
    if constraint.is_equality():
        found.append((-own, tuple(-c for c in around), -constant))
    return found
