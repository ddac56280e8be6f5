"""What a picture shows, as plain records: no isl, no pixels."""

from __future__ import annotations

from polytile.dataclass import dataclass

Point = tuple[int, ...]
Instance = tuple[str, Point]  # a statement and the values of its iterators


@dataclass(frozen=True, slots=True, order=True)
class Tile:
    """A block of one launch. `launch` counts launches in the order in which they run, from 1."""

    launch: int
    kernel: int
    block: Point


@dataclass(frozen=True, slots=True)
class Cell:
    """A statement instance: where it is drawn (`row`, `place`), and which tile and thread run it."""

    statement: str
    iterators: Point
    row: int
    place: Point
    tile: Tile
    thread: Point

    @property
    def instance(self) -> Instance:
        return self.statement, self.iterators


@dataclass(frozen=True, slots=True)
class Row:
    """The instances of one statement that differ in space alone: a row of a picture over one axis, a panel of one over
    two. `first` and `last` are values of the iterators `keys`: neighbouring rows whose instances are in the same tiles
    are drawn once."""

    statement: str
    keys: tuple[str, ...] = ()
    first: Point = ()
    last: Point = ()

    @property
    def merged(self) -> bool:
        return self.first != self.last

    @property
    def values(self) -> str:
        """Print the values of keys: `t = 3`, `k = 0..7`."""
        pairs = zip(self.keys, self.first, self.last, strict=True)
        return ", ".join(f"{key} = {low}" if low == high else f"{key} = {low}..{high}" for key, low, high in pairs)

    @property
    def label(self) -> str:
        return f"{self.values}, {self.statement}" if self.keys else self.statement


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """A kernel for the legend. `threads` are the sizes of its blocks."""

    number: int
    name: str
    statements: tuple[str, ...]
    threads: Point
    launches: tuple[int, ...]  # all of them


@dataclass(frozen=True, slots=True)
class Cone:
    """An instance in the middle of a tile, and those whose values it is computed from: directly (`sources`) or through
    others (`all`, the sources among them). `whole`: not only those of some last rows. `values` are those of the focus's
    iterators in the source."""

    focus: Instance
    sources: frozenset[Instance]
    all: frozenset[Instance]
    whole: bool = True
    values: Point | None = None

    @property
    def name(self) -> str:
        """Print the instance: `S0(3, 7)`."""
        statement, iterators = self.focus
        return f"{statement}({', '.join(map(str, iterators if self.values is None else self.values))})"


@dataclass(frozen=True, slots=True)
class View:
    """A part of a picture. Over one axis, rows lie upon each other; over two, each is a panel of its own. Of the places
    every `stride`-th is drawn along each axis. An instance that several tiles run has a cell in each."""

    axes: tuple[str, ...]
    rows: tuple[Row, ...]  # in the order of the source
    cells: tuple[Cell, ...]
    stride: int = 1
    notes: tuple[str, ...] = ()  # what is drawn, if not everything


@dataclass(frozen=True, slots=True)
class Section:
    """Where two dimensions of space are cut: `axis = place`, for a view over the other one and time."""

    view: View
    axis: str
    place: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """A schedule at given sizes: its space, and over two axes a section through space and time."""

    name: str
    strategy: str
    parameters: dict[str, int]
    space: View
    section: Section | None
    kernels: tuple[KernelFacts, ...]
    tile: Tile  # the one that is highlighted
    cone: Cone | None = None
    statements: tuple[tuple[str, str], ...] = ()  # the texts of the statements that are drawn

    @property
    def cells(self) -> tuple[Cell, ...]:
        return (*self.section.view.cells, *self.space.cells) if self.section else self.space.cells
