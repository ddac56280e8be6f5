"""Names of the loops of a kernel: the iterators that they run through, each once."""

from __future__ import annotations

from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import functions, sets
from polytile.ir.plan import WHOLE_KERNEL
from polytile.ir.schedule import loop_mark
from polytile.ir.scop import Scop
from polytile.scheduling.strategies.band_rewriting import Member
from polytile.scheduling.strategies.loop_nest import Mark, Nest, on_domain


@dataclass
class Labels:
    """The labels of one kernel."""

    scop: Scop
    taken: set[str] = field(default_factory=lambda: {WHOLE_KERNEL})

    def marked(self, wanted: str, nest: Nest) -> Mark:
        """Put a nest below a mark with a label like the one that is wanted."""
        label, number = wanted, 2
        while label in self.taken:
            label, number = f"{wanted}_{number}", number + 1
        self.taken.add(label)
        return Mark(loop_mark(label), nest)

    def iterator(self, member: Member, domain: isl.UnionSet) -> str:
        """Return the iterator that a loop runs through, of the first statement with a single such one; else `t`."""
        for own in sets(domain):
            value = on_domain(member.value, isl.UnionSet.from_set(own))
            names = self.scop.statement(own.get_tuple_name()).iterators
            used = [name for i, name in enumerate(names) if _involves(value, i)]
            if len(used) == 1:
                return used[0]
        return "t"


def _involves(value: isl.UnionPwAff, iterator: int) -> bool:
    return any(function.involves_dims(isl.dim_type.in_, iterator, 1) for function in functions(value))
