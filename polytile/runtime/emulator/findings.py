"""What a checked library found, in words: kernel, threads, array, and the lines of the .cu and of the C file."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from polytile.dataclass import dataclass
from polytile.diagnostics import Diagnostic, Location
from polytile.runtime.emulator.instrument import CHECKS
from polytile.runtime.emulator.library import EmulatorLibrary
from polytile.runtime.emulator.sites import Place, Sites

_MEMORIES = ("global", "shared", "variable", "stack", "freed", "null", "unknown", "none")
_KINDS = ("read", "write", "atomic")
_DOES = {"read": "reads", "write": "writes", "atomic": "updates atomically"}
_DYNAMIC = re.compile(r"polytile_emulator_dynamic_shared\w*$")


class _Side(ctypes.Structure):
    _fields_ = (
        ("site", ctypes.c_uint),
        ("kind", ctypes.c_int),
        ("block", ctypes.c_uint * 3),
        ("thread", ctypes.c_uint * 3),
    )


class _Record(ctypes.Structure):
    """`struct Finding` of findings.h."""

    _fields_ = (
        ("check", ctypes.c_int),
        ("memory", ctypes.c_int),
        ("kernel", ctypes.c_uint),
        ("parameter", ctypes.c_int),
        ("offset", ctypes.c_longlong),
        ("size", ctypes.c_ulonglong),
        ("variable", ctypes.c_uint),
        ("width", ctypes.c_uint),
        ("sides", _Side * 2),
        ("count", ctypes.c_ulonglong),
        ("line", ctypes.c_int),
        ("file", ctypes.c_char * 256),
        ("text", ctypes.c_char * 256),
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found: its message, and the lines of the .cu that it is about."""

    check: str
    message: str
    places: tuple[Place, ...]
    count: int
    location: Location | None = None
    about: tuple[object, ...] = field(default=(), compare=False)

    @property
    def diagnostic(self) -> Diagnostic:
        """`gemm.c:49: error: race: kernel k0: thread (3,0,0) of block (1,0,0) writes ... (unit.cu:34 and :36)`."""
        more = f"; {self.count} times" if self.count > 1 else ""
        return Diagnostic("error", f"{self.check}: {self.message}{_lines(self.places)}{more}", self.location)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the findings of one library that was built from `text`, whose `lines` come from those of the user's C."""

    library: EmulatorLibrary
    text: str
    lines: Mapping[int, Location] = field(default_factory=dict)

    def read(self) -> tuple[Finding, ...]:
        """Read everything found since the library was opened or `clear` was called."""
        records = _records(self.library)
        sites = self.library.sites
        sites.places(side.site for record in records for side in record.sides if side.kind >= 0)
        return _merged(self._finding(record, sites) for record in records)

    def clear(self) -> None:
        """Forget what was found."""
        self.library.function("polytile_emulator_reset_findings")()

    def left_out(self) -> int:
        """Count the findings beyond those that are kept."""
        return _count(self.library)[1]

    def _finding(self, record: _Record, sites: Sites) -> Finding:
        check = CHECKS[record.check]
        described = _Described(record, sites, self.text, self.lines)
        places = tuple(dict.fromkeys(described.places()))
        locations = (described.location(place) for place in places)
        location = next((found for found in locations if found is not None), None)
        kinds = tuple(side.kind for side in record.sides)
        about = (check, described.array(), kinds, bytes(record.text), places)
        return Finding(check, described.message(), places, int(record.count), location, about)


def _merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Merge findings of one kind, array and lines, where the compiler made several instructions of one access."""
    kept: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        first = kept.get(finding.about)
        kept[finding.about] = finding if first is None else replace(first, count=first.count + finding.count)
    return tuple(kept.values())


def _count(library: EmulatorLibrary) -> tuple[int, int]:
    left_out = ctypes.c_ulonglong()
    kept = library.function("polytile_emulator_findings")(ctypes.byref(left_out))
    return int(kept), left_out.value


def _records(library: EmulatorLibrary) -> list[_Record]:
    get = library.function("polytile_emulator_finding")
    get.restype = ctypes.POINTER(_Record)
    return [_Record.from_buffer_copy(get(index).contents) for index in range(_count(library)[0])]


def _lines(places: tuple[Place, ...]) -> str:
    """Print the lines, such as ` (gemm_kernel.cu:34 and :36)`."""
    if not places:
        return ""
    first, *others = places
    return f" ({' and '.join([str(first), *(f':{p.line}' for p in others)])})"


@dataclass(frozen=True, slots=True)
class _Described:
    """One record, in words."""

    record: _Record
    sites: Sites
    text: str
    lines: Mapping[int, Location]

    def places(self) -> list[Place]:
        stated = Place(self.record.file.decode(errors="replace"), self.record.line)
        if stated.is_kernel:
            return [stated]
        found = (self.sites.place(side.site) for side in self.record.sides if side.kind >= 0)
        return [place for place in found if place is not None]

    def location(self, place: Place | None) -> Location | None:
        """Return where a line of the .cu comes from."""
        return self.lines.get(place.line) if place is not None and place.is_kernel else None

    def message(self) -> str:
        record = self.record
        if record.text and record.sides[1].kind < 0:
            return f"{self._who()}: {self._text()}"
        check = CHECKS[record.check]
        if check == "race":
            return f"{self._who()} {self._does()} {self._element()}, which {self._other()}"
        if check == "address":
            return f"{self._who()} {self._does()} {self._stray()}"
        if record.sides[0].kind < 0:
            return f"{self._element()} is copied to the host, and nothing has written it"
        return f"{self._who()} {self._does()} {self._element()}, which nothing has written"

    def _text(self) -> str:
        text: bytes = self.record.text
        return text.decode(errors="replace")

    def _who(self) -> str:
        """Name the thread, such as `kernel k0: thread (3,0,0) of block (1,0,0)`."""
        side = self.record.sides[0]
        if side.kind < 0:
            return "host code"
        name = self._kernel()
        return f"{f'kernel {name}' if name else 'a kernel'}: {_thread(side)}"

    def _does(self) -> str:
        return _DOES[_KINDS[self.record.sides[0].kind]]

    def _other(self) -> str:
        first, second = self.record.sides
        location = self.location(self.sites.place(second.site))
        at = f" at {location.short}" if location else ""
        if self.record.text:
            return f"{self._text()}{at}"
        did = f"{_thread(second)} {_DOES[_KINDS[second.kind]]}{at}"
        if tuple(first.block) != tuple(second.block):
            return f"{did}: blocks of one launch are unordered"
        return f"{did}, with no barrier between them"

    def _kernel(self) -> str:
        symbol = self.sites.function(self.record.kernel)
        return short_name(symbol.name) if symbol else ""

    def array(self) -> str:
        """Return the name of the array in the .cu, as far as it is known."""
        memory = _MEMORIES[self.record.memory]
        if memory in ("shared", "variable"):
            symbol = self.sites.variable(self.record.variable + self.record.offset)
            if symbol is None:
                return "shared memory"
            return "dynamic shared memory" if _DYNAMIC.match(symbol.name) else symbol.name
        names = parameter_names(self.text, self._kernel()) if self._kernel() else ()
        parameter = int(self.record.parameter)
        if 0 <= parameter < len(names):
            return names[parameter]
        return f"a device array of {self.record.size} bytes"

    def _start(self) -> int:
        """Return the offset of the accessed byte in its array."""
        if _MEMORIES[self.record.memory] in ("shared", "variable"):
            place = self.record.variable + int(self.record.offset)
            symbol = self.sites.variable(place)
            return place - symbol.offset if symbol else int(self.record.offset)
        return int(self.record.offset)

    def _element(self) -> str:
        """Name the element, such as `element 17 of C`, or the byte where an element would be split."""
        start, width = self._start(), self.record.width
        unit, index = ("element", start // width) if width and start % width == 0 else ("byte", start)
        if CHECKS[self.record.check] == "uninitialised" and self.record.sides[0].kind < 0:
            unit = "byte"
        return f"{unit} {index} of {self.array()}"

    def _stray(self) -> str:
        memory, record = _MEMORIES[self.record.memory], self.record
        if memory == "null":
            return f"{record.width} bytes through a null pointer"
        if memory == "stack":
            return "a local variable of another thread"
        if memory == "freed":
            return f"{record.width} bytes of device memory that was freed"
        if memory == "unknown":
            return f"{record.width} bytes at an address that is no device memory"
        if record.offset < 0:
            return f"{self._element()}, {-record.offset} bytes before it begins"
        beyond = record.offset + record.width - record.size
        return f"{self._element()}, {beyond} bytes beyond its end ({record.size} bytes)"


def _thread(side: _Side) -> str:
    return f"thread {_coordinates(side.thread)} of block {_coordinates(side.block)}"


def _coordinates(values: ctypes.Array[ctypes.c_uint]) -> str:
    return f"({','.join(str(value) for value in values)})"


def short_name(function: str) -> str:
    """Shorten a kernel's name: `void sum<float>(float const*)` -> `sum<float>`."""
    before = function.partition("(")[0]
    head, bracket, tail = before.partition("<")
    return head.rpartition(" ")[2] + bracket + tail


def parameter_names(text: str, kernel: str) -> tuple[str, ...]:
    """Return the names of a kernel's parameters, as its definition in the .cu has them; empty when it is not found."""
    name = kernel.partition("<")[0].rpartition("::")[2]
    start = re.search(rf"__global__[^;{{}}]*?\b{re.escape(name)}\s*\(", text)
    if start is None:
        return ()
    depth, parts, part = 0, [], ""
    for character in text[start.end() :]:
        if character == ")" and depth == 0:
            break
        depth += (character in "([<") - (character in ")]>")
        if character == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    names = (re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", p) for p in [*parts, part])
    return tuple(match[1] if match else "?" for match in names)
