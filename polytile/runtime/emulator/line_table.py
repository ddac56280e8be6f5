"""The line table of a library: lines with columns, which addr2line does not print.

Reads the section .debug_line of 64-bit little-endian ELF files, as `-gdwarf-4` writes it (DWARF 4, section 6.2).
Anything else is no error: it holds no rows.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path

from polytile.dataclass import dataclass
from polytile.runtime.elf import section

_VERSION = 4


@dataclass(frozen=True, slots=True)
class Row:
    """From `address` on (an offset in the library), code belongs to `line` and `column`; `last`: it ends there."""

    address: int
    line: int
    column: int
    last: bool = False


def columns(library: Path, offsets: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Return line and column of the innermost source place of each offset that has one."""
    try:
        rows = sorted(_rows(library.read_bytes()), key=lambda row: (row.address, not row.last))
    except (OSError, struct.error, IndexError, ValueError):
        return {}
    addresses = [row.address for row in rows]
    found = {}
    for offset in offsets:
        at = bisect_right(addresses, offset) - 1
        if at >= 0 and not rows[at].last and rows[at].column:
            found[offset] = (rows[at].line, rows[at].column)
    return found


def _rows(elf: bytes) -> Iterator[Row]:
    table = section(elf, b".debug_line")
    at = 0
    while at + 4 <= len(table):
        (length,) = struct.unpack_from("<I", table, at)
        yield from _Program(table[at + 4 : at + 4 + length]).rows()
        at += 4 + length


class _Program:
    """The line-number program of one unit, without its length."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def rows(self) -> Iterator[Row]:
        version, header = self._take("<HI")
        if version != _VERSION:
            return
        start = self.at + header
        step, _, _, base, span, first_special = self._take("<BBBbBB")
        lengths = self.data[self.at : self.at + first_special - 1]
        self.at = start
        address, line, column = 0, 1, 0
        while self.at < len(self.data):
            (code,) = self._take("<B")
            if code >= first_special:
                address += (code - first_special) // span * step
                line += base + (code - first_special) % span
                yield Row(address, line, column)
            elif code == 0:
                moved = self._extended()
                if moved is None:
                    yield Row(address, line, column, last=True)
                    address, line, column = 0, 1, 0
                else:
                    address = moved if moved >= 0 else address
            elif code == 1:
                yield Row(address, line, column)
            elif code == 2:
                address += self._unsigned() * step
            elif code == 3:
                line += self._signed()
            elif code == 5:
                column = self._unsigned()
            elif code == 8:
                address += (255 - first_special) // span * step
            elif code == 9:
                address += self._take("<H")[0]
            else:
                for _ in range(lengths[code - 1]):
                    self._unsigned()

    def _extended(self) -> int | None:
        """Decode an extended opcode.

        Returns the new address, None at the end of a sequence, or -1 for what changes neither.
        """
        end = self._unsigned() + self.at
        (code,) = self._take("<B")
        moved = self._take("<Q")[0] if code == 2 else -1
        self.at = end
        return None if code == 1 else int(moved)

    def _take(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(layout, self.data, self.at)
        self.at += struct.calcsize(layout)
        return values

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def _signed(self) -> int:
        start = self.at
        value = self._unsigned()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value
