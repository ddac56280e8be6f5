"""Which parts of a program run for given sizes: how often its kernels are launched, with how many blocks, and which
branches and loops of theirs run, asked of a few blocks and threads of a few launches.

before: if (n >= i + 2 && i >= 1) { A[i] = .. }  of i = ti + 128 * bi, for n = 300
after:  both conditions both ways: the first thread of the first block has i = 0, the last one of the last has i = 383

Control flow that integers decide is made a Python function for each kernel. What data decide may go either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import product
from typing import Any

from polytile.dataclass import dataclass
from polytile.ir.arith import known
from polytile.ir.expr_trees import statements
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel, Launch
from polytile.runtime.control_text import control_text
from polytile.runtime.host_interpreter import Run, prepared

Part = tuple[str | int, ...]  # of a program: a launch, a branch one way, a loop that runs so often
MANY = 3  # blocks along an axis, iterations of a loop: a first one, one within, a last one
SEVERAL = 2  # launches of a kernel, time tiles
MOST_LAUNCHES = 4000  # of a run that are looked at
MOST_ITERATIONS = 5  # of a loop
MOST_BLOCKS = 16  # of a grid along one axis
GOLDEN_RATIO = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True)
class Reach:
    """What runs for some sizes. `work` estimates it, in nodes of statement trees that threads execute."""

    parts: frozenset[Part]
    launches: Mapping[str, int]
    work: float


class _Recorder:
    """What the functions of kernels call, very often: it notes what they ask, each by its number in the text."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.held: set[int] = set()  # conditions that hold somewhere
        self.failed: set[int] = set()
        self.ran: list[set[int]] = [set() for _ in range(MANY + 1)]  # loops by their iterations

    def way(self, number: int, holds: object) -> bool:
        """Record which way a condition goes, and return it."""
        if holds:
            self.held.add(number)
            return True
        self.failed.add(number)
        return False

    def least(self, number: int, a: int, b: int) -> int:
        """Return the lesser value, and record which one it is."""
        if a < b:
            self.held.add(number)
            return a
        if a != b:
            self.failed.add(number)
        return b

    def most(self, number: int, a: int, b: int) -> int:
        """Return the greater value, and record which one it is."""
        if a > b:
            self.held.add(number)
            return a
        if a != b:
            self.failed.add(number)
        return b

    def runs(self, number: int, first: int, end: int, step: int) -> range:
        """Return the iterations of a loop, and record how many there are."""
        found = range(first, end, step or 1)
        count = len(found)
        self.ran[count if count < MANY else MANY].add(number)
        return found

    def forget(self) -> None:
        """Forget all that was recorded."""
        for noted in (self.held, self.failed, *self.ran):
            noted.clear()

    def parts(self) -> Iterator[Part]:
        """Yield the parts that were recorded; a loop that runs so often runs less often, too."""
        for holds, noted in ((True, self.held), (False, self.failed)):
            yield from ((self.kernel, number, holds) for number in noted)
        for most, loops in enumerate(self.ran):
            yield from ((self.kernel, number, n) for number in loops for n in range(1, most + 1))


def some(iterations: range) -> list[int]:
    """Return the first and the last iterations of a loop, and one between."""
    if len(iterations) <= MOST_ITERATIONS:
        return list(iterations)
    return [iterations[k] for k in _positions(len(iterations), MOST_ITERATIONS)]


def divide(a: int, b: int) -> int:
    """Divide as C does, and return 0 for a division by 0, where the program does not come to it."""
    return 0 if b == 0 else a // b if (a < 0) == (b < 0) else -(-a // b)


def remainder(a: int, b: int) -> int:
    """Compute C's remainder."""
    return a - divide(a, b) * b


@dataclass(frozen=True, slots=True)
class ControlFlow:
    """The control flow of a host program and of its kernels, ready to be asked."""

    program: HostProgram
    run: Run
    recorders: Mapping[str, _Recorder]
    functions: Mapping[str, Callable[..., float]]
    varying: Mapping[str, tuple[int, ...]]  # axes of grids whose blocks are not always as many

    def reach(self, values: Mapping[str, int]) -> Reach:
        """Return the parts of the kernels that run for these values of all parameters."""
        launches = _launches(self.run, values)
        parts: set[Part] = set()
        work = 0.0
        for name, found in launches.items():
            kernel, recorder = self.program.kernel(name), self.recorders[name]
            recorder.forget()
            parts.update(_launch_parts(kernel, values, self.varying[name], found))
            each = [self._walk(kernel, grid, scope) for grid, scope in _sampled(found)]
            parts.update(recorder.parts())
            work += sum(each) / max(1, len(each)) * len(found)
        return Reach(frozenset(parts), {name: len(found) for name, found in launches.items()}, work)

    def _walk(self, kernel: Kernel, grid: Grid, scope: Mapping[str, int]) -> float:
        """Walk through a kernel at a few places; return an estimate of the work of all of its threads."""
        places = _blocks(grid)
        threads = list(_threads(kernel.block))
        function, work = self.functions[kernel.name], 0.0
        for block in places:
            for thread in threads:
                work += function(scope, (*block, *grid, *thread))
        size = grid[0] * grid[1] * grid[2] * kernel.block[0] * kernel.block[1] * kernel.block[2]
        return work / (len(places) * len(threads)) * size


Grid = tuple[int, int, int]
_Launched = list[tuple[Grid, dict[str, int]]]


def control_flow(program: HostProgram) -> ControlFlow:
    """Make the control flow of a program ready to be asked."""
    functions, recorders = {}, {}
    for kernel in program.kernels:
        recorder = recorders[kernel.name] = _Recorder(kernel.name)
        asked = {name: getattr(recorder, name) for name in ("way", "least", "most", "runs")}
        space: dict[str, Any] = {**asked, "some": some, "divide": divide, "remainder": remainder}
        exec(control_text(kernel), space)
        functions[kernel.name] = space["walk"]
    launches = [s for s in statements(*program.body) if isinstance(s, Launch)]
    varying = {
        name: tuple(k for k in range(3) if any(known(s.grid[k]) is None for s in launches if s.kernel == name))
        for name in functions
    }
    return ControlFlow(program, prepared(program.body), recorders, functions, varying)


class _Enough(Exception):
    pass


def _launches(run: Run, values: Mapping[str, int]) -> dict[str, _Launched]:
    """Collect the launches of each kernel, with their grids and the values of the names in scope."""
    found: dict[str, _Launched] = {}
    count = 0

    def launch(name: str, grid: Grid, scope: Mapping[str, int]) -> None:
        nonlocal count
        count += 1
        if count > MOST_LAUNCHES:
            raise _Enough
        found.setdefault(name, []).append((grid, dict(scope)))

    with suppress(_Enough):
        run(values, launch)
    return found


def _launch_parts(kernel: Kernel, given: Iterable[str], varying: Iterable[int], found: _Launched) -> Iterable[Part]:
    """Yield how often a kernel is launched, on how many blocks along each axis where that varies.

    Also for how many values of what the host computes for it: time tiles, whether one is the last.
    """
    name, grids = kernel.name, [grid for grid, _ in found]
    yield from ((name, "launch", n) for n in range(1, min(len(found), SEVERAL) + 1))
    computed = {p.name for p in kernel.parameters if p.buffer is None}.difference(given)
    for argument in sorted(computed.intersection(*(scope.keys() for _, scope in found))):
        different = len({scope[argument] for _, scope in found})
        yield from ((name, argument, n) for n in range(1, min(different, SEVERAL) + 1))
    for grid in grids:
        yield from ((name, "blocks", k, n) for k in varying for n in range(1, min(grid[k], MANY) + 1))
        fewest = min((grid[k] for k in varying), default=MANY)
        yield from ((name, "within", n) for n in range(1, min(fewest, MANY) + 1))


def _sampled(found: _Launched) -> _Launched:
    """Return the first and the last launches, and one between them."""
    return [found[k] for k in _positions(len(found), MANY)]


def _positions(size: int, most: int) -> list[int]:
    """Choose some of the numbers below `size`: the first, the last ones, and some between."""
    if size <= most:
        return list(range(size))
    return sorted({*range(most // 2), size // 2, *range(size - most // 2, size)})


def _blocks(grid: Grid) -> list[Grid]:
    """Choose some blocks of a grid: first, inner and last ones along each axis.

    Blocks along one axis may be tiles of several dimensions, whose numbers are remainders: those between are spread
    over all remainders by the golden ratio.
    """
    if sum(size > 1 for size in grid) != 1:
        x, y, z = (_positions(size, MANY) for size in grid)
        return list(product(x, y, z))
    total = max(grid)
    spread = (int(total * (k * GOLDEN_RATIO % 1)) for k in range(1, MOST_BLOCKS))
    numbers = range(total) if total <= MOST_BLOCKS else sorted({0, total - 1, *spread})
    axis = grid.index(total)
    return [(n * (axis == 0), n * (axis == 1), n * (axis == 2)) for n in numbers]


def _threads(block: Grid) -> Iterator[Grid]:
    x, y, z = (size - 1 for size in block)
    yield from dict.fromkeys(((0, 0, 0), (x // 2, y // 2, z // 2), (x, y, z), (0, y, z), (x, 0, 0)))
