"""A copy of a small array in the shared memory of each block, where a kernel only updates it by atomic operations.

before: if (i < n) atomicAdd(&h[p[i]], 1);                                                 one block for 128 iterations
after:  for (k = ti; k < 256; k += 128) h_block[k] = 0;
        barrier;
        for (tile = block.x; tile < tiles; tile += grid.x) if (i < n) atomicAdd(&h_block[p[i]], 1);
        barrier;
        for (k = ti; k < 256; k += 128) if (h_block[k]) atomicAdd(&h[k], h_block[k]);   as many blocks as run at once

The operation is associative and commutative, so that every grouping of updates leaves the same integers. Few elements
are hit by many threads at once, which take turns at each in L2; in shared memory, only those of a block do. The host
chooses the kernel when it runs: updates have to be many for each element of all copies, and copies have to fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from typing import Any

from polytile.codegen.passes.plan import LoweredPlan
from polytile.dataclass import dataclass
from polytile.ir.arith import add, compare, div, known, least, lift, most, mul
from polytile.ir.def_use import names_of
from polytile.ir.expr import (
    INT,
    LLONG,
    LONG,
    Access,
    Assign,
    Binary,
    CType,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Scope,
    Stmt,
)
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.gpu_ops import Atomic, BlockIndex, GridExtent, Leave, ThreadIndex
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Barrier, Kernel, KernelParameter, Launch, with_launches
from polytile.ir.memory import Space, Storage
from polytile.ir.name_supply import fresh
from polytile.ir.reductions import identity
from polytile.machine import Machine


def privatization(program: HostProgram, _: Sequence[LoweredPlan], machine: Machine) -> HostProgram:
    """Let blocks update copies of small arrays in shared memory, which they add to the array at their end."""
    kernels: list[Kernel] = []
    launched: dict[str, Callable[[Launch], Stmt]] = {}
    taken = names_of(program.body) | {p.name for p in program.parameters} | {a.name for a in program.arguments}
    for kernel in program.kernels:
        kernels.append(kernel)
        copies = _copies(kernel, machine, taken | kernel.names)
        if copies is not None:
            launched[kernel.name] = copies.launch
            kernels.append(copies.kernel())
    if not launched:
        return program
    return replace(program, kernels=tuple(kernels), body=with_launches(program.body, launched))


@dataclass(frozen=True, slots=True)
class _Copy:
    """One array: how its elements are updated, how many it has (None: known when the program runs), and how many the
    copy of a block has."""

    home: Storage
    op: str
    count: int | None
    cells: int

    @property
    def bytes(self) -> int:
        return self.cells * self.home.element.size

    @property
    def elements(self) -> Expr:
        """Return the number of elements of the array, in 64 bits."""
        return reduce(mul, (_wide(e) for e in self.home.extents if e is not None), lift(1))

    def linear(self, access: Access, integer: CType) -> Expr:
        """Return the place of an element in the copy."""
        place: Expr = Literal("0", integer)
        for subscript, extent in zip(access.subscripts, self.home.extents, strict=True):
            assert extent is not None
            place = add(mul(place, _in_type(extent, integer)), subscript)
        return place


@dataclass(frozen=True, slots=True)
class _Copies:
    """The copies that the blocks of one kernel can have."""

    plain: Kernel
    copies: tuple[_Copy, ...]
    machine: Machine
    taken: frozenset[str]  # names that neither the kernel nor the host may give to something else

    @property
    def integer(self) -> CType:
        return LONG if self.plain.index_type != INT.name else INT

    @property
    def name(self) -> str:
        return f"{self.plain.name}_private"

    @property
    def tiles(self) -> str:
        """Return the name of the number of blocks that the plain kernel takes along x."""
        return fresh("tiles", self.taken)

    def size(self, copy: _Copy) -> Expr:
        """Return the number of an array's elements, as the kernel has it."""
        if copy.count is not None:
            return Literal(str(copy.count), self.integer)
        return Name(fresh(f"{copy.home.name}_elements", self.taken), self.integer)

    def aggregates(self, element: CType) -> bool:
        """Return whether threads of a warp combine what they have for one element of a copy."""
        return self.machine.tuning.atomics.aggregated_in_copies and element.kind == "float"

    @property
    def resident(self) -> int:
        """Return the number of blocks that run at once."""
        machine, threads = self.machine, prod(self.plain.block)
        memory = sum(copy.bytes for copy in self.copies) + machine.shared_reserved
        limits = machine.threads_per_sm // threads, machine.shared_per_sm // memory, machine.blocks_per_sm
        return machine.sms * max(1, min(limits))

    # The launch ------------------------------------------------------------------------------------------------------
    def launch(self, plain: Launch) -> Stmt:
        """Build the choice between the two kernels."""
        x, y, z = plain.grid
        tiles, blocks = Name(self.tiles, LLONG), lift(self.resident)
        across = least(tiles, blocks)
        down = least(y, most(div(blocks, most(across, 1)), 1)) if known(y) != 1 else y
        deep = least(z, most(div(blocks, most(mul(across, down), 1)), 1)) if known(z) != 1 else z
        threads = mul(mul(tiles, mul(y, z)), prod(self.plain.block))
        named = [(copy, self.size(copy)) for copy in self.copies]
        declared = [Declare(n.name, LLONG, c.elements) for c, n in named if isinstance(n, Name)]
        fits = [compare("<=", _wide(n), c.cells) for c, n in named if isinstance(n, Name)]
        elements = reduce(add, (_wide(n) for _, n in named), lift(0))
        pays = compare(">=", div(threads, self.resident), elements)
        condition = reduce(lambda a, b: Binary("&&", a, b), [*fits, pays])
        private = Launch(self.name, (across, down, deep))
        return Scope((Declare(self.tiles, LLONG, x), *declared, If(condition, (private,), (plain,))))

    # The kernel ------------------------------------------------------------------------------------------------------
    def kernel(self) -> Kernel:
        """Build the kernel whose blocks have copies."""
        plain, tile = self.plain, Name(fresh("tile", self.taken), self.integer)
        along = [c for c in plain.coordinates if BlockIndex("x") in walk(c.source)]
        shared = {copy.home.array: self._storage(copy) for copy in self.copies}

        def change(node: Any) -> Any:
            match node:
                case BlockIndex(axis="x"):
                    return tile
                case Atomic(target=target) if target.array in shared:
                    copy = next(c for c in self.copies if c.home.array == target.array)
                    place = (copy.linear(target, self.integer),)
                    together = node.aggregated and self.aggregates(target.type)
                    moved = replace(target, array=shared[target.array].array, subscripts=place)
                    return replace(node, target=moved, aggregated=together)
            return node

        named = tuple(Declare(c.name, self.integer, change(c.source)) for c in along)
        body = (*named, *(rewrite(stmt, change) for stmt in plain.body))
        condition = Binary("<", tile, Name(self.tiles, self.integer))
        first, step = BlockIndex("x", self.integer), GridExtent("x", self.integer)
        loop = For(tile.name, first, condition, step, body, self.integer)
        arrays = " and ".join(copy.home.name for copy in self.copies)
        sizes = [n for n in map(self.size, self.copies) if isinstance(n, Name)]
        parameters = [Name(self.tiles, self.integer), *sizes]
        return replace(
            plain,
            name=self.name,
            parameters=(*(KernelParameter(p.name, p.type) for p in parameters), *plain.parameters),
            coordinates=tuple(c for c in plain.coordinates if c not in along),
            storage=(*plain.storage, *shared.values()),
            summary=(*plain.summary, f"blocks have copies of {arrays}, and run several tiles"),
            body=(
                *(stmt for copy in self.copies for stmt in self._start(copy, shared[copy.home.array])),
                Barrier(f"the block's copy of {arrays} must be there before threads update elements"),
                replace(loop, unroll=self.machine.tuning.atomics.unrolled_tiles),
                Barrier(f"all updates of the block's copy of {arrays} must be done"),
                *(stmt for copy in self.copies for stmt in self._finish(copy, shared[copy.home.array])),
            ),
        )

    def _storage(self, copy: _Copy) -> Storage:
        name = fresh(f"{copy.home.name}_block", self.taken)
        return Storage(name, Space.SHARED, copy.home.element, (Literal(str(copy.cells)),), name)

    def _start(self, copy: _Copy, shared: Storage) -> Iterator[Stmt]:
        cell, _ = self._cell(copy, shared)
        yield self._over(copy, (Assign(cell, "", self._neutral(copy)),))

    def _finish(self, copy: _Copy, shared: Storage) -> Iterator[Stmt]:
        cell, k = self._cell(copy, shared)
        value = Name(fresh("value", self.taken), cell.type)
        changed = Binary("!=", value, self._neutral(copy))
        target = Access(copy.home.array, tuple(self._subscripts(copy, k)), cell.type)
        update = If(changed, (Atomic(copy.op, target, value),))
        yield self._over(copy, (Declare(value.name, cell.type, cell), update))

    def _subscripts(self, copy: _Copy, place: Expr) -> Iterator[Expr]:
        """Yield the subscripts of the element at a place in the copy."""
        inner = [_in_type(e, self.integer) for e in copy.home.extents[1:] if e is not None]
        for k in range(len(inner) + 1):
            step = reduce(mul, inner[k:], lift(1))
            quotient = place if known(step) == 1 else Binary("/", place, step, self.integer)
            yield quotient if k == 0 else Binary("%", quotient, inner[k - 1], self.integer)

    def _cell(self, copy: _Copy, shared: Storage) -> tuple[Access, Name]:
        k = Name(fresh("k", self.taken), self.integer)
        return Access(shared.array, (k,), copy.home.element), k

    def _neutral(self, copy: _Copy) -> Expr:
        return identity(copy.op, copy.home.element)

    def _over(self, copy: _Copy, body: tuple[Stmt, ...]) -> For:
        """Build a loop over the elements of a copy, which the threads of the block share."""
        k = Name(fresh("k", self.taken), self.integer)
        x, y, z = self.plain.block
        first: Expr = ThreadIndex("x", self.integer)
        first = add(first, mul(ThreadIndex("y", self.integer), x)) if y > 1 else first
        first = add(first, mul(ThreadIndex("z", self.integer), x * y)) if z > 1 else first
        return For(k.name, first, Binary("<", k, self.size(copy)), x * y * z, body, self.integer)


def _copies(kernel: Kernel, machine: Machine, taken: frozenset[str]) -> _Copies | None:
    """Choose the arrays of which a kernel's blocks can have copies, the smallest first, as far as memory goes."""
    waits = any(isinstance(n, Barrier | Leave) for n in kernel.nodes)
    if waits or kernel.shared:
        return None
    found = sorted(_updated(kernel, machine), key=lambda copy: copy.bytes)
    kept: list[_Copy] = []
    for copy in found:
        if sum(c.bytes for c in (*kept, copy)) <= machine.tuning.atomics.private_bytes:
            kept.append(copy)
    return _Copies(kernel, tuple(kept), machine, taken) if kept else None


def _updated(kernel: Kernel, machine: Machine) -> Iterator[_Copy]:
    """Yield the arrays that a kernel only updates, by one operation each."""
    atomics = [n for n in kernel.nodes if isinstance(n, Atomic)]
    for home in kernel.storage if atomics else ():
        uses = [n for n in kernel.nodes if isinstance(n, Access) and n.array == home.array]
        updates = [n for n in atomics if n.target.array == home.array]
        alone = len(uses) == len(updates) and len({n.op for n in updates}) == 1
        if not alone or home.space is not Space.GLOBAL or any(n.old is not None for n in updates):
            continue
        if home.keeps is not None or not home.extents or None in home.extents:
            continue
        sizes = [known(e) for e in home.extents if e is not None]
        count = prod(s for s in sizes if s is not None) if None not in sizes else None
        cells = count if count is not None else machine.tuning.atomics.unknown_bytes // home.element.size
        if cells:
            yield _Copy(home, updates[0].op, count, cells)


def _wide(value: Expr) -> Expr:
    """Return a size as the host has it."""
    return _in_type(value, LLONG)


def _in_type(value: Expr, integer: CType) -> Expr:
    """Return a size whose names and constants have this type."""

    def change(node: Any) -> Any:
        return replace(node, type=integer) if isinstance(node, Name | Literal) else node

    changed: Expr = rewrite(value, change)
    return changed
