"""pcpp as a preprocessor of C: its messages are kept, its arithmetic and its expansions are C's.

Only machines without a C compiler import this, and pcpp.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from types import ModuleType
from typing import Any

from pcpp import Action, OutputDirective, Preprocessor, parser

from polytile.frontend.conditional_directives import NoConditionError, holds
from polytile.frontend.tokens import tokenize

_OPERATORS = frozenset("+-&|<>=!*/%")
_JOINED = frozenset(("++", "--", "&&", "||", "<<", ">>", "->", "/*", "//", *(f"{op}=" for op in "+-&|<>=!*/%")))
# What pcpp passes over as if it were not there, though it decides what is read.
_UNKNOWN = frozenset(("elifdef", "elifndef", "include_next", "embed", "import"))


class Engine(Preprocessor):  # type: ignore[misc]
    """pcpp with its messages kept instead of printed, and C's meaning where it has another."""

    def __init__(self) -> None:
        super().__init__(_lexer())
        self.found: list[tuple[str, int, str]] = []
        self.undefined: set[str] = set()

    def define(self, tokens: Any) -> Any:
        if not isinstance(tokens, str) and any(t.value == "__VA_OPT__" for t in tokens):
            self._refuse(tokens[0], "__VA_OPT__ needs a C compiler as the preprocessor")
        super().define(tokens)
        name = tokens.split()[0] if isinstance(tokens, str) else tokens[0].value
        macro = self.macros.get(name)
        if macro is not None and macro.arglist is None and any(t.value == "##" for t in macro.value):
            self._paste(macro)

    def _paste(self, macro: Any) -> None:
        """pcpp joins `a ## b` only in macros with arguments."""
        joins = [k for k, token in enumerate(macro.value) if token.value == "##"]
        blanks = {k + side for k in joins for side in (-1, 1)}
        macro.value = [t for k, t in enumerate(macro.value) if k not in blanks or not t.value.isspace()]
        macro.patch, macro.str_patch, macro.var_comma_patch = [], [], []
        macro.value = super().macro_expand_args(macro, [])

    def macro_expand_args(self, macro: Any, args: Any) -> Any:
        """pcpp doubles all backslashes of `#x`, and for an empty `x` of `x ## y` joins what stands before it."""
        prepared = copy(macro)
        prepared.value, prepared.str_patch, prepared.patch = list(macro.value), [], []
        for number, at in macro.str_patch:
            prepared.value[at] = copy(macro.value[at])
            prepared.value[at].value = _stringified(args[number])
        for kind, number, at in macro.patch:
            beside = [t.value for t in (*macro.value[max(at - 1, 0) : at], *macro.value[at + 1 : at + 2])]
            if kind == "t" and not args[number] and beside != ["##", "##"]:
                prepared.value[at] = copy(macro.value[at])
                prepared.value[at].type, prepared.value[at].value = "CPP_WS", " "
            else:
                prepared.patch.append((kind, number, at))
        return super().macro_expand_args(prepared, args)

    def evalexpr(self, tokens: Any) -> tuple[int, None]:
        """pcpp divides as Python does, and does not know how wide integers are."""
        try:
            return int(holds(self._condition(tokens))), None
        except NoConditionError as error:
            self._refuse(tokens[0] if tokens else self.lastdirective, str(error))
            return 0, None

    def _condition(self, tokens: Any) -> list[str]:
        found = separated(self.expand_macros(self._without_has_include(self._without_defined(tokens))))
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

    def _without_has_include(self, tokens: Any) -> list[Any]:
        """`__has_include(<x.h>)` and `__has_include("x.h")` as 1 or 0."""
        left, done = list(tokens), list[Any]()
        while left:
            done.append(token := left.pop(0))
            if token.value != "__has_include":
                continue
            count, given, _ = self.collect_args(left, True)
            name = "".join(t.value for t in given[0]) if len(given) == 1 else ""
            if name[:1] not in ("<", '"'):
                name = "".join(t.value for t in self.expand_macros([copy(t) for t in given[0]])) if given else ""
            if re.fullmatch(r'<[^>]+>|"[^"]+"', name.strip()) is None:
                raise NoConditionError('__has_include takes <x.h> or "x.h"')
            folders = [*(self.temp_path if name.strip()[0] == '"' else []), *self.path]
            token.type = self.t_INTEGER
            token.value = str(int(any(os.path.isfile(os.path.join(f, name.strip()[1:-1])) for f in folders)))
            del left[:count]
        return done

    def include(self, tokens: Any, original_line: Any) -> Any:
        if tokens and tokens[0].type == self.t_ID:
            tokens = self.tokenstrip(self.expand_macros(tokens))
            if not tokens:
                self._refuse(self.lastdirective, "malformed #include")
        return super().include(tokens, original_line)

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


def separated(tokens: Iterable[Any]) -> Iterator[Any]:
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


def _stringified(argument: Sequence[Any]) -> str:
    """What `#x` makes of an argument: only what stands in strings and characters has its backslashes doubled."""
    parts: list[str] = []
    for text in (token.value for token in argument):
        if text.isspace() or text.startswith(("/*", "//")):
            parts += [" "] if parts and parts[-1] != " " else []
        else:
            parts.append(re.sub(r'([\\"])', r"\\\1", text) if text[-1] in "'\"" else text)
    return f'"{"".join(parts).strip()}"'


def _lexer() -> Any:
    """pcpp's, but for numbers, which are C's: in `1x` no parameter `x` is replaced."""

    def t_CPP_INTEGER(token: Any) -> Any:
        r"\.?[0-9]([eEpP][+-]|[\w.])*"
        return token

    rules = ModuleType(parser.__name__)
    vars(rules).update({**vars(parser), "t_CPP_INTEGER": t_CPP_INTEGER})
    return parser.lex.lex(module=rules, optimize=1, lextab="polytile_numbers")  # of which there is no table to read


def _spell(tokens: Any) -> str:
    return "".join(t.value for t in tokens).strip().strip('"')
