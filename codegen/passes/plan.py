"""What passes get besides a kernel: what is planned for it, and what they may know of its surroundings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.expr import Access, For, Stmt
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Space, Storage
from polytile.ir.name_supply import Names
from polytile.ir.plan import LoopPlan
from polytile.machine import Machine

DISTRIBUTE, SHARE = "distribute-constants", "share-sums"  # parts of reassociate-sums that can be left out


@dataclass(frozen=True, slots=True)
class WideCopy:
    """How a full tile is filled by vectors of so many `bytes`, where these `addresses` are multiples of that."""

    addresses: tuple[Access, ...]
    bytes: int
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class LoweredPlan:
    """What is planned for a kernel, in terms of its arrays and of the labels of its loops.

    `placements` says in which cells arrays live inside the kernel, `forwarded` which arrays have a copy in shared
    memory besides. `promoted` counts the elements that a loop updates in registers, `loops` what else becomes of loops.
    `last_reads` are arrays that nothing reads afterwards. A `tiled` kernel has copies of tiles; `min_blocks` of it are
    to be on a multiprocessor at once, and copies with these labels may be `wide`. With `clean`, bodies become as a
    person would write them; with `carry`, values stay in registers from iteration to iteration, and with `prefetch`
    such loops load ahead, as the kernel has few threads. Large bodies are put in an `order` that takes few registers,
    of which a thread has at most `registers`; nothing and 0 leave both as they are. Where so few were asked for
    (`bounded`), what takes the fewest is preferred to what is fastest with more. Threads that have several
    `points` load once what these share; where grids are small (`few_blocks`), they have registers for all of that at
    once. Additions may `reassociate`.

    A kernel of a `time_tile` has no loops of a schedule: the order of its blocks, what threads keep in registers, and
    how they address memory are part of how its tiles are made. With `early`, a kernel may be launched while the one
    before it ends.

    No strategy asks for the rest yet: tiles of a loop are in so many `stages`, and `requested` are other passes by
    name.
    """

    placements: Mapping[str, Storage] = field(default_factory=dict)
    forwarded: Mapping[str, Storage] = field(default_factory=dict)
    promoted: Mapping[str, int] = field(default_factory=dict)
    loops: Mapping[str, LoopPlan] = field(default_factory=dict)
    last_reads: frozenset[str] = frozenset()
    clean: bool = False
    tiled: bool = False
    min_blocks: int = 0
    wide: Mapping[str, WideCopy] = field(default_factory=dict)
    carry: bool = False
    prefetch: bool = False
    order: str = ""
    registers: int = 0
    bounded: bool = False
    points: bool = False
    few_blocks: bool = False
    reassociate: bool = False
    time_tile: bool = False
    early: bool = True
    stages: Mapping[str, int] = field(default_factory=dict)
    requested: frozenset[str] = frozenset()

    @property
    def register_tiles(self) -> frozenset[str]:
        """Return the loops that update several elements in registers."""
        return frozenset(label for label, elements in self.promoted.items() if elements > 1)

    @property
    def partitioned(self) -> tuple[str, ...]:
        """Return the loops whose full tiles are separate from the partial ones."""
        return tuple(label for label, loop in self.loops.items() if loop.partition)

    @property
    def unrolled(self) -> bool:
        """Return whether loops are marked to be unrolled."""
        return any(loop.unroll != 1 for loop in self.loops.values())

    @property
    def sums_are_free(self) -> bool:
        """Return whether additions may come in any order, and no loads have been put in front of them."""
        return self.reassociate and not self.tiled and not self.loads_first

    @property
    def loads_first(self) -> bool:
        """Return whether loops load for several iterations at once."""
        return any(loop.loads_first for loop in self.loops.values())


@dataclass(frozen=True, slots=True)
class Context:
    """The machine that a kernel is for, and a supply of names that are free in it. `remembered` are results for equal
    blocks of a kernel, whose passes run several times where bounds of registers are tried; `without` are passes, and
    parts of passes, that are left out."""

    machine: Machine
    names: Names
    remembered: dict[Hashable, Any] = field(default_factory=dict, compare=False)
    without: frozenset[str] = frozenset()


Run = Callable[[Kernel, LoweredPlan, Context], Kernel]


@dataclass(frozen=True, slots=True)
class OnDemand:
    """A function of a module of this folder, by default its own, that is imported with the first plan that asks for it:
    most plans never do."""

    function: str
    module: str = ""

    @property
    def found(self) -> Run:
        """Import the module, and return its function."""
        run: Run = getattr(import_module(f"polytile.codegen.passes.{self.module or self.function}"), self.function)
        return run

    def __call__(self, kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
        return self.found(kernel, plan, context)


@dataclass(frozen=True, slots=True)
class Pass:
    """A step from kernel to kernel, called where the plan asks for it."""

    name: str
    asked: Callable[[LoweredPlan], bool]
    run: Run
    improves: bool = False  # what kernels can do without, where it fails
    bounded: bool = False  # what depends on how many registers a thread may have
    parts: tuple[str, ...] = ()  # what of it can be left out, by names

    @property
    def summary(self) -> str:
        """Return what the pass does, in one line."""
        run = self.run.found if isinstance(self.run, OnDemand) else self.run
        return (run.__doc__ or "").partition("\n")[0]


@dataclass(frozen=True, slots=True)
class ProgramPass:
    """A step from program to program, after those of each kernel. It gets those kernels whose plans ask for it, with
    these plans in their order, and the launches of all."""

    name: str
    asked: Callable[[LoweredPlan], bool]
    run: Callable[[HostProgram, Sequence[LoweredPlan], Machine], HostProgram]
    improves: bool = True

    @property
    def summary(self) -> str:
        """Return what the pass does, in one line."""
        return (self.run.__doc__ or "").partition("\n")[0]


def kept_arrays(kernel: Kernel) -> frozenset[str]:
    """Return the arrays that live inside the kernel."""
    return frozenset(s.array for s in kernel.storage if s.space in (Space.PRIVATE, Space.SHARED))


def iterator_of(kernel: Kernel, label: str) -> str:
    """Return the iterator of the loops of a label.

    Raises InternalError where there is no such loop, or they have several iterators.
    """
    found = {n.iterator for n in kernel.nodes if isinstance(n, For) and n.label == label}
    if len(found) != 1:
        raise InternalError(f"kernel {kernel.name} has no loop {label} with one iterator")
    return found.pop()
