"""What a picture of overlapped tiles shows, as plain records: no isl, no pixels."""

from __future__ import annotations

from collections.abc import Mapping

from polytile.dataclass import dataclass
from polytile.drawing.model import Instance, Point
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamStep

Span = tuple[int, int]  # the first and the last
TileIndex = Point  # along each dimension of space: which chunk of planes, which strip
Box = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class TileSpan:
    """A tile along one dimension of space: what it owns, and the cells that its threads have."""

    owned: Span
    cells: Span

    def of(self, lower: int, upper: int) -> Span:
        """Return the cells that a tile loads or computes of a step whose box has these sides around the owner box."""
        return max(self.owned[0] + lower, self.cells[0]), min(self.owned[1] + upper, self.cells[1])


@dataclass(frozen=True, slots=True)
class TileGrid:
    """The tiles along each dimension of space."""

    axes: tuple[tuple[TileSpan, ...], ...]

    def owner(self, tile: TileIndex) -> Box:
        """Return the cells that a tile stores, where statements write them."""
        return tuple(axis[k].owned for axis, k in zip(self.axes, tile, strict=True))

    def box(self, tile: TileIndex, step: StreamStep) -> Box:
        """Return the box of the cells that a tile loads or computes of a step."""
        sides = zip(self.axes, tile, step.lower, step.upper, strict=True)
        return tuple(axis[k].of(lower, upper) for axis, k, lower, upper in sides)

    def claims(self, step: StreamStep, k: int) -> dict[int, tuple[int, ...]]:
        """Map each coordinate along a dimension to the positions of the tiles whose boxes of a step hold it."""
        found: dict[int, tuple[int, ...]] = {}
        for position, tile in enumerate(self.axes[k]):
            first, last = tile.of(step.lower[k], step.upper[k])
            for x in range(first, last + 1):
                found[x] = (*found.get(x, ()), position)
        return found


@dataclass(frozen=True, slots=True)
class StepCells:
    """What is drawn of a step: by place, the tiles that compute the cell, or load it where the step is an input."""

    step: StreamStep
    label: str
    tiles: Mapping[Point, tuple[TileIndex, ...]]

    @property
    def computed(self) -> int:
        """Count how often its cells are computed in all."""
        return sum(map(len, self.tiles.values()))


@dataclass(frozen=True, slots=True)
class StreamView:
    """Steps over one axis, upon each other, or over two, each in a panel."""

    axes: tuple[str, ...]
    steps: tuple[StepCells, ...]
    notes: tuple[str, ...] = ()  # what is drawn, if not everything


@dataclass(frozen=True, slots=True)
class StreamSection:
    """Where two dimensions of space are cut: `axis = place`."""

    view: StreamView
    axis: str
    place: int


@dataclass(frozen=True, slots=True)
class StreamCone:
    """A cell of the last step at the side of an owner box, and all cells whose values it is computed from, by index of
    the step."""

    step: int
    place: Point
    instance: Instance
    sources: frozenset[tuple[int, Point]]  # those that it reads
    all: frozenset[tuple[int, Point]]


@dataclass(frozen=True, slots=True)
class StreamDrawing:
    """One block of iterations, the first, at given sizes."""

    name: str
    parameters: dict[str, int]
    plan: OverlappedTiles
    kernel: str
    time: str  # the iterator of the time loop
    first: int  # iteration of the block
    grid: TileGrid
    tile: TileIndex  # the one that is highlighted
    space: StreamView
    section: StreamSection | None
    cone: StreamCone
    arrives: int | None  # the plane of the inputs at which the stream is shown
    statements: tuple[tuple[str, str], ...] = ()  # their texts
