"""Long pieces of work, announced to whoever watches over this process (see watchdog.py).

An analysis may take exponential time, and none can be interrupted from inside. A watcher ends the process and starts
it anew, with a list of what to do in haste and of what to leave out. What is left out is refused here, and the rest is
done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UserError
from polytile.recursion_limit import deep_recursion

SECONDS = 30  # of processor time, for one piece of work
HASTE = 3  # what part of them the second attempt gets
MEGABYTES = 2000


@dataclass(slots=True)
class _Watcher:
    tell: Callable[[str], None] | None = None
    hurried: Collection[str] = ()
    given_up: Mapping[str, str] = field(default_factory=dict)
    seconds: int = SECONDS


_WATCHER = _Watcher()


def watched(tell: Callable[[str], None], hurried: Collection[str], given_up: Mapping[str, str]) -> None:
    """Announce pieces of work with `tell`, do some in haste, and refuse those in `given_up`, each for its reason."""
    _WATCHER.tell, _WATCHER.hurried, _WATCHER.given_up = tell, hurried, given_up


def limit(seconds: int) -> None:
    """Let each piece of work take so long; 0 is no limit."""
    _WATCHER.seconds = seconds


def undisturbed() -> bool:
    """Return whether no piece of work is done in haste or left out, as it would be where it took less long."""
    return not _WATCHER.hurried and not _WATCHER.given_up


@contextmanager
def piece(name: str, location: Location) -> Iterator[bool]:
    """Announce a piece of work whose end a watcher may not wait for; yield whether it should be done in haste.

    Raises UserError when that was in vain, too. `name` stands for the piece in every run on the same input.
    """
    if name in _WATCHER.given_up:
        hint = "make the SCoP smaller, or its subscripts and bounds simpler; --max-seconds N waits longer"
        raise UserError(_WATCHER.given_up[name], location=location, hint=hint)
    hurried = name in _WATCHER.hurried
    last = -(-_WATCHER.seconds // HASTE)
    _tell(f"begin\t{last if hurried else max(_WATCHER.seconds - last, last)}\t{name}")
    try:
        with deep_recursion():
            yield hurried
    except RecursionError:
        hint = "split the expression or the nest that is nested this deeply"
        raise UserError("this is nested too deeply", location=location, hint=hint) from None
    finally:
        _tell("end")


def tell_stage(name: str) -> None:
    """Announce what is done now; "" for nothing."""
    _tell(f"stage\t{name}")


@contextmanager
def sequential_c(name: str, location: Location) -> Iterator[None]:
    """Announce a run of the user's own C, compiled by the host's compiler, which may crash: no fault of this
    process."""
    _tell(f"runs\t{location.file}:{location.line}\t{name}")
    try:
        yield
    finally:
        _tell("end")


def _tell(text: str) -> None:
    if _WATCHER.tell is not None:
        _WATCHER.tell(text)
