"""A SCoP in its user's own words: what it takes to compile the text of its region as it stands in the file."""

from __future__ import annotations

from enum import Enum

from polytile.dataclass import dataclass
from polytile.ir.source_span import Span


class Sized(Enum):
    """What of an array must be as large in C as polytile takes it to be."""

    WHOLE = "whole"
    ROW = "row"  # what a pointer to its rows steps over
    UNKNOWN = "unknown"  # it has other dimensions in C, or has pointers to its rows there


@dataclass(frozen=True, slots=True)
class VerbatimArgument:
    """An external array or scalar, passed by address."""

    array: str
    sized: Sized


@dataclass(frozen=True, slots=True)
class SourceRegion:
    """The user's file, and what makes a function, behind its end, of the text of one SCoP.

    before: void f(int n, double A[n][n]) { real s = 1; #pragma scop TEXT #pragma endscop use(s); }
    after:  the same, then
            int NAME_verbatim(int polytile_0, void *polytile_1, void *polytile_2, const long long *polytile_bytes) {
                int n = polytile_0; double (*A)[n] = polytile_1; real s = *(real *)polytile_2;
                { TEXT } *(real *)polytile_2 = s; return 0; }

    It takes the parameters of the Scop, the addresses of its external arrays, and for each of these the bytes that it
    must have; it returns 0, or 1 + the number of the first array with another size in C. `head` and `tail` are its text
    around the region. `obstacle` says why there is no such function.
    """

    name: str
    path: str
    text: str
    span: Span
    include_dirs: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    arguments: tuple[VerbatimArgument, ...] = ()
    head: str = ""
    tail: str = ""
    obstacle: str = ""

    @property
    def entry(self) -> str:
        """Return the name of the function."""
        return f"{self.name}_verbatim"
