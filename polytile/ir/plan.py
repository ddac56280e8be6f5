"""Plans of kernels: what is decided about a kernel that its schedule tree does not say.

A placement gives the elements of an array that a part of a kernel uses a home near the threads:

before: for (k0) for (k) C[i][j] += A[i][k] * B[k][j];
after:  for (k0) { A_tile[..] = A[..]; barrier; for (k) C[i][j] += A_tile[i % 128][k % 16] * B[k][j]; barrier; }

Loops are named by the labels of their marks, `loop[k0]`. The *place* of a loop is where an iteration of it stands: the
values of all band members from the root of the tree down to its own (host loops, block coordinates, serial loops), and
for an owner smaller than a block, above the thread band, the coordinates of the thread. Relations are isl text, so
that plans can be compared, saved and read. All records check themselves when they are made.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Enum
from functools import lru_cache

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.cell_layout import ROW_MAJOR, Layout
from polytile.ir.gpu_ops import CACHES, FRAGMENTS, require
from polytile.ir.isl_util import unbounded
from polytile.ir.memory import Space
from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.ir.split_tiles import SplitTiles

WHOLE_KERNEL = "kernel"  # the level of what lives as long as a block, and where its copies are
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_SPACES = {Space.SHARED: "shared memory", Space.PRIVATE: "registers"}


class Owner(Enum):
    """Who has one set of cells."""

    THREAD = "thread"
    WARP = "warp"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class Copy:
    """Elements that move between cells and the array: a fill into the cells, or a drain out of them.

    `elements` is `{ [place] -> A[..] }`, by the place of the loop `at`: in each of its iterations a fill runs before
    the body, a drain after it. A fill runs `ahead` iterations early. `vector` elements move in one access. `lanes` are
    the dimensions of the element that are dealt out to the owner's threads, fastest first.
    """

    elements: str
    at: str
    ahead: int = 0
    mode: str = "plain"
    vector: int = 1
    lanes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        found = relation(self.elements)
        rank = found.dim(isl.dim_type.out)
        require(found.has_tuple_name(isl.dim_type.out), f"a copy names no array: {self.elements}")
        require(self.mode in ("plain", "async"), f"there is no mode {self.mode!r} of a copy")
        require(self.ahead >= 0 and self.vector >= 1, f"a copy is {self.ahead} ahead, {self.vector} wide")
        require(self.ahead == 0 or self.at != WHOLE_KERNEL, "there is no iteration before that of a whole kernel")
        distinct = len(set(self.lanes)) == len(self.lanes)
        require(distinct and all(0 <= k < rank for k in self.lanes), f"{self.lanes} are no dimensions of the elements")

    def __str__(self) -> str:
        words = [f"{self.elements} at {self.at}"]
        words += [f"{self.ahead} ahead"] if self.ahead else []
        words += [self.mode] if self.mode != "plain" else []
        words += [f"{self.vector} wide"] if self.vector > 1 else []
        words += [f"lanes over {', '.join(map(str, self.lanes))}"] if self.lanes else []
        return ", ".join(words)


@dataclass(frozen=True, slots=True)
class Placement:
    """Cells that hold elements of `array` inside a kernel.

    `uses` are the accesses that go to the cells, as (statement, number of the access in the statement); none are all
    of the array below `level`. Accesses to elements outside the domain of `cell` go where they went before.
    `cell` is `{ [[place] -> A[..]] -> [..] }`, by the place of the loop `level`, within `extents`. With `through`, a
    write goes to the cell and to the array. Of two placements of one array, the later one in a plan is the inner one:
    its copies use the cells of the outer one where this has the same uses.
    """

    name: str
    array: str
    uses: tuple[tuple[str, int], ...]
    level: str
    memory: Space
    owner: Owner
    cell: str
    extents: tuple[int, ...]
    layout: Layout = ROW_MAJOR
    fill: Copy | None = None
    drain: Copy | None = None
    through: bool = False

    @property
    def updated(self) -> bool:
        """Return whether the placement is a tile that a block keeps for the whole kernel, and writes."""
        return self.owner is Owner.BLOCK and self.level == WHOLE_KERNEL and self.drain is not None

    def __post_init__(self) -> None:
        require(IDENTIFIER.fullmatch(self.name) is not None, f"a placement has no name: {self.name!r}")
        self._check_memory()
        self._check_cell()
        for copy in self.copies:
            arrays = relation(copy.elements).get_tuple_name(isl.dim_type.out)
            require(arrays == self.array, f"{self.name} copies elements of {arrays}, not of {self.array}")
            require(self.level == WHOLE_KERNEL or copy.at != WHOLE_KERNEL, f"{self.name} is filled above its level")
        require(not (self.through and self.drain), f"{self.name} is written through and drained")
        drained = self.drain is None or (self.drain.ahead, self.drain.mode) == (0, "plain")
        require(drained, f"the drain of {self.name} is neither early nor asynchronous")
        require(len(set(self.uses)) == len(self.uses), f"{self.name} names a use twice")

    def _check_memory(self) -> None:
        require(self.memory in _SPACES, f"{self.name} is placed in {self.memory.value} memory")
        private, warp = self.memory is Space.PRIVATE, self.owner is Owner.WARP
        require(not private or self.owner is not Owner.BLOCK, f"a block has no registers for {self.name}")
        require((private and warp) == bool(self.layout.fragment), f"{self.name}: registers of a warp are fragments")
        is_async = self.fill is not None and self.fill.mode == "async"
        require(not is_async or self.memory is Space.SHARED, f"{self.name} is filled asynchronously, but not shared")

    def _check_cell(self) -> None:
        found = relation(self.cell)
        require(all(extent > 0 for extent in self.extents), f"{self.name} has the extents {self.extents}")
        require(found.dim(isl.dim_type.out) == len(self.extents), f"{self.name}: one extent for each part of a cell")
        require(bool(found.domain_is_wrapping()), f"{self.name}: a cell is a function of place and element")
        require(bool(found.is_single_valued()), f"{self.name} has two cells for one element: {self.cell}")
        element = found.domain().unwrap().get_tuple_name(isl.dim_type.out)
        require(element == self.array, f"{self.name} has cells of {element}, not of {self.array}")
        self.layout.check(self.extents)

    @property
    def copies(self) -> tuple[Copy, ...]:
        return tuple(copy for copy in (self.fill, self.drain) if copy is not None)

    def __str__(self) -> str:
        size = " x ".join(map(str, self.extents)) or "1"
        layout = f" ({self.layout})" if str(self.layout) else ""
        where = f"{_SPACES[self.memory]} of a {self.owner.value}"
        return f"{self.name}: {self.array} in {where}, {size}{layout}, {self.cell}"

    def lines(self) -> Iterator[str]:
        """Yield the lines that describe the placement to a reader."""
        yield str(self)
        uses = ", ".join(f"access {number} of {statement}" for statement, number in self.uses)
        yield f"  for {uses or f'all of {self.array}'} below {self.level}{', written through' if self.through else ''}"
        yield from (f"  {what} {copy}" for what, copy in (("filled", self.fill), ("drained", self.drain)) if copy)


@dataclass(frozen=True, slots=True)
class LoopPlan:
    """What is done to the loop of a label; all off by default.

    `registers` elements, which the loop updates, stay in registers meanwhile (which ones, lowering finds in its loops);
    `unroll` iterations at a time (0: all); the loads of `loads_first` iterations before their other work; full and
    partial tiles in `partition`s of their own.
    """

    label: str
    unroll: int = 1
    loads_first: int = 0
    registers: int = 0
    partition: bool = False

    def __post_init__(self) -> None:
        require(bool(self.label), "the plan of a loop has no label")
        least = min(self.unroll, self.loads_first, self.registers)
        require(least >= 0, f"the plan of loop {self.label} has a negative number")

    def __str__(self) -> str:
        words = [f"unroll {self.unroll or 'all'}"] if self.unroll != 1 else []
        words += [f"loads of {self.loads_first} first"] if self.loads_first else []
        words += [f"{self.registers} elements in registers"] if self.registers else []
        words += ["full and partial tiles"] if self.partition else []
        return f"loop {self.label}: {', '.join(words) or 'as it is'}"


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """How a kernel is launched: `min_blocks` of its blocks fit on a multiprocessor at once (0: not asked for)."""

    min_blocks: int = 0

    def __post_init__(self) -> None:
        require(self.min_blocks >= 0, "bounds of a launch are not negative")


PLAIN_LAUNCH = LaunchPlan()


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """The plan of one kernel, by its number in the tree. Outer placements stand before inner ones. `cache` are hints
    for arrays, `products` shapes of matrix products by the label of their mark. The kernels of a `time_tile` run the
    time loop that begins with this kernel: its first iterations, or, split tiles, all of it."""

    kernel: int
    placements: tuple[Placement, ...] = ()
    loops: tuple[LoopPlan, ...] = ()
    launch: LaunchPlan = PLAIN_LAUNCH
    cache: tuple[tuple[str, str], ...] = ()
    products: tuple[tuple[str, str], ...] = ()
    time_tile: OverlappedTiles | SplitTiles | None = None

    def __post_init__(self) -> None:
        require(self.kernel >= 0, f"there is no kernel {self.kernel}")
        for what, names in (
            ("placements", [p.name for p in self.placements]),
            ("loops", [loop.label for loop in self.loops]),
            ("arrays with hints", [array for array, _ in self.cache]),
            ("products", [label for label, _ in self.products]),
        ):
            require(len(set(names)) == len(names), f"two {what} of kernel {self.kernel} have one name: {names}")
        require(all(hint in CACHES for _, hint in self.cache), f"unknown hints in {self.cache}")
        require(all(shape in FRAGMENTS for _, shape in self.products), f"unknown shapes in {self.products}")

    def loop(self, label: str) -> LoopPlan:
        """Return the plan of a loop, with everything off where there is none."""
        return next((loop for loop in self.loops if loop.label == label), LoopPlan(label))

    def placed(self, array: str) -> tuple[Placement, ...]:
        """Return the placements of an array, outer ones first."""
        return tuple(p for p in self.placements if p.array == array)

    def lines(self) -> Iterator[str]:
        """Yield the lines that describe the plan to a reader; what is off is left out."""
        plain = self == KernelPlan(self.kernel)
        yield f"kernel {self.kernel}:{' nothing beside the schedule' if plain else ''}"
        yield from (f"  {line}" for p in self.placements for line in p.lines())
        yield from (f"  {loop}" for loop in self.loops)
        if self.launch != PLAIN_LAUNCH:
            yield f"  launch: at least {self.launch.min_blocks} blocks at once"
        yield from (f"  {array} is cached: {hint}" for array, hint in self.cache)
        yield from (f"  product {label}: {shape}" for label, shape in self.products)
        if self.time_tile is not None:
            yield f"  time tile, {self.time_tile.shape}:"
            yield from (f"    {line}" for line in self.time_tile.lines())

    def __str__(self) -> str:
        return "\n".join(self.lines())


def time_tile(plans: Iterable[KernelPlan]) -> OverlappedTiles | SplitTiles | None:
    """Return the time tile in some plans; None where there is none."""
    return next((plan.time_tile for plan in plans if plan.time_tile is not None), None)


class TimeTiled(ABC):
    """Base of what has plans, one of which may have a time tile."""

    __slots__ = ()

    @property
    @abstractmethod
    def time_tile(self) -> OverlappedTiles | SplitTiles | None:
        """Return the time tile in the plans, if any."""

    @property
    def overlapped(self) -> OverlappedTiles | None:
        """Return the overlapped tiles that run the first iterations of the time loop, the schedule the rest."""
        return self.time_tile if isinstance(self.time_tile, OverlappedTiles) else None

    @property
    def split(self) -> SplitTiles | None:
        """Return the split tiles in registers that run all that the schedule does."""
        return self.time_tile if isinstance(self.time_tile, SplitTiles) else None


def with_time_tile(plans: Iterable[KernelPlan], tile: OverlappedTiles | SplitTiles | None) -> tuple[KernelPlan, ...]:
    """Return the plans with another time tile, or with none, in the first kernel's."""
    rest = (replace(plan, time_tile=None) for plan in plans)
    found = {plan.kernel: plan for plan in rest if tile is not None or plan != KernelPlan(plan.kernel)}
    if tile is not None:
        found[0] = replace(found.get(0, KernelPlan(0)), time_tile=tile)
    return tuple(found[number] for number in sorted(found))


@lru_cache(maxsize=4096)
def relation(text: str) -> isl.Map:
    """Parse a relation of a plan, once for each text; raises InternalError where the text is none."""
    try:
        with unbounded():
            return isl.Map(text)
    except isl.Error:
        require(False, f"this is no relation: {text}")
        raise
