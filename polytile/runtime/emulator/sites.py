"""Where in the .cu an instruction of an instrumented library stands, and what its variables are called.

The compiler's line table is read with addr2line and the symbols with nm, which come with every C++ compiler. Without
them nothing is known, and messages do without.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path

from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.runtime.emulator.process import run_to_end

_TOOL_TIMEOUT = 60.0
_OWN_FOLDER = str(Path(__file__).resolve().parent / "include")
_PLACE = re.compile(r"(?P<file>.*):(?P<line>\d+)(?: \(discriminator \d+\))?$")
_SYMBOL = re.compile(r"(?P<address>[0-9a-f]+) (?P<size>[0-9a-f]+) (?P<kind>\w) (?P<name>.+)$")
_VARIABLES, _FUNCTIONS = "bBdDrRuVv", "tTwWi"
_LOCAL_NAME = re.compile(r"(?:.*::)?(?P<name>[A-Za-z_]\w*)(?:\.\d+)?$")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of a file that was compiled for the emulator."""

    file: str
    line: int

    @property
    def is_kernel(self) -> bool:
        """Whether this is a .cu, not a header."""
        return self.file.endswith(".cu")

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable or function of the library: its offset and size in bytes, and its name as the source has it."""

    offset: int
    size: int
    name: str


@dataclass(slots=True)
class Sites:
    """The line table and the variables of one library; each offset is looked up once."""

    library: Path
    _places: dict[int, Place | None] = field(default_factory=dict, repr=False)
    _symbols: tuple[tuple[str, Symbol], ...] | None = field(default=None, repr=False)

    def places(self, offsets: Iterable[int]) -> dict[int, Place | None]:
        """Return the lines of instructions, by their offsets in the library (`offset_of` of access.h)."""
        wanted = set(offsets)
        new = sorted(wanted - self._places.keys())
        if new:
            self._places.update(dict.fromkeys(new))
            self._places.update(_look_up(self.library, new))
        return {offset: self._places[offset] for offset in wanted}

    def place(self, offset: int) -> Place | None:
        """Return the line of one instruction, or None where it is not known."""
        return self.places([offset])[offset]

    def variable(self, offset: int) -> Symbol | None:
        """Return the variable (a `__shared__` array, say) that holds the byte at this offset."""
        return self._symbol(offset, _VARIABLES)

    def function(self, offset: int) -> Symbol | None:
        """Return the function that holds the instruction at this offset."""
        return self._symbol(offset, _FUNCTIONS)

    def _symbol(self, offset: int, kinds: str) -> Symbol | None:
        if self._symbols is None:
            self._symbols = _read_symbols(self.library)
        held = (s for kind, s in self._symbols if kind in kinds and s.offset <= offset < s.offset + s.size)
        return next(held, None)


def _run_tool(name: str, arguments: list[str]) -> str:
    """Return what a tool printed; nothing when it is not there or fails."""
    tool = shutil.which(name) or shutil.which(f"llvm-{name}")
    if tool is None:
        return ""
    try:
        finished = run_to_end([tool, *arguments], timeout=_TOOL_TIMEOUT)
    except DeviceError:
        return ""
    return finished.output if finished.status == 0 else ""


def _look_up(library: Path, offsets: list[int]) -> dict[int, Place]:
    """Call addr2line once: return the innermost line of a .cu, else one that is not in the emulator's own headers."""
    output = _run_tool("addr2line", ["-a", "-i", "-e", str(library), *(hex(offset) for offset in offsets)])
    found: dict[int, Place] = {}
    current = -1
    for line in output.splitlines():
        if line.startswith("0x"):
            current = int(line, 16)
        elif (match := _PLACE.match(line)) and not line.startswith((_OWN_FOLDER, "??")):
            place = Place(match["file"], int(match["line"]))
            if current not in found or (place.is_kernel and not found[current].is_kernel):
                found[current] = place
    return found


def _read_symbols(library: Path) -> tuple[tuple[str, Symbol], ...]:
    output = _run_tool("nm", ["-S", "-C", "--defined-only", str(library)])
    found = []
    for line in output.splitlines():
        match = _SYMBOL.match(line)
        if match is None:
            continue
        name = _LOCAL_NAME.match(match["name"]) if match["kind"] in _VARIABLES else None
        symbol = Symbol(int(match["address"], 16), int(match["size"], 16), name["name"] if name else match["name"])
        found.append((match["kind"], symbol))
    return tuple(found)
