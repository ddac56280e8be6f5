"""The proof that values keep where they come from though copies of the source are gone: `A[i] = B[i]` is a wire.

source: for (t) { for (i) S0: B[i] = f(A[i - 1], A[i + 1]); for (i) S1: A[i] = B[i]; }
wires:  S0[t, i - 1] -> S0[t + 1, i] at its first access, or the element A[0] as it was -> S0[t, 1] there;
        S0[T - 1, i] -> the last value of A[i], and of B[i]

A program without S1 has to give each read, and each element that can be seen afterwards, a value of the same origin.
Arrays between which the source copies are one group: values are compared whichever of them holds these, but access by
access, so that no two operands of an instance change places.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.digraph import connected
from polytile.ir.isl_util import maps
from polytile.ir.plain_copies import is_plain_copy
from polytile.ir.scop import AccessKind, Origin, Scop, Statement
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.last_writers import last_writers
from polytile.scheduling.proof.reductions import regroupings

IN, OUT = isl.dim_type.in_, isl.dim_type.out
READ, WRITE, MAY_WRITE = AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE


@dataclass(frozen=True, slots=True)
class Wires:
    """Statements of the source that a program does not run, all plain copies, and the groups of arrays that they
    connect; `others` are no copies."""

    copies: frozenset[str]
    groups: tuple[frozenset[str], ...]
    others: frozenset[str]

    def group(self, array: str) -> frozenset[str]:
        """Return the arrays that share values with an array."""
        return next((group for group in self.groups if array in group), frozenset((array,)))


def wires(source: Scop, program: Scop) -> Wires:
    """Return the statements of the source that a program leaves out: plain copies, by arrays, and others."""
    runs = {part for s in program.statements for part in s.parts or (s.name,)}
    runs |= {p.statement for p in program.privatised}
    gone = [s for s in source.statements if s.name not in runs and any(a.writes for a in s.accesses)]
    copies = [s for s in gone if is_plain_copy(source, s)]
    pairs = [(one.array, other.array) for one, other in (s.accesses for s in copies)]
    groups = connected([array for pair in pairs for array in pair], pairs)
    others = frozenset(s.name for s in gone if s not in copies)
    return Wires(frozenset(s.name for s in copies), tuple(map(frozenset, groups)), others)


@dataclass(frozen=True, slots=True)
class Side:
    """The source or the program: where the values of a group of arrays are, and what only copies them. Reads are by
    access in `apart`, statements that both sides have."""

    scop: Scop
    dependences: Dependences
    arrays: frozenset[str]
    copies: frozenset[str]
    apart: frozenset[str]

    @property
    def known(self) -> bool:
        """Return whether it is known exactly which values are read."""
        return all(self.dependences.of(array).exact for array in self.arrays)

    def origins(self, seen: frozenset[str]) -> isl.UnionMap | None:
        """Return the relation from where each value is made to its reads and to the last values of arrays in `seen`.

        Values are made by instances, or are elements as they were; last values count where these are others than
        before. Returns None where copies go in circles.
        """
        flow, into = self._empty(), self._empty()
        for statement in self.scop.statements:
            for number, access in enumerate(statement.accesses):
                if access.kind is READ and access.array in self.arrays:
                    found = self._read(statement, number)
                    if statement.name in self.copies:
                        into = into.union(found)
                    else:
                        flow = flow.union(found)
        for array in sorted(seen):
            flow = flow.union(_renamed(last_writers(self.scop, array), _last(array)))
        through = self._through(flow, into)
        return None if through is None else through.subtract(_unchanged(seen, through)).coalesce()

    def _read(self, statement: Statement, number: int) -> isl.UnionMap:
        """Return where one access gets its values."""
        access = statement.accesses[number]
        reads = isl.UnionMap.from_map(access.relation.intersect_domain(statement.domain))
        found = self.dependences.of(access.array)
        writes = self.scop.accesses(WRITE, MAY_WRITE, arrays=frozenset((access.array,)))
        made = found.flow.intersect(writes.apply_range(reads.reverse()))
        origin = made.union(found.uninitialised.intersect(reads).reverse())
        return _renamed(origin, f"{statement.name}@{number}") if statement.name in self.apart else origin

    def _through(self, flow: isl.UnionMap, into: isl.UnionMap) -> isl.UnionMap | None:
        """Replace every copy in the flow by what it copied, or return None."""
        copies = self._empty().domain()
        for name in self.copies:
            copies = copies.union(isl.UnionSet.from_set(self.scop.statement(name).domain))
        for _ in range(len(self.copies) + 1):
            copied = flow.intersect_domain(copies)
            if copied.is_empty():
                return flow
            flow = flow.subtract_domain(copies).union(into.apply_range(copied))
        return None

    def _empty(self) -> isl.UnionMap:
        return isl.UnionMap.empty(self.scop.context.get_space().params())


def _last(array: str) -> str:
    return f"last {array}"  # no statement has such a name


def _renamed(flow: isl.UnionMap, sinks: str) -> isl.UnionMap:
    total = isl.UnionMap.empty(flow.get_space())
    for m in maps(flow):
        total = total.union(isl.UnionMap.from_map(m.set_tuple_name(OUT, sinks)))
    return total


def _unchanged(seen: frozenset[str], flow: isl.UnionMap) -> isl.UnionMap:
    """Return the relation from elements as they were to their own last values."""
    total = isl.UnionMap.empty(flow.get_space())
    for m in maps(flow):
        if m.get_tuple_name(IN) in seen and m.get_tuple_name(OUT) == _last(str(m.get_tuple_name(IN))):
            same = isl.Map.identity(m.domain().get_space().map_from_set())
            total = total.union(isl.UnionMap.from_map(same.set_tuple_name(OUT, str(m.get_tuple_name(OUT)))))
    return total


def compared(
    source: Scop, before: Dependences, program: Scop, after: Dependences, gone: Wires
) -> Iterator[tuple[str, isl.UnionMap | None, isl.UnionMap | None]]:
    """Yield one array of each group, with the origins of the group's values in the source and in the program.

    They are in statements of the source for the one, of the program for the other; None where they are not known.
    """
    added = {s.name for s in program.statements if not s.parts} - {s.name for s in source.statements}
    apart = frozenset(s.name for s in source.statements if _is_same_statement(s, program))
    regrouped = {result.root for result in regroupings(source, program)}
    for group in gone.groups:
        holders = frozenset(a.name for a in program.arrays if a.root in group)
        ours = Side(program, after, holders, frozenset(added), apart)
        theirs = Side(source, before, group, gone.copies, apart)
        seen = frozenset(a for a in group if source.array(a).origin is Origin.EXTERNAL and source.array(a).live_out)
        wanted, given = (side.origins(seen) if side.known else None for side in (theirs, ours))
        yield min(group), None if group & regrouped else wanted, given


def _is_same_statement(statement: Statement, program: Scop) -> bool:
    """Return whether the program has this statement with as many accesses of the same kinds, in the same order."""
    kinds = [a.kind for a in statement.accesses]
    same = (s for s in program.statements if s.name == statement.name and not s.parts)
    return any([a.kind for a in s.accesses] == kinds for s in same)
