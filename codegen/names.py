"""Identifiers of generated code: from the source's names, and never in the way of another."""

from __future__ import annotations

from dataclasses import dataclass, field

from polytile.ir.expr import Declare, For, walk
from polytile.ir.scop import Scop

# What C++, CUDA's headers or our own helpers would not let a variable be called.
RESERVED = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constexpr continue
    decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline
    int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register return
    short signed sizeof static static_assert static_cast struct switch template this throw true try typedef typeid
    typename union unsigned using virtual void volatile wchar_t while xor xor_eq restrict
    threadIdx blockIdx blockDim gridDim warpSize min max floord pmod""".split()
)


@dataclass
class Names:
    """Hands out identifiers that nothing else in a Scop uses."""

    taken: set[str] = field(default_factory=set)
    _shared: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, scop: Scop) -> Names:
        taken = set(RESERVED) | {p.name for p in scop.parameters} | {a.name for a in scop.arrays}
        for statement in scop.statements:
            taken.update(statement.iterators)
            for stmt in statement.body:
                taken.update(n.name for n in walk(stmt) if isinstance(n, Declare))
                taken.update(n.iterator for n in walk(stmt) if isinstance(n, For))
        return cls(taken)

    def fresh(self, wanted: str) -> str:
        """`wanted`, or the first of wanted_2, wanted_3, ... that is free."""
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name

    def shared(self, wanted: str) -> str:
        """As `fresh`, but the same identifier each time: coordinates of several kernels."""
        if wanted not in self._shared:
            self._shared[wanted] = self.fresh(wanted)
        return self._shared[wanted]

    def prefix(self, wanted: str) -> str:
        """A prefix such that prefix0, prefix1, ... are all free."""
        name = wanted
        while any(t.startswith(name) and t[len(name) :].isdigit() for t in self.taken):
            name += "_"
        return name
