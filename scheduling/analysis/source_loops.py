"""The loops of the original program, as seen from its statements: which ones two statements share."""

from __future__ import annotations

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import band_members, functions, maps
from polytile.ir.schedule import Path, nodes, path_of
from polytile.ir.scop import Scop

Loop = tuple[Path, int]  # a band and one of its members


@dataclass(frozen=True, slots=True)
class SourceNest:
    """The loops around each statement, outermost first, as far as they run through the statement's leading iterators
    in order (loop k through iterator k)."""

    around: dict[str, tuple[Loop, ...]]

    def shared(self, *statements: str) -> tuple[Loop, ...]:
        """Return the outermost loops that all these statements are in."""
        loops = [self.around[s] for s in statements]
        common: list[Loop] = []
        for level in zip(*loops, strict=False):
            if any(loop != level[0] for loop in level):
                break
            common.append(level[0])
        return tuple(common)


def nest_of(scop: Scop) -> SourceNest:
    """Read the loops off the original schedule tree."""
    around: dict[str, tuple[Loop, ...]] = {}
    for node in nodes(scop.schedule):
        if node.get_type() == isl.schedule_node_type.leaf:
            for statement in statement_names(node.get_domain()):
                around[statement] = _loops_above(scop, node, statement)
    return SourceNest(around)


def statement_names(domain: isl.UnionSet) -> list[str]:
    """Return the names of the statements of some instances, in their order."""
    found: list[str] = []
    domain.foreach_set(lambda s: found.append(s.get_tuple_name()))
    return sorted(found)


def _loops_above(scop: Scop, leaf: isl.ScheduleNode, statement: str) -> tuple[Loop, ...]:
    bands = []
    node = leaf
    while node.has_parent():
        node = node.parent()
        if node.get_type() == isl.schedule_node_type.band:
            bands.append(node)
    rank = len(scop.statement(statement).iterators)
    loops: list[Loop] = []
    for band in reversed(bands):
        for i, member in enumerate(band_members(band)):
            level = len(loops)
            if level >= rank or not _runs_through(member, statement, level, rank):
                return tuple(loops)
            loops.append((path_of(band), i))
    return tuple(loops)


def _runs_through(member: isl.UnionPwAff, statement: str, level: int, rank: int) -> bool:
    """Return whether a band member is a function of iterator `level` of the statement alone."""
    for value in functions(member):
        if value.get_domain_space().get_tuple_name(isl.dim_type.set) == statement:
            others = (i for i in range(rank) if i != level)
            alone = not any(value.involves_dims(isl.dim_type.in_, i, 1) for i in others)
            return alone and bool(value.involves_dims(isl.dim_type.in_, level, 1))
    return False


def equal_iterators(m: isl.Map, count: int) -> isl.Map:
    """Return the pairs of `m` whose first `count` iterators agree."""
    for k in range(count):
        m = m.equate(isl.dim_type.in_, k, isl.dim_type.out, k)
    return m


def carried(pairs: isl.UnionMap, nest: SourceNest, loop: Loop) -> bool:
    """Return whether some pair of instances depends across iterations of `loop`, in one iteration of the loops around
    it."""
    for m in maps(pairs):
        source, sink = m.get_tuple_name(isl.dim_type.in_), m.get_tuple_name(isl.dim_type.out)
        shared = nest.shared(source, sink)
        if loop not in shared:
            continue
        level = shared.index(loop)
        outer = equal_iterators(m, level)
        if not outer.is_subset(equal_iterators(outer, level + 1)):
            return True
    return False
