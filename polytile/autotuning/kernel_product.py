"""Sizes of several kernels: the same of all, those of one while the others keep theirs, or each kernel's own.

    kernel: all, 0, 1    block_x: 32 .. 256   columns: 1, 2, 4    of all kernels, or of that one
    kernel: each         block_x: 64 .. 256   columns: 1, 2       of kernel 0
                         block_x_1: 64 .. 256 columns_1: 1, 2     of kernel 1; nowhere else, where they are 0

Each kernel's own are all combinations of few sizes, fewer the more kernels there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from polytile.autotuning.space import Constraint, Parameter, Value
from polytile.dataclass import dataclass

KERNEL, ALL, EACH = "kernel", "all", "each"
MOST = 100  # combinations: they come beside the others, and are to leave spaces small
Values = Mapping[str, tuple[Value, ...]]


@dataclass(frozen=True, slots=True)
class KernelProduct:
    """The kernels by number, and the few values that each has of these parameters where it has its own."""

    numbers: tuple[int, ...]
    few: Values

    @classmethod
    def of(cls, numbers: Sequence[int], several: Sequence[Values]) -> KernelProduct | None:
        """Take the first of several lists of values with few combinations; None where all have too many."""
        small = (few for few in several if prod(map(len, few.values())) ** len(numbers) <= MOST)
        found = next(small, None)
        return None if found is None else cls(tuple(numbers), found)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters of the kernels after the first."""
        others = self.numbers[1:]
        return tuple(Parameter(_of(name, n), (0, *values)) for n in others for name, values in self.few.items())

    def constraints(self, rest: Mapping[str, Value]) -> tuple[Constraint, ...]:
        """Return what points hold: kernels have sizes of their own under EACH alone, and not all the same ones;
        parameters that all share have the values of `rest` there."""
        allowed: Values = {**self.few, **{name: (value,) for name, value in rest.items()}}
        first = [
            Constraint((KERNEL, name), lambda which, own, few=few: which != EACH or own in few, "few sizes of each")
            for name, few in allowed.items()
        ]
        own = [
            Constraint((KERNEL, parameter.name), lambda which, size: (which == EACH) == (size != 0), "sizes of each")
            for parameter in self.parameters
        ]
        names = tuple(_of(name, n) for n in self.numbers for name in self.few)
        return (*first, *own, Constraint((KERNEL, *self._names(names)), self._differ, "sizes that differ"))

    def of_each(self, point: Mapping[str, Value]) -> Mapping[int, Mapping[str, Value]]:
        """Return the sizes of each kernel at a point of EACH."""
        first, *others = self.numbers
        own = {n: {name: point[_of(name, n)] for name in self.few} for n in others}
        return {first: {name: point[name] for name in self.few}, **own}

    def _names(self, names: Sequence[str]) -> tuple[str, ...]:
        """Replace the names of the first kernel's sizes by those of the sizes of all."""
        return (*self.few, *names[len(self.few) :])

    def _differ(self, which: Value, *sizes: Value) -> bool:
        count = len(self.few)
        return which != EACH or len({sizes[k : k + count] for k in range(0, len(sizes), count)}) > 1


def _of(name: str, kernel: int) -> str:
    return f"{name}_{kernel}"
