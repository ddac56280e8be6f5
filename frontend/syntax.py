"""A piece of preprocessed C to pycparser's nodes; what is wrong with it is said in places of the user's file.

Character constants as the numbers that they are in C, before anything else sees them.

before: b[i - 'a'] = '\xff';  case L'x':  sizeof u'x'       1'000
after:  b[i - 97] = (-1);     case 120:   sizeof ((unsigned short)120)   1000

One of which compilers make different values, or whose characters are not ASCII, stays as it is, and is refused where a
SCoP reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Any

from pycparser import c_ast
from pycparser.c_lexer import CLexer, Token
from pycparser.c_parser import ParseError

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UserError
from polytile.frontend.implicit_int import declared_name, lacks_only_a_type
from polytile.frontend.preprocess import Preprocessed
from polytile.frontend.shipped_declarations import ContinuingParser
from polytile.frontend.tokens import tokenize
from polytile.ir.integer_constants import character_value

_MOST_IMPLIED = 30  # declarations without a type; the file is parsed once more for each
_PLACED = r"(?s)^(?:.*?:)?(\d+):(\d+): (.*)$"
_STATEMENT_EXPRESSION = r"[^\w\s]\s*\(\s*\{"
_LABEL_AS_VALUE = r"\bgoto\s*\*|[=(,{]\s*&&\s*\w"
_KEYWORD_HINTS = {
    "__asm__": "inline assembly is not C; write the operation in C",
    "__asm": "inline assembly is not C; write the operation in C",
    "asm": "inline assembly is not C; write the operation in C",
    "__label__": "labels of blocks are not C99; give each label of the function another name",
    "_Generic": "call the function of the type that is meant, such as sqrt or sqrtf",
    "template": "polytile reads C99, not C++",
    "class": "polytile reads C99, not C++",
    "namespace": "polytile reads C99, not C++",
    "__global__": "polytile reads C and writes CUDA; give it the sequential C",
    "__device__": "polytile reads C and writes CUDA; give it the sequential C",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """Text from a line and a column of the preprocessed text on: all of the rest, or one declaration."""

    text: str
    line: int
    column: int = 1
    whole: bool = True


def read_piece(
    source: Preprocessed, piece: Piece, names: Mapping[str, bool]
) -> tuple[list[c_ast.Node], Mapping[str, bool]]:
    """The declarations of a piece, in places of the preprocessed text, and what the names of the file are behind it:
    types (true) or not, as `names` are in front of it. A syntax error becomes a located `UserError`."""
    implied: dict[tuple[int, int], UserError] = {}  # where `int` is left out, and what to say if that is not all
    text = f"# {piece.line}\n{' ' * (piece.column - 1)}{piece.text}"
    while True:
        reached: list[tuple[int, int, str]] = []
        lexer = _recording_lexer(reached, implied.keys(), unsigned_char=chars_are_unsigned(source))
        parser = ContinuingParser(lexer, names)
        try:
            return list(parser.parse(text, source.path).ext), parser.names
        except ParseError as error:
            refusal = _syntax_error(str(error), source, reached, whole=piece.whole)
            place = _implied_place(str(error), source)
            if place is None or place in implied or len(implied) == _MOST_IMPLIED:
                raise _first_on_its_line(refusal, implied, str(error)) from None
            implied[place] = refusal
        except RecursionError:
            hint = "split the expression or the nest that is nested this deeply"
            start = source.lines.location(piece.line, piece.column)
            what = "the file is nested too deeply to parse" if piece.whole else "it is nested too deeply to parse"
            raise UserError(what, location=Location(start.file, start.line), hint=hint) from None


def _recording_lexer(
    reached: list[tuple[int, int, str]], implied: Set[tuple[int, int]], *, unsigned_char: bool
) -> type[CLexer]:
    """A lexer that notes the last token it gave, because some syntax errors carry no place; before the tokens at the
    places `implied` it gives an `int` that is not in the text, and numbers for character constants."""

    class RecordingLexer(CLexer):  # type: ignore[misc]
        held: tuple[Any, ...] = ()

        def token(self) -> Any:
            if self.held:
                token, *rest = self.held
                self.held = tuple(rest)
            else:
                token = super().token()
                if token is None:
                    return None
                token, *rest = as_numbers(token, unsigned_char=unsigned_char)
                if (token.lineno, token.column) in implied:
                    self.held = (token, *rest)
                    return Token("INT", "int", token.lineno, token.column, token.filename)
                self.held = tuple(rest)
            reached[:] = [(token.lineno, token.column, token.value)]
            return token

    return RecordingLexer


def _implied_place(message: str, source: Preprocessed) -> tuple[int, int] | None:
    """The place before which a declaration lacks its type and nothing else, as far as can be seen, by line and column
    of the preprocessed text."""
    found = re.match(_PLACED, message)
    if found is None:
        return None
    line, column = int(found[1]), int(found[2])
    rest = source.rest_of_text(line, column)
    no_c = declared_name(rest) in _KEYWORD_HINTS
    return None if no_c or not lacks_only_a_type(found[3], rest) else (line, column)


def _first_on_its_line(refusal: UserError, implied: dict[tuple[int, int], UserError], message: str) -> UserError:
    """What to say of a syntax error: where its line also lacks a type, that is more likely what is wrong."""
    found = re.match(_PLACED, message)
    line = int(found[1]) if found else None
    return next((earlier for (at, _), earlier in implied.items() if at == line), refusal)


def _syntax_error(message: str, source: Preprocessed, reached: list[tuple[int, int, str]], *, whole: bool) -> UserError:
    found = re.match(_PLACED, message)
    if found is None:
        return _unplaced_error(message, source, reached, whole=whole)
    line, column, text = int(found[1]), int(found[2]), found[3]
    location = source.lines.location(line, column)
    if not text.startswith("before: "):
        what = text[:1].lower() + text[1:]
        name = declared_name(source.rest_of_text(line, column))
        if _implied_place(message, source) is not None:
            return UserError(
                f"'{name}' is declared without a type, as C before C99 allowed",
                location=location,
                hint=f"write its type: `int {name}`; what a function without a value returns is `void`",
            )
        hint = _hint(source, line, _token_at(source, line, column))
        return UserError(f"syntax error: {what}", location=location, hint=hint)
    token = text.removeprefix("before: ")
    return UserError(f"syntax error before '{token}'", location=location, hint=_hint(source, line, token))


def _unplaced_error(
    message: str, source: Preprocessed, reached: list[tuple[int, int, str]], *, whole: bool
) -> UserError:
    if (whole and "end of" in message.lower()) or not reached:
        last = source.raw.rstrip().count("\n") + 1
        hint = "a closing brace, parenthesis or semicolon is missing before it"
        return UserError("syntax error at the end of the file", location=Location(source.path, last), hint=hint)
    line, column, token = reached[0]
    place = source.lines.location(line, column)
    return UserError(f"syntax error near '{token}'", location=place, hint=_hint(source, line, token))


def _token_at(source: Preprocessed, line: int, column: int) -> str:
    return next((t.text for t in tokenize(source.rest_of_text(line, column))), "")


def _hint(source: Preprocessed, line: int, token: str) -> str:
    text = source.lines.lines[line - 1] if 0 < line <= len(source.lines.lines) else ""
    for word in [token, *(t.text for t in tokenize(text))]:
        if word in _KEYWORD_HINTS:
            return _KEYWORD_HINTS[word]
    if text.lstrip().startswith("#"):
        before = next((line.strip() for line in reversed(source.lines.lines[: line - 1]) if line.strip()), "")
        if before and not before.startswith("#") and before[-1] not in ";{}:":
            return "end the statement before it: a ';', ')' or '}' may be missing there"
        return "a pragma of polytile stands where a statement could stand, on a line of its own"
    if re.search(_LABEL_AS_VALUE, text):
        return "jumps to labels that are values cannot be followed; use `switch`"
    if re.search(_STATEMENT_EXPRESSION, text):
        return "statement expressions `({ ... })` are not C99; write a function"
    return "polytile reads C99; look for a missing ';', ')' or '}', or a type that is not declared, before this place"


_KINDS = frozenset(("CHAR_CONST", "WCHAR_CONST", "U8CHAR_CONST", "U16CHAR_CONST", "U32CHAR_CONST", "INT_CONST_CHAR"))
_CAST = {"u": ("SHORT", "short"), "u8": ("CHAR", "char")}


def chars_are_unsigned(source: Preprocessed) -> bool:
    """Whether a plain `char` is unsigned, as compilers tell by a macro."""
    return "__CHAR_UNSIGNED__" in source.macros


def as_numbers(token: Token, *, unsigned_char: bool) -> list[Token]:
    """The tokens that the parser reads in place of one."""
    if token.type not in _KINDS:
        if token.type.startswith("INT_CONST"):
            token.value = token.value.replace("'", "")
        return [token]
    found = character_value(token.value, unsigned_char=unsigned_char)
    if found is None:
        return [token]
    prefix, value = found

    def made(kind: str, text: str) -> Token:
        return Token(kind, text, token.lineno, token.column, token.filename)

    number = made("INT_CONST_DEC", f"{abs(value)}{'U' if prefix == 'U' else ''}")
    opened, closed = made("LPAREN", "("), made("RPAREN", ")")
    if prefix in _CAST:
        return [opened, opened, made("UNSIGNED", "unsigned"), made(*_CAST[prefix]), closed, number, closed]
    return [opened, made("MINUS", "-"), number, closed] if value < 0 else [number]
