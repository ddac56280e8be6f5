"""What polytile says to its user: located messages and the typed exceptions that carry them.

Three kinds of failure say who must act: the user (`UserError`, `UsageError`), the machine (`DeviceError`), or the
authors of polytile (`InternalError`). `ValidationError` is a fourth: the programs ran and disagreed.
"""

from __future__ import annotations

from functools import lru_cache
from os.path import basename
from pathlib import Path

from polytile.dataclass import dataclass

EXIT_DONE = 0
EXIT_USER = 1
EXIT_USAGE = 2
EXIT_VALIDATION = 3
EXIT_DEVICE = 4
EXIT_BUG = 70
BUGS = "this is a bug in polytile; please report it with the input, the command line and the text above"


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A position in the user's source: 1-based line and column (column 0: the whole line)."""

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"

    @property
    def short(self) -> str:
        """`gemm.c:52`, for comments in generated code."""
        return f"{basename(self.file)}:{self.line}"


NOWHERE = Location("<polytile>", 0)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message: severity is `error`, `warning`, `note` or `remark`."""

    severity: str
    message: str
    location: Location | None = None
    hint: str | None = None

    def render(self) -> str:
        """Format `file:line:col: error: message`, the source line, a caret, and the hint as a note."""
        where = f"{self.location}: " if self.location and self.location.line else "polytile: "
        lines = [f"{where}{self.severity}: {self.message}"]
        if self.location and self.location.line:
            lines += _excerpt(self.location)
        if self.hint:
            lines.append(f"  note: {self.hint}")
        return "\n".join(lines)


_TEXTS: dict[str, str] = {}


def remember_source(name: str, text: str) -> None:
    """Register the text of a file that is not on disk (standard input, a string) so that excerpts can show it."""
    _TEXTS[name] = text


@lru_cache(maxsize=32)
def _read(name: str) -> tuple[str, ...]:
    try:
        return tuple(Path(name).read_text(errors="replace").splitlines())
    except OSError:
        return ()


def source_line(location: Location) -> str | None:
    """Return the text of the line at `location`, or None where it cannot be read."""
    lines = tuple(_TEXTS[location.file].splitlines()) if location.file in _TEXTS else _read(location.file)
    return lines[location.line - 1] if 0 < location.line <= len(lines) else None


def _excerpt(location: Location) -> list[str]:
    text = source_line(location)
    if text is None:
        return []
    if not location.column:
        return [f"    {text}"]
    pad = "".join("\t" if c == "\t" else " " for c in text[: location.column - 1])
    return [f"    {text}", f"    {pad}^"]


class PolytileError(Exception):
    """Base of every exception that polytile raises on purpose."""

    exit_status = EXIT_BUG

    def __init__(self, message: str, *, location: Location | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint

    @property
    def diagnostic(self) -> Diagnostic:
        return Diagnostic("error", self.message, self.location, self.hint)

    def __str__(self) -> str:
        return self.diagnostic.render()

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows in place of a traceback."""
        from polytile.tracebacks import rendered

        return rendered(self)


class UserError(PolytileError):
    """The input, or one SCoP of it, cannot be compiled as it stands."""

    exit_status = EXIT_USER


class NothingRunsError(UserError):
    """A SCoP runs no statement: it stays as it is, and nothing is wrong with it."""


class OpaqueCallError(UserError):
    """A call in a SCoP may do anything: what is around it runs on the host, and nothing is wrong with it."""


class NoScopError(UserError):
    """A file has no SCoP; `reasons` say of each of its loops why."""

    def __init__(
        self,
        message: str,
        *,
        location: Location | None = None,
        hint: str | None = None,
        reasons: tuple[UserError, ...] = (),
    ) -> None:
        super().__init__(message, location=location, hint=hint)
        self.reasons = reasons


class IllegalSchedule(UserError):
    """A schedule breaks a dependence; the message names one pair of instances."""


class UsageError(PolytileError):
    """The command line, an option or an API argument is wrong."""

    exit_status = EXIT_USAGE


class ValidationError(PolytileError):
    """The generated program ran and disagrees with the sequential C."""

    exit_status = EXIT_VALIDATION


class FindingsError(ValidationError):
    """The generated code ran in the emulator, and its checks found what no program may do; `findings` says each."""

    def __init__(self, findings: tuple[Diagnostic, ...]) -> None:
        first = findings[0]
        super().__init__(first.message, location=first.location, hint=first.hint)
        self.findings = findings

    def __str__(self) -> str:
        return "\n".join(finding.render() for finding in self.findings)


class DeviceError(PolytileError):
    """A GPU, a driver or a host compiler is missing or failed."""

    exit_status = EXIT_DEVICE


class UnsupportedCompilerError(DeviceError):
    """The host compiler cannot do what was asked for, though it may do for other things."""


class InternalError(PolytileError):
    """A bug in polytile."""

    exit_status = EXIT_BUG


class ExtractionError(InternalError):
    """What was extracted of the user's C computes something else than the C itself."""


def is_bug(error: Exception) -> bool:
    """Return whether an exception means that polytile is wrong, and not the user or the machine."""
    others = PolytileError, OSError, MemoryError, RecursionError
    return isinstance(error, InternalError) or not isinstance(error, others)


def described(error: Exception) -> str:
    """Describe a bug in one line."""
    return error.message if isinstance(error, PolytileError) else f"{type(error).__name__}: {error}"


def reported(error: Exception, location: Location) -> InternalError:
    """Return a bug as the reason for which the SCoP at `location` stays C."""
    found = InternalError(f"internal error: {described(error)}", location=location, hint=BUGS)
    found.__cause__ = error
    return found
