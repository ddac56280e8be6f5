"""The text of a .cu, printed once for all runs of its programs: validations of many sizes ask for it each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from polytile.codegen.targets.cuda.cuda import locate_unit
from polytile.codegen.targets.source_map import LocatedText
from polytile.ir.host import HostProgram

MAX_UNITS = 16  # that are remembered


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """A program that equals only itself: to hash and compare large trees takes as long as to print them."""

    program: HostProgram

    def __hash__(self) -> int:
        return id(self.program)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.program is self.program


def located_unit(programs: Sequence[HostProgram], *, header: str, title: Sequence[str]) -> LocatedText:
    """`locate_unit` of CUDA."""
    return _located(tuple(map(_Same, programs)), header, tuple(title))


@lru_cache(maxsize=MAX_UNITS)
def _located(programs: tuple[_Same, ...], header: str, title: tuple[str, ...]) -> LocatedText:
    return locate_unit([same.program for same in programs], header=header, title=title)
