"""How often the kernels of a program were launched, and on how many blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from polytile.dataclass import dataclass
from polytile.ir.arith import lift
from polytile.ir.def_use import mentioned_names
from polytile.ir.expr import Declare, If, Stmt
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

    before: near_sizes = ..; if (near_sizes != 0) { tuned } else
            { least_cells = 90000; rest = n * m >= least_cells ? .. : 0; tiles up to rest; few_iterations = 6;
              if (last - rest >= few_iterations) { split } else { single } }
    after:  least_cells = 0; rest = n * m >= least_cells ? .. : 0; tiles up to rest; single
            least_cells = 0; ..; split          least_cells = 90000; ..; split          tuned
    """
    found = _version_choice(program)
    if found is None:
        return (_of_large_grids(program),)
    number, chosen = found
    before, behind = program.body[:number], program.body[number + 1 :]

    def taking(part: tuple[Stmt, ...]) -> tuple[HostProgram, ...]:
        return each_version(replace(program, body=(*before, *part, *behind)))

    if not any(isinstance(stmt, Launch) for stmt in statements(*before)):
        return (*taking(chosen.otherwise), *taking(chosen.then))
    alone = replace(program, body=(*before, *chosen.then, *behind))  # of what is run at small sizes
    return (*taking(chosen.otherwise), *taking(chosen.then), alone)


def _of_large_grids(program: HostProgram) -> HostProgram:
    """Make the kernels for large grids run at all sizes."""

    def lowered(stmt: Any) -> Any:
        return replace(stmt, value=lift(0)) if isinstance(stmt, Declare) and stmt.name in program.bounds else stmt

    return replace(program, body=tuple(rewrite(stmt, lowered) for stmt in program.body)) if program.bounds else program


def _version_choice(program: HostProgram) -> tuple[int, If] | None:
    """Find the condition that chooses between versions of kernels, and which of the program's statements it is."""
    names = frozenset(program.bounds)
    conditions = ((number, stmt) for number, stmt in enumerate(program.body) if isinstance(stmt, If))
    return next((one for one in conditions if not names.isdisjoint(mentioned_names(one[1].condition))), None)


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
