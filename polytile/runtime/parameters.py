"""Values for the parameters of a SCoP: checks of those that are given, and small ones for the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.ir.def_use import mentioned_names
from polytile.ir.evaluate import evaluate, integer_range
from polytile.ir.expr import Binary, Expr, Literal, Name
from polytile.ir.expr_trees import walk
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.name_supply import coordinates
from polytile.ir.scop import Parameter, Scop
from polytile.runtime.accessed_elements import beyond_the_end

OPERATIONS = 100_000  # of isl, to see for which parameters one statement runs
MOST_CHOSEN = 1_000_000  # the size of an array that validation may fill and run through
MOST_ITERATIONS = 10_000  # of a loop up to a product of sizes that validation chooses
MOST_REGIONS = 20  # of parameters for which statements run, that are kept
_SET, _PARAM = isl.dim_type.set, isl.dim_type.param
SIZES = (13, 17, 11, 19, 7, 23, 5, 3, 2, 1, 0)  # primes first: no size divides a tile or another size


def point(values: Mapping[str, int]) -> isl.Set:
    """Build `[N] -> { : N = 13 }`: the parameters with these values. All arrays and statements of a call ask for it."""
    return _point(tuple(values.items()))


@lru_cache(maxsize=16)
def _point(values: tuple[tuple[str, int], ...]) -> isl.Set:
    names, equations = ", ".join(n for n, _ in values), " and ".join(f"{n} = {v}" for n, v in values)
    return isl.Set(f"[{names}] -> {{ : {equations} }}" if values else "{ : }")


def check_parameters(parameters: Iterable[Parameter], given: Mapping[str, int]) -> None:
    """Raise UsageError for a parameter that does not exist or a value that its C type cannot hold."""
    known = {p.name: p for p in parameters}
    for name, value in given.items():
        if name not in known:
            raise UsageError(
                f"there is no parameter {name!r}", hint=f"the parameters are {', '.join(known) or '(none)'}"
            )
        low, high = integer_range(known[name].type)
        if not low <= value <= high:
            raise UsageError(f"{name}={value} does not fit its type, {known[name].type}", hint=f"from {low} to {high}")


def choose_parameters(scop: Scop, given: Mapping[str, int]) -> dict[str, int]:
    """Choose a value for every parameter.

    Takes those given, else small ones that the C sets before the SCoP, or that the SCoP's context allows, that run
    something, and with which subscripts stay in their arrays.

    Raises UsageError when the given values contradict the context.
    """
    return free_sizes(scop, given).small()


@dataclass(frozen=True, slots=True)
class FreeSizes:
    """The parameters of a SCoP that have no value yet, and the values that parameters may have together: all with which
    it stays in its arrays, and those of them for which its statements run."""

    scop: Scop
    values: Mapping[str, int]
    free: tuple[str, ...]
    inside: isl.Set
    allowed: isl.Set

    def idle(self) -> FreeSizes:
        """Return the same sizes, where statements may not run: with a size of 0."""
        return replace(self, allowed=self.inside)

    def small(self) -> dict[str, int]:
        """Choose small values."""
        return self._every(_small(self.scop, self.allowed, self.values, self.free))

    def near(self, wanted: Mapping[str, int]) -> dict[str, int] | None:
        """Choose the greatest values up to those that are wanted, or else the least.

        Returns None where the SCoP would not stay in its arrays.
        """
        products = frozenset(name for name, _ in self.scop.products)
        factors = {name: value for name, value in self.values.items() if name not in products}
        allowed = self.allowed
        for name in self.free:
            if name not in products:
                factors[name] = _closest(allowed, name, wanted[name])
                allowed = allowed.intersect_params(point({name: factors[name]}))
        every = {**with_products(self.scop, factors), **self.values}
        if any(p.name not in every for p in self.scop.parameters):
            return None
        at = point(every)
        uneven = [array for array in self.scop.arrays if array.elements is not None]
        inside = not any(beyond_the_end(self.scop, array, every, at) for array in uneven)
        return self._every(every) if inside and not self.allowed.intersect_params(at).is_empty() else None

    def _every(self, values: Mapping[str, int]) -> dict[str, int]:
        return {p.name: values[p.name] for p in self.scop.parameters}


def free_sizes(scop: Scop, given: Mapping[str, int]) -> FreeSizes:
    """Return what may be chosen beside the values that are given, and those that the C sets before the SCoP, if small.

    Raises UsageError when the given values contradict the context.
    """
    values = with_products(scop, {p.name: given[p.name] for p in scop.parameters if p.name in given})
    allowed = allowed_values(scop, values)
    free = [p.name for p in scop.parameters if p.name not in values]
    for name, number in scop.set_before:
        chosen = allowed.intersect_params(point({name: number}))
        if name in free and number <= max(SIZES) and not chosen.is_empty():
            values[name], allowed = number, chosen
    free = [name for name in free if name not in values]
    inside = _inside(scop, allowed, free) if free else allowed
    return FreeSizes(scop, values, tuple(free), inside, _busy(scop, inside) if free else inside)


def with_products(scop: Scop, given: Mapping[str, int]) -> dict[str, int]:
    """Add to the values those of parameters that are products of others which have one.

    Raises UsageError where another value of such a product is given.
    """
    values = dict(given)
    for name, product in scop.products:
        if values.keys() >= set(mentioned_names(product)):
            values[name] = evaluate(product, values)
            if given.get(name, values[name]) != values[name]:
                factors = _shown({n: values[n] for n in dict.fromkeys(mentioned_names(product))})
                message = f"{name}={given[name]} is not the product of {factors}, which is {values[name]}"
                raise UsageError(message, location=scop.location, hint=f"leave {name} out")
    return values


def allowed_values(scop: Scop, given: Mapping[str, int]) -> isl.Set:
    """Fix the given parameters in the set that the SCoP's context allows; raises UsageError where none are left."""
    allowed = bounded(scop).intersect_params(point(given))
    if allowed.is_empty():
        raise UsageError(
            f"{_shown(given)} contradicts what is known of the parameters of {scop.name}: {scop.context}",
            location=scop.location,
            hint="change --param, or the assumption in the source",
        )
    return allowed


def _inside(scop: Scop, allowed: isl.Set, free: Sequence[str]) -> isl.Set:
    """Restrict the allowed values to those with which the SCoP's subscripts stay in its arrays.

    It goes as far as can be found without much work, and where those that are `free` may be moderate: a size and a
    bound that is read, or another parameter, know nothing of each other.

    before: void f(int n, int grid[2], double a[n]) { for (i < grid[0]) a[i] = 0; }, n = 0: any grid[0]
    after:  grid[0] <= 0
    """
    names = ", ".join(free)
    moderate = isl.Set(f"[{names}] -> {{ : {' and '.join(f'{name} <= {MOST_CHOSEN}' for name in free)} }}")
    for statement in scop.statements:
        for access in statement.accesses:
            extents = scop.array(access.array).extents
            try:
                with budget(OPERATIONS):
                    reached = access.relation.intersect_domain(statement.domain).range()
                    for k, extent in enumerate(extents):
                        text = affine_text(extent)
                        if text:
                            inside = allowed.subtract(_outside(reached, k, text).params()).coalesce()
                            allowed = inside if _few(inside.intersect_params(moderate)) else allowed
            except OverBudgetError:
                continue
    return allowed


def _outside(reached: isl.Set, k: int, extent: str) -> isl.Set:
    """Return the elements whose subscript number `k` is below 0 or not below `extent`."""
    names = [str(reached.get_dim_name(_PARAM, i)) for i in range(reached.dim(_PARAM))]
    place = coordinates("x", reached.dim(_SET), names)
    where = f"{place[k]} < 0 or {place[k]} >= {extent}"
    beyond = isl.Set(f"[{', '.join(names)}] -> {{ [{', '.join(place)}] : {where} }}")
    return reached.intersect(beyond.set_tuple_name(reached.get_tuple_name()))


def affine_text(extent: Expr | None) -> str:
    """Print a sum of parameters with constant factors in isl's notation; return an empty string for another extent."""
    match extent:
        case Name(name=name):
            return name
        case Literal(text=text) if text.isdecimal() and (text == "0" or not text.startswith("0")):
            return text
        case Binary(op="+" | "-" | "*" as op, left=left, right=right):
            one, other = affine_text(left), affine_text(right)
            linear = op != "*" or Literal in (type(left), type(right))
            return f"({one} {op} {other})" if one and other and linear else ""
    return ""


def _few(found: isl.Set) -> bool:
    return not found.is_empty() and found.n_basic_set() <= MOST_REGIONS


def _busy(scop: Scop, allowed: isl.Set) -> isl.Set:
    """Restrict the allowed values to those for which statements run, as many as can be found without much work."""
    for statement in scop.statements:
        try:
            with budget(OPERATIONS):
                busy = allowed.intersect(statement.domain.params()).coalesce()
                allowed = busy if _few(busy) else allowed
        except OverBudgetError:
            continue
    return allowed


def bounded(scop: Scop) -> isl.Set:
    """Restrict the context to the range of each parameter's type."""
    allowed = scop.context.params()
    for p in scop.parameters:
        low, high = integer_range(p.type)
        allowed = allowed.intersect_params(isl.Set(f"[{p.name}] -> {{ : {low} <= {p.name} <= {high} }}"))
    return allowed


def _small(scop: Scop, allowed: isl.Set, values: Mapping[str, int], free: Sequence[str]) -> dict[str, int]:
    """Choose small values for the parameters that are left.

    With them the SCoP stays in arrays that are indexed by hand: first others get smaller than those that say how many
    elements there are.

    before: for (i < trips) a[1 + s * i] of a[n], n = 13, s = 17, trips = 11
    after:  n = 13, s = 3, trips = 3
    """
    uneven = [array for array in scop.arrays if array.elements is not None]
    elements = [array.elements for array in uneven if array.elements is not None]
    counts = frozenset(n.name for n in walk(*elements) if isinstance(n, Name))
    products = frozenset(name for name, _ in scop.products)
    for kept in dict.fromkeys((counts, frozenset[str]())):
        for most in sorted(SIZES, reverse=True):
            chosen = _choices(allowed, [name for name in free if name not in products], most, kept)
            factors = {name: value for name, value in values.items() if name not in products}
            every = {**with_products(scop, {**factors, **chosen}), **values}
            at = point(every)
            moderate = all(every[name] <= MOST_ITERATIONS for name in products.intersection(free))
            if not moderate or (products and allowed.intersect_params(at).is_empty()):
                continue
            if not any(beyond_the_end(scop, array, every, at) for array in uneven):
                return every
    return every


def _choices(allowed: isl.Set, names: Sequence[str], most: int, kept: frozenset[str]) -> dict[str, int]:
    """Choose small values for these parameters, if possible at most so large, but for those that are `kept`."""
    values: dict[str, int] = {}
    for number, name in enumerate(names):
        values[name] = _choice(allowed, name, number, max(SIZES) if name in kept else most)
        allowed = allowed.intersect_params(point({name: values[name]}))
    return values


def _choice(allowed: isl.Set, name: str, number: int, most: int) -> int:
    start = number % 4
    for value in (*SIZES[start:4], *SIZES[:start], *SIZES[4:]):
        if value <= most and not allowed.intersect_params(point({name: value})).is_empty():
            return value
    return _least(allowed, name)


def _closest(allowed: isl.Set, name: str, wanted: int) -> int:
    """Return the greatest value of `name` up to `wanted` that `allowed` contains.

    Returns the one closest to zero where there is none from zero on.
    """
    if not allowed.intersect_params(point({name: wanted})).is_empty():
        return wanted
    below = _values_of(allowed, name).intersect(isl.Set(f"{{ [x] : 0 <= x <= {wanted} }}"))
    return _least(allowed, name) if below.is_empty() else int(below.dim_max_val(0).to_python())


def _values_of(allowed: isl.Set, name: str) -> isl.Set:
    values = isl.Set.from_params(allowed)
    position = values.find_dim_by_name(isl.dim_type.param, name)
    return values.move_dims(isl.dim_type.set, 0, isl.dim_type.param, position, 1)


def _least(allowed: isl.Set, name: str) -> int:
    """Return the value of `name` closest to zero that `allowed` contains."""
    values = _values_of(allowed, name)
    above = values.intersect(isl.Set("{ [x] : x >= 0 }"))
    bound = above.dim_min_val(0) if not above.is_empty() else values.dim_max_val(0)
    return int(bound.to_python())


def _shown(values: Mapping[str, int]) -> str:
    return " ".join(f"{n}={v}" for n, v in values.items()) or "no value"
