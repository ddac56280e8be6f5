"""What the built kernels share: a host program around them, and libraries of the emulator that run it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polytile.codegen.passes.driver import run_passes
from polytile.codegen.passes.plan import Context, LoweredPlan
from polytile.codegen.resources.unroll import unroll
from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.cuda.cuda import print_unit
from polytile.ir.arith import lift, mul
from polytile.ir.expr import Expr, For, Name, Stmt
from polytile.ir.expr_trees import rewrite
from polytile.ir.host import Buffer, HostProgram
from polytile.ir.kernel import Kernel
from polytile.ir.name_supply import Names
from polytile.ir.scop import Array, Parameter
from polytile.machine import machine_of
from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.findings import Finding, Reader
from polytile.runtime.emulator.instrument import CHECKS, PLAIN, checked

Numbers = npt.NDArray[Any]


def optimised(kernel: Kernel, *requested: str, **plan: Any) -> Kernel:
    """The kernel with unrolled loops after the passes of the list that are requested, or that the rest of its plan asks
    for. Its loops have their iterators as labels."""
    context = Context(machine_of("sm_90"), Names(set(kernel.names)))
    kernel = replace(kernel, body=tuple(rewrite(stmt, _labelled) for stmt in unroll(kernel).body))
    return run_passes(kernel, LoweredPlan(requested=frozenset(requested), **plan), context, lambda _: None)


def _labelled(node: Any) -> Any:
    return replace(node, label=node.iterator) if isinstance(node, For) and not node.label else node


def host_program(
    name: str, kernels: Sequence[Kernel], parameters: Iterable[Name], arrays: Sequence[Array], body: Sequence[Stmt]
) -> HostProgram:
    """The host's part: takes the parameters, then the arrays; copies all of them in, and out what kernels write."""
    written = {p.buffer for k in kernels for p in k.parameters if not p.const}
    buffers = tuple(Buffer(a, lift(0), _elements(a), copy_in=True, copy_out=a.name in written) for a in arrays)
    sizes = tuple(Parameter(p.name, p.type) for p in parameters)
    return HostProgram(name, sizes, tuple(arrays), frozenset(), buffers, tuple(kernels), tuple(body))


def _elements(array: Array) -> Expr:
    total = lift(1)
    for extent in array.extents:
        assert extent is not None
        total = mul(total, extent)
    return total


@dataclass(frozen=True, slots=True)
class Built:
    """Programs in one library of the emulator; a call returns what its checks found."""

    library: EmulatorLibrary
    reader: Reader | None

    def __call__(self, program: str, *values: int | np.floating[Any] | Numbers) -> tuple[Finding, ...]:
        """Run a program on sizes, scalars and arrays (contiguous, in place); raises AssertionError where it fails
        unchecked."""
        if self.reader is not None:
            self.reader.clear()
        status = self.library.function(program)(*(passed(v) for v in values))
        found = self.reader.read() if self.reader is not None else ()
        message = self.library.message()
        self.library.reset_errors()
        assert status == 0 or found, f"{program} failed: {message or status}"
        return found


def passed(value: int | np.floating[Any] | Numbers) -> Any:
    """The value as ctypes takes it."""
    if isinstance(value, np.ndarray):
        return value.ctypes.data_as(ctypes.c_void_p)
    return ctypes.c_int(value) if isinstance(value, int) else np.ctypeslib.as_ctypes_type(value.dtype)(value)


def build(programs: Sequence[HostProgram], folder: Path, *, checks: Sequence[str] = ()) -> Built:
    """Compile the programs for the emulator, as the user would get them; `checks` are some of CHECKS."""
    text = print_unit(programs, header="unit.h", title=[])
    (folder / "unit.h").write_text(print_header(programs, guard_name="UNIT_H"))
    kind = checked(checks) if checks else PLAIN
    source = folder / "unit.cu"
    source.write_text(text)
    library = compile_shared(source, folder / f"{kind.label}.so", instrumentation=kind)
    opened = EmulatorLibrary.open(library)
    return Built(opened, Reader(opened, text) if checks else None)


def build_checked(programs: Sequence[HostProgram], folder: Path) -> Built:
    """The same with every check."""
    return build(programs, folder, checks=CHECKS)
