"""How often the kernels of a program were launched, and on how many blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polytile.dataclass import dataclass
from polytile.ir.host import HostProgram
from polytile.runtime.host_interpreter import execute


@dataclass(frozen=True, slots=True)
class KernelRuns:
    """The launches of one kernel, and their blocks together."""

    kernel: str
    launches: int
    blocks: int


def together(found: Iterable[KernelRuns]) -> tuple[KernelRuns, ...]:
    """The launches of several runs, by kernel."""
    sums: dict[str, KernelRuns] = {}
    for one in found:
        before = sums.get(one.kernel, KernelRuns(one.kernel, 0, 0))
        sums[one.kernel] = KernelRuns(one.kernel, before.launches + one.launches, before.blocks + one.blocks)
    return tuple(sums.values())


def launches_of(program: HostProgram, values: Mapping[str, int]) -> tuple[KernelRuns, ...]:
    """What the host program launches for these values, for engines that do not count it themselves."""
    found = [KernelRuns(kernel.name, 0, 0) for kernel in program.kernels]

    def launch(kernel: str, grid: tuple[int, int, int], _: Mapping[str, int]) -> None:
        found.append(KernelRuns(kernel, 1, grid[0] * grid[1] * grid[2]))

    execute(program.body, values, launch)
    return together(found)
