"""The text of a .cu, printed once for all runs of its programs: validations of many sizes ask for it each time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from polytile.codegen.targets.cuda.cuda import locate_unit
from polytile.codegen.targets.source_map import LocatedText
from polytile.ir.host import HostProgram
from polytile.ir.identity_key import IdentityKey

MAX_UNITS = 16  # that are remembered


def located_unit(programs: Sequence[HostProgram], *, header: str, title: Sequence[str]) -> LocatedText:
    """Call `locate_unit` of CUDA, with its results cached."""
    return _located(tuple(map(IdentityKey, programs)), header, tuple(title))


@lru_cache(maxsize=MAX_UNITS)
def _located(programs: tuple[IdentityKey[HostProgram], ...], header: str, title: tuple[str, ...]) -> LocatedText:
    return locate_unit([same.value for same in programs], header=header, title=title)
