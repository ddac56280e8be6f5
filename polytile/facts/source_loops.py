"""The loops of the source: which are parallel, which only sum up, which are serial and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import islpy as isl

from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.facts.model import DependenceKind, LoopFacts, LoopKind, Witness
from polytile.facts.transformed import origins
from polytile.facts.witnesses import carried_by, witness
from polytile.ir.expr import Declare, For, Scope, Stmt, While
from polytile.ir.expr_trees import bodies
from polytile.ir.isl_util import OverBudgetError, budget, maps
from polytile.ir.iterator_values import iterator_names
from polytile.ir.scop import Reduction, Scop, SourceLoop, Statement
from polytile.scheduling.analysis.dependences import ArrayDependences, analyse, unordered_updates
from polytile.scheduling.analysis.source_loops import equal_iterators, nest_of

IN, OUT = isl.dim_type.in_, isl.dim_type.out
WHILE = "while"  # what stands for an iterator where a loop has none
UNKNOWN_COUNT = "how often it runs is only known as it runs: it is one step, with all that is inside"
INSIDE = "a part of the loop around it, which is one step"
BUDGET = "not examined: that takes more isl operations than --max-operations allows"


def loops_of(state: Compilation) -> tuple[LoopFacts, ...]:
    """Return the loops of a SCoP's source, outer ones first; those that data end after the loops around them."""
    source = state.source
    known = state.unexpanded or state.analysed
    loops, allowed = source_loops(source), state.options.array_operations
    arrays = tuple(_Relations.of(known, source) for known in analyse(source, allowed, known).by_array)
    examined = _Examined(state, arrays, min(state.options.max_operations, allowed))
    found = [examined.facts(loop) for loop in loops]
    found += [facts for statement in source.statements for facts in _data_loops(source, statement)]
    return tuple(sorted(found, key=lambda loop: (_first(source, loop), loop.level)))


def _first(source: Scop, loop: LoopFacts) -> int:
    """Return the position of the first statement of a loop."""
    return min(k for k, s in enumerate(source.statements) if s.name in loop.statements)


def source_loops(scop: Scop) -> tuple[SourceLoop, ...]:
    """Return the loops of the C, or those of the schedule where there is none."""
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
    arrays: tuple[_Relations, ...]
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
        carried = [one for parts in self.arrays if (one := _Carried.of(parts, loop)).any]
        binding = [
            one for one in carried if one.flow or one.is_read or ((one.anti or one.output) and self._lasts(one, loop))
        ]
        if binding:
            return LoopKind.SERIAL, (), self._witness(binding)
        sums = tuple(one.known.array for one in carried if one.reduction)
        if sums:
            return LoopKind.REDUCTION, sums, None
        return LoopKind.PARALLEL, tuple(one.known.array for one in carried), None

    def _witness(self, binding: list[_Carried]) -> Witness:
        """Return the witness of the first array with a certain dependence; flow before anti before output, which copies
        may remove and which are no reason where values flow, too."""
        best: Witness | None = None
        for kind in DependenceKind:
            for one in binding:
                pairs = [] if one.flow and kind is not DependenceKind.FLOW else one.of_kind(kind)
                if pairs and (best is None or best.may):
                    found = witness(self.state.source, one.known.array, kind, pairs, exact=one.known.exact)
                    best = found if best is None or not found.may else best
        assert best is not None
        return best

    def _lasts(self, one: _Carried, loop: SourceLoop) -> bool:
        """Return whether the reuse of an array still orders the iterations of a loop in the program that was scheduled,
        in which arrays may have been renamed, expanded or copied first."""
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
        """Return whether a loop carries some of these pairs of the scheduled program; true where it has other
        iterators."""
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
class _Relations:
    """The dependences through one array where the SCoP's assumptions hold, by the statements at their ends. What
    updates `x op= e` of one operator do to each other, in one statement or in two, is a sum: they come in any order."""

    known: ArrayDependences
    kinds: tuple[tuple[isl.Map, ...], ...]  # flow, anti and output
    updates: Mapping[str, Reduction]  # of this array, by statement
    free: isl.UnionMap | None  # pairs of updates `h[p[i]] += e` that may be of one element

    @classmethod
    def of(cls, known: ArrayDependences, scop: Scop) -> _Relations:
        kinds = tuple(_assumed(one, scop.context) for one in (known.flow, known.anti, known.output))
        own = {s.name: s.reduction for s in scop.statements if s.reduction and s.reduction.array == known.array}
        return cls(known, kinds, own, unordered_updates(scop, known))

    def without_sums(self, kind: int, loop: SourceLoop) -> Iterator[isl.Map]:
        """Return the pairs of one kind between statements of a loop, but for those of sums."""
        return (m for m in self._inside(kind, loop) if not self._sums(m))

    def of_sums(self, loop: SourceLoop) -> Iterator[isl.Map]:
        return (m for m in self._inside(0, loop) if self._sums(m))

    def _inside(self, kind: int, loop: SourceLoop) -> Iterator[isl.Map]:
        return (m for m in self.kinds[kind] if all(end in loop.statements for end in _ends(m)))

    def _sums(self, m: isl.Map) -> bool:
        first, then = (self.updates.get(end) for end in _ends(m))
        return first is not None and first == then


def _assumed(pairs: isl.UnionMap, context: isl.Set) -> tuple[isl.Map, ...]:
    return tuple(m for m in maps(pairs.intersect_params(context)) if not m.is_empty())


def _meet(one: isl.Set, other: isl.Set) -> bool:
    return one.get_tuple_name() == other.get_tuple_name() and not one.is_disjoint(other)


def _ends(m: isl.Map) -> tuple[str, str]:
    return str(m.get_tuple_name(IN)), str(m.get_tuple_name(OUT))


@dataclass(frozen=True, slots=True)
class _Carried:
    """What a loop carries through one array: the parts of its relations; `reduction` is the flow of `x op= e` to
    itself, and between updates of elements that data choose, `h[p[i]] += e`. `is_read`: an iteration reads what the
    next one adds to."""

    known: ArrayDependences
    flow: list[isl.Map]
    reduction: list[isl.Map]
    anti: list[isl.Map]
    output: list[isl.Map]
    is_read: bool

    @classmethod
    def of(cls, parts: _Relations, loop: SourceLoop) -> _Carried:
        flow, anti, output = (list(carried_by(parts.without_sums(kind, loop), loop)) for kind in range(3))
        sums = [*parts.of_sums(loop), *(() if parts.free is None else maps(parts.free))]
        reduction = list(carried_by(sums, loop))
        seen = list(parts.without_sums(0, loop)) if reduction else []
        is_read = any(_meet(one.domain(), other.domain()) for one in reduction for other in seen)
        return cls(parts.known, flow, reduction, anti, output, is_read)

    @property
    def any(self) -> bool:
        return bool(self.flow or self.reduction or self.anti or self.output)

    def of_kind(self, kind: DependenceKind) -> list[isl.Map]:
        """Return the relations of a kind of dependence; sums that are read on the way are flow, too."""
        match kind:
            case DependenceKind.FLOW:
                return self.flow or self.reduction
            case DependenceKind.ANTI:
                return self.anti
        return self.output


def _data_loops(scop: Scop, statement: Statement) -> Iterator[LoopFacts]:
    """Find the loops in the body of a statement, of which analysis does not know how often they run."""
    called = iterator_names(scop, statement)

    def inside(body: tuple[Stmt, ...], level: int, counter: str) -> Iterator[LoopFacts]:
        for stmt in body:
            if isinstance(stmt, For | While) and stmt.location.line:
                name, where = stmt.iterator if isinstance(stmt, For) else counter or WHILE, stmt.location
                within = (statement.name,), LoopKind.SERIAL
                reason = INSIDE if level > len(statement.iterators) else UNKNOWN_COUNT
                yield LoopFacts(called.get(name, name), where.file, where.line, level, *within, reason=reason)
            first = stmt.body[0] if isinstance(stmt, Scope) else None
            for block in bodies(stmt):
                deeper = level + isinstance(stmt, For | While)
                yield from inside(block, deeper, first.name if isinstance(first, Declare) else "")

    yield from inside(statement.body, len(statement.iterators), "")
