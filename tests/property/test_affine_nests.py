"""Random affine loop nests: the extracted domains and schedule run exactly what the C program runs, in its order."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polytile.frontend.assemble import assemble
from polytile.frontend.extract import extract
from polytile.frontend.source import named, read_places

NAMES = ("n", "m", "i", "j", "k")


@dataclass(frozen=True)
class Text:
    """A C expression with the same thing for Python; `/` and `%` round towards zero in both."""

    c: str
    python: str


@dataclass(frozen=True)
class Assign:
    number: int


@dataclass(frozen=True)
class Guard:
    condition: Text
    then: tuple
    otherwise: tuple


@dataclass(frozen=True)
class Loop:
    name: str
    lower: Text
    condition: Text
    step: int
    body: tuple


def _quotient(a: int, b: int) -> int:
    return abs(a) // b * (1 if a >= 0 else -1)


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)


@st.composite
def linear(draw, names):
    terms = [str(draw(st.integers(-4, 4)))]
    for name in draw(st.lists(st.sampled_from(names), max_size=2, unique=True)):
        terms.append(f"{draw(st.sampled_from((-2, -1, 1, 2)))} * {name}")
    text = " + ".join(terms)
    return Text(text, text)


@st.composite
def expression(draw, names):
    inner = draw(linear(names))
    kind = draw(st.sampled_from(("plain", "plain", "/", "%", "?")))
    if kind == "plain":
        return inner
    if kind == "?":
        other = draw(linear(names))
        c = f"(({inner.c}) < ({other.c}) ? ({inner.c}) : ({other.c}))"
        return Text(c, f"min({inner.python}, {other.python})")
    divisor = draw(st.integers(2, 4))
    function = "_quotient" if kind == "/" else "_remainder"
    return Text(f"(({inner.c}) {kind} {divisor})", f"{function}({inner.python}, {divisor})")


@st.composite
def condition(draw, names):
    left, right = draw(expression(names)), draw(expression(names))
    op = draw(st.sampled_from(("<", "<=", ">", ">=", "==", "!=")))
    simple = Text(f"{left.c} {op} {right.c}", f"({left.python}) {op} ({right.python})")
    form = draw(st.sampled_from(("simple", "simple", "not", "and", "or")))
    if form == "simple":
        return simple
    if form == "not":
        return Text(f"!({simple.c})", f"not ({simple.python})")
    other = draw(condition(names))
    return Text(
        f"(({simple.c}) {'&&' if form == 'and' else '||'} ({other.c}))", f"(({simple.python}) {form} ({other.python}))"
    )


@st.composite
def loop(draw, depth):
    names, name = NAMES[: 2 + depth], NAMES[2 + depth]
    step = draw(st.sampled_from((1, 1, 2, 3, -1, -2)))
    bound = draw(expression(names))
    op = draw(st.sampled_from(("<", "<=") if step > 0 else (">", ">=")))
    head = Text(f"{name} {op} {bound.c}", f"{name} {op} ({bound.python})")
    if draw(st.integers(0, 3)) == 0:
        extra = draw(condition((*names, name)))
        head = Text(f"{head.c} && {extra.c}", f"{head.python} and {extra.python}")
    body = draw(st.lists(statement(depth + 1), min_size=1, max_size=2))
    return Loop(name, draw(expression(names)), head, step, tuple(body))


@st.composite
def statement(draw, depth):
    kind = draw(st.sampled_from(("assign", "loop", "loop", "if") if depth < 3 else ("assign", "assign", "if")))
    if kind == "loop":
        return draw(loop(depth))
    if kind == "if":
        then = draw(st.lists(statement(depth), min_size=1, max_size=1))
        otherwise = draw(st.lists(statement(depth), max_size=1))
        return Guard(draw(condition(NAMES[: 2 + depth])), tuple(then), tuple(otherwise))
    return Assign(0)


def numbered(items, count=0):
    """Give the assignments their numbers in textual order."""
    result = []
    for item in items:
        match item:
            case Assign():
                item, count = Assign(count), count + 1
            case Guard():
                then, count = numbered(item.then, count)
                otherwise, count = numbered(item.otherwise, count)
                item = Guard(item.condition, then, otherwise)
            case Loop():
                body, count = numbered(item.body, count)
                item = Loop(item.name, item.lower, item.condition, item.step, body)
        result.append(item)
    return tuple(result), count


def c_text(items) -> str:
    lines = []
    for item in items:
        match item:
            case Assign(number):
                lines.append(f"A[{number}] = 0;")
            case Guard(test, then, otherwise):
                lines.append(f"if ({test.c}) {{ {c_text(then)} }} else {{ {c_text(otherwise)} }}")
            case Loop(name, lower, test, step, body):
                lines.append(f"for (int {name} = {lower.c}; {test.c}; {name} += {step}) {{ {c_text(body)} }}")
    return "\n".join(lines)


def executed(items, values, loops=()):
    """Run the nest: the assignments with the values of the iterators around them."""
    for item in items:
        scope = {**values, "_quotient": _quotient, "_remainder": _remainder}
        match item:
            case Assign(number):
                yield (number, *(values[name] for name in loops))
            case Guard(test, then, otherwise):
                yield from executed(then if eval(test.python, scope) else otherwise, values, loops)
            case Loop(name, lower, test, step, body):
                value = eval(lower.python, scope)
                while eval(test.python, {**scope, name: value}):
                    yield from executed(body, {**values, name: value}, (*loops, name))
                    value += step


def extracted(scop, values):
    """The instances that the domains hold, in the order of the schedule."""
    numbers = {s.name: int(s.text.split("[")[1].split("]")[0]) for s in scop.statements}
    fixed = isl.Set("[n, m] -> { : " + " and ".join(f"{k} = {v}" for k, v in values.items()) + " }")
    maps: list[isl.Map] = []
    scop.schedule.get_map().intersect_domain(scop.domain).intersect_params(fixed).foreach_map(maps.append)
    dated = []
    for dates in maps:
        points: list[isl.Point] = []
        dates.wrap().foreach_point(points.append)
        depth, size = dates.dim(isl.dim_type.in_), dates.dim(isl.dim_type.in_) + dates.dim(isl.dim_type.out)
        number = numbers[dates.get_tuple_name(isl.dim_type.in_)]
        for point in points:
            row = [int(point.get_coordinate_val(isl.dim_type.set, k).to_python()) for k in range(size)]
            dated.append((row[depth:], (number, *row[:depth])))
    return [instance for _, instance in sorted(dated)]


def scop_of(body: str):
    text = f"void f(int n, int m, int *A)\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}"
    context, places = read_places("nest.c", text)
    ((name, place),) = named(context, places)
    return extract(assemble(context, place, name))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(loop(0), min_size=1, max_size=2))
def test_extraction_runs_what_c_runs(loops):
    items, count = numbered(loops)
    items = (*items, Assign(count))
    scop = scop_of(c_text(items))
    for values in ({"n": 4, "m": 3}, {"n": 0, "m": 0}, {"n": 3, "m": -2}, {"n": -3, "m": 5}):
        assert extracted(scop, values) == list(executed(items, values))
