"""The user's file with its macros expanded, and the way back from every token to the user's line and column."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Collection, Sequence
from functools import cache
from pathlib import Path

from polytile.c_flags import predefined
from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UsageError, UserError, remember_source
from polytile.frontend.attributes import Annotations, layout_pragma, without_annotations
from polytile.frontend.linemap import LineMap, marked_files, split_markers
from polytile.frontend.macros import expand_with_pcpp
from polytile.frontend.tokens import name_tokens, tokenize
from polytile.ir.c_text import c_string
from polytile.process import Result, RunawayError, run_bounded

INCLUDE = Path(__file__).resolve().parent / "include"
STDIN = "<stdin>"
IMAGINARY_UNIT = "__polytile_imaginary_unit"  # of polytile's <complex.h>
_SECONDS = 20.0

# pycparser reads ISO C; these GNU spellings say nothing that matters to a SCoP.
_GNU = (
    "__extension__=", "__restrict=restrict",
    "__restrict__=restrict", "__inline=inline", "__inline__=inline", "__volatile__=volatile", "__volatile=volatile",
    "__const=const", "__const__=const", "__signed__=signed", "__builtin_offsetof=offsetof", "__POLYTILE__=1",
    "__thread=_Thread_local", "__alignof__=_Alignof", "__alignof=_Alignof", "__complex__=_Complex",
    "__complex=_Complex",
)  # fmt: skip
_KEPT_PRAGMA = re.compile(r"\s*#\s*pragma\s+(scop|endscop|polytile|pencil\s+independent)\b")
_MARK = re.compile(r"__polytile_(assume|access)__")
_OPENED = re.compile(r"^([ \t]*)#[ \t]*pragma[ \t]+polytile[ \t]+(assume|access)[ \t]*(\(.*\))[ \t]*$", re.MULTILINE)
_PRAGMA = re.compile(r"\s*#\s*pragma\b")
_DEFINITION = re.compile(r"#(?:define|undef)\s+([\w$]+)")
_IDENTIFICATION = re.compile(r"#\s*(?:ident|sccs)\b")
_ROUNDING = re.compile(r"\s*#\s*pragma\s+STDC\s+(FENV_ACCESS\s+ON|FENV_ROUND)\b")
_SEPARATOR = re.compile(r"\w'\w")
_MESSAGE = re.compile(r"^(.+?):(\d+):(?:(\d+):)? (?:fatal )?error: (.*)$", re.MULTILINE)
_MISSING = (
    re.compile(r"^(?P<name>.+): No such file or directory$"),
    re.compile(r"^'(?P<name>.+)' file not found"),
)


class _MissingHeaderError(UserError):
    """`#include <x.h>` of what neither the user's folders nor polytile's have."""


@dataclass(frozen=True, slots=True)
class Preprocessed:
    """`raw` is the user's text, untouched; `text` is what the parser reads, one line per entry of `lines`; `macros` are
    the names that are a macro somewhere; `include_dirs`, `defines` and `cflags` are what it was preprocessed with, by
    the command `compiler` (None: by pcpp), and `expand` is what the parser would read of another text in place of the
    user's; `annotations` are attributes and pragmas that the parser does not read."""

    path: str
    raw: str
    text: str
    lines: LineMap
    macros: frozenset[str] = frozenset()
    include_dirs: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    cflags: tuple[str, ...] = ()
    expand: Callable[[str], str] = str
    annotations: Annotations = Annotations()
    compiler: str | None = None

    def rest_of_text(self, line: int, column: int) -> str:
        """What the parser reads from a place on."""
        rest = self.lines.lines[line - 1 :] if line > 0 else ()
        return "\n".join((rest[0][column - 1 :], *rest[1:])) if rest else ""


def read_input(path: str) -> tuple[str, str]:
    """The name for messages and the text of a file, or of standard input when `path` is `-`."""
    if path == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
        remember_source(STDIN, text)
        return STDIN, text
    try:
        return path, Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        hint = "give the path of a C file, or `-` for standard input"
        raise UserError(f"cannot read '{path}': {error.strerror or error}", hint=hint) from error


def preprocess(
    path: str,
    text: str | None = None,
    *,
    include_dirs: Sequence[str] = (),
    defines: Sequence[str] = (),
    preprocessor: str = "auto",
    flags: Sequence[str] = (),
    cflags: Sequence[str] = (),
) -> Preprocessed:
    """Expand the macros and includes of a C file.

    `defines` are `NAME` or `NAME=VALUE`; `cflags` are flags of the C compiler, many of which define macros.
    `preprocessor` is a command such as `gcc`, "pcpp", or "auto": the system's C preprocessor when there is one, else
    pcpp. `flags` are more options of a command, such as `-include config.h`, with absolute paths; pcpp knows none.
    """
    if text is None:
        path, text = read_input(path)
    else:
        remember_source(path, text)
    command = _command(preprocessor)

    def expanded(text: str) -> tuple[list[str], list[tuple[str, int]]]:
        request = _Request.of(path, text, include_dirs, defines, (*cflags, *flags))
        return split_markers(_output(command, request), path, request.display)

    lines, origins = expanded(text)
    _check_rounding(lines, origins)
    macros = frozenset(found[1] for line in lines if (found := _DEFINITION.match(line)))
    _check_separators(lines, origins, macros)
    lines, annotations = _parser_lines(lines)
    line_map = LineMap(tuple(lines), tuple(origins), _raw_reader(path, text))
    return Preprocessed(
        path,
        text,
        "\n".join(lines),
        line_map,
        macros,
        tuple(include_dirs),
        tuple(defines),
        tuple(cflags),
        lambda text: "\n".join(_parser_lines(expanded(text)[0])[0]),
        annotations,
        command,
    )


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a file is read with: what the preprocessor prints for it, line markers included, the files that these name,
    as messages write them, and the command that was run (None: pcpp)."""

    output: str
    files: tuple[str, ...]
    command: str | None


def surroundings(
    path: str,
    text: str,
    *,
    include_dirs: Sequence[str] = (),
    defines: Sequence[str] = (),
    preprocessor: str = "auto",
    flags: Sequence[str] = (),
    cflags: Sequence[str] = (),
) -> Surroundings:
    """What `preprocess` would read, without a look at it; raises what it would raise of the preprocessor's."""
    command = _command(preprocessor)
    request = _Request.of(path, text, include_dirs, defines, (*cflags, *flags))
    output = _output(command, request)
    named = dict.fromkeys(request.display(name) for name in marked_files(output) if not is_shipped(name))
    return Surroundings(output, tuple(named), command)


def _command(preprocessor: str) -> str | None:
    return _system_preprocessor() if preprocessor == "auto" else preprocessor


def _output(command: str | None, request: _Request) -> str:
    return _run_pcpp(request) if command in (None, "pcpp") else _run_system(str(command), request)


def _parser_lines(lines: Sequence[str]) -> tuple[list[str], Annotations]:
    return without_annotations([_parser_line(line) for line in lines])


def _check_rounding(lines: Sequence[str], origins: Sequence[tuple[str, int]]) -> None:
    """Raise UserError where a pragma says that the program sets how numbers are rounded: kernels round to nearest."""
    for line, (file, number) in zip(lines, origins, strict=True):
        if "STDC" in line and (found := _ROUNDING.match(line)):
            raise UserError(
                f"kernels round to nearest, and `#pragma STDC {' '.join(found[1].split())}` lets the program choose",
                location=Location(file, number, line.find("#") + 1),
                hint="move the functions with SCoPs to a file without the pragma",
            )


def _check_separators(lines: Sequence[str], origins: Sequence[tuple[str, int]], macros: Collection[str]) -> None:
    """Raise UserError where a digit separator, `1'000`, has kept a preprocessor from expanding what stands behind it:
    to one of C99 it opens a character constant."""
    for line, (file, number) in zip(lines, origins, strict=True):
        if "'" not in line or not _SEPARATOR.search(line):
            continue
        tokens = list(tokenize(line))
        separated = next((t for t in tokens if t.kind == "number" and "'" in t.text), None)
        left = {t.text for t in tokens if separated and t.offset > separated.offset} & set(macros)
        if separated and left:
            raise UserError(
                f"C99 expands no macro behind the digit separator of {separated.text}: '{min(left)}' is left",
                location=Location(file, number, line.find(separated.text) + 1),
                hint=f"write {separated.text.replace(chr(39), '')}, or give --cflags=-std=gnu2x to a compiler of C23",
            )


def _opened(text: str) -> str:
    """Let the preprocessor see the macros in `#pragma polytile assume(N >= 4)`, where C keeps them as they are."""
    return _OPENED.sub(r"\1__polytile_\2__\3", text)


def _parser_line(line: str) -> str:
    """A line as the parser reads it: assumptions are pragmas again; foreign pragmas and definitions are gone."""
    if "#" not in line and "__polytile_" not in line:
        return line
    if _MARK.match(line.lstrip()):
        return _MARK.sub(r"#pragma polytile \1", line, count=1)
    if line.startswith("#") and (_DEFINITION.match(line) or _IDENTIFICATION.match(line)):
        return ""
    return "" if _PRAGMA.match(line) and not _KEPT_PRAGMA.match(line) and not layout_pragma(line) else line


def _raw_reader(path: str, text: str) -> Callable[[str], tuple[str, ...]]:
    @cache
    def lines(name: str) -> tuple[str, ...]:
        if name == path:
            return tuple(text.split("\n"))
        try:
            return tuple(Path(name).read_text(errors="replace").split("\n"))
        except OSError:
            return ()

    return lines


@cache
def _system_preprocessor() -> str | None:
    return next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)


@dataclass(frozen=True, slots=True)
class _Request:
    path: str
    text: str
    include_dirs: tuple[str, ...]
    defines: tuple[str, ...]
    flags: tuple[str, ...]

    @classmethod
    def of(
        cls, path: str, text: str, include_dirs: Sequence[str], defines: Sequence[str], flags: Sequence[str]
    ) -> _Request:
        text = _opened(text.removeprefix("\ufeff").replace("\r\n", "\n"))
        return cls(path, text, tuple(include_dirs), tuple(defines), tuple(flags))

    @property
    def folder(self) -> str:
        """Where `#include "x.h"` looks first; a text may be named after a file in a folder that is not here."""
        folder = os.path.dirname(self.path)
        return folder if folder and not self.path.startswith("<") and os.path.isdir(folder) else "."

    @property
    def search(self) -> list[str]:
        return [*(os.path.abspath(d) for d in self.include_dirs), str(INCLUDE)]

    @property
    def macros(self) -> list[str]:
        return [*_GNU, *self.defines]

    def display(self, name: str) -> str:
        """The name of a file as the user would write it."""
        if name == self.path or is_shipped(name):
            return name
        for given in (*self.include_dirs, self.folder):
            inside = os.path.relpath(name, os.path.abspath(given)) if os.path.isabs(name) else ".."
            if not inside.startswith(".."):
                return os.path.normpath(os.path.join(given, inside))
        if os.path.isabs(name) or name.startswith("<"):
            return name
        return os.path.normpath(os.path.join(self.folder, name))


def _run_system(command: str, request: _Request) -> str:
    """The compiler's output with polytile's headers, and where these do not suffice with the system's behind them."""
    done = _expanded(command, request, ["-nostdinc"])
    if done.status == 0:
        return done.output.decode("utf-8", "surrogateescape")
    error = _explain(done.errors.decode("utf-8", "replace"), command, request)
    if isinstance(error, _MissingHeaderError):
        again = _expanded(command, request, [])
        if again.status == 0:
            return again.output.decode("utf-8", "surrogateescape")
    raise error


def _expanded(command: str, request: _Request, options: Sequence[str]) -> Result:
    arguments = [*shlex.split(command), "-E", "-dD", "-x", "c", "-std=gnu99", "-w", *options, *request.flags]
    arguments += [f"-I{d}" for d in request.search] + [f"-D{m}" for m in request.macros] + ["-"]
    try:
        return run_bounded(
            arguments,
            stdin=f"# 1 {c_string(request.path)}\n{request.text}".encode("utf-8", "surrogateescape"),
            directory=request.folder,
            environment={**os.environ, "LC_ALL": "C"},
            timeout=_SECONDS,
        )
    except RunawayError as error:
        hint = "look for an include that reads itself or macros that double each other, or name another preprocessor"
        raise UserError(f"preprocessing: {error}", location=Location(request.path, 1), hint=hint) from None
    except OSError as error:
        raise UsageError(f"cannot run the C preprocessor '{command}': {error.strerror or error}") from error


def _run_pcpp(request: _Request) -> str:
    macros = [*predefined(request.flags), *request.macros]
    result = expand_with_pcpp(request.text, request.path, request.folder, request.search, macros)
    if result.errors:
        file, line, message = result.errors[0]
        raise _error(Location(request.display(file), line), message, request)
    return result.text


def _explain(messages: str, command: str, request: _Request) -> UserError:
    found = _MESSAGE.search(messages)
    if found is None:
        return UserError(f"'{command} -E' failed: {messages.strip()[:300]}", location=Location(request.path, 1))
    file, line, column, message = found.groups()
    return _error(Location(request.display(file), int(line), int(column or 0)), message, request)


def _error(location: Location, message: str, request: _Request) -> UserError:
    for pattern in _MISSING:
        if found := pattern.match(message):
            return _missing_include(location, found["name"], request)
    if message.startswith("#error"):
        message = message.replace('#error "', "#error ", 1).rstrip('"') if message.endswith('"') else message
        hint = "define the macro that it asks for with -D NAME=VALUE"
        return UserError(message, location=location, hint=hint)
    return UserError(message, location=location, hint="the C preprocessor rejects this line")


def _missing_include(location: Location, name: str, request: _Request) -> UserError:
    lines = _raw_reader(request.path, request.text)(location.file)
    if 0 < location.line <= len(lines):
        # Compilers disagree on the column, so look it up.
        column = max(lines[location.line - 1].find(name), 1)
        location = Location(location.file, location.line, column)
    message, hint = f"cannot find include file '{name}'", f"add the folder that holds '{name}' with -I DIR"
    if name == "tgmath.h":  # what compilers have of it is not C
        hint = "include <math.h> and call the function of the type that is meant, such as sqrt or sqrtf"
        return UserError(message, location=location, hint=hint)
    if not _angled(lines, location.line):
        return UserError(message, location=location, hint=hint)
    hint += "; polytile has the system's headers of ISO C99 and the common ones of POSIX, and reads others if installed"
    return _MissingHeaderError(message, location=location, hint=hint)


def _angled(lines: tuple[str, ...], line: int) -> bool:
    return 0 < line <= len(lines) and "<" in lines[line - 1]


def is_shipped(file: str) -> bool:
    """Whether a file of a line marker is one of polytile's own headers."""
    return Path(file).is_absolute() and Path(file).is_relative_to(INCLUDE)


def identifiers(text: str) -> frozenset[str]:
    """Every name that occurs in C text."""
    return frozenset(name_tokens(text))
