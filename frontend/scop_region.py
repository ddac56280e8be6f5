"""What parsing hands to extraction: the C of one SCoP with everything that is declared around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import NOWHERE, Location
from polytile.frontend.access_summaries import AccessSummary
from polytile.frontend.polynomial import Monomial
from polytile.ir.expr import CType, Expr
from polytile.ir.pointer_rotation import PointerRotation
from polytile.ir.source_span import Span


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable that is visible in a SCoP but declared outside it.

    `extents` are C expressions, outermost first; the outermost is None for `T *p` and `T a[][m]`; () is a scalar.
    """

    name: str
    type: CType
    extents: tuple[c_ast.Node | None, ...] = ()
    fields: tuple[tuple[str, CType], ...] = ()  # the scalar fields, when `type` is a struct
    scope: str = "local"  # "parameter", "local" or "global"
    pointer: bool = False  # declared as a pointer or as an array parameter, so it may alias another one
    restrict: bool = False
    may_interleave: bool = False  # `restrict` by the program's word alone: others may lie between its elements
    const: bool = False
    table: bool = False  # a pointer to pointers to rows
    width: c_ast.ID | None = None  # the symbol for how much of rows is used, see Array.width
    live_before: bool = True  # may have been assigned before the SCoP
    read_first: bool = True  # the SCoP may read it before it assigns it, be there a value before or not
    live_after: bool = True  # may be read after the SCoP (always true of globals and of what pointers point to)
    location: Location = NOWHERE
    members: tuple[tuple[str, CType], ...] = ()  # all of a struct, if it has pointers besides `fields`
    offsets: tuple[int, ...] = ()  # see Array.offsets
    varies: bool = False  # flags and compilers choose its size or its sign


@dataclass(frozen=True, slots=True)
class SizeProduct:
    """What a symbol is the product of: `names` are those of a product of names alone, else ()."""

    value: Expr
    names: Monomial


@dataclass(frozen=True, slots=True)
class HostRead:
    """A place in memory whose value the host reads before a SCoP, `lvalue` in C, where `guard` holds ("" is always).

    `type` is that of a number or a struct, None of a pointer; `indirect` says that the program reaches it through a
    pointer, so that it may be a part of any variable; `owner` is that pointer, if it is a variable, of which other
    fields may be written; `parts` says that it is a struct of which the SCoP reads fields.
    """

    lvalue: str
    type: CType | None
    guard: str = ""
    indirect: bool = False
    owner: str = ""
    parts: bool = False


@dataclass(frozen=True, slots=True)
class PointerTable:
    """Pointers to rows, `row` and `followed` as those of `RowTable`; `extents` are the symbols of its extents but the
    outermost one. `field` says that they are in structs; `deep` that `followed` has pointers that are in memory."""

    row: str
    followed: tuple[str, ...]
    extents: tuple[str, ...] = ()
    field: bool = False
    deep: bool = False


@dataclass(frozen=True, slots=True)
class Region:
    """One SCoP as pycparser nodes, macros expanded and calls to small functions of the file inlined.

    `name` is unique in the file and a valid C identifier (`kernel_gemm_scop0`). `assumptions` are the conditions of
    `#pragma polytile assume(...)` and of `__builtin_assume(...)`.
    """

    name: str
    function: str
    body: tuple[c_ast.Node, ...]
    span: Span
    symbols: Mapping[str, Symbol]
    location: Location
    assumptions: tuple[c_ast.Node, ...] = ()
    definitions: str = ""  # C text of the struct definitions that the SCoP uses
    source: str | None = None  # see Scop.source
    functions: Mapping[str, c_ast.FuncDef] = field(default_factory=dict)  # for calls that were not inlined
    types: Mapping[str, CType] = field(default_factory=dict)  # typedef names and struct types (`struct point`) by name
    fields: Mapping[str, tuple[tuple[str, CType], ...]] = field(default_factory=dict)  # of struct types
    counted: frozenset[str] = frozenset()  # variables of the C that are replaced by what they count
    known: Mapping[str, c_ast.Node] = field(default_factory=dict)  # values that replace variables of the function
    initial: Mapping[str, c_ast.Node] = field(default_factory=dict)  # what those of `counted` are when it starts
    numbers: Mapping[str, int] = field(default_factory=dict)  # integers that the function sets before it
    loads: Mapping[str, c_ast.Node] = field(default_factory=dict)  # what symbols are read from before the SCoP
    products: Mapping[str, SizeProduct] = field(default_factory=dict)  # the symbols that are products of others
    pointers: Mapping[str, c_ast.Node] = field(default_factory=dict)  # what pointers are set to before the SCoP
    needed: tuple[str, ...] = ()  # those of `pointers` without which the C runs
    given: Mapping[str, str] = field(default_factory=dict)  # symbols that say whether a pointer is null, and that
    tables: Mapping[str, PointerTable] = field(default_factory=dict)  # by the arrays that stand for them
    reached: Mapping[str, str] = field(default_factory=dict)  # arrays without a size, and the symbols of their extents
    allocated: frozenset[str] = frozenset()  # those of `reached` whose extents are those of their memory
    host_reads: Mapping[str, tuple[HostRead, ...]] = field(default_factory=dict)  # by the symbols that have the values
    reachable: frozenset[str] = frozenset()  # symbols that pointers may lead to, or to what they point to
    independent: tuple[tuple[str, Location], ...] = ()  # (array, loop), see Scop.independent
    rotations: tuple[PointerRotation, ...] = ()  # what becomes of pointers of the function behind it
    asked: tuple[c_ast.Node, ...] = ()  # conditions on sizes that the host asks when it runs
    summaries: Mapping[str, AccessSummary] = field(default_factory=dict)  # of functions that it calls
    device_source: str = ""  # the text that defines these for the device
    arguments: tuple[str, ...] = ()  # the function's parameters, in its order, but for names that hide them
    cflags: tuple[str, ...] = ()  # of the C compiler, those that change what it means among them
    whiles: frozenset[Location] = frozenset()  # the `while` and `do` loops of the C, also those made `for` loops
