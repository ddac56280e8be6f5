"""What is known of the sizes and iterators of a SCoP, and what the host asks of sizes when it runs.

Sizes and iterators are isl parameters, known by their names.
"""

from __future__ import annotations

from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.frontend.relations import without
from polytile.frontend.runtime_conditions import RuntimeConditions, can_be_asked, condition_for
from polytile.ir.expr import CType, value_range


@dataclass(slots=True)
class KnownSizes:
    """The types of iterators and of sizes that expressions use, and `context`, what holds of sizes: the host asks the
    part of it that is `checked`."""

    iterators: dict[str, CType] = field(default_factory=dict, kw_only=True)
    parameters: dict[str, CType] = field(default_factory=dict, kw_only=True)
    context: isl.Set = field(default_factory=lambda: isl.Set("{ : }"), kw_only=True)
    checked: RuntimeConditions = field(default_factory=RuntimeConditions, kw_only=True)

    def proves(self, known: isl.Set, claim: isl.Set) -> bool:
        """Whether `claim` holds wherever `known` and the context do."""
        return bool(known.intersect(self.context).subtract(claim).is_empty())

    def require(self, known: isl.Set, claim: isl.Set) -> bool:
        """Have the host ask for sizes with which `claim` holds wherever `known` does; False where it cannot."""
        points, iterators = known.intersect(self.context), tuple(self.iterators)
        condition = condition_for(points, claim, iterators)
        if not can_be_asked(condition, points, self.parameters, iterators):
            return False
        condition = without(condition, iterators)
        self.context, self.checked = self.context.intersect(condition), self.checked.also(condition)
        return True

    def ask(self, condition: isl.Set) -> bool:
        """Have the host ask for sizes for which a condition on them holds; False where it cannot, or none has it."""
        if self.require(self.context, condition):
            return True
        plain = condition.n_basic_set() == 1 and not condition.involves_locals()
        if not plain or condition.is_disjoint(self.context):
            return False
        self.context, self.checked = self.context.intersect(condition), self.checked.also(condition)
        return True

    def state(self) -> tuple[dict[str, CType], isl.Set, RuntimeConditions]:
        return dict(self.parameters), self.context, self.checked

    def restore(self, state: tuple[dict[str, CType], isl.Set, RuntimeConditions]) -> None:
        """Undo what evaluations changed since `state()`."""
        self.parameters, self.context, self.checked = state

    def known_ranges(self, known: isl.Set) -> isl.Set:
        """Where `known` holds and sizes and iterators have values of their types; kernels are for the lower half of 64
        bits."""
        for name, ctype in (*self.parameters.items(), *self.iterators.items()):
            low, high = value_range(ctype)
            known = known.intersect(isl.Set(f"[{name}] -> {{ : {low} <= {name} <= {min(high, 2**62)} }}"))
        return known
