"""Sections of 64-bit little-endian ELF files: libraries of the emulator, and the cubins of ptxas."""

from __future__ import annotations

import struct

_ELF64_LITTLE = b"\x7fELF\x02\x01"
_COMPRESSED = 0x800


def section(elf: bytes, wanted: bytes) -> bytes:
    """Return the contents of a section; empty when there is none.

    A broken file raises struct.error, IndexError or ValueError.
    """
    if not elf.startswith(_ELF64_LITTLE):
        return b""
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + size * i) for i in range(count)]
    strings = headers[names][4]
    for name, _, flags, _, offset, length in headers:
        if elf[strings + name : elf.index(b"\0", strings + name)] == wanted and not flags & _COMPRESSED:
            return elf[offset : offset + length]
    return b""
