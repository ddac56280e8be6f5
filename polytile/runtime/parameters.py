"""Values for the parameters of a SCoP: checks of those that are given, and small ones for the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import islpy as isl

from polytile.diagnostics import UsageError
from polytile.ir.evaluate import integer_range
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.scop import Parameter, Scop

OPERATIONS = 100_000  # of isl, to see for which parameters one statement runs
MOST_REGIONS = 20  # of parameters for which statements run, that are kept
SIZES = (13, 17, 11, 19, 7, 23, 5, 3, 2, 1, 0)  # primes first: no size divides a tile or another size


def point(values: Mapping[str, int]) -> isl.Set:
    """`[N] -> { : N = 13 }`: the parameters with these values."""
    names, equations = ", ".join(values), " and ".join(f"{n} = {v}" for n, v in values.items())
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
    """A value for every parameter: those given, else small ones that the SCoP's context allows and that run something.

    Raises UsageError when the given values contradict the context.
    """
    values = {p.name: given[p.name] for p in scop.parameters if p.name in given}
    allowed = _bounded(scop).intersect_params(point(values))
    if allowed.is_empty():
        raise UsageError(
            f"{_shown(values)} contradicts what is known of the parameters of {scop.name}: {scop.context}",
            location=scop.location,
            hint="change --param, or the assumption in the source",
        )
    allowed = _busy(scop, allowed)
    free = [p.name for p in scop.parameters if p.name not in values]
    for number, name in enumerate(free):
        value = _choice(allowed, name, number)
        values[name] = value
        allowed = allowed.intersect_params(point({name: value}))
    return {p.name: values[p.name] for p in scop.parameters}


def _busy(scop: Scop, allowed: isl.Set) -> isl.Set:
    """Those of the allowed values for which statements run, as many of them as can be found without much work."""
    for statement in scop.statements:
        try:
            with budget(OPERATIONS):
                busy = allowed.intersect(statement.domain.params()).coalesce()
                allowed = busy if not busy.is_empty() and busy.n_basic_set() <= MOST_REGIONS else allowed
        except OverBudgetError:
            continue
    return allowed


def _bounded(scop: Scop) -> isl.Set:
    """The context, within the range of each parameter's type."""
    allowed = scop.context.params()
    for p in scop.parameters:
        low, high = integer_range(p.type)
        allowed = allowed.intersect_params(isl.Set(f"[{p.name}] -> {{ : {low} <= {p.name} <= {high} }}"))
    return allowed


def _choice(allowed: isl.Set, name: str, number: int) -> int:
    start = number % 4
    for value in (*SIZES[start:4], *SIZES[:start], *SIZES[4:]):
        if not allowed.intersect_params(point({name: value})).is_empty():
            return value
    return _least(allowed, name)


def _least(allowed: isl.Set, name: str) -> int:
    """The value of `name` closest to zero that `allowed` contains."""
    values = isl.Set.from_params(allowed)
    position = values.find_dim_by_name(isl.dim_type.param, name)
    values = values.move_dims(isl.dim_type.set, 0, isl.dim_type.param, position, 1)
    above = values.intersect(isl.Set("{ [x] : x >= 0 }"))
    bound = above.dim_min_val(0) if not above.is_empty() else values.dim_max_val(0)
    return int(bound.to_python())


def _shown(values: Mapping[str, int]) -> str:
    return " ".join(f"{n}={v}" for n, v in values.items()) or "no value"
