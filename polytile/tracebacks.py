"""Tracebacks that show the caller's code and not this package's: what went wrong is the caller's to change.

before: <script>:9, compiled_scop.py:201, binding.py:47, binding.py:162, UsageError: ...
after:  <script>:9, tracebacks.py:33, UsageError: ...

`POLYTILE_TRACEBACK=full` in the environment keeps all frames, as bugs do.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from polytile.diagnostics import InternalError, PolytileError
from polytile.recursion_limit import deep_recursion

P = ParamSpec("P")
R = TypeVar("R")
PACKAGE = str(Path(__file__).parent)
FULL = "POLYTILE_TRACEBACK"


def for_callers(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function for callers outside the package: errors that are theirs, or the machine's, come without frames of
    what it calls. Long sums recurse deeply in any of them."""

    @wraps(function)
    def called(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            with deep_recursion():
                return function(*arguments, **named)
        except PolytileError as error:
            raise _trimmed(error) from None

    return called


def for_frequent_callers(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function that is called often, and says itself where it recurses deeply: errors come without frames of
    what it calls."""

    @wraps(function)
    def called(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return function(*arguments, **named)
        except PolytileError as error:
            raise _trimmed(error) from None

    return called


def _trimmed(error: PolytileError) -> PolytileError:
    """Return the error without the frames that it came through, where it is no bug, and nobody wants to see them."""
    return error if full() or isinstance(error, InternalError) else error.with_traceback(None)


def full() -> bool:
    """Return whether whoever runs this wants to see all frames."""
    return os.environ.get(FULL) == "full"


def rendered(error: PolytileError) -> list[str]:
    """Return what a notebook shows of an error: the caller's lines, and the message."""
    import traceback  # for what ends the run alone

    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith(PACKAGE) and f"{os.sep}IPython{os.sep}" not in f.filename]
    lines = "".join(traceback.format_list(own)).rstrip().splitlines()
    return [*lines, f"{type(error).__name__}: {error}"]
