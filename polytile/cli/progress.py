"""What a command is busy with, on a terminal on which it has been silent for a while."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field

from polytile.dataclass import dataclass

PATIENCE = 2.0  # seconds
CLEARED = "\x1b[K"  # the terminal's line from the cursor on, which stays at its beginning


def is_shown() -> bool:
    """Return whether messages go to a terminal."""
    return sys.stderr.isatty()


def clear() -> None:
    """Make room for a message."""
    print(CLEARED, end="", file=sys.stderr, flush=True)


@dataclass(slots=True)
class Progress:
    """`stage` is "" where nothing is to be shown."""

    stage: str = ""
    shown: str = ""
    began: float = field(default_factory=time.monotonic)

    def turn_to(self, stage: str) -> None:
        self.stage = stage
        if not stage and self.shown:
            self.shown = ""
            clear()

    def show(self) -> None:
        """Print one line: the seconds since the command began, the SCoP and the stage, as far as there is room."""
        seconds = time.monotonic() - self.began
        text = f"polytile: {seconds:.0f} s: {self.stage}"
        if self.stage and seconds > PATIENCE and text != self.shown:
            self.shown = text
            print(f"{CLEARED}{text[: columns() - 1]}\r", end="", file=sys.stderr, flush=True)


def columns() -> int:
    """Return how many characters a line of the terminal has."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


@contextmanager
def bar(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar of `total` steps on a terminal, and yield what advances it by one.

    It is drawn without a thread: processes are forked from this one.
    """
    if not is_shown():
        yield lambda: None
        return
    from rich import progress as rich
    from rich.console import Console

    parts = (rich.TextColumn(what), rich.BarColumn(), rich.MofNCompleteColumn(), rich.TimeRemainingColumn())
    with rich.Progress(*parts, console=Console(stderr=True), auto_refresh=False) as shown:
        task = shown.add_task("run", total=total)

        def advance() -> None:
            shown.advance(task)
            shown.refresh()

        yield advance
