"""The options of polytile's own among those of a C compiler: `--polytile-tile=32`, `-Werror=polytile`."""

from __future__ import annotations

import difflib
import os
import re
import shlex
from collections.abc import Sequence

from polytile.cli.arguments import long_options
from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError

PREFIX = "--polytile-"
VARIABLE = "POLYTILE_FLAGS"
PLACES = ("gpu", "emulator", "auto")
HELP = "polytile cc --polytile-help lists them"
# The command's options that mean nothing here, or something else.
_ELSEWHERE = frozenset(("help", "version", "target", "on", "build", "link", "managed", "json", "quiet", "cflags"))
OWN = frozenset(("on", "cc", "managed", "help"))
_OF_HOST_COMPILERS = frozenset(("cc", "dump", "help", "param", "verbose", "version"))
_WARNINGS = {"-Wpolytile": (True, None), "-Wno-polytile": (False, False), "-Werror=polytile": (True, True)}
_NOT_FATAL = "-Wno-error=polytile"


def shared() -> frozenset[str]:
    """Return the command's options that mean the same here, by their names without dashes."""
    return long_options() - _ELSEWHERE


@dataclass(frozen=True, slots=True)
class Settings:
    """What polytile is asked for: `words` are options of the command, `on` where kernels are to run, `host` the host
    compiler that is named. A refused SCoP is an error with `fatal`, and not mentioned without `warn`. With `managed`,
    C files allocate memory that host and GPU share."""

    words: tuple[str, ...] = ()
    on: str = "gpu"
    host: str = ""
    warn: bool = True
    fatal: bool = False
    managed: bool = False
    help: bool = False

    @property
    def autodetect(self) -> bool:
        return "--autodetect" in self.words

    @property
    def ranks(self) -> bool:
        """Whether SCoPs are to run on ranks of MPI, too."""
        return any(word.startswith("--ranks") for word in self.words)

    @property
    def files(self) -> tuple[str, ...]:
        """The files with schedules and with definitions for the device, which objects then depend on."""
        named = {w.partition("=")[0]: w.partition("=")[2] for w in self.words}
        return tuple(named[option] for option in ("--load-schedule", "--tuned", "--device-source") if option in named)


def is_own(word: str) -> bool:
    """Return whether a word is polytile's, so that the host compiler must not see it."""
    return word.startswith(PREFIX) or word in _WARNINGS or word == _NOT_FATAL


def without_prefix(words: Sequence[str]) -> list[str]:
    """Return the words that are options of the command, and probably meant for polytile: no host compiler has these."""
    names = (shared() | OWN) - _OF_HOST_COMPILERS
    return [word for word in words if word.startswith("--") and word[2:].partition("=")[0] in names]


def settings(words: Sequence[str]) -> Settings:
    """Parse what the words of a command line ask of polytile, after those of $POLYTILE_FLAGS; others are the
    compiler's.

    Raises UsageError for an option that is not known, or lacks its value.
    """
    own = [*_from_environment(), *(word for word in words if is_own(word))]
    passed: list[str] = []
    values: dict[str, str] = {}
    for word in own:
        if word.startswith(PREFIX):
            name, equals, value = word.removeprefix(PREFIX).partition("=")
            _check(name, value, equals)
            if name in OWN:
                values[name] = value
            else:
                passed.append(f"--{name}{equals}{value}")
    warn, fatal = _severity([*_from_environment(), *words])
    on = values.get("on", "gpu")
    if on not in PLACES:
        raise UsageError(f"{PREFIX}on: there is no place {on!r}", hint=f"one of {', '.join(PLACES)}")
    return Settings(tuple(passed), on, values.get("cc", ""), warn, fatal, "managed" in values, "help" in values)


def _severity(words: Sequence[str]) -> tuple[bool, bool]:
    """Return whether polytile's warnings are shown, and whether they are errors; as for warnings of gcc's, the option
    that names them counts more than `-Werror` and `-w`."""
    warn, fatal = "-w" not in words, None
    for word in words:
        if word in _WARNINGS:
            warn, now = _WARNINGS[word]
            fatal = fatal if now is None else now
        elif word == _NOT_FATAL:
            fatal = False
    everything = "-Werror" in words and words[::-1].index("-Werror") < _last(words, "-Wno-error")
    return warn, warn and (everything if fatal is None else fatal)


def _last(words: Sequence[str], word: str) -> int:
    """Return how far from the end a word stands last."""
    return words[::-1].index(word) if word in words else len(words)


def _from_environment() -> list[str]:
    """Return the words of $POLYTILE_FLAGS, where the prefix may be left out."""
    text = os.environ.get(VARIABLE, "")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{VARIABLE} cannot be read: {str(error).lower()}", hint="close its quotes") from None
    for word in words:
        if not word.startswith("--") and not is_own(word):
            raise UsageError(f"{VARIABLE}: {word!r} is no option of polytile's", hint=f"write {PREFIX}NAME=VALUE")
    return [word if is_own(word) else PREFIX + word.removeprefix("--") for word in words]


def _check(name: str, value: str, equals: str) -> None:
    known = shared() | OWN
    if name not in known:
        close = difflib.get_close_matches(name, sorted(known), n=1)
        hint = f"did you mean {PREFIX}{close[0]}?" if close else HELP
        raise UsageError(f"unknown option {PREFIX}{name}", hint=hint)
    if equals and not value:
        raise UsageError(f"{PREFIX}{name}= has no value", hint=f"write {PREFIX}{name}=VALUE")


def as_own(text: str) -> str:
    """Rewrite a message of the command about an option with the option as it is spelled here.

    before: write --tile 32
    after:  write --polytile-tile=32
    """
    text = text.replace("polytile --help lists the options", HELP)
    named = re.sub(rf"(?<![\w-])--({'|'.join(sorted(shared(), key=len, reverse=True))})\b", rf"{PREFIX}\1", text)
    return re.sub(rf"({PREFIX}[\w-]+) (?=[\w'\"=]*[A-Z0-9])", r"\1=", named)
