"""The kernel of a mapped schedule that runs most instances: threads of its blocks, and what each takes of loops."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.scheduling.cost.mapped_loops import MappedLoop, MappedStatement, Role, kernels, statements
from polytile.scheduling.cost.point_count import fix_parameters
from polytile.scheduling.cost.point_reuse import reads_neighbours
from polytile.scheduling.cost.statement_cost import Work
from polytile.scheduling.strategies.points_per_thread import point_kernel

SHARE = 0.1  # of the instances of the kernel with most


@dataclass(frozen=True, slots=True)
class KernelShape:
    """A kernel by its thread dimensions, outermost first.

    `threads` of a block; the iterator of its main statement that each dimension runs through (-1: several), of `depth`;
    and the `points` of a thread, iterations of a block for each. `serial` are the iterations of a tile of a serial
    loop, 0 without; `loops`: threads have loops of their own. Points may be neighbours that share what they read
    (`shares`), and are so (`neighbours`). `element` are the bytes of the largest element that is touched."""

    threads: tuple[int, ...]
    iterators: tuple[int, ...]
    points: tuple[int, ...]
    depth: int
    serial: int
    loops: bool
    shares: bool
    neighbours: bool
    element: int


def main_kernel(compilation: Compilation) -> KernelShape | None:
    """Describe the kernel that runs most instances; None where no kernel has blocks of threads."""
    found = _weighed(compilation)
    return _shape(compilation.scop, *max(found, key=lambda one: one[0])[2:]) if found else None


def main_kernels(compilation: Compilation) -> tuple[int, ...]:
    """Return the numbers of the kernels that run a share of the instances which is worth tuning them separately."""
    found = _weighed(compilation)
    most = max((weight for weight, *_ in found), default=0.0)
    return tuple(number for weight, number, *_ in found if weight >= SHARE * most)


def _weighed(compilation: Compilation) -> list[tuple[float, int, isl.ScheduleNode, list[Work]]]:
    """List the kernels with blocks of threads: their instances in all launches, their number, mark and statements."""
    assert compilation.schedule is not None
    values = fix_parameters(compilation.scop.context, compilation.options.parameters)
    found = []
    for number, mark in enumerate(kernels(compilation.schedule.tree)):
        mapped = (Work(compilation.scop, one, values) for one in statements(mark) if one.sizes)
        works = [work for work in mapped if not work.empty]
        if works:
            found.append((sum(work.instances * work.launches for work in works), number, mark, works))
    return found


def _shape(scop: Scop, mark: isl.ScheduleNode, works: Sequence[Work]) -> KernelShape:
    main = max(works, key=lambda work: work.instances)
    serial = [
        part.tile
        for loop in main.mapped.loops
        for part in loop.parts
        if part.role is Role.SERIAL and not loop.threads and loop.part(Role.BLOCK) is None
    ]
    dimensions = range(len(main.mapped.sizes))
    return KernelShape(
        threads=main.mapped.sizes,
        iterators=tuple(_iterator(main.mapped, dimension) for dimension in dimensions),
        points=tuple(_points(main.mapped, dimension) for dimension in dimensions),
        depth=len(main.statement.iterators),
        serial=next((tile for tile in serial if tile > 1), 0),
        loops=bool(serial),
        shares=_shares(mark, works),
        neighbours=any(part.points for loop in main.mapped.loops for part in loop.parts),
        element=max((scop.array(a.array).element.size for work in works for a in work.statement.accesses), default=1),
    )


def _loop(main: MappedStatement, dimension: int) -> MappedLoop | None:
    """Return the loop that threads of a dimension share out."""
    return next((loop for loop in main.loops if any(p.dimension == dimension for p in loop.threads)), None)


def _iterator(main: MappedStatement, dimension: int) -> int:
    loop = _loop(main, dimension)
    moved = [k for k, factor in enumerate(loop.form) if factor] if loop is not None else []
    return moved[0] if len(moved) == 1 else -1


def _points(main: MappedStatement, dimension: int) -> int:
    loop = _loop(main, dimension)
    block = loop.part(Role.BLOCK) if loop is not None else None
    return max(1, block.tile // main.sizes[dimension]) if block is not None else 1


def _shares(mark: isl.ScheduleNode, works: Sequence[Work]) -> bool:
    """Return whether threads have one point of each statement, whose neighbours read some of the same elements."""
    found, depths = point_kernel(mark), {len(work.statement.iterators) for work in works}
    if found is None or len(depths) > 1:
        return False
    writes = [r for work in works for r in work.references if r.access.writes]
    return any(reads_neighbours(work.reads, writes) for work in works)
