"""Where in the user's file something stands."""

from __future__ import annotations

from polytile.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of the user's file that a SCoP takes, as offsets [start, end) into its text.

    With pragmas, from the start of the `#pragma scop` line to the end of the `#pragma endscop` line. `in_arguments`: it
    is in those of a macro, which puts it into the program once.
    """

    start: int
    end: int
    first_line: int
    last_line: int
    in_arguments: bool = False
