"""Preprocessing with pcpp, for machines without a C compiler."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any

from polytile.dataclass import dataclass
from polytile.frontend.conditional_directives import NoConditionError, holds
from polytile.frontend.tokens import tokenize

_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_OPERATORS = frozenset("+-&|<>=!*/%")
_JOINED = frozenset(("++", "--", "&&", "||", "<<", ">>", "->", "/*", "//", *(f"{op}=" for op in "+-&|<>=!*/%")))
# What pcpp passes over as if it were not there, though it decides what is read.
_UNKNOWN = frozenset(("elifdef", "elifndef", "include_next", "embed", "import"))
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
    if trigraph := _TRIGRAPH.search(text):  # which pcpp replaces, and compilers in the mode of GNU's C do not
        line = text.count("\n", 0, trigraph.start()) + 1
        return Expansion("", ((name, line, "a trigraph needs a C compiler as the preprocessor"),))
    engine.parse(text, name)
    engine.parser = _separated(engine.parser)
    output = io.StringIO()
    engine.write(output)
    # As `cc -E -dD` does it, but in one place.
    definitions = "".join(f"#define {name}\n" for name in sorted({*engine.macros, *engine.undefined}))
    return Expansion(f"{output.getvalue()}\n{definitions}", tuple(engine.found))


def _separated(tokens: Iterable[Any]) -> Iterator[Any]:
    """Tokens with a blank between two that expansion has put beside each other, and that would be read as one."""
    before: Any = None
    for token in tokens:
        if before is not None and _would_join(before.value, token.value):
            blank = copy(token)
            blank.type, blank.value = "CPP_WS", " "
            yield blank
        before = token
        yield token


def _would_join(one: str, two: str) -> bool:
    """Whether two tokens that no text can have side by side become another one."""
    if one[-1:] in _OPERATORS and one[-1:] + two[:1] in _JOINED:
        return True
    return one.isidentifier() and (two[:1].isalnum() or two[:1] == "_") and two[:1] not in ("", "'", '"')


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

        def define(self, tokens: Any) -> Any:
            if not isinstance(tokens, str) and any(t.value == "__VA_OPT__" for t in tokens):
                self._refuse(tokens[0], "__VA_OPT__ needs a C compiler as the preprocessor")
            return super().define(tokens)

        def evalexpr(self, tokens: Any) -> tuple[int, None]:
            """pcpp divides as Python does, and does not know how wide integers are."""
            try:
                return int(holds(self._condition(tokens))), None
            except NoConditionError as error:
                self._refuse(tokens[0] if tokens else self.lastdirective, str(error))
                return 0, None

        def _condition(self, tokens: Any) -> list[str]:
            found = _separated(self.expand_macros(self._without_defined(tokens)))
            words = [token.text for token in tokenize("".join(t.value for t in found))]
            if "defined" in words:
                raise NoConditionError("a macro of #if expands to 'defined'")
            return words

        def _without_defined(self, tokens: Any) -> list[Any]:
            """`defined NAME` and `defined(NAME)` as 1 or 0."""
            left = [copy(t) for t in tokens]
            done: list[Any] = []
            while left:
                token = left.pop(0)
                done.append(token)
                if token.value != "defined":
                    continue
                bracket = bool(self.tokenstrip(left)) and left[0].value == "("
                asked = self.tokenstrip(left[1:])[0:1] if bracket else left[0:1]
                if not asked or asked[0].type != self.t_ID:
                    raise NoConditionError("'defined' stands in front of a name")
                while left.pop(0).value != (")" if bracket else asked[0].value):
                    if not left:
                        raise NoConditionError("')' is missing behind 'defined'")
                token.type, token.value = self.t_INTEGER, str(int(asked[0].value in self.macros))
            return done

        def _refuse(self, token: Any, message: str) -> None:
            self.found.append((token.source, token.lineno, message))

        def on_directive_handle(self, directive: Any, toks: Any, ifpassthru: Any, precedingtoks: Any) -> Any:
            if directive.value in _UNKNOWN:
                self._refuse(directive, f"#{directive.value} needs a C compiler as the preprocessor")
            return super().on_directive_handle(directive, toks, ifpassthru, precedingtoks)

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
