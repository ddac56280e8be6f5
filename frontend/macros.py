"""Preprocessing with pcpp, for machines without a C compiler."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from polytile.dataclass import dataclass

_PREDEFINED = ("__STDC__=1", "__STDC_HOSTED__=1", "__STDC_VERSION__=199901L", "__LP64__=1", "_LP64=1", "__CHAR_BIT__=8")


@dataclass(frozen=True, slots=True)
class Expansion:
    """Preprocessed text with `#line` markers, and the errors as (file, line, message)."""

    text: str
    errors: tuple[tuple[str, int, str], ...]


def expand_with_pcpp(text: str, name: str, folder: str, search: Sequence[str], macros: Sequence[str]) -> Expansion:
    """What `cc -E -dD` prints, made by pcpp."""
    engine = _engine()
    engine.line_directive = "#line"
    for directory in [os.path.abspath(folder), *search]:
        engine.add_path(directory)
    engine.rewrite_paths = []
    for macro in [*_PREDEFINED, *_platform(), *macros]:
        definition, has_value, value = macro.partition("=")
        engine.define(f"{definition} {value if has_value else 1}")
    engine.parse(text, name)
    output = io.StringIO()
    engine.write(output)
    # As `cc -E -dD` does it, but in one place.
    definitions = "".join(f"#define {name}\n" for name in sorted({*engine.macros, *engine.undefined}))
    return Expansion(f"{output.getvalue()}\n{definitions}", tuple(engine.found))


def _platform() -> tuple[str, ...]:
    return ("__linux__=1", "__unix__=1") if sys.platform.startswith("linux") else ()


def _engine() -> Any:
    # Only a machine without a C compiler pays for this import.
    from pcpp import Action, OutputDirective, Preprocessor

    class Engine(Preprocessor):  # type: ignore[misc]
        """pcpp with its messages kept instead of printed."""

        def __init__(self) -> None:
            super().__init__()
            self.found: list[tuple[str, int, str]] = []
            self.undefined: set[str] = set()

        def undef(self, tokens: Any) -> Any:
            self.undefined.update(t.value for t in tokens if t.value in self.macros)
            return super().undef(tokens)

        def on_error(self, file: str, line: int, msg: str) -> None:
            # The wording of C compilers: "unterminated #ifdef".
            message = re.sub(r"^Unterminated (#\w+).*", r"unterminated \1", msg.strip(), flags=re.DOTALL)
            self.found.append((file, line, message))

        def on_include_not_found(self, is_malformed: bool, is_system: bool, curdir: str, includepath: str) -> None:
            message = "malformed #include" if is_malformed else f"{includepath}: No such file or directory"
            self.found.append((self.lastdirective.source, self.lastdirective.lineno, message))
            raise OutputDirective(Action.IgnoreAndRemove)

        def on_directive_unknown(self, directive: Any, toks: Any, ifpassthru: Any, precedingtoks: Any) -> Any:
            if directive.value == "error":
                self.found.append((directive.source, directive.lineno, "#error " + _spell(toks)))
            return None if directive.value == "pragma" else True

    return Engine()


def _spell(tokens: Any) -> str:
    return "".join(t.value for t in tokens).strip().strip('"')
