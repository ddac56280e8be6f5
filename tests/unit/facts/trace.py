"""Dependences by running a SCoP: what an independent reader of its domains and accesses finds at small sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import islpy as isl

from polytile.facts import DependenceKind
from polytile.ir.scop import AccessKind, Scop, SourceLoop

Instance = tuple[str, tuple[int, ...]]
Pair = tuple[Instance, Instance]


def integers(text: str) -> tuple[int, ...]:
    return tuple(int(v) for v in text.replace("[", "").replace("]", "").split(",") if v.strip())


def points(values: isl.Set) -> list[tuple[int, ...]]:
    found: list[str] = []
    values.foreach_point(lambda p: found.append(p.to_str()))
    return [integers(text[text.rindex("[") : text.rindex("]") + 1]) for text in found]


def at(sizes: dict[str, int]) -> isl.Set:
    names, equations = ", ".join(sizes), " and ".join(f"{n} = {v}" for n, v in sizes.items())
    return isl.Set(f"[{names}] -> {{ : {equations} }}" if sizes else "{ : }")


@dataclass(slots=True)
class Trace:
    """The dependences of one run, by array and kind."""

    scop: Scop
    sizes: dict[str, int]
    pairs: dict[tuple[str, DependenceKind], set[Pair]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        last: dict[tuple[str, tuple[int, ...]], Instance] = {}
        readers: dict[tuple[str, tuple[int, ...]], set[Instance]] = defaultdict(set)
        for instance in self._in_order():
            for array, element in self._touched(instance, AccessKind.READ):
                if (array, element) in last:
                    self.pairs[array, DependenceKind.FLOW].add((last[array, element], instance))
                readers[array, element].add(instance)
            for array, element in self._touched(instance, AccessKind.WRITE):
                if (array, element) in last:
                    self.pairs[array, DependenceKind.OUTPUT].add((last[array, element], instance))
                for reader in readers.pop((array, element), set()) - {instance}:
                    self.pairs[array, DependenceKind.ANTI].add((reader, instance))
                last[array, element] = instance

    def _in_order(self) -> Iterator[Instance]:
        found: list[tuple[tuple[int, ...], Instance]] = []
        for statement in self.scop.statements:
            times = self.scop.schedule.get_map().intersect_domain(isl.UnionSet.from_set(statement.domain))
            own = isl.Map.from_union_map(times).intersect_params(at(self.sizes))
            for values in points(own.domain()):
                found.append((points(fixed(own, values))[0], (statement.name, values)))
        yield from (instance for _, instance in sorted(found))

    def _touched(self, instance: Instance, kind: AccessKind) -> set[tuple[str, tuple[int, ...]]]:
        name, values = instance
        own = [a for a in self.scop.statement(name).accesses if a.kind is kind]
        relations = ((a.array, a.relation.intersect_params(at(self.sizes))) for a in own)
        return {(array, element) for array, m in relations for element in points(fixed(m, values))}

    def carried(self, loop: SourceLoop, array: str, kind: DependenceKind) -> set[Pair]:
        """The dependences of the iterations of a loop, in one iteration of the loops around it."""
        level, inside = loop.level, loop.statements
        return {
            (source, sink)
            for source, sink in self.pairs[array, kind]
            if source[0] in inside
            and sink[0] in inside
            and source[1][:level] == sink[1][:level]
            and source[1][level] != sink[1][level]
        }


def fixed(relation: isl.Map, values: tuple[int, ...]) -> isl.Set:
    """What one instance is mapped to."""
    for k, value in enumerate(values):
        relation = relation.fix_val(isl.dim_type.in_, k, isl.Val(value))
    found = relation.range()
    return found.reset_tuple_id() if found.has_tuple_name() else found
