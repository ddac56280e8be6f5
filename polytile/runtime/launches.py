"""How often the kernels of a program were launched, and on how many blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from polytile.dataclass import dataclass
from polytile.ir.arith import lift
from polytile.ir.def_use import mentioned_names
from polytile.ir.expr import Declare, If
from polytile.ir.expr_trees import rewrite, statements
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Launch
from polytile.runtime.host_interpreter import execute


@dataclass(frozen=True, slots=True)
class KernelRuns:
    """The launches of one kernel, and their blocks together."""

    kernel: str
    launches: int
    blocks: int


def together(found: Iterable[KernelRuns]) -> tuple[KernelRuns, ...]:
    """Sum the launches of several runs, by kernel."""
    sums: dict[str, KernelRuns] = {}
    for one in found:
        before = sums.get(one.kernel, KernelRuns(one.kernel, 0, 0))
        sums[one.kernel] = KernelRuns(one.kernel, before.launches + one.launches, before.blocks + one.blocks)
    return tuple(sums.values())


def with_other_versions(program: HostProgram) -> HostProgram | None:
    """Take the second version of each kernel that has two, which is right for all sizes; return None where none has.

    Sizes at which the host takes it may need more memory than there is.

    before: if (n * m < 2147418111) launch k0; else launch k0_wide;
    after:  launch k0_wide;
    """

    def second(node: Any) -> Any:
        match node:
            case If(then=(Launch(kernel=one, grid=grid),), otherwise=(Launch(kernel=other) as launch,)):
                return launch if one != other and grid == launch.grid else node
        return node

    body = tuple(rewrite(stmt, second) for stmt in program.body)
    return None if body == program.body else replace(program, body=body)


def each_version(program: HostProgram) -> tuple[HostProgram, ...]:
    """Return the programs that take one version at all sizes, so that small ones show that it is right.

    The first is the one that the host takes where no condition holds, for large grids.

    before: near_sizes = ..; if (near_sizes != 0) { tuned } else { large_grid = 2250000; if (n * m < large_grid)
            { small } else { least_cells = 90000; rest = n * m >= least_cells ? .. : 0; .. } }
    after:  least_cells = 0; rest = n * m >= least_cells ? .. : 0; ..       small       tuned
    """
    chosen = _version_choice(program)
    if chosen is None:
        return (_of_large_grids(program),)
    parts = (chosen.otherwise, chosen.then)
    return tuple(one for body in parts for one in each_version(replace(program, body=body)))


def _of_large_grids(program: HostProgram) -> HostProgram:
    """Make the kernels for large grids run at all sizes."""

    def lowered(stmt: Any) -> Any:
        return replace(stmt, value=lift(0)) if isinstance(stmt, Declare) and stmt.name in program.bounds else stmt

    return replace(program, body=tuple(rewrite(stmt, lowered) for stmt in program.body)) if program.bounds else program


def _version_choice(program: HostProgram) -> If | None:
    """Find the condition that chooses between versions of all kernels."""
    names = frozenset(program.bounds)
    conditions = (stmt for stmt in program.body if isinstance(stmt, If))
    return next((c for c in conditions if not names.isdisjoint(mentioned_names(c.condition))), None)


def launched_alone(program: HostProgram) -> HostProgram:
    """Remove the kernels that the program never launches."""
    names = {s.kernel for s in statements(*program.body) if isinstance(s, Launch)}
    return replace(program, kernels=tuple(k for k in program.kernels if k.name in names))


def launches_of(program: HostProgram, values: Mapping[str, int]) -> tuple[KernelRuns, ...]:
    """Return what the host program launches for these values, for engines that do not count it themselves."""
    found = [KernelRuns(kernel.name, 0, 0) for kernel in program.kernels]

    def launch(kernel: str, grid: tuple[int, int, int], _: Mapping[str, int]) -> None:
        found.append(KernelRuns(kernel, 1, grid[0] * grid[1] * grid[2]))

    execute(program.body, values, launch)
    return together(found)
