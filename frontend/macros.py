"""Preprocessing with pcpp, for machines without a C compiler."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Sequence

from polytile.dataclass import dataclass

_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_PREDEFINED = ("__STDC__=1", "__STDC_HOSTED__=1", "__STDC_VERSION__=199901L", "__LP64__=1", "_LP64=1", "__CHAR_BIT__=8")


@dataclass(frozen=True, slots=True)
class Expansion:
    """Preprocessed text with `#line` markers, and the errors as (file, line, message)."""

    text: str
    errors: tuple[tuple[str, int, str], ...]


def expand_with_pcpp(text: str, name: str, folder: str, search: Sequence[str], macros: Sequence[str]) -> Expansion:
    """What `cc -E -dD` prints, made by pcpp."""
    # Only a machine without a C compiler pays for this import.
    from polytile.frontend.pcpp_engine import Engine, separated

    engine = Engine()
    engine.line_directive = "#line"
    for directory in search:
        engine.add_path(directory)
    engine.temp_path.append(os.path.abspath(folder))  # of "x.h", not of <x.h>
    engine.rewrite_paths = []
    engine.define("__has_include __has_include")  # which only #if answers
    for macro in [*_PREDEFINED, *_platform(), *macros]:
        definition, has_value, value = macro.partition("=")
        engine.define(f"{definition} {value if has_value else 1}")
    if trigraph := _TRIGRAPH.search(text):  # which pcpp replaces, and compilers in the mode of GNU's C do not
        line = text.count("\n", 0, trigraph.start()) + 1
        return Expansion("", ((name, line, "a trigraph needs a C compiler as the preprocessor"),))
    engine.parse(text, name)
    engine.parser = separated(engine.parser)
    output = io.StringIO()
    engine.write(output)
    # As `cc -E -dD` does it, but in one place.
    definitions = "".join(f"#define {name}\n" for name in sorted({*engine.macros, *engine.undefined}))
    return Expansion(f"{output.getvalue()}\n{definitions}", tuple(engine.found))


def _platform() -> tuple[str, ...]:
    return ("__linux__=1", "__unix__=1") if sys.platform.startswith("linux") else ()
