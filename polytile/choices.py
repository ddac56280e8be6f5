"""What a strategy can be asked for: one record, and what may be said of each of its fields.

The command's options, the keywords of the library, headings of schedule files, the table in docs/command-line.md and
the space of the tuner are made from CHOICES. A field that is left at its default is the strategy's own choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.machine import MAX_THREAD_REGISTERS, MIN_THREAD_REGISTERS

CLASSIC = "classic"  # permutable bands of isl's scheduler
SUPERPOSED = "superposed"  # loops on blocks and on threads by two schedules, reductions among them
TILED = "tiled"  # the strategy that `auto` asks only where threads share what they read
SPLIT = "split"  # a strategy of time loops around stencils: tiles of time and space without redundant work
OVERLAPPED = "overlapped"  # the other one: tiles with halos, which their neighbours compute, too
OVER_TIME = (SPLIT, OVERLAPPED)
SCHEDULES = ("auto", CLASSIC, SUPERPOSED, TILED, SPLIT, OVERLAPPED)
PLANES = ("auto", "shared", "registers")  # where one-step streaming kernels keep planes: all in shared memory, or one
ORDERS = ("auto", "source", "tree", "sweep")  # of large bodies: codegen/passes/order_statements.py
MAX_TILE = 1 << 20
POINTS = (1, 2, 4, 8)  # that a thread may have along a loop
MAX_POINTS = 16  # and in all


class Kind(Enum):
    """What the values of a choice are."""

    WORD = "word"  # one of a few
    NUMBER = "number"  # 0: the strategy's own
    SIZES = "sizes"  # one for each loop, outermost first; one number stands for all
    NAMES = "names"  # any number of them
    SWITCH = "switch"  # on, off or, None, the compiler's own
    BYTES = "bytes"  # None: the compiler's own
    TEXT = "text"  # of a language of its own; None: nothing is said


@dataclass(frozen=True, slots=True)
class Choice:
    """One field of Choices: how it is written, which values it takes, and what it does.

    `example` is what stands behind the option in --help; `values` are all that it may take, where these are few, else
    `least` and `most` bound each number. `help` is the line of --help.
    """

    name: str
    kind: Kind
    help: str
    example: str = ""
    values: tuple[Any, ...] = ()
    least: int = 0
    most: int = MAX_TILE
    in_schedule: bool = True  # a mapped schedule and its plans say it
    unit: str = ""  # what its numbers count: messages say "sizes run from 1 to 4"

    @property
    def option(self) -> str:
        """The option of the command, as `--time-tile`."""
        return f"--{self.name.replace('_', '-')}"

    def check(self, value: Any) -> None:
        """Raise UsageError for a value that is out of range."""
        if self.kind is Kind.WORD and value not in self.values:
            raise UsageError(f"unknown {self.name} {value!r}", hint=f"one of {', '.join(self.values)}")
        numbers = value if self.kind is Kind.SIZES else (value,) if self.kind is Kind.NUMBER and value else ()
        for number in numbers:
            if self.values and number not in self.values:
                hint = f"one of {', '.join(map(str, self.values))} for each loop"
                raise UsageError(f"{self.option}: a thread cannot have {number} points along a loop", hint=hint)
            if not self.values and not self.least <= number <= self.most:
                raise UsageError(
                    f"{self.option}: {number} is out of range",
                    hint=f"{self.unit} run from {self.least} to {self.most}",
                )


def _or(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


CHOICES = (
    Choice("schedule", Kind.WORD, f"the strategy: {_or(SCHEDULES)} (auto)", "S", SCHEDULES),
    Choice(
        "tile",
        Kind.SIZES,
        "tile sizes, outermost loop first; one number stands for all",
        "64,64,16",
        least=1,
        unit="sizes",
    ),
    Choice(
        "time_tile",
        Kind.NUMBER,
        "steps of a time loop in one tile (split, overlapped)",
        "8",
        least=1,
        unit="steps",
    ),
    Choice("points", Kind.SIZES, "points of a thread along each loop, outermost first", "4,4,1", POINTS),
    Choice("block", Kind.SIZES, "threads per block, those along x last", "16,16", least=1, unit="sizes"),
    Choice("sizes", Kind.TEXT, "sizes per kernel, in PPCG's syntax", "ISL"),
    Choice(
        "planes",
        Kind.WORD,
        "planes of streaming kernels of one step: all shared, or one and the rest in registers (auto)",
        "shared",
        PLANES,
    ),
    Choice("barriers", Kind.NUMBER, "barriers a plane of such kernels: 1 or 2", "1", least=1, most=2, unit="barriers"),
    Choice("read_only", Kind.SWITCH, "load planes of such kernels through the read-only path"),
    Choice("order", Kind.WORD, f"the order of large bodies: {_or(ORDERS)} (auto)", "O", ORDERS, in_schedule=False),
    Choice(
        "registers",
        Kind.NUMBER,
        "registers that a thread may have",
        "N",
        least=MIN_THREAD_REGISTERS,
        most=MAX_THREAD_REGISTERS,
        in_schedule=False,
        unit="bounds",
    ),
    Choice(
        "disable_pass",
        Kind.NAMES,
        "leave out a pass that --dump passes lists (repeatable)",
        "PASS",
        in_schedule=False,
    ),
    Choice("graphs", Kind.SWITCH, "repeat equal runs as CUDA graphs (those of many launches)", in_schedule=False),
    Choice("max_shared_memory", Kind.BYTES, "shared memory that a block may use", "BYTES", in_schedule=False),
)
CHOICE = {one.name: one for one in CHOICES}


@dataclass(frozen=True, slots=True)
class Choices:
    """What a strategy is asked for; what is left at its default is the strategy's own choice.

    Sizes of `tile` and `block` are listed from the outermost mapped loop inwards; one number stands for every loop.
    """

    schedule: str = "auto"  #: the strategy, or `auto` for what is fastest by estimate
    tile: tuple[int, ...] = ()  #: sizes of tiles
    time_tile: int = 0  #: steps of a time loop in a tile; 0: as the strategy chooses
    points: tuple[int, ...] = ()  #: of a thread, one count for each loop; none: as the cost model chooses
    block: tuple[int, ...] = ()  #: threads of a block; the last entry is thread.x
    sizes: str | None = None  #: in PPCG's syntax, `{ kernel[0] -> tile[32, 32]; kernel[0] -> block[8, 32] }`
    planes: str = "auto"  #: of streaming kernels of one step: `shared` memory, or one there and others in `registers`
    barriers: int = 0  #: of a plane of such kernels; 0: as there is shared memory
    read_only: bool | None = None  #: whether such kernels load planes through the read-only path
    order: str = "auto"  #: the order of large bodies
    registers: int = 0  #: the most that a thread may have; 0: as many as the compiler takes
    disable_pass: tuple[str, ...] = ()  #: passes of codegen that kernels do without, by name
    graphs: bool | None = None  #: equal runs are replayed as CUDA graphs; None: those of many launches
    max_shared_memory: int | None = None  #: of a block, in bytes; None: what needs no opting in

    @property
    def asked(self) -> Mapping[str, Any]:
        """The fields that differ from their defaults, as keywords of `polytile.compile`."""
        return {f.name: getattr(self, f.name) for f in fields(Choices) if getattr(self, f.name) != f.default}
