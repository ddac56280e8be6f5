"""Tests share what they make of the same C: a text is read once for the schedules, types and sizes that it is compiled
in one after another, and helpers that compile keep what they made last.

All of it is frozen, and the same text in the same way again would give the same. A test that patches anything makes its
own, and files with headers of their own are read anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import pytest

from polytile import api
from polytile.diagnostics import remember_source
from polytile.frontend.program import SourceProgram

KEPT = 32
BENCHMARKS = Path(__file__).resolve().parents[1] / "polybench"
_PATCHES = ("monkeypatch", "patch")  # fixtures under which other code may run
_known: OrderedDict[Any, SourceProgram] = OrderedDict()
_read = api.read_program
Made = TypeVar("Made")


def read_once(path: str, text: str | None = None, **how: Any) -> SourceProgram:
    """`read_program`, or what it gave a few texts ago. What it raises is raised anew."""
    raw = _content(path) if text is None else text
    if raw is None or how.get("include_dirs") or how.get("device_source") or '#include "' in raw:
        return _read(path, text, **how)
    key = path, raw, text is None, tuple(sorted((name, str(value)) for name, value in how.items()))
    found = _known.pop(key, None)
    if found is None:
        found = _read(path, text, **how)
    elif text is not None:
        remember_source(path, text)
    _known[key] = found
    if len(_known) > KEPT:
        _known.popitem(last=False)
    return found


def _content(path: str) -> str | None:
    """The text of a program of the benchmarks; other files may be what their test is about."""
    try:
        file = Path(path).resolve()
        return file.read_text() if file.is_relative_to(BENCHMARKS) and file.is_file() else None
    except (OSError, RuntimeError):  # links in a circle: what reads it says so
        return None


def before(item: pytest.Item) -> None:
    """Let the test share what others made, or make its own where it patches."""
    patches = not set(getattr(item, "fixturenames", _PATCHES)).isdisjoint(_PATCHES)
    api.read_program = _read if patches else read_once


def shared(make: Callable[..., Made]) -> Callable[..., Made]:
    """`make`, with the last that it made; that is frozen, and follows from how the arguments are printed."""
    known: OrderedDict[str, Made] = OrderedDict()

    @wraps(make)
    def made(*arguments: Any, **settings: Any) -> Made:
        if api.read_program is not read_once:
            return make(*arguments, **settings)
        key = repr((arguments, sorted(settings.items())))
        found = known.pop(key) if key in known else make(*arguments, **settings)
        known[key] = found
        if len(known) > KEPT:
            known.popitem(last=False)
        return found

    return made
