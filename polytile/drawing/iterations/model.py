"""What a picture of iterations shows, as plain records: no isl, no pixels."""

from __future__ import annotations

from polytile.dataclass import dataclass
from polytile.drawing.model import Instance, Point, Tile

At = tuple[int, int]  # column and row


@dataclass(frozen=True, slots=True)
class Dot:
    """A statement instance at a column and a row; the block that runs it, None where no kernel does or where that is
    not known. Instances of several statements at one place differ by `slot`."""

    instance: Instance
    at: At
    slot: int
    tile: Tile | None


@dataclass(frozen=True, slots=True)
class Arrow:
    """From an instance to one that depends on it."""

    source: Instance
    sink: Instance


@dataclass(frozen=True, slots=True)
class Arrows:
    """The dependences that are drawn: all `total` of those between the instances of a panel or, where they are many,
    those into a few `sinks`. `flow`: values; else reuse of storage, where there is no flow."""

    drawn: tuple[Arrow, ...] = ()
    total: int = 0
    sinks: tuple[Instance, ...] = ()
    flow: bool = True


@dataclass(frozen=True, slots=True)
class Bold:
    """The witness of a serial loop: the pair of instances, and the sentence."""

    arrow: Arrow
    text: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A nest of loops: `axes` are the iterators along its columns and rows ("" for none), `slices` are the
    values of the other loops. `margins` are places beside the loop along columns, where statements are that it is not
    around. A cell holds `slots` (columns, rows) points."""

    title: str
    statements: tuple[str, ...]
    axes: tuple[str, str]
    slices: tuple[tuple[str, int], ...]
    dots: tuple[Dot, ...]
    slots: tuple[int, int] = (1, 1)
    margins: frozenset[int] = frozenset()
    arrows: Arrows = Arrows()
    bold: tuple[Bold, ...] = ()
    elsewhere: str = ""  # who runs points that no launch of the picture does

    @property
    def sliced(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.slices)

    @property
    def launches(self) -> tuple[int, ...]:
        return tuple(sorted({dot.tile.launch for dot in self.dots if dot.tile}))


@dataclass(frozen=True, slots=True)
class StatementText:
    name: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class IterationDrawing:
    """The iterations of a SCoP at given sizes; `notes` say what is drawn, if not everything."""

    name: str
    parameters: dict[str, int]
    panels: tuple[Panel, ...]
    statements: tuple[StatementText, ...]
    notes: tuple[str, ...] = ()


def called(instance: Instance) -> str:
    """Print an instance as `S0(1, 2)`."""
    name, iterators = instance
    return f"{name}({', '.join(map(str, iterators))})"


__all__ = ["Arrow", "Arrows", "At", "Bold", "Dot", "Instance", "IterationDrawing", "Panel", "Point", "StatementText"]
