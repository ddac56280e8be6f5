"""What the host compares before kernels run: addresses of values that they get, and memory that they write.

void f(double *q, int n, double *restrict a) { for (i < n) { *q += 1; a[i] = g; } }      `g` must not lie in q[0 : 1]
"""

from __future__ import annotations

from polytile.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AliasCheck:
    """A place in memory, `lvalue` in C, whose value kernels get as it is before them, and the `arrays` that the SCoP
    writes and that C lets reach it: kernels run only where it lies in none of them, and so where `guard`, C too, does
    not hold ("" always holds), without which there may be no such place."""

    lvalue: str
    arrays: tuple[str, ...]
    guard: str = ""
