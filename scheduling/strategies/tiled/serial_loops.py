"""Distribution of a serial loop over the parts of its body [Allen and Kennedy 1987], so that each part has tiles of its
own.

before: for (k) { S: C[k][j] += A[i][k] * B[i][j];  T: t += B[k][j] * A[i][k]; }
after:  for (k) S;  for (k) T;

Parts stay together where a later one has to run before an earlier one's next iterations, and where a part takes a
value from another in the same iteration, which then need not go through memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import is_constant
from polytile.scheduling.strategies.band_rewriting import Member
from polytile.scheduling.strategies.loop_nest import Loop, Nest, Order, domain_of, in_order, is_single, on_domain


@dataclass(frozen=True, slots=True)
class Distribution:
    """All `pairs` of instances whose order counts, and those between which a value `flows`."""

    pairs: isl.UnionMap = field(compare=False)
    flows: isl.UnionMap = field(compare=False)

    def parts(self, loop: Loop, around: Sequence[Member]) -> Nest:
        """Distribute the loop as far as the order of its instances allows."""
        body = loop.body
        if not isinstance(body, Order):
            return loop
        domains = [domain_of(child) for child in body.children]
        last = list(range(len(domains)))  # of the parts that each has to stay with
        pairs, flows = _same(self.pairs, around), _same(self.flows, [*around, loop.member])
        for i, first in enumerate(domains):
            for j in range(i + 1, len(domains)):
                if _between(pairs, domains[j], first) or (
                    _between(flows, first, domains[j]) and _both_loop(loop.member, first, domains[j])
                ):
                    last[i] = j
        return in_order([_alone(loop.member, in_order(group)) for group in _groups(body.children, last)])


def _groups(children: Sequence[Nest], last: Sequence[int]) -> list[list[Nest]]:
    groups: list[list[Nest]] = []
    end = -1
    for i, child in enumerate(children):
        if i > end:
            groups.append([])
        groups[-1].append(child)
        end = max(end, last[i])
    return groups


def _alone(member: Member, body: Nest) -> Nest:
    return body if is_single(member, domain_of(body)) else Loop(member, body)


def _same(pairs: isl.UnionMap, around: Sequence[Member]) -> isl.UnionMap:
    """Return the pairs in the same iteration of all loops around."""
    for member in around:
        pairs = pairs.eq_at_multi_union_pw_aff(isl.MultiUnionPwAff.from_union_pw_aff(member.value))
    return pairs


def _between(pairs: isl.UnionMap, source: isl.UnionSet, sink: isl.UnionSet) -> bool:
    return not pairs.intersect_domain(source).intersect_range(sink).is_empty()


def _both_loop(member: Member, one: isl.UnionSet, other: isl.UnionSet) -> bool:
    return not any(is_constant(on_domain(member.value, part)) for part in (one, other))
