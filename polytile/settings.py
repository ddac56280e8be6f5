"""Options as the library's callers write them: keywords, with one number or a text where several may stand."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypedDict

from polytile.choices import CHOICES, Kind
from polytile.diagnostics import UsageError
from polytile.options import Options

Sizes = int | str | Iterable[int]


class Settings(TypedDict, total=False):
    """The fields of Options, as keywords; sizes may also be one number, or a text such as "8,32"."""

    schedule: str
    tile: Sizes
    time_tile: int
    points: Sizes
    block: Sizes
    planes: str
    barriers: int
    read_only: bool | None
    sizes: str | None
    max_shared_memory: int | None
    cflags: str | Iterable[str]
    parameters: dict[str, int]
    specialize: bool
    min_compute: int
    strict: bool
    atomics: bool
    order: str
    registers: int
    disable_pass: str | Iterable[str]
    graphs: bool | None
    arch: str
    load_schedule: str | None
    max_operations: int
    raise_bugs: bool


def _of_kind(kind: Kind) -> tuple[str, ...]:
    return tuple(choice.name for choice in CHOICES if choice.kind is kind)


_TEXTS = (*_of_kind(Kind.WORD), "arch")
_NUMBERS = (*_of_kind(Kind.NUMBER), "max_operations", "min_compute")
_SWITCHES = ("specialize", "strict", "atomics", "raise_bugs", "verify_passes")
_OF_COMMAND = {"fp": ["strict"]}  # what options of the command are called here, where names are not close


def options_of(settings: Mapping[str, Any], base: Options | None = None) -> Options:
    """Make options from keywords, the others as in `base`. Raises UsageError that names the argument which is wrong."""
    known = [f.name for f in fields(Options)]
    for name in settings:
        if name not in known:
            import difflib  # for what ends the run alone

            close = _OF_COMMAND.get(name) or difflib.get_close_matches(name, known, n=1)
            raise UsageError(
                f"there is no setting {name!r}",
                hint=f"did you mean {close[0]}?" if close else f"the settings are {', '.join(known)}",
            )
    values: dict[str, Any] = {f.name: getattr(base, f.name) for f in fields(Options)} if base is not None else {}
    values |= {name: _value(name, value) for name, value in settings.items()}
    try:
        return Options(**values)
    except UsageError as error:
        raise UsageError(as_arguments(error.message), hint=error.hint and as_arguments(error.hint)) from None


def as_arguments(text: str) -> str:
    """Rewrite a message about options with the names that they have in Python.

    before: --time-tile: 0 is out of range
    after:  time_tile: 0 is out of range
    """
    return re.sub(r"(?<![\w-])--([a-z][a-z-]*)", lambda name: name[1].replace("-", "_"), text)


def definitions(defines: Mapping[str, object] | Iterable[str]) -> tuple[str, ...]:
    """Return macros as a command line has them, `NAME` or `NAME=VALUE`."""
    if isinstance(defines, str):
        return (defines,)
    if isinstance(defines, Mapping):
        return tuple(name if value is None else f"{name}={value}" for name, value in defines.items())
    return tuple(defines)


def read_device_source(name: str | os.PathLike[str]) -> str:
    """Read the CUDA file that defines functions with access summaries. Raises UsageError where it cannot be read."""
    try:
        return Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise UsageError(f"--device-source: cannot read {name}: {reason}", hint="name a file that exists") from error


def checked_source(source: object) -> None:
    """Raise UsageError for what is neither the path of a C file nor C text."""
    if not isinstance(source, str | Path):
        hint = "decode it, as in source.decode()" if isinstance(source, bytes) else "pass pathlib.Path for a file"
        raise UsageError(f"the source must be C text or a pathlib.Path, not {type(source).__name__}", hint=hint)
    if isinstance(source, str) and "\n" not in source and source.rstrip().endswith((".c", ".h")):
        raise UsageError(f"{source!r} is read as C text", hint="pass pathlib.Path for a file")


def _value(name: str, value: Any) -> Any:
    if name in _of_kind(Kind.SIZES):
        return _sizes(name, value)
    if name in _of_kind(Kind.NAMES):
        return _names(name, value)
    if name == "cflags":
        return tuple(shlex.split(value)) if isinstance(value, str) else _names(name, value, "-fwrapv")
    if name in _TEXTS and not isinstance(value, str):
        example = ', such as "sm_90"' if name == "arch" else ""
        raise UsageError(f"{name} must be a string{example}, not {_shown(value)}")
    if name in _SWITCHES and not isinstance(value, bool):
        raise UsageError(f"{name} must be True or False, not {_shown(value)}")
    if name == "load_schedule" and not isinstance(value, str | None):
        hint = "read the file, as in Path(...).read_text()"
        raise UsageError(f"load_schedule must be the text of a schedule file, not {_shown(value)}", hint=hint)
    if name in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int)):
        raise UsageError(f"{name} must be an integer, not {_shown(value)}")
    if name == "parameters" and not isinstance(value, Mapping):
        raise UsageError(f"parameters must be a mapping from names to integers, not {_shown(value)}")
    return value


def _sizes(name: str, value: Any) -> tuple[int, ...]:
    """Parse sizes. before: 8, "8,32", [8, 32]; after: (8,), (8, 32), (8, 32)."""
    hint = f'write {name}=8, {name}=(8, 32) or {name}="8,32"'
    try:
        if hasattr(value, "__index__"):
            return (_integer(value),)
        parts = value.split(",") if isinstance(value, str) else list(value)
        return tuple(int(part) if isinstance(part, str) else _integer(part) for part in parts if part != "")
    except (TypeError, ValueError):
        raise UsageError(f"{name}: {_shown(value)} is no list of sizes", hint=hint) from None


def _names(name: str, value: Any, example: str = "loop-carry") -> tuple[str, ...]:
    """Parse names. before: "loop-carry", ["loop-carry", "share-sums"]; after: ("loop-carry",), ("loop-carry",
    "share-sums")."""
    if isinstance(value, str):
        return (value,)
    try:
        found = tuple(value)
    except TypeError:
        found = (value,)
    if wrong := [one for one in found if not isinstance(one, str)]:
        raise UsageError(f"{name}: {_shown(wrong[0])} is no name", hint=f'write {name}="{example}" or a list of names')
    return found


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError
    return int(value)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, int | float | str) else type(value).__name__
