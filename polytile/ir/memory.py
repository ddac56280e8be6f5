"""Where an array lives inside a kernel, and how an element of it is addressed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from polytile.ir.expr import CType, Expr


class Space(Enum):
    GLOBAL = "global"  # a buffer in device memory, reached through a kernel parameter
    VALUE = "value"  # a read-only scalar, passed to the kernel by value
    SHARED = "shared"  # one copy per block
    PRIVATE = "private"  # one copy per thread: a register, or a small local array
    POINTER = "pointer"  # reached through a running pointer of the kernel


@dataclass(frozen=True, slots=True)
class Storage:
    """The home of `array` in one kernel.

    `extents` are the layout's, outermost first (the outermost of a GLOBAL array may be None); SHARED and PRIVATE ones
    are integer literals. `name` is the identifier in the generated code. `keeps` selects the subscripts of an access
    that address the storage: a contracted array drops those of the loops that it is private to.
    """

    array: str
    space: Space
    element: CType
    extents: tuple[Expr | None, ...]
    name: str
    keeps: tuple[int, ...] | None = None  # None: all subscripts
    read_only: bool = False
