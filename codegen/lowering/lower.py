"""From a mapped schedule to the program that runs it: kernels and the host's loops around their launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from polytile.codegen.lowering.ast_generation import generate, generate_host
from polytile.codegen.lowering.device_buffers import buffers
from polytile.codegen.lowering.instantiate import bind
from polytile.codegen.lowering.isl_ast import GridRange, Instance, Marked
from polytile.codegen.lowering.iterator_names import rename_loops
from polytile.codegen.lowering.outline_kernels import Annotation, KernelShape
from polytile.codegen.passes.cache_hints import streamed
from polytile.codegen.passes.cleanup import drop_unused, merge_scopes, tidy, unscoped
from polytile.codegen.passes.early_loads import update_early
from polytile.codegen.passes.loop_carry import carry
from polytile.codegen.passes.place_arrays import Contracted
from polytile.codegen.passes.scalar_replacement import accumulate
from polytile.codegen.passes.shared_forwarding import handed_over
from polytile.codegen.passes.tile_scalar_replacement import accumulate_tile
from polytile.codegen.passes.unroll_loads_first import batched
from polytile.diagnostics import InternalError
from polytile.ir.def_use import value_names
from polytile.ir.expr import (
    INT,
    LLONG,
    LONG,
    Access,
    Assign,
    Binary,
    Cast,
    CType,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Stmt,
    rewrite,
    walk,
)
from polytile.ir.gpu_ops import BlockIndex, GridExtent, ThreadIndex
from polytile.ir.host import HostProgram, Transfer
from polytile.ir.kernel import Barrier, Coordinate, Kernel, KernelParameter, Launch
from polytile.ir.memory import Space, Storage
from polytile.ir.name_supply import Names
from polytile.ir.schedule import KERNEL, MappedSchedule, Path
from polytile.ir.scop import Scop
from polytile.machine import WARP_SIZE, Machine

# What kernels can do without, by name.
SCALARS, CARRY, BATCHES, EARLY_LOADS = "scalar replacement", "loop carry", "unroll loads first", "early loads"
HINTS, FORWARDING = "cache hints", "forward shared"
OPTIONAL = (SCALARS, CARRY, BATCHES, EARLY_LOADS, HINTS, FORWARDING)


@dataclass(frozen=True, slots=True)
class LoweringInput:
    """What lowering needs to know besides the Scop and its schedule.

    `barriers` gives the reason for the barrier of each `sync` mark; `storage` homes the arrays of each kernel that do
    not live in device memory (by kernel number, then array), `handovers` the copies of some that do. `sums` are the
    statements that accumulate partial results or add them up, with how many iterations may load at once; `last_reads`
    the arrays that each kernel, by number, is the last one to read; `machine` has the registers that its threads share.
    `without` are those of OPTIONAL that are left out.
    """

    machine: Machine
    transfers: tuple[Transfer, ...]
    barriers: Mapping[Path, str]
    storage: Mapping[int, Mapping[str, Storage]]
    handovers: Mapping[int, Mapping[str, Storage]] = field(default_factory=dict)
    sums: Mapping[str, int] = field(default_factory=dict)
    last_reads: Mapping[int, frozenset[str]] = field(default_factory=dict)
    without: frozenset[str] = frozenset()


def lower(scop: Scop, schedule: MappedSchedule, given: LoweringInput) -> HostProgram:
    """Generate the host program of a mapped schedule."""
    names = Names.of(scop)
    annotation = Annotation(scop, names, names.prefix("c"))
    tree = annotation.annotate(schedule.tree)
    integer = index_type(scop)
    generated = generate_host(annotation, tree, integer)
    return _Lowering(scop, schedule, given, annotation, generated, names, integer).program()


def index_type(scop: Scop) -> CType:
    """`int`, or 64 bits where a parameter has them or an iterator needs them."""
    return LONG if scop.wide or any(p.type.size > INT.size for p in scop.parameters) else INT


@dataclass(frozen=True, slots=True)
class _Lowering:
    scop: Scop
    schedule: MappedSchedule
    given: LoweringInput
    annotation: Annotation
    generated: tuple[Stmt, ...]
    names: Names
    integer: CType

    def program(self) -> HostProgram:
        kernels: list[Kernel] = []
        taken = frozenset(p.name for p in self.scop.parameters)
        body = rename_loops(self.generated, self.scop, taken)
        host = self._host(body, kernels, taken)
        inside = frozenset(a for homes in self.given.storage.values() for a in homes)
        return HostProgram(
            name=f"polytile_{self.scop.name}",
            parameters=self.scop.parameters,
            arguments=self.scop.external_arrays,
            by_value=frozenset(a.name for a in self.scop.external_arrays if self.scop.by_value(a)),
            buffers=buffers(self.scop, self.given.transfers, inside),
            kernels=tuple(kernels),
            body=host,
            definitions=self.scop.definitions,
            summary=(f"{self.schedule.strategy} schedule",),
            location=self.scop.location.short if self.scop.location.line else "",
        )

    def _host(self, body: Sequence[Stmt], kernels: list[Kernel], scope: frozenset[str]) -> tuple[Stmt, ...]:
        """The host's part of the tree; each kernel mark becomes a launch, and its subtree a kernel."""
        found: list[Stmt] = []
        for stmt in body:
            match stmt:
                case For():
                    inner = self._host(stmt.body, kernels, scope | {stmt.iterator})
                    lower, condition = wide(stmt.lower), wide(stmt.condition)
                    found.append(For(stmt.iterator, lower, condition, stmt.step, inner, LLONG, stmt.location))
                case If():
                    then, otherwise = (self._host(b, kernels, scope) for b in (stmt.then, stmt.otherwise))
                    found.append(If(wide(stmt.condition), then, otherwise, stmt.location))
                case Marked(name=name) if name.startswith(f"{KERNEL}:"):
                    found.append(self._launch(stmt, kernels, scope))
                case _:
                    raise InternalError(f"a statement outside every kernel: {stmt}")
        return tuple(found)

    def _launch(self, mark: Marked, kernels: list[Kernel], scope: frozenset[str]) -> Launch:
        shape = self.annotation.kernels[int(mark.name.partition(":")[2])]
        ranges = mark.grid
        kernel = _KernelBuilder(self, shape, ranges, scope, len(kernels)).build(mark.body)
        kernels.append(kernel)
        extents: dict[str, Expr] = {"x": Literal("1"), "y": Literal("1"), "z": Literal("1")}
        for block, grid in zip(shape.blocks, ranges, strict=True):
            extents[block.axis] = wide(grid.count)
        return Launch(kernel.name, (extents["x"], extents["y"], extents["z"]))


@dataclass(frozen=True, slots=True)
class _KernelBuilder:
    owner: _Lowering
    shape: KernelShape
    ranges: tuple[GridRange, ...]
    scope: frozenset[str]  # names in scope on the host
    number: int  # in the order of the launches in the text

    def has(self, name: str) -> bool:
        """Whether the kernel gets this one of OPTIONAL."""
        return name not in self.owner.given.without

    def build(self, body: tuple[Stmt, ...]) -> Kernel:
        lowered = self._body(body)
        coordinates = [Coordinate(name, ThreadIndex(axis)) for name, axis in self.shape.threads]
        for block, grid in zip(self.shape.blocks, self.ranges, strict=True):
            if block.axis == "x" and _is_zero(grid.first):
                coordinates.append(Coordinate(block.name, BlockIndex("x")))
            elif block.axis == "x":
                first = plus(grid.first, self._block_index("x"), self.owner.integer)
                lowered = (Declare(block.name, self.owner.integer, first), *lowered)
            else:
                lowered = (self._strided(lowered, block.name, block.axis, grid),)
        special = self.owner.given.storage.get(self.shape.number, {})
        threads = {name: self.shape.block["xyz".index(axis)] for name, axis in self.shape.threads}
        lowered = merge_scopes(tidy(Contracted(special, threads).addressed(lowered)))
        homes = frozenset(special)
        machine = self.owner.given.machine
        tuning = machine.tuning.loads
        few = len(self.shape.threads) <= 1 and len(self.shape.blocks) <= 1
        if self.has(CARRY):
            lowered = carry(lowered, homes, self.owner.names, tuning, few=few)
        lane = next((c.name for c in coordinates if c.source == ThreadIndex("x")), None)
        count = prod(self.shape.block)
        lane = lane if self.shape.block[0] == WARP_SIZE else None
        extents = {a.name: a.extents for a in self.owner.scop.arrays}
        registers = 0
        if self.has(BATCHES):
            lowered, registers = batched(lowered, homes, self.owner.names, count, machine, lane, extents)
        lowered = drop_unused(lowered)
        if registers and self.has(EARLY_LOADS):
            lowered = update_early(lowered, homes, self.owner.names, tuning)
        if registers and self.has(HINTS):
            lowered = streamed(lowered, self.owner.given.last_reads.get(self.shape.number, frozenset()))
        lowered = unscoped(lowered) if registers else lowered
        handed = self.owner.given.handovers.get(self.shape.number, {}) if self.has(FORWARDING) else {}
        lowered, copies = handed_over(lowered, handed, self.owner.names)
        used, storage = _names(lowered), (*self._storage(lowered), *copies)
        return Kernel(
            name=f"{self.owner.scop.name}_k{self.number}",
            parameters=self._parameters(storage, used),
            block=self.shape.block,
            coordinates=tuple(c for c in reversed(coordinates) if c.name in used),
            storage=storage,
            body=lowered,
            summary=self._summary(),
            min_blocks=min(machine.registers_per_sm // (registers * count), machine.blocks_per_sm) if registers else 0,
            index_type=self.owner.integer.name,
        )

    def _block_index(self, axis: str) -> Expr:
        """The index as a signed number: CUDA's is `unsigned`, and -1 plus an `unsigned` is not -1 in a wider type."""
        integer = self.owner.integer
        index = BlockIndex(axis, integer)
        return index if integer.size <= 4 else Cast(integer, index)

    def _strided(self, body: tuple[Stmt, ...], name: str, axis: str, grid: GridRange) -> Stmt:
        """Grid dimensions y and z are limited, so blocks stride over what does not fit."""
        special = self.owner.given.storage.get(self.shape.number, {})
        if any(home.space is Space.SHARED for home in special.values()) or _has_barrier(body):
            body = (*body, Barrier("the block's next tile may touch what this one used"))
        integer = self.owner.integer
        first = plus(grid.first, self._block_index(axis), integer)
        condition = Binary("<=", Name(name, integer), grid.last)
        return For(name, first, condition, GridExtent(axis, integer), body, integer)

    def _body(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        found: list[Stmt] = []
        for stmt in body:
            match stmt:
                case For():
                    found.extend(self._loop(stmt))
                case If():
                    found.append(If(stmt.condition, self._body(stmt.then), self._body(stmt.otherwise)))
                case Marked():
                    found.extend(self._body(stmt.body))
                case Instance() if stmt.statement in self.owner.annotation.syncs:
                    path = self.owner.annotation.syncs[stmt.statement]
                    found.append(Barrier(self.owner.given.barriers.get(path, "asked for by the schedule")))
                case Instance():
                    found.extend(self._instance(stmt))
                case _:
                    raise InternalError(f"unexpected in a kernel: {stmt}")
        return tuple(found)

    def _loop(self, stmt: For) -> tuple[Stmt, ...]:
        """A serial loop of a thread, with its accumulator in a register where there is one."""
        inner = self._body(stmt.body)
        unroll = self._batch(stmt) if self.has(BATCHES) else None
        loop = For(stmt.iterator, stmt.lower, stmt.condition, stmt.step, inner, stmt.type, unroll=unroll)
        run = {n.statement for s in stmt.body for n in walk(s) if isinstance(n, Instance)}
        if len(run) != 1 or run <= set(self.owner.annotation.syncs) or not self.has(SCALARS):
            return (loop,)
        statement = self.owner.scop.statement(next(iter(run)))
        written = next((a.array for a in statement.accesses if a.writes), None)
        if written is None or written in self.owner.given.storage.get(self.shape.number, {}):
            return (loop,)
        only = stmt.body[0] if len(stmt.body) == 1 else None
        if isinstance(only, Instance):
            name = self.owner.names.shared(f"{written}_acc")
            return accumulate(loop, statement, only.values, self.owner.scop, name) or (loop,)
        iterations = self.owner.given.machine.tuning.loads.tile_iterations
        tile = replace(loop, unroll=iterations if self.has(BATCHES) else None)
        return accumulate_tile(tile, stmt.body, self._instance, self.owner.scop, self.owner.names) or (loop,)

    def _batch(self, loop: For) -> int | None:
        """How many iterations a batch has at most, of a loop that accumulates partial results, or adds them up, and has
        no loop inside."""
        inside = [n for s in loop.body for n in walk(s)]
        run = {n.statement for n in inside if isinstance(n, Instance)}
        found = [most for name, most in self.owner.given.sums.items() if name in run]
        return max(found) if found and not any(isinstance(n, For) for n in inside) else None

    def _instance(self, instance: Instance) -> tuple[Stmt, ...]:
        """The body of a statement, with its iterators bound to their values."""
        return bind(self.owner.scop.statement(instance.statement), instance.values, self.owner.integer)

    def _arrays(self, body: tuple[Stmt, ...]) -> list[str]:
        found = {n.array for s in body for n in walk(s) if isinstance(n, Access)}
        return [a.name for a in self.owner.scop.arrays if a.name in found]

    def _storage(self, body: tuple[Stmt, ...]) -> tuple[Storage, ...]:
        scop = self.owner.scop
        special = self.owner.given.storage.get(self.shape.number, {})
        homes = []
        written = _written(body)
        for name in self._arrays(body):
            array = scop.array(name)
            space = Space.VALUE if scop.by_value(array) else Space.GLOBAL
            plain = Storage(name, space, array.element, array.extents, name, read_only=name not in written)
            homes.append(special.get(name, plain))
        return tuple(homes)

    def _parameters(self, homes: Sequence[Storage], used: set[str]) -> tuple[KernelParameter, ...]:
        scop = self.owner.scop
        layout = {n.name for h in homes for e in h.extents[1:] if e is not None for n in walk(e) if isinstance(n, Name)}
        needed = used | layout
        # Signed, like all index arithmetic: a guard such as n - 1 >= i must not wrap.
        found = [KernelParameter(p.name, self.owner.integer) for p in scop.parameters if p.name in needed]
        host = sorted(n for n in needed & self.scope if not any(p.name == n for p in scop.parameters))
        found += [KernelParameter(n, self.owner.integer) for n in host]
        for home in homes:
            if home.space is Space.VALUE:
                found.append(KernelParameter(home.name, home.element, const=True))
            elif home.space is Space.GLOBAL:
                found.append(KernelParameter(home.name, home.element, home.array, const=home.read_only))
        return tuple(found)

    def _summary(self) -> tuple[str, ...]:
        statements = [self.owner.scop.statement(n) for n in self.shape.statements]
        lines = [f"{s.location.short if s.location.line else s.name}: {s.text}" for s in statements]
        blocks = ", ".join(f"{b.name} = {b.axis}" for b in self.shape.blocks) or "one block"
        x, y, z = self.shape.block
        return (*lines, f"{self.owner.schedule.strategy} schedule; blocks: {blocks}; {x} x {y} x {z} threads")


def _names(body: tuple[Stmt, ...]) -> set[str]:
    return value_names(*body)


def _has_barrier(body: tuple[Stmt, ...]) -> bool:
    return any(isinstance(n, Barrier) for s in body for n in walk(s))


def _written(body: tuple[Stmt, ...]) -> set[str]:
    targets = (n.target for s in body for n in walk(s) if isinstance(n, Assign))
    return {t.array for t in targets if isinstance(t, Access)}


def _is_zero(value: Expr) -> bool:
    return isinstance(value, Literal) and value.text == "0"


def plus(a: Expr, b: Expr, integer: CType) -> Expr:
    """a + b, folded where both or one is a literal."""
    if isinstance(a, Literal) and isinstance(b, Literal):
        return Literal(str(int(a.text) + int(b.text)), integer)
    if isinstance(a, Literal) and a.text == "0":
        return b
    if isinstance(b, Literal) and b.text == "0":
        return a
    return Binary("+", a, b, integer)


def wide(expr: Expr) -> Expr:
    """The same expression for the host, whose integers have 64 bits."""

    def change(node: Expr) -> Expr:
        match node:
            case Name(name=name):
                return Name(name, LLONG)
            case Literal(text=text):
                return Literal(text, LLONG)
        return node

    return rewrite(expr, change)  # type: ignore[no-any-return]


def lower_sequential(scop: Scop) -> tuple[Stmt, ...]:
    """The statement tree that runs a Scop in its original order."""
    names = Names.of(scop)
    integer = index_type(scop)
    tree = scop.schedule.intersect_domain(scop.domain.intersect_params(scop.context))
    generated = generate(tree, scop.context, names.prefix("c"), integer)
    body = rename_loops(generated, scop, frozenset(p.name for p in scop.parameters))
    return _bound(body, scop, integer)


def _bound(body: Sequence[Stmt], scop: Scop, integer: CType) -> tuple[Stmt, ...]:
    found: list[Stmt] = []
    for stmt in body:
        match stmt:
            case For():
                inner = _bound(stmt.body, scop, integer)
                found.append(For(stmt.iterator, stmt.lower, stmt.condition, stmt.step, inner, stmt.type))
            case If():
                then, otherwise = _bound(stmt.then, scop, integer), _bound(stmt.otherwise, scop, integer)
                found.append(If(stmt.condition, then, otherwise))
            case Instance():
                found.extend(bind(scop.statement(stmt.statement), stmt.values, integer))
            case _:
                raise InternalError(f"unexpected in a sequential program: {stmt}")
    return tuple(found)
