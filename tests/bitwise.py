"""What is demanded of what a program computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polytile.api import CompiledScop
from polytile.runtime.emulator.instrument import CHECKS


def same_as_c(scop: CompiledScop, sizes: Iterable[Mapping[str, int]], *, text: bool = True) -> None:
    """Bitwise what C computes, under all of the emulator's checks, and what the user's own `text` does; sizes may name
    parameters that it does not have."""
    known = {p.name for p in scop.scop.parameters}
    for one in sizes:
        given = {name: value for name, value in one.items() if name in known}
        for report in scop.validate(on="emulator", parameters=given, seed=1, sanitize=CHECKS):
            assert report.bitwise and not (report.note and text), report.line
