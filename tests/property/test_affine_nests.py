"""Random affine loop nests: the extracted domains and schedule run exactly what the C program runs, in its order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

import islpy as isl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polytile.diagnostics import NothingRunsError
from polytile.frontend.assemble import assemble
from polytile.frontend.extract import extract
from polytile.frontend.source import named, read_places
from polytile.fuzz.draw import Draw
from polytile.fuzz.evaluate import holds, value_of
from polytile.fuzz.expressions import OUTSIDE, Context, ExpressionWriter
from polytile.fuzz.printing import c_text
from polytile.fuzz.ranges import below
from polytile.fuzz.tree import Array, Assign, Element, Function, If, Index, Literal, Loop, Num, Program, Statement
from polytile.ir import expr as ir
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import Access, Stmt
from polytile.ir.iterator_values import iterator_values
from polytile.ir.scop import Scop

VALUES = (
    {"n": 4, "m": 3, "k": 1},
    {"n": 0, "m": 0, "k": 0},
    {"n": 3, "m": -2, "k": 5},
    {"n": -3, "m": 5, "k": -3},
)


class NestWriter(ExpressionWriter):
    """Draws nests whose assignments all look alike."""

    def loop(self, at: Context, depth: int) -> Loop:
        form = self.draw.pick("<", "<=", "flipped", ">=", ">")
        low, high = self.end(at), self.bound(at, low=False)
        loop = Loop("ijk"[len(at.iterators)] * 2, low, high, self.draw.pick(1, 1, 2, 3), form)
        inner = replace(at, names=below(loop, at.names), iterators=(*at.iterators, loop.iterator))
        also = self.affine(inner, 1) if self.draw.chance(4) else None
        return replace(loop, body=self.statements(inner, depth - 1), also=also)

    def end(self, at: Context) -> Index:
        return self.bound(at, low=True) if self.draw.chance(2) or not at.iterators else self.index(at)

    def statements(self, at: Context, depth: int) -> tuple[Statement, ...]:
        return tuple(self.statement(at, depth) for _ in range(self.draw.pick(1, 1, 2)))

    def statement(self, at: Context, depth: int) -> Statement:
        if depth > 0 and not self.draw.chance(3):
            return self.loop(at, depth)
        if self.draw.chance(3):
            otherwise = self.statements(at, 0) if self.draw.chance(2) else ()
            return If(self.affine(at, 1), self.statements(at, 0), otherwise)
        return Assign((Element("A", (Num(0),)),), Literal("0"))


def numbered(node: object, numbers: Iterator[int]) -> object:
    """Give the assignments `A[0] = 0`, `A[1] = 0` and so on their numbers in textual order."""
    match node:
        case Assign():
            return Assign((Element("A", (Num(next(numbers)),)),), Literal("0"))
        case If(condition, then, otherwise):
            return If(condition, numbered(then, numbers), numbered(otherwise, numbers))
        case Loop(body=body):
            return replace(node, body=numbered(body, numbers))
    assert isinstance(node, tuple)
    return tuple(numbered(item, numbers) for item in node)


def nest(draw: Draw) -> Program:
    writer = NestWriter(draw, [])
    body = tuple(writer.loop(OUTSIDE, 3) for _ in range(draw.pick(1, 2)))
    whole = numbered((*body, writer.statement(OUTSIDE, 0)), count())
    return Program((Array("A", "int", 1, "vla"),), (Function("f", (whole,)),))


def executed(
    body: tuple[Statement, ...], values: Mapping[str, int], loops: tuple[str, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """Run the nest: the assignments with the values of the iterators around them."""
    for item in body:
        match item:
            case Assign((Element(_, (Num(number),)),)):
                yield (number, *(values[name] for name in loops))
            case If(condition, then, otherwise):
                yield from executed(then if holds(condition, values) else otherwise, values, loops)
            case Loop():
                for value in iterations(item, values):
                    yield from executed(item.body, {**values, item.iterator: value}, (*loops, item.iterator))


def iterations(loop: Loop, values: Mapping[str, int]) -> Iterator[int]:
    low, high = value_of(loop.low, values), value_of(loop.high, values)
    down = loop.form in (">", ">=")
    for value in range(high - 1, low - 1, -loop.step) if down else range(low, high, loop.step):
        if loop.also is not None and not holds(loop.also, {**values, loop.iterator: value}):
            return
        yield value


def extracted(scop: Scop, values: Mapping[str, int]) -> list[tuple[int, ...]]:
    """The instances that the domains hold, in the order of the schedule, with the source's values of the iterators."""
    fixed = isl.Set("[n, m, k] -> { : " + " and ".join(f"{k} = {v}" for k, v in values.items()) + " }")
    maps: list[isl.Map] = []
    scop.schedule.get_map().intersect_domain(scop.domain).intersect_params(fixed).foreach_map(maps.append)
    dated = []
    for dates in maps:
        points: list[isl.Point] = []
        dates.wrap().foreach_point(points.append)
        depth, size = dates.dim(isl.dim_type.in_), dates.dim(isl.dim_type.in_) + dates.dim(isl.dim_type.out)
        statement = scop.statement(dates.get_tuple_name(isl.dim_type.in_))
        for point in points:
            row = [int(point.get_coordinate_val(isl.dim_type.set, k).to_python()) for k in range(size)]
            own = dict(zip(statement.iterators, row[:depth], strict=True))
            at = iterator_values(scop, statement, {**values, **own})
            dated += [(row[depth:], (number, *at.values())) for number in assigned(statement.body, {**values, **own})]
    return [instance for _, instance in sorted(dated)]


def assigned(body: Sequence[Stmt], values: Mapping[str, int]) -> Iterator[int]:
    """The numbers of the assignments that the body runs: conditions of many alternatives stay in it."""
    for item in body:
        match item:
            case ir.Assign(Access(subscripts=(number,))):
                yield evaluate(number, values)
            case ir.If(condition, then, otherwise):
                yield from assigned(then if evaluate(condition, values) else otherwise, values)


def drawn(count: int) -> settings:
    return settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.quick
@drawn(10)
@given(st.randoms(use_true_random=False))
def test_extraction_of_a_few_nests(source: random.Random) -> None:
    runs_what_c_runs(source)


@drawn(60)
@given(st.randoms(use_true_random=False))
def test_extraction_runs_what_c_runs(source: random.Random) -> None:
    runs_what_c_runs(source)


def runs_what_c_runs(source: random.Random) -> None:
    program = nest(Draw(source))
    context, places = read_places("nest.c", c_text(program))
    ((name, place),) = named(context, places)
    region = assemble(context, place, name)
    try:
        scop = extract(region, merging=False)  # a statement for each assignment
    except NothingRunsError:
        scop = None
    for values in VALUES:
        found = extracted(scop, values) if scop is not None else []
        assert found == list(executed(program.functions[0].parts[0], values))
