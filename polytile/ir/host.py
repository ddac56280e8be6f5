"""The host program of one SCoP: buffers, and the loops and launches that run its kernels.

The same program is printed as C++ (the entry point in the .cu) and executed from Python through CuPy.
"""

from __future__ import annotations

from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.expr import Expr, For, Stmt
from polytile.ir.expr_trees import statements, walk
from polytile.ir.external_functions import ExternalFunction
from polytile.ir.kernel import Kernel, Launch
from polytile.ir.scop import Array, Origin, Parameter
from polytile.ir.size_limits import SizeLimit

FEWEST_LAUNCHES, MOST_LAUNCHES = 8, 100_000  # of a run for which a CUDA graph is made: more take much memory
EQUAL_RUNS = 2  # behind so many a graph is made: making one takes as long as one and a half of them
REMEMBERED_RUNS = 4  # of different values or memory: who takes turns with buffers gets graphs, too


@dataclass(frozen=True, slots=True)
class Transfer:
    """What must happen to one array around the SCoP. `touched` are the elements it accesses, None for none."""

    array: Array
    touched: isl.Set | None = field(compare=False)
    copy_in: bool
    copy_out: bool


@dataclass(frozen=True, slots=True)
class Rows:
    """A dimension of a box of rows: how many there are, and how many elements lie from one to the next."""

    count: Expr
    pitch: Expr


@dataclass(frozen=True, slots=True)
class CopiedBack:
    """A box of rows in memory, where `condition` holds: `width` elements from linear index `first` on, and again for
    each of `rows`, outermost first."""

    first: Expr
    width: Expr
    rows: tuple[Rows, ...] = ()
    condition: Expr | None = None


@dataclass(frozen=True, slots=True)
class Buffer:
    """The device copy of one array.

    `first` and `elements` are 64-bit expressions over the parameters: the part of the array in device memory is the
    `elements` elements from linear index `first` (0 but for pointers that are indexed from elsewhere). Kernels get the
    pointer to element 0, which may lie outside. No elements: nothing is copied or allocated.

    With `copy_out`, `back` is what is copied to the host as it is, None for what the kernels have changed alone.
    """

    array: Array
    first: Expr
    elements: Expr
    copy_in: bool
    copy_out: bool
    back: CopiedBack | None = None

    @property
    def temporary(self) -> bool:
        """Return whether the buffer lives only on the device."""
        return self.array.origin is not Origin.EXTERNAL

    @property
    def whole_back(self) -> bool:
        """Return whether all of the buffer is copied back as it is, if anything is."""
        back = self.back
        return back is not None and not back.rows and (back.first, back.width) == (self.first, self.elements)


@dataclass(frozen=True, slots=True)
class HostProgram:
    """All that runs for one SCoP. The entry point takes `parameters`, then `arguments` (see Scop.external_arrays).

    `by_value` names the arguments that are read-only scalars; `body` uses For, If, Declare, Comment and Launch, with
    64-bit integers. With `graphs`, runs on the same values and memory replay what earlier ones launched. `bounds` are
    names that it declares as the numbers from which on some kernels are faster than others: it is right with any.
    """

    name: str
    parameters: tuple[Parameter, ...]
    arguments: tuple[Array, ...]
    by_value: frozenset[str]
    buffers: tuple[Buffer, ...]
    kernels: tuple[Kernel, ...]
    body: tuple[Stmt, ...]
    definitions: str = ""
    external: tuple[ExternalFunction, ...] = ()  # that kernels call
    device_source: str = ""  # the text that defines these, if it is known
    summary: tuple[str, ...] = ()
    location: str = ""  # `gemm.c:41`
    graphs: bool = False
    checked: str = ""  # Scop.checked: for other sizes the entry point does nothing, and the C runs
    limits: tuple[SizeLimit, ...] = ()  # as beyond these
    bounds: tuple[str, ...] = ()
    asks_memory: bool = False  # the host file asks how much memory arrays have that are used in place

    @property
    def launches_often(self) -> bool:
        """Return whether one run may launch so many kernels that a graph of them is faster.

        There are many launches, or one is in a loop of the host.
        """
        everything = list(walk(*self.body))
        repeated = any(isinstance(inner, Launch) for n in everything if isinstance(n, For) for inner in statements(n))
        return repeated or sum(isinstance(n, Launch) for n in everything) >= FEWEST_LAUNCHES

    def kernel(self, name: str) -> Kernel:
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        raise InternalError(f"no kernel {name} in {self.name}")

    def buffer(self, array: str) -> Buffer | None:
        """Return the buffer of `array`, or None (a scalar by value, an array that lives inside the kernels)."""
        return next((b for b in self.buffers if b.array.name == array), None)
