"""C text to Scop in one call, and comparisons by meaning."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import islpy as isl
import pytest

from polytile.frontend.assemble import assemble
from polytile.frontend.extract import extract
from polytile.frontend.source import named, read_places
from polytile.ir.scop import AccessKind, Scop

ScopOf = Callable[..., Scop]


@pytest.fixture
def scop_of() -> ScopOf:
    """`scop_of(body, parameters)` is the Scop of a function with these parameters and this body between pragmas."""

    def build(body: str, parameters: str = "int n, int m, double *A, double *B", *, before: str = "") -> Scop:
        text = f"{before}\nvoid f({parameters})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
        context, places = read_places("f.c", text)
        ((name, place),) = named(context, places)
        return extract(assemble(context, place, name))

    return build


@pytest.fixture
def same() -> SimpleNamespace:
    """`same.domain(scop, text)`, `same.accesses(scop, kind, text)`, `same.order(scop, text)`."""
    return SimpleNamespace(domain=same_domain, accesses=same_accesses, order=same_order)


@pytest.fixture
def run() -> Callable[..., list[tuple[Any, ...]]]:
    """`run(scop, n=4)` lists the instances in the order of the schedule."""
    return execution


def same_domain(scop: Scop, expected: str) -> bool:
    """Whether the domains are these, under the context."""
    return bool(
        scop.domain.intersect_params(scop.context).is_equal(isl.UnionSet(expected).intersect_params(scop.context))
    )


def same_accesses(scop: Scop, kind: AccessKind, expected: str) -> bool:
    """Whether the accesses of one kind are these, on the domains and under the context."""
    wanted = isl.UnionMap(expected).intersect_domain(scop.domain).intersect_params(scop.context)
    return bool(scop.accesses(kind).intersect_params(scop.context).is_equal(wanted))


def same_order(scop: Scop, expected: str) -> bool:
    """Whether the schedule orders the instances as the dates of `expected` do."""
    return bool(_before(scop, scop.schedule.get_map()).is_equal(_before(scop, isl.UnionMap(expected))))


def _before(scop: Scop, dates: isl.UnionMap) -> isl.UnionMap:
    dates = dates.intersect_domain(scop.domain.intersect_params(scop.context))
    return dates.lex_lt_union_map(dates)


def execution(scop: Scop, **parameters: int) -> list[tuple[Any, ...]]:
    """The instances in the order of the schedule: [("S0", 0, 1), ...]."""
    text = ", ".join(parameters)
    values = " and ".join(f"{k} = {v}" for k, v in parameters.items()) or "true"
    fixed = isl.Set(f"[{text}] -> {{ : {values} }}")
    dates: list[tuple[tuple[int, ...], tuple[Any, ...]]] = []
    for date_map in _maps(scop.schedule.get_map().intersect_domain(scop.domain).intersect_params(fixed)):
        name = date_map.get_tuple_name(isl.dim_type.in_)
        for point in _points(date_map.wrap()):
            depth = date_map.dim(isl.dim_type.in_)
            dates.append((point[depth:], (name, *point[:depth])))
    return [instance for _, instance in sorted(dates, key=lambda d: d[0])]


def _maps(union: isl.UnionMap) -> list[isl.Map]:
    found: list[isl.Map] = []
    union.foreach_map(found.append)
    return found


def _points(points: isl.Set) -> list[tuple[int, ...]]:
    found: list[isl.Point] = []
    points.foreach_point(found.append)
    size = points.dim(isl.dim_type.set)
    return [tuple(int(p.get_coordinate_val(isl.dim_type.set, k).to_python()) for k in range(size)) for p in found]
