"""Conditions on sizes that the host asks when it runs: the kernels run where they hold, the user's C elsewhere.

before: for (j = low; j <= high; j++) ... A[i * m + j]    where nothing is known of low and high
after:  the same where low >= 0 and high < m

before: for (i = 0; i < n; i++) ... b[(i + k) % n]        where nothing is known of k
after:  the same where -n < k <= n
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import islpy as isl

from polytile.dataclass import dataclass
from polytile.frontend.relations import without


@dataclass(frozen=True, slots=True)
class RuntimeConditions:
    """What the host asks: `holds`, a set of parameters, or None where nothing is asked."""

    holds: isl.Set | None = None

    def also(self, condition: isl.Set) -> RuntimeConditions:
        """These conditions and one more."""
        return RuntimeConditions(condition if self.holds is None else self.holds.intersect(condition))

    def in_c(self) -> str:
        """The conditions as C; "" for none."""
        if self.holds is None:
            return ""
        return str(isl.AstBuild.from_context(isl.Set("{ : }")).expr_from_set(self.holds).to_C_str())


def condition_for(points: isl.Set, claim: isl.Set, iterators: Sequence[str]) -> isl.Set:
    """Where `claim` holds at all `points`, as a set of the sizes alone, in terms of what `points` leave open.

    before: points { 0 <= i < n }, claim { i < m };    after: { n <= m }
    """
    runs = without(points, iterators)
    fails = without(points.subtract(claim), iterators)
    return runs.subtract(fails).coalesce().gist(runs).coalesce()


def can_be_asked(condition: isl.Set, points: isl.Set, sizes: Collection[str], iterators: Collection[str]) -> bool:
    """Whether a condition is one of sums of `sizes` that holds for some of those with which `points` run."""
    names = {condition.get_dim_name(isl.dim_type.param, k) for k in range(condition.dim(isl.dim_type.param))}
    if not names - set(iterators) <= set(sizes):
        return False
    plain = condition.n_basic_set() == 1 and not condition.involves_locals()
    return plain and not condition.intersect(without(points, tuple(iterators))).is_empty()
