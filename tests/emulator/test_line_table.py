"""Columns of machine code: lines as addr2line tells them, and nothing where there is no table to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from polytile.runtime.emulator import compile_shared
from polytile.runtime.emulator.instrument import COUNTING
from polytile.runtime.emulator.line_table import columns
from polytile.runtime.emulator.sites import Sites

TEXT = """#include <cuda_runtime.h>
extern "C" __global__ void k(const double *a, double *b)
{
    b[threadIdx.x] = a[threadIdx.x]
                     + a[threadIdx.x + 1];
}
extern "C" void *address() { return (void *)k; }
"""


@pytest.mark.usefixtures("emulator")
def test_lines_are_those_of_addr2line(tmp_path: Path) -> None:
    library = compile_shared(TEXT, tmp_path / "k.so", instrumentation=COUNTING)
    places = Sites(library).places(range(0x1000, 0x8000))
    found = columns(library, places)
    text = [offset for offset, place in places.items() if place and place.file.endswith("k.cu")]
    assert {places[offset].line for offset in text if places[offset]} >= {3, 4, 5, 6, 7}
    for offset in text:
        place = places[offset]
        assert place is not None
        if offset in found and found[offset][0] <= TEXT.count("\n"):
            assert found[offset][0] == place.line
    assert {found[offset] for offset in text if offset in found} >= {(5, 41)}


@pytest.mark.parametrize("content", [b"", b"text", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + bytes(200)])
def test_what_is_no_library_has_no_columns(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert columns(path, [1, 2]) == {}
    assert columns(tmp_path / "missing", [1]) == {}
