"""The loops of the source: which are parallel, which only sum up, which are serial and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import islpy as isl

from polytile.compilation import Compilation
from polytile.facts.model import DependenceKind, LoopFacts, LoopKind, Witness
from polytile.facts.transformed import origins
from polytile.facts.witnesses import carried_by, iterator_names, witness
from polytile.ir.expr import Declare, For, Scope, Stmt, While, bodies
from polytile.ir.isl_util import OverBudgetError, budget, maps
from polytile.ir.scop import Scop, SourceLoop, Statement
from polytile.scheduling.analysis.dependences import ArrayDependences, Dependences, analyse
from polytile.scheduling.analysis.source_loops import equal_iterators, nest_of

IN, OUT = isl.dim_type.in_, isl.dim_type.out
WHILE = "while"  # what stands for an iterator where a loop has none
DATA = "data decide how often it runs: it is one step, with all that is inside"
BUDGET = "not examined: that takes more isl operations than --max-operations allows"


def loops_of(state: Compilation) -> tuple[LoopFacts, ...]:
    """The loops of a SCoP's source, outer ones first; those that data end behind the loops around them."""
    source = state.source
    known = state.unexpanded or state.analysed
    loops, allowed = source_loops(source), state.options.array_operations
    dependences = analyse(source, allowed, known)
    examined = _Examined(state, dependences, min(state.options.max_operations, allowed))
    found = [examined.facts(loop) for loop in loops]
    found += [facts for statement in source.statements for facts in _data_loops(source, statement)]
    return tuple(sorted(found, key=lambda loop: (_first(source, loop), loop.level)))


def _first(source: Scop, loop: LoopFacts) -> int:
    """The position of the first statement of a loop."""
    return min(k for k, s in enumerate(source.statements) if s.name in loop.statements)


def source_loops(scop: Scop) -> tuple[SourceLoop, ...]:
    """The loops of the C, or those of the schedule where there is none."""
    if scop.loops:
        return scop.loops
    statements: dict[tuple[object, int], list[str]] = {}
    for name, loops in nest_of(scop).around.items():
        for level, loop in enumerate(loops):
            statements.setdefault((loop, level), []).append(name)
    return tuple(
        SourceLoop(scop.statement(names[0]).iterators[level], level, tuple(names))
        for (_, level), names in statements.items()
    )


@dataclass(frozen=True, slots=True)
class _Examined:
    """The dependences of the source, to be asked loop by loop, each within a budget of isl operations."""

    state: Compilation
    dependences: Dependences
    operations: int

    def facts(self, loop: SourceLoop) -> LoopFacts:
        try:
            with budget(self.operations):
                kind, arrays, found = self._kind(loop)
            reason = ""
        except OverBudgetError:
            kind, arrays, found, reason = LoopKind.UNEXAMINED, (), None, BUDGET
        place = loop.location
        file, line = (place.file, place.line) if place.line else ("", 0)
        return LoopFacts(loop.iterator, file, line, loop.level, loop.statements, kind, arrays, found, reason)

    def _kind(self, loop: SourceLoop) -> tuple[LoopKind, tuple[str, ...], Witness | None]:
        carried = [one for d in self.dependences.by_array if (one := _Carried.of(d, self.dependences, loop)).any]
        binding = [one for one in carried if one.flow or ((one.anti or one.output) and self._lasts(one, loop))]
        if binding:
            return LoopKind.SERIAL, (), self._witness(binding)
        sums = tuple(one.known.array for one in carried if one.reduction)
        if sums:
            return LoopKind.REDUCTION, sums, None
        return LoopKind.PARALLEL, tuple(one.known.array for one in carried), None

    def _witness(self, binding: list[_Carried]) -> Witness:
        """Of the first array with a certain dependence; flow before anti before output."""
        best: Witness | None = None
        for kind in DependenceKind:
            for one in binding:
                pairs = one.of_kind(kind)
                if pairs and (best is None or best.may):
                    found = witness(self.state.source, one.known.array, kind, pairs, exact=one.known.exact)
                    best = found if best is None or not found.may else best
        assert best is not None
        return best

    def _lasts(self, one: _Carried, loop: SourceLoop) -> bool:
        """Whether the reuse of an array still orders the iterations of a loop in the program that was scheduled, in
        which arrays may have been renamed, expanded or copied first."""
        scop, found = self.state.scop, self.state.dependences
        if found is None:
            return True
        names = {s.name: origins(self.state, s) for s in scop.statements}
        for d in found.by_array:
            if scop.array(d.array).root != one.known.array:
                continue
            for m in maps(d.false):
                ends = [names.get(str(m.get_tuple_name(side)), frozenset()) for side in (IN, OUT)]
                if all(end & set(loop.statements) for end in ends) and self._orders(m, loop):
                    return True
        return False

    def _orders(self, pairs: isl.Map, loop: SourceLoop) -> bool:
        """Whether a loop carries some of these pairs of the scheduled program; yes where it has other iterators."""
        wanted = self.state.source.statement(loop.statements[0]).iterators[: loop.level + 1]
        for side in (IN, OUT):
            iterators = self.state.scop.statement(str(pairs.get_tuple_name(side))).iterators
            if wanted[-1] not in iterators:
                return False  # it is outside of the loop: it adds up what others did
            if iterators[: loop.level + 1] != wanted:
                return True
        outer = equal_iterators(pairs, loop.level)
        return not outer.is_subset(equal_iterators(outer, loop.level + 1))


@dataclass(frozen=True, slots=True)
class _Carried:
    """What a loop carries through one array: the parts of its relations; `reduction` is the flow of `x op= e` to
    itself, and between updates of elements that data choose, `h[p[i]] += e`."""

    known: ArrayDependences
    flow: list[isl.Map]
    reduction: list[isl.Map]
    anti: list[isl.Map]
    output: list[isl.Map]

    @classmethod
    def of(cls, known: ArrayDependences, dependences: Dependences, loop: SourceLoop) -> _Carried:
        sums = dependences.reductions.intersect(known.flow)
        free = known.free
        relations = known.flow.subtract(sums), sums, known.anti.subtract(sums), known.output.subtract(sums)
        found = cls(known, *(list(carried_by(relation, loop)) for relation in relations))
        return found if free is None else replace(found, reduction=[*found.reduction, *carried_by(free, loop)])

    @property
    def any(self) -> bool:
        return bool(self.flow or self.reduction or self.anti or self.output)

    def of_kind(self, kind: DependenceKind) -> list[isl.Map]:
        """Sums that are read on the way are flow, too."""
        match kind:
            case DependenceKind.FLOW:
                return self.flow or self.reduction
            case DependenceKind.ANTI:
                return self.anti
        return self.output


def _data_loops(scop: Scop, statement: Statement) -> Iterator[LoopFacts]:
    """The loops in the body of a statement, which data end."""
    called = iterator_names(scop, statement)

    def inside(body: tuple[Stmt, ...], level: int, counter: str) -> Iterator[LoopFacts]:
        for stmt in body:
            if isinstance(stmt, For | While) and stmt.location.line:
                name, where = stmt.iterator if isinstance(stmt, For) else counter or WHILE, stmt.location
                within = (statement.name,), LoopKind.SERIAL
                yield LoopFacts(called.get(name, name), where.file, where.line, level, *within, reason=DATA)
            first = stmt.body[0] if isinstance(stmt, Scope) else None
            for block in bodies(stmt):
                deeper = level + isinstance(stmt, For | While)
                yield from inside(block, deeper, first.name if isinstance(first, Declare) else "")

    yield from inside(statement.body, len(statement.iterators), "")
