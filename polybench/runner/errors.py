"""What the runner raises for a user: one line with a hint, and the exit status it ends with."""

from __future__ import annotations

from polytile.diagnostics import PolytileError

EXIT_FAILED = 1  # a row failed, or a figure got worse
EXIT_USAGE = 2  # wrong arguments or files
EXIT_MACHINE = 4  # a compiler or a GPU is missing


class RunnerError(Exception):
    """Ends the command with its message, and says what to do instead."""

    def __init__(self, message: str, *, hint: str = "", status: int = EXIT_USAGE) -> None:
        super().__init__(message)
        self.hint = hint
        self.status = status

    @classmethod
    def of(cls, error: PolytileError) -> RunnerError:
        """Return what polytile says of a user's file or option, as the runner says it."""
        return cls(error.message, hint=error.hint or "")
