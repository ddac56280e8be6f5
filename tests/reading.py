"""Tests share what they make of the same C: a text is read once for the schedules, types and sizes that it is compiled
in one after another, and compiled once for each; helpers that compile keep what they made last.

All of it is frozen, and the same text in the same way again would give the same. A test that patches anything makes its
own, and files with headers of their own are read anew.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

import pytest

from polytile import api, compiled_scop, scop_of_file
from polytile.compilation import Compilation
from polytile.compile_cache import key as cache_key
from polytile.compile_cache.entries import OFF, VARIABLE
from polytile.diagnostics import remember_source
from polytile.frontend.program import SourceProgram
from polytile.ir.scop import Scop
from polytile.options import Options
from tests.sharing import compile_sharing

KEPT = 64
FOLDER = os.environ.get(VARIABLE, OFF)  # of the run, see conftest.py
PACKAGE = cache_key.PACKAGE
PLANTED = Path(__file__).parent / "mutation"
BENCHMARKS = Path(__file__).resolve().parents[1] / "polybench"
_PATCHES = ("monkeypatch", "patch", "anew")  # fixtures under which other code may run, or that ask for it
_known: OrderedDict[Any, SourceProgram] = OrderedDict()
_read = api.read_program
_compiled: OrderedDict[tuple[int, str], tuple[Scop, Compilation]] = OrderedDict()
_compile = scop_of_file.run_pipeline
_made: OrderedDict[tuple[Callable[..., Any], str], Any] = OrderedDict()
Made = TypeVar("Made")


def read_once(path: str, text: str | None = None, **how: Any) -> SourceProgram:
    """`read_program`, or what it gave a few texts ago. What it raises is raised anew."""
    raw = _content(path) if text is None else text
    given = text is not None and '#include "' in text  # headers of a test's own
    if raw is None or how.get("include_dirs") or how.get("device_source") or given:
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


def compile_once(scop: Scop, options: Options, **observers: Any) -> Compilation:
    """The stages of `compile_scop`, or what they gave not long ago for this very Scop. Observers want to see them."""
    if observers.get("observe") is not None:
        return _compile(scop, options, **observers)
    key = id(scop), repr(options)  # the Scop is kept, so that no other has its identity
    kept = _compiled.pop(key, None)
    found = compile_sharing(scop, options) if kept is None else kept[1]
    _compiled[key] = scop, found
    if len(_compiled) > KEPT:
        _compiled.popitem(last=False)
    return found


hash_own_files = cache_key.own_files
_hash_package = cache(hash_own_files)  # no test changes it


def own_files() -> str | None:
    """The hash of polytile's own files, taken once; that of a package that a test has made is taken anew."""
    return _hash_package() if cache_key.PACKAGE == PACKAGE else hash_own_files()


cache_key.own_files = own_files


def _content(path: str) -> str | None:
    """The text of a program of the benchmarks; other files may be what their test is about."""
    try:
        file = Path(path).resolve()
        return file.read_text() if file.is_relative_to(BENCHMARKS) and file.is_file() else None
    except (OSError, RuntimeError):  # links in a circle: what reads it says so
        return None


def before(item: pytest.Item) -> None:
    """Let the test share what others made, or make its own where it patches; so do the commands that it runs."""
    patches = not set(getattr(item, "fixturenames", _PATCHES)).isdisjoint(_PATCHES)
    os.environ[VARIABLE] = OFF if patches or item.path.is_relative_to(PLANTED) else FOLDER
    api.read_program = _read if patches else read_once
    scop_of_file.run_pipeline = compiled_scop.run_pipeline = _compile if patches else compile_once


def shared(make: Callable[..., Made]) -> Callable[..., Made]:
    """`make`, with the last that it and other helpers made; that is frozen, and follows from how the arguments are
    printed."""

    @wraps(make)
    def made(*arguments: Any, **settings: Any) -> Made:
        if api.read_program is not read_once:
            return make(*arguments, **settings)
        key = make, repr((arguments, sorted(settings.items())))
        found: Made = _made.pop(key) if key in _made else make(*arguments, **settings)
        _made[key] = found
        if len(_made) > KEPT:
            _made.popitem(last=False)
        return found

    return made
