"""The command line of gcc and clang: which words are options, which of them take the next word, which are inputs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError

# Options whose value is the next word, or follows at once.
_JOINED_OR_SEPARATE = (
    "-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-iprefix", "-isysroot", "-MF", "-MT", "-MQ",
    "-I", "-D", "-U", "-L", "-l", "-o", "-x", "-B",
)  # fmt: skip
_SEPARATE = frozenset((
    *_JOINED_OR_SEPARATE, "-iwithprefix", "-iwithprefixbefore", "-imultilib", "--sysroot", "--param", "-Xlinker",
    "-Xassembler", "-Xpreprocessor", "-Xclang", "-mllvm", "-target", "-arch", "-T", "-u", "-z", "-e", "-A", "-G",
    "-aux-info", "-wrapper", "-dumpbase", "-dumpbase-ext", "-dumpdir",
))  # fmt: skip
_MOST_NESTED = 100  # response files that name each other


@dataclass(frozen=True, slots=True)
class Argument:
    """An option with its value, or an input, whose option is "" and whose value is its path; `given` are its words.

    `language` is what the `-x` before an input says of it.
    """

    option: str
    value: str
    given: tuple[str, ...]
    language: str = ""

    @property
    def is_c(self) -> bool:
        """Whether this is an input in C that is not preprocessed yet."""
        return not self.option and (self.language == "c" or (not self.language and self.value.endswith(".c")))


def arguments(words: Sequence[str]) -> tuple[Argument, ...]:
    """Read a command line without response files.

    before: ["-c", "-Iinclude", "-o", "a.o", "a.c"]
    after:  -c | -I include | -o a.o | a.c
    """
    found: list[Argument] = []
    language, rest = "", iter(words)
    for word in rest:
        argument = _argument(word, rest)
        if argument.option == "-x":
            language = "" if argument.value == "none" else argument.value
        elif not argument.option:
            argument = Argument("", argument.value, argument.given, language)
        found.append(argument)
    return tuple(found)


def _argument(word: str, rest: Iterator[str]) -> Argument:
    if word in _SEPARATE:
        value = next(rest, None)
        return Argument(word, value or "", (word,) if value is None else (word, value))
    if word == "-" or not word.startswith("-"):
        return Argument("", word, (word,))
    name = next((name for name in _JOINED_OR_SEPARATE if word.startswith(name) and not _is_other(word)), None)
    return Argument(name, word.removeprefix(name), (word,)) if name else Argument(word, "", (word,))


def _is_other(word: str) -> bool:
    """Return whether an option only begins like one that is followed by its value."""
    return word.startswith(("-include-pch", "-objc"))


def with_response_files(words: Sequence[str], depth: int = 0) -> list[str]:
    """Put the words of response files, `@file`, in their place; one that cannot be read stays as it is, as in gcc."""
    found: list[str] = []
    for word in words:
        text = _response_file(word[1:]) if word.startswith("@") else None
        if text is None:
            found.append(word)
        elif depth == _MOST_NESTED:
            raise UsageError(f"{word}: response files name each other without end", hint="give the options themselves")
        else:
            found += with_response_files(_words(text, word), depth + 1)
    return found


def _response_file(name: str) -> str | None:
    try:
        return os.fsdecode(Path(name).read_bytes())
    except OSError:
        return None


def _words(text: str, word: str) -> list[str]:
    """Split a text into words at white space, with the quotes and backslashes of a shell, without comments. Raises
    UsageError where quotes are not closed."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{word} cannot be read: {str(error).lower()}", hint="close the quotes in it") from None
