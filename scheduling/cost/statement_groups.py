"""The reference groups of a mapped statement, found once for all sizes that estimates are asked for."""

from __future__ import annotations

from polytile.dataclass import dataclass
from polytile.ir.identity_key import remembered
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.affine_references import references
from polytile.scheduling.analysis.reference_groups import ReferenceGroup, groups_along
from polytile.scheduling.cost.mapped_loops import MappedStatement


@dataclass(frozen=True, slots=True)
class StatementGroups:
    """The groups of a statement's references under its loops, those of what it reads alone and of what it writes."""

    scop: Scop
    all: tuple[ReferenceGroup, ...]
    read: tuple[ReferenceGroup, ...]
    written: tuple[ReferenceGroup, ...]


def statement_groups(scop: Scop, mapped: MappedStatement) -> StatementGroups:
    """Group what a mapped statement of a SCoP reads and writes."""
    known = _by_scop(mapped)
    if id(scop) not in known:
        steps = [loop.step for loop in mapped.loops]
        own = references(scop, scop.statement(mapped.name))
        reads, writes = ([r for r in own if r.access.writes == written] for written in (False, True))
        known[id(scop)] = StatementGroups(scop, *(groups_along(some, steps) for some in (own, reads, writes)))
    return known[id(scop)]


@remembered
def _by_scop(_mapped: MappedStatement) -> dict[int, StatementGroups]:
    return {}
