"""Sizes of arrays that the C does not say, and that the host finds when it runs.

y[i] = x[p[i]];                     one more than the greatest of the p[i], which the host looks for: a ReachedExtent
at[i] = p[at[i]]; y[i] = x[at[i]];  as many elements as there are from `x` to the end of its block of device or managed
                                    memory: an AllocatedExtent
"""

from __future__ import annotations

from polytile.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ReachedExtent:
    """An array whose size the C does not say, and of which data say what the SCoP uses: the host looks for the last
    element that it uses when it runs. `extent` is the parameter that says how many rows of `row` elements (C, "" for 1)
    that makes. `search` is C that runs `polytile_visit(s);` for elements among which are the first and the last one
    that the SCoP uses, and `polytile_visit_1(c);` for subscripts of the next dimension, to be checked against
    `columns`, or, of a table of rows, to be below `width`, the parameter that says how much of them is used."""

    array: str
    source: str
    extent: str
    row: str
    columns: tuple[str, ...]
    search: str
    width: str = ""


@dataclass(frozen=True, slots=True)
class AllocatedExtent:
    """An array without a size of which the SCoP itself computes what it uses. Kernels use it where it lies, and the
    parameter `extent` is how many rows of `row` elements (C, "" for 1) its block of memory has from `source` on."""

    array: str
    source: str
    extent: str
    row: str
