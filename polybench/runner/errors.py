"""What the runner raises for a user: one line, and the exit status it ends with."""

from __future__ import annotations

EXIT_FAILED = 1  # a row failed, or a figure got worse
EXIT_USAGE = 2  # wrong arguments or files
EXIT_MACHINE = 4  # a compiler or a GPU is missing


class RunnerError(Exception):
    """Ends the command with its message."""

    def __init__(self, message: str, *, status: int = EXIT_USAGE) -> None:
        super().__init__(message)
        self.status = status
