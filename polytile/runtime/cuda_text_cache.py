"""The text of a .cu, printed once for all runs of its programs: validations of many sizes ask for it each time."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from polytile.codegen.targets.cuda.cuda import locate_unit
from polytile.codegen.targets.source_map import LocatedText
from polytile.ir.host import HostProgram
from polytile.ir.identity_key import IdentityKey

MAX_UNITS = 64  # that are remembered; a plan for ranks has some ten

_Key = tuple[tuple[IdentityKey[HostProgram], ...], str, tuple[str, ...]]
_known: dict[_Key, LocatedText] = {}  # the oldest first
_CHANGED = Lock()


def located_unit(programs: Sequence[HostProgram], *, header: str, title: Sequence[str]) -> LocatedText:
    """Call `locate_unit` of CUDA, with its results cached."""
    found = _known.get(_key(programs, header, title))
    if found is None:
        found = locate_unit(programs, header=header, title=title)
        remember_unit(found, programs, header=header, title=title)
    return found


def remember_unit(located: LocatedText, programs: Sequence[HostProgram], *, header: str, title: Sequence[str]) -> None:
    """Cache what was printed of programs, here or by another process, in place of the oldest unit where there are
    many."""
    with _CHANGED:
        while len(_known) >= MAX_UNITS:
            del _known[next(iter(_known))]
        _known[_key(programs, header, title)] = located


def _key(programs: Sequence[HostProgram], header: str, title: Sequence[str]) -> _Key:
    return tuple(map(IdentityKey, programs)), header, tuple(title)
