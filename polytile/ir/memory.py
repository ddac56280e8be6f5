"""Where an array lives inside a kernel, and how an element of it is addressed."""

from __future__ import annotations

from enum import Enum
from math import prod

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.expr import CType, Expr, Literal
from polytile.machine import SHARED_ALIGNMENT


class Space(Enum):
    GLOBAL = "global"  # a buffer in device memory, reached through a kernel parameter
    VALUE = "value"  # a read-only scalar, passed to the kernel by value
    SHARED = "shared"  # one copy per block
    PRIVATE = "private"  # one copy per thread: a register, or a small local array
    POINTER = "pointer"  # reached through a running pointer of the kernel


@dataclass(frozen=True, slots=True)
class Storage:
    """Where one kernel has `array`.

    `extents` are the layout's, outermost first (the outermost of a GLOBAL array may be None); SHARED and PRIVATE ones
    are integer literals. `name` is the identifier in the generated code. `keeps` selects the subscripts of an access
    that address the storage: a contracted array drops those of the loops that it is private to. Where threads use every
    32nd value of a subscript that is kept, `strides` has a 32 for it, and the access has the quotient. A copy that a
    block has of elements in device memory has `moduli`, and the access the remainders.
    """

    array: str
    space: Space
    element: CType
    extents: tuple[Expr | None, ...]
    name: str
    keeps: tuple[int, ...] | None = None  # None: all subscripts
    strides: tuple[int, ...] = ()  # one for each kept subscript; none where all are 1
    read_only: bool = False
    moduli: tuple[int, ...] = ()  # one for each kept subscript; none where all of a subscript counts


def constant_extents(storage: Storage) -> tuple[int, ...]:
    """Return the extents of a shared or private array; raises InternalError for one that is not constant."""
    sizes = tuple(int(e.text) for e in storage.extents if isinstance(e, Literal))
    if len(sizes) != len(storage.extents):
        raise InternalError(f"{storage.name} is no global array but has an extent that is not constant")
    return sizes


def shared_size(storage: Storage) -> int:
    """Return the bytes of a shared array, up to where the next may begin."""
    size = prod(constant_extents(storage)) * storage.element.size
    return -(-size // SHARED_ALIGNMENT) * SHARED_ALIGNMENT
