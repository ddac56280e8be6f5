"""Random reductions, run by hand: after a split, each element adds up the same instances as in the source.

Elements hold sets of instances instead of numbers. Accesses and the order are read off the Scops, one instance at a
time; neither the proof nor generated code has a part in it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import islpy as isl
import pytest

from polytile.frontend.program import read_program
from polytile.ir.isl_util import maps
from polytile.ir.partial_results import Split
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.proof.dataflow import changed_values
from polytile.scheduling.proof.reductions import wrong_regroupings
from polytile.scheduling.transform.reductions.privatise import privatise, result_group

VALUES = ({"n": 0, "m": 3}, {"n": 1, "m": 0}, {"n": 4, "m": 3}, {"n": 6, "m": 7})
Point = tuple[int, ...]
Memory = dict[tuple[str, Point], Counter[str]]


def program(draw: random.Random) -> str:
    """Two loops around a sum, between statements that set its elements and read them."""
    pick = draw.choice
    low, high = pick(("0", "-2", "1", "-m")), pick(("n", "m", "n + 1", "3"))
    inner_low, inner_high = pick(("0", "i", "-1", "2 * i", "-i")), pick(("m", "n", "i + 3", "n + i"))
    step = pick(("j++", "j++", "j++", "j += 2"))
    condition = pick(("", "", "if (i + j > 1) ", "if (j < n) "))
    element = pick(("i + m + 9", "j + 2 * n + m + 20", "0", "0", "i + m + 9"))
    outer = f"for (int i = {low}; i < {high}; i++)"
    inner = f"for (int j = {inner_low}; j < {inner_high}; {step})"
    update = f"{condition}x[{element}] += A[j + 2 * n + m + 20];"
    start = pick(("", f"x[{element}] = 1;" if "j" not in element else ""))
    use = pick(("", f"B[i + m + 9] = x[{element}];" if "j" not in element else ""))
    nest = f"{outer} {{ {start} {inner} {update} {use} }}"
    return f"{nest}\n{pick(('', outer + ' B[i + m + 9] += x[i + m + 9];'))}"


def read(text: str) -> Scop:
    arrays = ", ".join(f"double {name}[{size}]" for name, size in (("x", "999"), ("A", "999"), ("B", "999")))
    found = read_program("random.c", f"void f(int n, int m, {arrays})\n{{\n#pragma scop\n{text}\n#pragma endscop\n}}\n")
    assert not found.refusals, found.refusals[0].error
    return found.scops[0]


# Running by hand -----------------------------------------------------------------------------------------------------
def points(found: isl.Set | isl.UnionSet) -> list[tuple[str, Point]]:
    values: list[tuple[str, Point]] = []

    def visit(point: isl.Point) -> None:
        own = point.to_set()
        rank = own.dim(isl.dim_type.set)
        where = tuple(point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(rank))
        values.append((own.get_tuple_name() if own.has_tuple_name() else "", where))

    found.foreach_point(visit)
    return values


def fixed(scop: Scop, parameters: dict[str, int]) -> isl.Set:
    text = " and ".join(f"{name} = {value}" for name, value in parameters.items())
    return isl.Set(f"[{', '.join(parameters)}] -> {{ : {text} }}").intersect(scop.context)


def in_order(scop: Scop, where: isl.Set) -> list[tuple[str, Point]]:
    """All instances, in the Scop's order."""
    timed: list[tuple[Point, tuple[str, Point]]] = []
    for times in maps(scop.schedule.get_map().intersect_domain(scop.domain.intersect_params(where))):
        rank = times.dim(isl.dim_type.in_)
        for _, values in points(times.wrap()):
            timed.append((values[rank:], (times.get_tuple_name(isl.dim_type.in_), values[:rank])))
    return [instance for _, instance in sorted(timed)]


def elements(statement: Statement, instance: Point, kind: AccessKind, where: isl.Set) -> Iterator[tuple[str, Point]]:
    own = statement.domain
    for k, value in enumerate(instance):
        own = own.fix_val(isl.dim_type.set, k, isl.Val(value))
    for access in statement.relations(kind):
        yield from points(access.relation.intersect_domain(own).intersect_params(where).range())


def run(scop: Scop, parameters: dict[str, int]) -> tuple[Memory, list[Counter[str]]]:
    """What elements hold in the end, and what the readers outside reductions saw, in their order."""
    where, memory, seen = fixed(scop, parameters), Memory(), list[Counter[str]]()
    statements = {s.name: s for s in scop.statements}
    roles = {getattr(p, role): role for p in scop.privatised for role in ("initial", "update", "combine", "finish")}
    for name, instance in in_order(scop, where):
        statement, role = statements[name], roles.get(name)
        held = [memory.get(e, Counter()) for e in elements(statement, instance, AccessKind.READ, where)]
        total = sum(held, Counter[str]())
        if role in (None, "update"):
            source = statement.parts[0] if role else name
            total[f"{source}{list(instance)}"] += 1
            if statement.reduction is None:
                seen += held
        for element in elements(statement, instance, AccessKind.WRITE, where):
            memory[element] = total if role != "initial" else Counter()
    visible = {"x", "A", "B"}
    return {k: v for k, v in memory.items() if k[0] in visible}, seen


@pytest.mark.quick
@pytest.mark.parametrize("seed", range(24))
def test_the_same_instances_add_up(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(40):
        text = program(draw)
        source = read(text)
        sums = [s for s in source.statements if s.reduction and s.reduction.array == "x"]
        group = result_group(source, sums[0]) if sums else None
        free = [k for k in range(2) if group is not None and k not in group]
        if not free:
            continue
        parts = tuple(
            Split(draw.choice(free), draw.choice((2, 3, 4)), lanes, draw.choice((1, 2, 3)) if lanes else 1)
            for lanes in (draw.random() < 0.5 for _ in range(2))
        )
        blocked = {k: draw.choice(((2,), (4, 2))) for k in group or () if draw.random() < 0.5}
        split = privatise(source, analyse(source), sums[0].name, parts[: draw.choice((1, 2))], blocked)
        if split is None:  # too many forms
            continue
        before, after = analyse(source), analyse(split)
        assert wrong_regroupings(source, before, split, after) == (), text
        assert changed_values(source, before, split, after) == (), text
        for parameters in VALUES:
            assert run(source, parameters) == run(split, parameters), text
        return
    raise AssertionError("no program could be split")
