"""From a mapped schedule to the program that runs it: plain kernels, and the host's loops around their launches.

A plain kernel has loops, conditions, barriers and executions of statements, and is right as it is. All that makes it
faster comes later (codegen/passes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from polytile.codegen.lowering.ast_generation import generate, generate_host
from polytile.codegen.lowering.copies import Threads, copy_loops, wide_copy
from polytile.codegen.lowering.copy_barriers import without_second_barriers
from polytile.codegen.lowering.host_program import host_program
from polytile.codegen.lowering.instantiate import bind, with_cells
from polytile.codegen.lowering.isl_ast import GridRange, Instance, Marked
from polytile.codegen.lowering.iterator_names import rename_loops
from polytile.codegen.lowering.outline_kernels import Annotation, KernelShape
from polytile.codegen.lowering.placed_accesses import Placed, placed
from polytile.codegen.passes.plan import WideCopy
from polytile.codegen.passes.prune_signature import pruned
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.arith import known
from polytile.ir.atomic_updates import atomically
from polytile.ir.def_use import written_arrays
from polytile.ir.expr import (
    INT,
    LLONG,
    LONG,
    Access,
    Binary,
    Cast,
    CType,
    Declare,
    Execution,
    Expr,
    For,
    If,
    Literal,
    Name,
    Stmt,
)
from polytile.ir.expr_trees import rewrite, statements, walk, with_bodies
from polytile.ir.gpu_ops import BlockIndex, GridExtent, ThreadIndex
from polytile.ir.host import Buffer, HostProgram
from polytile.ir.kernel import Barrier, Coordinate, Kernel, KernelParameter, Launch
from polytile.ir.memory import Space, Storage, constant_extents
from polytile.ir.name_supply import Names
from polytile.ir.placed_storage import Homes, homes
from polytile.ir.plan import KernelPlan
from polytile.ir.schedule import KERNEL, MappedSchedule, Path
from polytile.ir.scop import Scop, Statement
from polytile.machine import MAX_GRID


@dataclass(frozen=True, slots=True)
class LoweringInput:
    """What lowering needs to know besides the Scop and its schedule.

    `buffers` finds those of the arrays in device memory, `barriers` gives the reason for the barrier of each `sync`
    mark, `plans` say which arrays, or which tiles of them, live inside of kernels. The updates of these (statement,
    array) are `atomic`.
    """

    buffers: Callable[[], tuple[Buffer, ...]]
    barriers: Mapping[Path, str]
    plans: tuple[KernelPlan, ...] = ()
    atomic: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program of plain kernels. `shapes` says what each was in the schedule: where isl divides a loop of the host,
    one of the schedule's kernels becomes several. `storage` is of the arrays that live inside of one alone, by its
    number in the schedule. `names` hands out those that no kernel uses yet. `wide` has the vectors that copies of each
    kernel may use, by the labels of their loops."""

    program: HostProgram
    shapes: tuple[KernelShape, ...]
    storage: Homes
    names: Names
    wide: tuple[Mapping[str, WideCopy], ...] = ()


def lower(scop: Scop, schedule: MappedSchedule, given: LoweringInput) -> Lowered:
    """Generate the host program of a mapped schedule; it launches nothing where there is no instance."""
    names, integer = Names.of(scop), index_type(scop)
    nothing = all(statement.domain.is_empty() for statement in scop.statements)
    tiles = Placed(schedule.tree) if nothing else placed(scop, schedule, given.plans, names)
    annotation = Annotation(scop, names, names.prefix("c"), frozenset(tiles.kernels), copies=tiles.copies)
    generated = () if nothing else generate_host(annotation, annotation.annotate(tiles.tree), integer, tiles)
    storage = homes(given.plans, scop)
    return _Lowering(scop, schedule, given, annotation, generated, names, integer, tiles, storage).lowered()


def index_type(scop: Scop) -> CType:
    """Return `int`, or 64 bits where a parameter has them or an iterator needs them."""
    return LONG if scop.wide or any(p.type.size > INT.size for p in scop.parameters) else INT


Kernels = list[tuple[Kernel, KernelShape, Mapping[str, WideCopy]]]


@dataclass(frozen=True, slots=True)
class _Lowering:
    scop: Scop
    schedule: MappedSchedule
    given: LoweringInput
    annotation: Annotation
    generated: tuple[Stmt, ...]
    names: Names
    integer: CType
    tiles: Placed
    storage: Homes

    def lowered(self) -> Lowered:
        kernels: Kernels = []
        taken = frozenset(p.name for p in self.scop.parameters)
        body = rename_loops(self.generated, self.scop, taken, self.tiles.kernels)
        host = self._host(body, kernels, taken)
        program = host_program(
            self.scop, self.given.buffers(), tuple(kernel for kernel, _, _ in kernels), host, self.schedule.strategy
        )
        shapes, wide = tuple(shape for _, shape, _ in kernels), tuple(own for _, _, own in kernels)
        return Lowered(program, shapes, self.storage, self.names, wide)

    def _host(self, body: Sequence[Stmt], kernels: Kernels, scope: frozenset[str]) -> tuple[Stmt, ...]:
        """Lower the host's part of the tree: each kernel mark becomes a launch, and its subtree a kernel."""
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

    def _launch(self, mark: Marked, kernels: Kernels, scope: frozenset[str]) -> Launch:
        shape = self.annotation.kernels[int(mark.name.partition(":")[2])]
        ranges = mark.grid
        builder = _KernelBuilder(self, shape, ranges, scope, len(kernels))
        kernel = builder.build(mark.body)
        kernels.append((kernel, shape, {label: wide for label, wide in builder.wide.items() if wide is not None}))
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
    wide: dict[str, WideCopy | None] = field(default_factory=dict)

    def build(self, body: tuple[Stmt, ...]) -> Kernel:
        made = self._body(body)
        if any(copy.placement.updated for copy in self.owner.tiles.copies.values()):
            made = without_second_barriers(made)
        coordinates = [Coordinate(name, ThreadIndex(axis)) for name, axis in self.shape.threads]
        for block, grid in zip(self.shape.blocks, self.ranges, strict=True):
            single = block.axis == "x" or _fits(grid.count)
            if single and _is_zero(grid.first):
                coordinates.append(Coordinate(block.name, BlockIndex(block.axis)))
            elif single:
                first = plus(grid.first, self._block_index(block.axis), self.owner.integer)
                made = (Declare(block.name, self.owner.integer, first), *made)
            else:
                made = (self._strided(made, block.name, block.axis, grid),)
        storage = self._storage(made)
        kernel = Kernel(
            name=f"{self.owner.scop.name}_k{self.number}",
            parameters=self._parameters(storage),
            block=self.shape.block,
            coordinates=tuple(reversed(coordinates)),
            storage=storage,
            body=distinctly_labelled(made),
            summary=self._summary(),
            index_type=self.owner.integer.name,
        )
        return pruned(kernel)

    def _block_index(self, axis: str) -> Expr:
        """Return the block index as a signed number.

        CUDA's is `unsigned`, and -1 plus an `unsigned` is not -1 in a wider type.
        """
        integer = self.owner.integer
        index = BlockIndex(axis, integer)
        return index if integer.size <= 4 else Cast(integer, index)

    def _strided(self, body: tuple[Stmt, ...], name: str, axis: str, grid: GridRange) -> Stmt:
        """Generate a loop in which blocks stride over tiles.

        Grid dimensions y and z are limited, and may not fit all blocks.
        """
        special = self.owner.storage.get(self.shape.number, {})
        tiles = self.owner.tiles.storage.get(self.shape.number, ())
        if any(home.space is Space.SHARED for home in (*special.values(), *tiles)) or _has_barrier(body):
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
                    found.append(replace(stmt, body=self._body(stmt.body)))
                case If():
                    found.append(If(stmt.condition, self._body(stmt.then), self._body(stmt.otherwise)))
                case Marked():
                    found.extend(self._body(stmt.body))
                case Instance() if stmt.statement in self.owner.annotation.syncs:
                    found.append(Barrier(self._reason(stmt.statement)))
                case Instance() if stmt.statement in self.owner.tiles.copies:
                    copy = self.owner.tiles.copies[stmt.statement]
                    label = f"{copy.run.name}:{len(self.wide)}"
                    self.wide[label] = wide_copy(copy, stmt, self._threads(), self.owner.integer)
                    found.extend(copy_loops(copy, stmt, self._threads(), self.owner.integer, label))
                case Instance():
                    run = self._execution(stmt)
                    found.append(run if stmt.guard is None else If(stmt.guard, (run,)))
                case _:
                    raise InternalError(f"unexpected in a kernel: {stmt}")
        return tuple(found)

    def _execution(self, instance: Instance) -> Execution:
        """Return the body of a statement, with its iterators bound to their values."""
        statement = self.owner.scop.statement(instance.statement)
        cells = dict(zip(instance.numbers, instance.cells, strict=True))
        found = self._with_atomics(with_cells(statement, cells))
        body = bind(found, instance.values, self.owner.integer)
        return Execution(statement.name, statement.iterators, instance.values, body)

    def _with_atomics(self, statement: Statement) -> Statement:
        """Make the updates of a statement atomic whose order the schedule leaves open."""
        special = self.owner.storage.get(self.shape.number, {})
        for array in sorted(array for name, array in self.owner.given.atomic if name == statement.name):
            if array in special and special[array].space is Space.PRIVATE:
                raise InternalError(f"{array} is updated by several threads, and lives in each")
            statement = replace(statement, body=atomically(statement.body, array))
        return statement

    def _reason(self, barrier: str) -> str:
        annotation = self.owner.annotation
        if barrier in annotation.reasons:
            return annotation.reasons[barrier]
        return self.owner.given.barriers.get(annotation.syncs[barrier], "asked for by the schedule")

    def _threads(self) -> Threads:
        threads = sorted(self.shape.threads, key=lambda thread: thread[1])
        return Threads(tuple(name for name, _ in threads), self.shape.block[: len(threads)])

    def _arrays(self, body: tuple[Stmt, ...]) -> list[str]:
        found = {n.array for s in body for n in walk(s) if isinstance(n, Access)}
        return [a.name for a in self.owner.scop.arrays if a.name in found]

    def _storage(self, body: tuple[Stmt, ...]) -> tuple[Storage, ...]:
        scop = self.owner.scop
        special = self.owner.storage.get(self.shape.number, {})
        found = []
        written = written_arrays(*body)
        for name in self._arrays(body):
            array = scop.array(name)
            space = Space.VALUE if scop.by_value(array) else Space.GLOBAL
            plain = Storage(name, space, array.element, array.extents, name, read_only=name not in written)
            found.append(spread_out(special[name]) if name in special else plain)
        return (*found, *self.owner.tiles.storage.get(self.shape.number, ()))

    def _parameters(self, homes: Sequence[Storage]) -> tuple[KernelParameter, ...]:
        """Return all parameters that the kernel could need; those that it uses are found from its body."""
        scop = self.owner.scop
        # Signed, like all index arithmetic: a guard such as n - 1 >= i must not wrap.
        found = [KernelParameter(p.name, self.owner.integer) for p in scop.parameters]
        host = sorted(n for n in self.scope if not any(p.name == n for p in scop.parameters))
        found += [KernelParameter(n, self.owner.integer) for n in host]
        for home in homes:
            if home.space is Space.VALUE:
                found.append(KernelParameter(home.name, home.element, const=True))
            elif home.space is Space.GLOBAL:
                found.append(KernelParameter(home.name, home.element, home.array, const=home.read_only))
        return tuple(found)

    def _summary(self) -> tuple[str, ...]:
        names = (n for n in self.shape.statements if n not in self.owner.tiles.copies)
        run = [self.owner.scop.statement(n) for n in names]
        lines = [f"{s.location.short if s.location.line else s.name}: {s.text}" for s in run]
        blocks = ", ".join(f"{b.name} = {b.axis}" for b in self.shape.blocks) or "one block"
        x, y, z = self.shape.block
        return (*lines, f"{self.owner.schedule.strategy} schedule; blocks: {blocks}; {x} x {y} x {z} threads")


def distinctly_labelled(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Give each loop a label of its own: isl makes several loops of some bands.

    before: k: for (k = 0; ...) k: for (k = n; ...)
    after:  k: for (k = 0; ...) k#2: for (k = n; ...)
    """
    times: dict[str, int] = {}

    def distinct(stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(labelled(stmt) for stmt in stmts)

    def labelled(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For) and stmt.label:
            times[stmt.label] = times.get(stmt.label, 0) + 1
            number = times[stmt.label]
            stmt = replace(stmt, label=f"{stmt.label}#{number}" if number > 1 else stmt.label)
        return stmt if isinstance(stmt, Execution) else with_bodies(stmt, distinct)

    return distinct(body)


def spread_out(home: Storage) -> Storage:
    """Expand the storage of an array to a cell for each value of the subscripts that it keeps.

    Of these values, threads use some.

    before: part[64] by 32, of which a thread has part[t] and part[t + 32]: two cells
    after:  part[64], with 64 cells
    """
    sizes = zip(constant_extents(home), home.strides or (1,) * len(home.extents), strict=True)
    return replace(home, extents=tuple(Literal(str(size * by)) for size, by in sizes), strides=())


def _has_barrier(body: tuple[Stmt, ...]) -> bool:
    return any(isinstance(stmt, Barrier) for stmt in statements(*body))


def _fits(count: Expr) -> bool:
    """Return whether so many blocks are known to fit dimensions y and z of a grid, too."""
    value = known(count)
    return value is not None and value <= min(MAX_GRID)


def _is_zero(value: Expr) -> bool:
    return isinstance(value, Literal) and value.text == "0"


def plus(a: Expr, b: Expr, integer: CType) -> Expr:
    """Return a + b, folded where both or one is a literal."""
    if isinstance(a, Literal) and isinstance(b, Literal):
        return Literal(str(int(a.text) + int(b.text)), integer)
    if isinstance(a, Literal) and a.text == "0":
        return b
    if isinstance(b, Literal) and b.text == "0":
        return a
    return Binary("+", a, b, integer)


def wide(expr: Expr) -> Expr:
    """Widen an expression to the host's integers of 64 bits."""

    def change(node: Expr) -> Expr:
        match node:
            case Name(name=name):
                return Name(name, LLONG)
            case Literal(text=text):
                return Literal(text, LLONG)
        return node

    return rewrite(expr, change)  # type: ignore[no-any-return]


def lower_sequential(scop: Scop) -> tuple[Stmt, ...]:
    """Generate the statement tree that runs a Scop in its original order."""
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
