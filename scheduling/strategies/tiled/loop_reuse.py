"""What tiles pay for: reads that serial loops make anew, of elements that a parallel loop does not tell apart.

C[i][j] += A[i][k] * B[k][j]: all j read the same A[i][k], all i the same B[k][j].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import is_constant, maps, sets
from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.analysis.affine_references import references
from polytile.scheduling.cost.strides import DEPTH_WEIGHT
from polytile.scheduling.strategies.band_rewriting import Member
from polytile.scheduling.strategies.loop_nest import Loop, Nest, Order, Point, on_domain


def may_share_reads(scop: Scop) -> bool:
    """Return whether there is a read that some loops around its statement occur in, and others do not.

    Without one no tree has reuse.
    """
    for statement in scop.statements:
        for reference in references(scop, statement):
            some = len(set(reference.involves(len(statement.iterators)))) > 1 or not reference.exact
            if reference.access.kind is AccessKind.READ and some:
                return True
    return False


@dataclass(frozen=True, slots=True)
class Reuse:
    """A read of a statement in serial loops, the parallel loops that it does not occur in by number, and how often it
    runs."""

    statement: str
    loops: frozenset[int]
    weight: int


def reuse(scop: Scop, outer: Sequence[Member], parallel: Sequence[Member], inside: Nest) -> tuple[Reuse, ...]:
    """Find the reads that some of the parallel loops do not occur in."""
    found: list[Reuse] = []
    around = [*outer, *parallel]
    for domain, inner in _statements(inside, ()):
        serial = [m for m in inner if not is_constant(on_domain(m.value, isl.UnionSet.from_set(domain)))]
        loops = [*around, *serial]
        for touched in _reads(scop, domain, loops):
            if not any(_moves(touched, len(loops), len(around) + k) for k in range(len(serial))):
                continue
            same = (i for i in range(len(parallel)) if not _moves(touched, len(loops), len(outer) + i))
            found.append(Reuse(domain.get_tuple_name(), frozenset(same), DEPTH_WEIGHT ** len(serial)))
    return tuple(one for one in found if one.loops)


def _statements(nest: Nest, loops: tuple[Member, ...]) -> Iterator[tuple[isl.Set, tuple[Member, ...]]]:
    """Yield the domain of each statement, with the loops around it inside the nest."""
    match nest:
        case Point(domain):
            yield from ((own, loops) for own in sets(domain))
        case Order(children):
            for child in children:
                yield from _statements(child, loops)
        case Loop(member, body):
            yield from _statements(body, (*loops, member))
        case _:
            yield from _statements(nest.body, loops)


def _reads(scop: Scop, domain: isl.Set, loops: Sequence[Member]) -> Iterator[isl.Map]:
    """Yield the elements of arrays that a statement reads, `{ [t] -> A[..] }` by the values of the loops."""
    union = isl.UnionSet.from_set(domain)
    times = isl.UnionMap.from_domain_and_range(union, isl.UnionSet("{ [] }"))
    for member in loops:
        value = isl.MultiUnionPwAff.from_union_pw_aff(on_domain(member.value, union))
        times = times.flat_range_product(isl.UnionMap.from_multi_union_pw_aff(value))
    for mapped in maps(times):
        for access in scop.statement(domain.get_tuple_name()).relations(AccessKind.READ):
            if access.relation.dim(isl.dim_type.out):
                yield mapped.reverse().apply_range(access.relation)


def _moves(touched: isl.Map, depth: int, loop: int) -> bool:
    """Return whether other elements are touched where one loop has another value; also where it has no other."""
    names = [f"d{k}" for k in range(depth)]
    others = [f"e{k}" if k == loop else name for k, name in enumerate(names)]
    step = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(others)}] : d{loop} < e{loop} }}")
    apart = step.apply_domain(touched).apply_range(touched).deltas()
    zero = isl.Set.universe(apart.get_space())
    for k in range(apart.dim(isl.dim_type.set)):
        zero = zero.fix_val(isl.dim_type.set, k, isl.Val(0))
    return bool(apart.is_empty() or not apart.is_subset(zero))


def operands(reads: Sequence[Reuse], loops: Sequence[int]) -> tuple[int, ...]:
    """Count the reads of a statement that move along each of these loops alone, one at least: of the statement with
    most."""
    found = [(1,) * len(loops)]
    for name in {read.statement for read in reads}:
        own = [frozenset(loops) - read.loops for read in reads if read.statement == name]
        found.append(tuple(max(1, own.count(frozenset({i}))) for i in loops))
    return max(found, key=lambda counted: (sum(counted), counted))
