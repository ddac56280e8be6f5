"""What loop trees are held against: all pairs of instances that meet in memory, recomputed from the accesses alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import islpy as isl
import pytest

from polytile.compilation import Compilation
from polytile.frontend.program import read_program
from polytile.ir.isl_util import maps
from polytile.ir.scop import AccessKind, Scop
from polytile.machine import machine_of
from polytile.options import Options
from polytile.pipeline import ANALYSIS
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.strategies.superposed.loop_tree import (
    Kind,
    Leaf,
    Loop,
    Row,
    Sequence,
    Tree,
    statements_of,
    to_schedule,
)

SUITE = Path(__file__).resolve().parents[4] / "polybench"
TOUCHING = (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE)
WRITING = (AccessKind.WRITE, AccessKind.MAY_WRITE)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A Scop as the pipeline has it when a schedule is chosen."""

    scop: Scop
    dependences: Dependences


def prepare(scop: Scop) -> Prepared:
    """The stages before scheduling."""
    state = Compilation(scop, Options(), machine_of(Options().arch), scop)
    for _, stage in ANALYSIS:
        state = stage(state)
    assert state.dependences is not None
    return Prepared(state.scop, state.dependences)


@cache
def prepared_program(path: str) -> tuple[Prepared, ...]:
    return tuple(prepare(scop) for scop in read_program(str(SUITE / path)).scops)


@pytest.fixture(scope="session")
def program() -> Callable[[str], tuple[Prepared, ...]]:
    """`program("polybench/gemm.c")`: the SCoPs of a benchmark."""
    return prepared_program


@pytest.fixture(scope="session")
def stages() -> Callable[[Scop], Prepared]:
    """`stages(scop)`: the Scop when a schedule is chosen."""
    return prepare


@pytest.fixture(scope="session")
def prepared(scop: Callable[..., Scop]) -> Callable[..., Prepared]:
    """`prepared(arguments, body, before)`: the SCoP of a few lines of C."""
    return lambda *parts: prepare(scop(*parts))


def relaxed_statements(scop: Scop) -> dict[str, str]:
    """The reductions that touch their array only where they accumulate, with that array; those that add to what data
    choose are none of loops, but of atomic operations."""
    found = {}
    for s in scop.statements:
        if s.reduction is not None:
            own = [a.relation for a in s.accesses if a.array == s.reduction.array]
            if own[0].is_single_valued() and all(r.is_equal(own[0]) for r in own):
                found[s.name] = s.reduction.array
    return found


def meetings(scop: Scop, relaxed: dict[str, str]) -> Iterator[isl.UnionMap]:
    """For each array, the pairs of instances that touch one element, of which one writes, in the source's order;
    without those of one relaxed reduction through its array."""
    order = scop.schedule.get_map().intersect_domain(scop.domain.intersect_params(scop.context))
    for array in scop.arrays:
        only = frozenset((array.name,))
        touching, writing = scop.accesses(*TOUCHING, arrays=only), scop.accesses(*WRITING, arrays=only)
        if writing.is_empty():
            continue
        pairs = writing.apply_range(touching.reverse()).union(touching.apply_range(writing.reverse()))
        own = order.intersect_domain(touching.domain())
        pairs = pairs.intersect(own.lex_lt_union_map(own))
        for name in (n for n, through in relaxed.items() if through == array.name):
            instances = isl.UnionSet.from_set(scop.statement(name).domain)
            pairs = pairs.subtract(isl.UnionMap.from_domain_and_range(instances, instances))
        yield pairs


def check_order(found: Prepared, tree: Tree, *, relax: bool = True) -> None:
    """Every instance once, and every meeting in the order of the source, unless a reduction is relaxed."""
    scop = found.scop
    schedule = to_schedule(scop, tree)
    assert schedule.get_domain().is_equal(scop.domain.intersect_params(scop.context))
    assert schedule.get_domain().is_subset(schedule.get_map().domain())
    order = schedule.get_map().intersect_domain(schedule.get_domain())
    assert order.is_injective()
    for pairs in meetings(scop, relaxed_statements(scop) if relax else {}):
        for one in maps(pairs):
            timed = isl.Map.from_union_map(isl.UnionMap.from_map(one).apply_domain(order).apply_range(order))
            assert timed.intersect(isl.Map.lex_ge(timed.get_space().domain())).is_empty()
    for name in scop.epilogue:
        assert any(leaf == (name,) for leaf in map(statements_of, tree.children)), "the epilogue's statements are alone"


def needed_pairs(found: Prepared, relaxed: dict[str, str]) -> tuple[isl.UnionMap, isl.UnionMap]:
    """(the dependences that a tree must keep, the instances of relaxed reductions that have one result)."""
    scop = found.scop
    kept = isl.UnionMap.empty(scop.context.get_space().params())
    free = kept
    for dependence, pairs in zip(
        [d for d in found.dependences.by_array if scop.written(d.array)], meetings(scop, relaxed), strict=True
    ):
        names = [n for n, through in relaxed.items() if through == dependence.array]
        rest = dependence.all
        for name in names:
            own = isl.UnionSet.from_set(scop.statement(name).domain)
            into = isl.UnionMap.from_map(next(iter(scop.statement(name).relations(*WRITING))).relation)
            results = into.intersect_domain(own)
            free = free.union(results.apply_range(results.reverse()).subtract(own.identity()))
            rest = rest.subtract_domain(own).subtract_range(own)
            rest = rest.union(pairs.intersect_domain(own)).union(pairs.intersect_range(own))
        kept = kept.union(rest)
    return kept.intersect_params(scop.context), free.intersect_params(scop.context)


def check_kinds(found: Prepared, tree: Tree, *, relax: bool = True) -> None:
    """Each loop's kinds are what the dependences within one iteration of the loops around it say; it is a reduction of
    what its iterations have in one result, whatever the loops around: blocks have some iterations of each."""
    relaxed = relaxed_statements(found.scop) if relax else {}
    _check_kinds(found.scop, tree, *needed_pairs(found, relaxed))


def _check_kinds(scop: Scop, tree: Tree, kept: isl.UnionMap, free: isl.UnionMap) -> None:
    if isinstance(tree, Leaf):
        return
    if isinstance(tree, Sequence):
        for child in tree.children:
            own = _instances(scop, statements_of(child))
            inner = (p.intersect_domain(own).intersect_range(own) for p in (kept, free))
            _check_kinds(scop, child, *inner)
        return
    time = isl.MultiUnionPwAff.from_union_map(_times(scop, tree.rows))
    for row, kind in zip(tree.rows, tree.kinds, strict=True):
        crossing = _touching(scop, row.statement, kept.subtract(kept.eq_at_multi_union_pw_aff(time)))
        own = _touching(scop, row.statement, free.subtract(free.eq_at_multi_union_pw_aff(time)))
        expected = Kind.FORALL if own.is_empty() else Kind.REDUCTION
        assert kind is (expected if crossing.is_empty() else Kind.SEQUENTIAL), (tree, row)
    _check_kinds(scop, tree.body, kept.eq_at_multi_union_pw_aff(time), free)


def _instances(scop: Scop, names: tuple[str, ...]) -> isl.UnionSet:
    total = isl.UnionSet.empty(scop.context.get_space().params())
    for name in names:
        total = total.union(isl.UnionSet.from_set(scop.statement(name).domain))
    return total


def _touching(scop: Scop, name: str, pairs: isl.UnionMap) -> isl.UnionMap:
    own = _instances(scop, (name,))
    return pairs.intersect_domain(own).union(pairs.intersect_range(own))


def _times(scop: Scop, rows: tuple[Row, ...]) -> isl.UnionMap:
    """The times of a loop, written as isl text."""
    total = isl.UnionMap.empty(scop.context.get_space().params())
    for row in rows:
        statement = scop.statement(row.statement)
        names = [f"i{k}" for k in range(len(statement.iterators))]
        time = f"{row.sign} * {names[row.iterator]} + {row.shift}" if row.iterator >= 0 else f"{row.shift}"
        total = total.union(isl.UnionMap(f"{{ {row.statement}[{', '.join(names)}] -> [{time}] }}"))
    return total.intersect_domain(_instances(scop, tuple(row.statement for row in rows)))


@pytest.fixture(scope="session")
def check() -> Callable[..., None]:
    """`check(prepared, tree, relax=True)`: the tree is legal, and its kinds are right."""

    def both(found: Prepared, tree: Tree, *, relax: bool = True) -> None:
        check_order(found, tree, relax=relax)
        check_kinds(found, tree, relax=relax)

    return both


def sketch(scop: Scop, tree: Tree) -> str:
    """A tree in short: loops by their iterator, or by statement where these differ, * for parallel, + for a reduction.

    Example: `i* { S0; j+ S1 }`
    """
    match tree:
        case Leaf(statement):
            return statement
        case Sequence(children):
            return "{ " + "; ".join(sketch(scop, child) for child in children) + " }"
        case Loop():
            return f"{_head(scop, tree)} {sketch(scop, tree.body)}"


def _head(scop: Scop, loop: Loop) -> str:
    marks = {Kind.FORALL: "*", Kind.REDUCTION: "+", Kind.SEQUENTIAL: ""}
    words = []
    for row, kind in zip(loop.rows, loop.kinds, strict=True):
        iterator = scop.statement(row.statement).iterators[row.iterator]
        shift = f"{row.shift:+d}" if row.shift else ""
        words.append(f"{'-' if row.sign < 0 else ''}{iterator}{shift}{marks[kind]}")
    return words[0] if len(set(words)) == 1 else f"({' '.join(words)})"


@pytest.fixture(scope="session")
def short() -> Callable[[Scop, Tree], str]:
    return sketch
