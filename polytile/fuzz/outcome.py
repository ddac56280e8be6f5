"""What came of one trial."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

from polytile.dataclass import dataclass
from polytile.diagnostics import (
    DeviceError,
    ExtractionError,
    FindingsError,
    InternalError,
    PolytileError,
    UserError,
    ValidationError,
)

AGREED = "agreed"
ON_HOST = "stays on the host"
REFUSED = "refused"
FINE = (AGREED, ON_HOST, REFUSED)

_QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Outcome:
    """`kind` is one of FINE or names a failure; `key` says in short which one, without names and numbers."""

    kind: str
    key: str = ""
    message: str = ""
    sizes: int | None = None  # the number of the sizes at which it was seen
    strategy: str = ""

    @property
    def failed(self) -> bool:
        return self.kind not in FINE

    def same_as(self, other: Outcome) -> bool:
        """Return whether this is the same failure, as far as one can tell."""
        return (self.kind, self.key) == (other.kind, other.key)


def outcome_of(error: BaseException, sizes: int | None = None, strategy: str = "") -> Outcome:
    """Return the outcome of a trial that ended with an exception."""
    match error:
        case UserError(location=None):
            kind = "refused without a place"
        case FindingsError():
            kind = "finding of the emulator"
        case ValidationError():
            kind = "different result"
        case DeviceError():
            kind = "failed to run"
        case ExtractionError():
            kind = "wrong extraction"
        case PolytileError() if not isinstance(error, InternalError):
            kind = REFUSED
        case _:
            kind = "crash"
    if kind == "crash":
        text = "".join(traceback.format_exception(error))
        return Outcome(kind, f"{type(error).__name__} in {_frame(error)}", text, sizes, strategy)
    key = "" if kind in ("different result", "wrong extraction") else template(str(getattr(error, "message", error)))
    return Outcome(kind, key, str(error), sizes, strategy)


def _frame(error: BaseException) -> str:
    """Name the innermost function of polytile's that was running."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "polytile" in f.filename or "main" in f.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "?"


def template(message: str) -> str:
    """Return the first line of a message without what it quotes and counts."""
    return _NUMBER.sub("#", _QUOTED.sub("_", message.splitlines()[0] if message else ""))
