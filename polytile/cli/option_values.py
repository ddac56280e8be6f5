"""What stands behind options: texts as numbers, sizes, macros and names of files; UsageErrors for what is none."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from polytile.diagnostics import UsageError

_NAME = r"(?a)[A-Za-z_]\w*"
_MACRO = r"(?a)[A-Za-z_$][\w$]*(\([\w$ ,.]*\))?(=[^\n\r\0]*)?"


def integer(option: str, text: str, *, least: int | None = None, written: str = "") -> int:
    """Read an integer as C writes it; raise UsageError for another text, or for one below the least. `written` is what
    could be typed instead."""
    try:
        value = int(text.strip(), 0)
    except ValueError:
        raise UsageError(f"{option}: {text!r} is not an integer", hint=f"write {written or f'{option} 32'}") from None
    if least is not None and value < least:
        raise UsageError(f"{option}: {value} is too small", hint=f"the least value is {least}")
    return value


def natural(option: str, text: str | None, *, written: str = "") -> int | None:
    """Read a natural number; None where the option is not given."""
    return None if text is None else integer(option, text, least=0, written=written)


def sizes(option: str, text: str | None, *, written: str = "") -> tuple[int, ...]:
    """Read sizes, outermost first, as in `64,64,16`."""
    return () if text is None else tuple(integer(option, part, written=written) for part in text.split(","))


def ranks(text: str | None) -> tuple[int, ...] | None:
    """Read a grid of ranks, as in `2,2,1`; none for `auto`, None where the option is not given."""
    if text is None:
        return None
    written = "--ranks 2,2 or --ranks auto"
    return () if text == "auto" else tuple(integer("--ranks", n, least=1, written=written) for n in text.split(","))


def definition(text: str) -> str:
    """Return a macro as `-D` has it; raise UsageError for what is none."""
    if not re.fullmatch(_MACRO, text):
        raise UsageError(f"-D {text}: a macro needs a name", hint="write -D NAME or -D NAME=VALUE")
    return text


def words(option: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Split texts into words, which are quoted as in a shell."""
    try:
        return tuple(word for text in texts for word in shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{option} cannot be read: {str(error).lower()}", hint="close its quotes") from None


def parameters(settings: Sequence[str]) -> dict[str, int]:
    """Read what stands behind each `--param`; raise UsageError for what is no setting, and for two of one name."""
    values: dict[str, int] = {}
    for setting in settings:
        name, separator, value = setting.partition("=")
        if not separator or not re.fullmatch(_NAME, name):
            raise UsageError(f"--param {setting}: not a parameter and its value", hint="write --param N=4096")
        if name in values:
            raise UsageError(f"--param: {name} is given twice, {values[name]} and {value}", hint="give it once")
        values[name] = integer(f"--param {name}", value, written=f"--param {name}=32")
    return values


def page(name: str | None) -> str | None:
    """Return the name of a report; raise UsageError for one that is no HTML file."""
    if name is not None and not name.endswith((".html", ".htm")):
        raise UsageError(f"--report {name}: reports are HTML files", hint="write --report FILE.html")
    return name
