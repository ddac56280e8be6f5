"""Stream plans of small programs, made without polytile's strategy, and programs that run them."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

import islpy as isl
import numpy as np
import numpy.typing as npt

from polytile.api import read_program
from polytile.codegen.lowering.lower import index_type
from polytile.codegen.lowering.time_tiles.overlapped.stream_program import StreamProgram, stream_kernels
from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.cuda.cuda import print_unit
from polytile.diagnostics import remember_source
from polytile.ir.arith import lift, mul
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import Declare, Expr, For, Stmt
from polytile.ir.host import Buffer, HostProgram
from polytile.ir.name_supply import Names
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamRead, StreamStep, StreamStore
from polytile.ir.scop import AccessKind, Array, Origin, Scop
from polytile.ir.time_tile import Exchange
from polytile.ir.verify.kernel import check_kernel
from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.findings import Reader
from polytile.runtime.emulator.instrument import CHECKS, PLAIN, checked

Numbers = npt.NDArray[Any]
OUT, SET = isl.dim_type.out, isl.dim_type.set
Key = tuple[int, int]  # an iteration of the block (negative: before it) and a field


@dataclass(frozen=True, slots=True)
class Link:
    """An access of a statement that reads a field, of so many iterations before, beside its cell."""

    statement: str
    access: int
    field: int
    back: int
    offset: tuple[int, ...]


@dataclass
class Case:
    """A program whose fields (an array and those of its statements that write it) run one after another in each of its
    iterations, and how it is cut."""

    source: str
    fields: Sequence[tuple[str, tuple[str, ...]]]
    iterations: int
    threads: tuple[int, ...] = (2,)
    points: tuple[int, ...] = (4,)
    chunk: int = 0
    tiles_at_once: int = 0
    gap: int = 0
    exchange: Exchange = Exchange.WARP
    split_barrier: bool = False
    live: Sequence[int] = ()  # further versions that are live after the loop, of field 0: how many iterations before

    @cached_property
    def scop(self) -> Scop:
        """Read when it is asked for: tests list the examples and take one."""
        remember_source("case.c", self.source)
        (scop,) = read_program("case.c", self.source).scops
        return scop

    @cached_property
    def dims(self) -> int:
        """Of space."""
        return max(len(s.iterators) for s in self.scop.statements) - 1

    # The plan ----------------------------------------------------------------------------------------
    def links(self) -> list[tuple[int, Link]]:
        found = []
        place = {array: k for k, (array, _) in enumerate(self.fields)}
        for f, (_, statements) in enumerate(self.fields):
            for name in statements:
                for k, a in enumerate(self.scop.statement(name).accesses):
                    if a.kind is AccessKind.READ and a.array in place:
                        back = int(place[a.array] >= f)
                        found.append((f, Link(name, k, place[a.array], back, self._offset(name, k))))
        return found

    def _offset(self, name: str, access: int) -> tuple[int, ...]:
        statement = self.scop.statement(name)
        (write,) = (a.relation for a in statement.accesses if a.kind is AccessKind.WRITE)
        cell, read = (
            self._last(r.intersect_domain(statement.domain)) for r in (write, statement.accesses[access].relation)
        )
        delta = cell.reverse().apply_range(read).deltas().project_out_all_params()
        low = [delta.dim_min_val(k).to_python() for k in range(self.dims)]
        assert low == [delta.dim_max_val(k).to_python() for k in range(self.dims)]
        return tuple(low)

    def _last(self, relation: isl.Map) -> isl.Map:
        return relation.reset_tuple_id(OUT).project_out(OUT, 0, relation.dim(OUT) - self.dims)

    def plan(self) -> OverlappedTiles:
        links = self.links()
        keys = [(t, f) for t in range(self.iterations) for f in range(len(self.fields))]
        boxes: dict[Key, tuple[list[int], list[int]]] = {}

        def widen(key: Key, low: Sequence[int], high: Sequence[int]) -> None:
            old = boxes.get(key, ([0] * self.dims, [0] * self.dims))
            boxes[key] = (
                [min(*p) for p in zip(old[0], low, strict=True)],
                [max(*p) for p in zip(old[1], high, strict=True)],
            )

        carried = {(k.field, k.back) for _, k in links if k.back}
        stored: dict[Key, Key | None] = {(self.iterations - b, f): (-b, f) for f, b in carried}
        for f in range(len(self.fields)):
            stored.setdefault((self.iterations - 1, f), None)
        for back in self.live:
            stored.setdefault((self.iterations - 1 - back, 0), None)
        for key in stored:
            widen(key, [0] * self.dims, [0] * self.dims)
        for t, f in reversed(keys):
            if (t, f) not in boxes:
                continue
            low, high = boxes[t, f]
            for reader, k in links:
                if reader == f:
                    moved = [[a + d for a, d in zip(side, k.offset, strict=True)] for side in (low, high)]
                    widen((t - k.back, k.field), *moved)
        order = sorted(boxes, key=lambda key: (key[0], key[1]))
        index = {key: k for k, key in enumerate(order)}
        lag: dict[Key, int] = {}
        slots = dict.fromkeys(order, 1)
        for key in order:
            lag[key] = 0
            for reader, k in links:
                if key[0] >= 0 and reader == key[1] and self.dims > 1:
                    source = key[0] - k.back, k.field
                    gap = self.gap if any(k.offset[1:]) else 0
                    lag[key] = max(lag[key], lag[source] + k.offset[0] + gap)
        reads = []
        for key in (key for key in order if key[0] >= 0):
            for reader, k in links:
                if reader == key[1]:
                    source = key[0] - k.back, k.field
                    if self.dims > 1:
                        slots[source] = max(slots[source], lag[key] - lag[source] - k.offset[0] + 1)
                    reads.append(StreamRead(k.statement, k.access, k.offset, index[key], index[source]))
        steps = tuple(
            StreamStep(
                k,
                self.fields[key[1]][0],
                self.fields[key[1]][1] if key[0] >= 0 else (),
                key[0],
                tuple(boxes[key][0]),
                tuple(boxes[key][1]),
                lag[key],
                slots[key],
            )
            for k, key in enumerate(order)
        )
        stores = tuple(StreamStore(index[k], index.get(to) if to else None) for k, to in stored.items())
        shadows = tuple((k, self.shadow(k)) for k, key in enumerate(order) if key[0] < 0)
        return OverlappedTiles(
            self.exchange,
            self.threads,
            self.points,
            self.iterations,
            tuple(reads),
            self.dims,
            steps,
            stores,
            shadows,
            self.chunk,
            self.tiles_at_once,
            split_barrier=self.split_barrier,
        )

    def shadow(self, step: int) -> str:
        return f"shadow{step}"

    # The program -------------------------------------------------------------------------------------
    def with_shadows(self, plan: OverlappedTiles) -> Scop:
        made = []
        for k, name in plan.shadows:
            home = self.scop.array(plan.steps[k].array)
            extents = home.extents[-self.dims :]
            if extents[0] is None:
                extents = (extents[-1], *extents[1:])
            made.append(Array(name, home.element, extents, Origin.TEMPORARY, live_in=False, live_out=False))
        return replace(self.scop, arrays=(*self.scop.arrays, *made))

    def lowered(self) -> tuple[Scop, StreamProgram]:
        plan = self.plan()
        scop = self.with_shadows(plan)
        program = stream_kernels(scop, plan, Names.of(scop), index_type(scop))
        for kernel in program.kernels:
            check_kernel(kernel, registers_only=False)
        return scop, program

    def program(self) -> HostProgram:
        scop, made = self.lowered()
        arrays = [a for a in scop.arrays if not scop.by_value(a)]
        buffers = tuple(self._buffer(a) for a in arrays)
        values = frozenset(a.name for a in scop.external_arrays if scop.by_value(a))
        return HostProgram(
            "run", scop.parameters, scop.external_arrays, values, buffers, made.kernels, made.prefix, scop.definitions
        )

    def _buffer(self, array: Array) -> Buffer:
        extents = [e if e is not None else array.extents[-1] for e in array.extents]
        elements: Expr = reduce(mul, (e for e in extents if e is not None), lift(1))
        temporary = array.origin is Origin.TEMPORARY
        return Buffer(array, lift(0), elements, copy_in=not temporary, copy_out=not temporary)

    def text(self) -> str:
        return print_unit([self.program()], header="unit.h", title=[])


@dataclass
class Runner:
    """The program in the emulator, and as C."""

    case: Case
    folder: Path
    checks: bool = False
    change: Callable[[Stmt], Stmt] | None = None  # plants an error in the kernels
    most: int = 0  # iterations that ran in tiles

    def __post_init__(self) -> None:
        program = self.program = self.case.program()
        if self.change is not None:
            kernels = tuple(replace(k, body=tuple(map(self.change, k.body))) for k in program.kernels)
            program = replace(program, kernels=kernels)
        text = print_unit([program], header="unit.h", title=[])
        (self.folder / "unit.h").write_text(print_header([program], guard_name="UNIT_H"))
        source = self.folder / "unit.cu"
        source.write_text(text)
        kind = checked(CHECKS) if self.checks else PLAIN
        library = compile_shared(source, self.folder / f"{kind.label}.so", instrumentation=kind)
        self.library = EmulatorLibrary.open(library)
        self.reader = Reader(self.library, text) if self.checks else None
        c, made = self.folder / "case.c", self.folder / "case.so"
        c.write_text(f"#include <math.h>\n{self.case.source}")
        flags = ["-O1", "-ffp-contract=off", "-fPIC", "-shared", "-lm"]
        subprocess.run(["cc", "-o", str(made), str(c), *flags], check=True, timeout=100)
        self.reference = ctypes.CDLL(str(made))

    def compare(self, times: str, name: str, sizes: dict[str, int], arrays: dict[str, Numbers], **scalars: Any) -> None:
        """The same values after all whole pairs of blocks as C has after as many iterations."""
        height = 2 * self.case.iterations
        mine = {k: v.copy() for k, v in arrays.items()}
        theirs = {k: v.copy() for k, v in arrays.items()}
        if self.reader is not None:
            self.reader.clear()
        scop = self.case.scop
        called = *(p.name for p in scop.parameters), *(a.name for a in scop.external_arrays)
        status = self.library.function("run")(*self._passed(called, sizes, {**mine, **scalars}))
        found = self.reader.read() if self.reader is not None else ()
        assert not found, [f.message for f in found][:3]
        assert status == 0, self.library.message()
        whole = max(sizes[times], 0) // height * height
        done = self._iterations(sizes)
        assert done in (0, whole), sizes
        self.most = max(self.most, done)
        run = {**sizes, times: done}
        getattr(self.reference, name)(*self._passed(self.case.scop.positional, run, {**theirs, **scalars}))
        for key in arrays:
            np.testing.assert_array_equal(mine[key], theirs[key], f"{key} of {sizes}")

    def _iterations(self, sizes: dict[str, int]) -> int:
        """How many iterations the program runs; none where an array has no element that is touched."""
        loop = next(s for s in self.program.body if isinstance(s, For))
        declared = {s.name: s.value for s in self.program.body if isinstance(s, Declare)}
        value = declared[self.case.lowered()[1].rest.name]
        assert value is not None
        return evaluate(value, sizes) - evaluate(loop.lower, sizes)

    def _passed(self, names: Sequence[str], sizes: dict[str, int], values: dict[str, Any]) -> list[Any]:
        out: list[Any] = []
        for name in names:
            if name in sizes:
                out.append(ctypes.c_int(sizes[name]))
            elif isinstance(values[name], np.ndarray):
                out.append(values[name].ctypes.data_as(ctypes.c_void_p))
            else:
                out.append(np.ctypeslib.as_ctypes_type(type(values[name]))(values[name]))
        return out


def random(*extents: int, dtype: Any = np.float64, seed: int = 1) -> Numbers:
    return np.random.default_rng(seed).random(extents).astype(dtype)
