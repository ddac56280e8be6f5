"""Kernels: statement trees with barriers, and everything a printer needs to know about where names live.

The body uses the nodes of ir/expr.py, of ir/gpu_ops.py and the two below. Accesses name arrays of the Scop; `storage`
says where each of them lives in this kernel. The block and thread coordinates are plain names, bound by `coordinates`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.arith import lift
from polytile.ir.def_use import assigned_names, names_among
from polytile.ir.expr import Access, CType, Expr, Literal, Node, Stmt
from polytile.ir.expr_trees import statements, walk, with_bodies
from polytile.ir.gpu_ops import AwaitLaunches, BuiltIn, Pointer, PrivateArray, ThreadIndex
from polytile.ir.memory import Space, Storage
from polytile.ir.ranges import Range

_AXES = ("x", "y", "z")


@dataclass(frozen=True, slots=True)
class Barrier(Stmt):
    """All threads of the block, or of the warp, meet; `reason` says which dependence this keeps."""

    reason: str
    scope: str = "block"

    def __post_init__(self) -> None:
        if self.scope not in ("block", "warp"):
            raise InternalError(f"a barrier of an unknown scope: {self.scope}")


@dataclass(frozen=True, slots=True)
class Comment(Stmt):
    """Text for the reader of the generated code."""

    text: str


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A scalar (`buffer` None) or the device buffer of the array `buffer`."""

    name: str
    type: CType
    buffer: str | None = None
    const: bool = False  # the kernel does not write through it
    restrict: bool = True


@dataclass(frozen=True, slots=True)
class Coordinate:
    """`const int name = source;` at the top of a kernel: the index of a thread or block, or the grid's extent less one
    and less that index, for blocks in the opposite order."""

    name: str
    source: Expr


@dataclass(frozen=True, slots=True)
class Kernel:
    """One CUDA kernel.

    `block` is (x, y, z) threads. `summary` is the comment on top: C lines, schedule, mapping. `min_blocks` asks for
    that many blocks on a multiprocessor at once, `max_registers` bounds those of a thread (0: not asked for).
    `wanted_registers` are what a thread needs for the loads that passes put under way, from which launch bounds are
    found.
    """

    name: str
    parameters: tuple[KernelParameter, ...]
    block: tuple[int, int, int]
    coordinates: tuple[Coordinate, ...]
    storage: tuple[Storage, ...]
    body: tuple[Stmt, ...]
    summary: tuple[str, ...] = ()
    index_type: str = "int"  # of generated loop variables
    min_blocks: int = 0
    max_registers: int = 0
    ranges: tuple[Range, ...] = ()  # of parameters and coordinates, beyond what the launch says
    bounds: tuple[Range, ...] = ()  # of names that the body declares, beyond what their values say
    wanted_registers: int = 0
    apart: tuple[str, ...] = ()  # arrays of which it writes other elements than it reads
    _nodes: list[Node] = field(default_factory=list, init=False, repr=False, compare=False)
    _storages: dict[str, Storage] = field(default_factory=dict, init=False, repr=False, compare=False)
    _aims: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)  # of running pointers
    passed: set[object] = field(default_factory=set, init=False, repr=False, compare=False)  # checks

    def __post_init__(self) -> None:
        if any(b < 1 for b in self.block):
            raise InternalError(f"kernel {self.name} has an empty block: {self.block}")
        if len({s.array for s in self.storage}) != len(self.storage):
            raise InternalError(f"kernel {self.name} stores an array twice")

    @property
    def nodes(self) -> Sequence[Node]:
        """Return all nodes of the body, in the order of the text."""
        if not self._nodes:  # found when asked for: most kernels between two passes never are
            self._nodes.extend(walk(*self.body))
        return self._nodes

    def _find_storages(self) -> None:
        """Find where each array lives, those that the body declares too."""
        declared = [n for n in statements(*self.body) if isinstance(n, PrivateArray | Pointer)]
        local = [_local_storage(n) for n in declared]
        storages = {s.array: s for s in (*self.storage, *local)}
        if len(storages) != len(self.storage) + len({s.array for s in local}):
            raise InternalError(f"kernel {self.name} stores an array twice")
        self._aims.update({n.name: n.target.array for n in declared if isinstance(n, Pointer)})
        self._storages.update(storages)

    def storage_of(self, array: str) -> Storage:
        """Return the storage of `array` in this kernel; raises InternalError where it has none."""
        if not self._storages:
            self._find_storages()
        try:
            return self._storages[array]
        except KeyError:
            raise InternalError(f"kernel {self.name} has no storage for {array}") from None

    def root(self, array: str) -> Storage:
        """Return the storage of `array`, or of the array that it points into."""
        if not self._storages:
            self._find_storages()
        seen = set()
        while array in self._aims and array not in seen:
            seen.add(array)
            array = self._aims[array]
        return self.storage_of(array)

    def subscripts(self, access: Access) -> tuple[Expr, ...]:
        """Return the subscripts of an access that address the array where this kernel has it."""
        keeps = self.storage_of(access.array).keeps
        return access.subscripts if keeps is None else tuple(access.subscripts[k] for k in keeps)

    @property
    def names(self) -> frozenset[str]:
        """Return every name that the kernel uses: of values, arrays and pointers, used or declared."""
        given: tuple[KernelParameter | Coordinate | Storage, ...] = (*self.parameters, *self.coordinates, *self.storage)
        return names_among(self.nodes).union(g.name for g in given)

    @property
    def changing(self) -> frozenset[str]:
        """Return the scalars and pointers that get another value after their declaration."""
        return frozenset(assigned_names(*self.body))

    @property
    def known_ranges(self) -> tuple[Range, ...]:
        """Return what the launch says of the coordinates, then `ranges`."""
        return (*(_coordinate_range(c, self.block) for c in self.coordinates), *self.ranges)

    @property
    def starts_early(self) -> bool:
        """Return whether the kernel itself waits for the kernels before it."""
        return any(isinstance(stmt, AwaitLaunches) for stmt in self.body)

    @property
    def shared(self) -> tuple[Storage, ...]:
        return tuple(s for s in self.storage if s.space is Space.SHARED)

    @property
    def barriers(self) -> int:
        """Return the number of barriers in the text (not how often they run)."""
        return sum(isinstance(n, Barrier) for n in self.nodes)


def _local_storage(node: PrivateArray | Pointer) -> Storage:
    """Return the storage that a statement declares: a private array, or what a running pointer points to."""
    if isinstance(node, Pointer):
        return Storage(node.name, Space.POINTER, node.target.type, (None,), node.name)
    sizes = tuple(Literal(str(e)) for e in node.extents)
    return Storage(node.name, Space.PRIVATE, node.type, sizes, node.name)


def _coordinate_range(coordinate: Coordinate, block: tuple[int, int, int]) -> Range:
    source = coordinate.source
    if isinstance(source, ThreadIndex):
        return Range(coordinate.name, lift(0), lift(block[_AXES.index(source.axis)] - 1))
    return Range(coordinate.name, lift(0) if any(isinstance(n, BuiltIn) for n in walk(source)) else None)


def ceil_div(value: int, by: int) -> int:
    return -(-value // by)


@dataclass(frozen=True, slots=True)
class Launch(Stmt):
    """Launch `kernel` on grid (x, y, z) blocks; every kernel parameter is a name in scope or a device buffer.

    A launch with an empty dimension is skipped. Dimensions y and z beyond MAX_GRID are clamped: the kernel strides.
    """

    kernel: str
    grid: tuple[Expr, Expr, Expr]


def with_launches(body: Iterable[Stmt], instead: Mapping[str, Callable[[Launch], Stmt]]) -> tuple[Stmt, ...]:
    """Return a body with other statements in place of the launches of some kernels."""
    return tuple(
        instead[stmt.kernel](stmt)
        if isinstance(stmt, Launch) and stmt.kernel in instead
        else with_bodies(stmt, lambda inner: with_launches(inner, instead))
        for stmt in body
    )
