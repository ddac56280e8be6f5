"""The GPU through CuPy: kernels compiled by NVRTC, buffers in device memory, the host program run from Python."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np

from polytile.codegen.targets.cuda.cuda import print_kernels
from polytile.codegen.targets.cuda.shared_memory import dynamic_shared_bytes
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError, UserError
from polytile.ir.evaluate import evaluate
from polytile.ir.host import Buffer, HostProgram
from polytile.ir.kernel import Kernel
from polytile.machine import MAX_GRID
from polytile.options import Options
from polytile.runtime.cuda_graphs import Replays
from polytile.runtime.host_interpreter import execute
from polytile.runtime.inputs import POISON_FLOAT
from polytile.runtime.launches import KernelRuns, launches_of
from polytile.runtime.layout import Layout, element_dtype, scalar_dtype
from polytile.runtime.programmatic_dependent_launch import FIRST_CAPABILITY, available, programmatic_launch

Bytes: TypeAlias = np.ndarray[Any, Any]
INSTALL = "install CuPy for your CUDA (pip install 'polytile[cuda]'), or use --on emulator"


@cache
def _import_cupy() -> tuple[Any, str]:
    """CuPy when it can be used, and else the reason why not."""
    try:
        cupy = import_module("cupy")
    except ImportError as error:
        return None, f"CuPy cannot be imported: {error}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return None, f"there is no usable GPU: {error}"
    return (cupy, "") if count else (None, "there is no GPU")


def require_cupy() -> Any:
    """The module `cupy`; raises DeviceError without CuPy or without a GPU."""
    cupy, reason = _import_cupy()
    if cupy is None:
        raise DeviceError(reason, hint=INSTALL)
    return cupy


def cupy_available() -> bool:
    return _import_cupy()[0] is not None


def device_arch() -> str:
    """`sm_90` for the current device."""
    return f"sm_{require_cupy().cuda.Device().compute_capability}"


@contextmanager
def _device_errors(cupy: Any, doing: str) -> Iterator[None]:
    """Turn CuPy's exceptions into DeviceError."""
    cuda = cupy.cuda
    failures = (
        cuda.runtime.CUDARuntimeError,
        cuda.driver.CUDADriverError,
        cuda.memory.OutOfMemoryError,
        cuda.compiler.CompileException,
    )
    try:
        yield
    except failures as error:
        raise DeviceError(f"{doing} failed: {error}") from error


@dataclass(frozen=True, slots=True)
class Bound:
    """A host program with its memory in place, ready to run any number of times."""

    engine: CupyEngine
    values: Mapping[str, int]
    pointers: Mapping[str, int]
    scalars: Mapping[str, Any]
    blocks: tuple[Any, ...]  # keeps the device memory alive

    def launch_all(self) -> None:
        """Run the loops and launches of the host program; kernels run asynchronously."""
        program = self.engine.program
        self.engine.replays.run(require_cupy(), self._key(), self.for_each_launch, graphs=program.graphs)

    def _key(self) -> Hashable:
        """All that the launches depend on."""
        scalars = tuple((name, np.asarray(value).tobytes()) for name, value in self.scalars.items())
        device = int(require_cupy().cuda.Device().id)
        return device, tuple(self.values.items()), tuple(self.pointers.items()), scalars

    def record(self) -> list[Callable[[], None]]:
        """The launches of one run, to be repeated without the cost of finding them."""
        found: list[Callable[[], None]] = []
        self.for_each_launch(found.append)
        return found

    def for_each_launch(self, use: Callable[[Callable[[], None]], None]) -> None:
        """Pass the launches of one run to `use`, as the host program comes to them."""
        early = False  # the first one comes after the run before

        def launch(*what: Any) -> None:
            nonlocal early
            use(self._launch(*what, early=early))
            early = self.engine.launches_early

        execute(self.engine.program.body, self.values, launch)

    def _launch(
        self, name: str, grid: tuple[int, int, int], scope: Mapping[str, int], *, early: bool = False
    ) -> Callable[[], None]:
        kernel = self.engine.program.kernel(name)
        if grid[0] > MAX_GRID[0]:
            raise UserError(f"the kernel {name} needs {grid[0]} blocks, more than a grid can have")
        clamped = (grid[0], min(grid[1], MAX_GRID[1]), min(grid[2], MAX_GRID[2]))
        shared = dynamic_shared_bytes(kernel)
        function, arguments = self.engine.functions[name], self._arguments(kernel, scope)
        if early and kernel.starts_early:
            return programmatic_launch(require_cupy(), function.kernel.ptr, clamped, kernel.block, shared, arguments)
        if kernel.cooperative:
            together = function.kernel
            return lambda: together(clamped, kernel.block, arguments, shared_mem=shared, enable_cooperative_groups=True)
        return lambda: function(clamped, kernel.block, arguments, shared_mem=shared)

    def _arguments(self, kernel: Kernel, scope: Mapping[str, int]) -> tuple[Any, ...]:
        result: list[Any] = []
        for p in kernel.parameters:
            if p.buffer is not None:
                result.append(np.uint64(self.pointers[p.buffer] % (1 << 64)))
            elif p.name in self.scalars:
                result.append(self.scalars[p.name])
            else:
                result.append(scalar_dtype(p.type).type(scope[p.name]))
        return tuple(result)


@dataclass(frozen=True, slots=True)
class CupyEngine:
    """One host program compiled for the current GPU. See Engine.

    With `launches_early`, recorded launches of kernels that wait for those before them happen while these end.
    """

    program: HostProgram
    functions: Mapping[str, Any]
    launches_early: bool = False
    label: str = "the GPU through CuPy"
    replays: Replays = field(default_factory=Replays, compare=False)

    def run(self, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Mapping[str, Any]) -> None:
        """Run on `memory`: NumPy arrays are copied to the device and back, CuPy arrays are used in place."""
        cupy = require_cupy()
        with _device_errors(cupy, f"running {self.program.name}"):
            copies: dict[str, Any] = {}
            before: dict[str, Bytes] = {}
            bound = self.bind(layouts, values, memory, copies, before)
            bound.launch_all()
            cupy.cuda.get_current_stream().synchronize()  # not the device: another thread may be recording a graph
            for buffer in self.program.buffers:
                if buffer.copy_out and buffer.array.name in copies:
                    part = _part(memory[buffer.array.name], layouts[buffer.array.name], buffer, values)
                    _copy_back(buffer, part, copies[buffer.array.name].get(), before)

    def launched(self, values: Mapping[str, int]) -> tuple[KernelRuns, ...]:
        return launches_of(self.program, values)

    def bind(
        self,
        layouts: Mapping[str, Layout],
        values: Mapping[str, int],
        memory: Mapping[str, Any],
        copies: dict[str, Any],
        before: dict[str, Bytes] | None = None,
    ) -> Bound:
        """Put every buffer into device memory; `copies` receives the blocks made for arrays of the host, and `before`
        what was copied to those of which not all is copied back."""
        cupy = require_cupy()
        pointers: dict[str, int] = {}
        blocks: list[Any] = []
        for buffer in self.program.buffers:
            name = buffer.array.name
            first, size = evaluate(buffer.first, values), element_dtype(buffer.array).itemsize
            if not buffer.temporary and isinstance(memory[name], cupy.ndarray):
                pointers[name] = int(memory[name].data.ptr) + layouts[name].lead * size
                continue
            block = _fresh(cupy, evaluate(buffer.elements, values) * size)
            if not buffer.temporary:
                copies[name] = block
                if buffer.copy_in:
                    part = _part(memory[name], layouts[name], buffer, values)
                    if before is not None and buffer.copy_out and not buffer.whole_back:
                        part = before[name] = part.copy()
                    block.set(part)
            blocks.append(block)
            pointers[name] = int(block.data.ptr) - first * size
        return Bound(self, dict(values), pointers, self._scalars(memory), tuple(blocks))

    def _scalars(self, memory: Mapping[str, Any]) -> dict[str, Any]:
        result = {}
        for name in self.program.by_value:
            data = memory[name]
            host = data if isinstance(data, np.ndarray) else data.get()
            result[name] = host.reshape(-1)[0]
        return result


def _fresh(cupy: Any, size: int) -> Any:
    """Device memory that holds no value a program could use by accident."""
    return cupy.full(max(0, size), POISON_FLOAT, dtype=np.uint8)


def _copy_back(buffer: Buffer, part: Bytes, now: Bytes, before: Mapping[str, Bytes]) -> None:
    """All of it, or what has changed: other threads may change the rest meanwhile."""
    known = before.get(buffer.array.name)
    np.copyto(part, now, where=True if known is None else known != now)


def _part(data: Any, layout: Layout, buffer: Buffer, values: Mapping[str, int]) -> Bytes:
    """The bytes of a host array that its buffer holds."""
    start = layout.lead + evaluate(buffer.first, values)
    count = max(0, evaluate(buffer.elements, values))
    flat = data.reshape(-1)[start : start + count]
    return np.asarray(flat.view(np.uint8))


def _functions(cupy: Any, program: HostProgram, flags: tuple[str, ...], *, exact: bool) -> dict[str, Any]:
    """The kernels by name. RawModule has NVRTC flush subnormal numbers to zero, whatever the flags say; `exact` ones
    are compiled without it, each time, as CuPy keeps no copy of them."""
    code, names = print_kernels(program), [k.name for k in program.kernels]
    if not exact:
        module = cupy.RawModule(code=code, options=flags, backend="nvrtc")
        return {name: module.get_function(name) for name in names}
    binary, _ = cupy.cuda.compiler.compile_using_nvrtc(code, options=flags, cache_in_memory=True)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "kernels.cubin"
        file.write_bytes(binary)
        module = cupy.RawModule(path=str(file))
        return {name: module.get_function(name) for name in names}


def cupy_engine(program: HostProgram, options: Options) -> CupyEngine:
    """Compile the kernels of a host program with NVRTC; raises DeviceError without CuPy, a GPU or a working NVRTC."""
    cupy = require_cupy()
    flags = ("-std=c++17", "--fmad=false") if options.strict else ("-std=c++17",)
    with _device_errors(cupy, f"compiling {program.name} with NVRTC"):
        functions = _functions(cupy, program, flags, exact=options.strict)
        for kernel in program.kernels:
            if size := dynamic_shared_bytes(kernel):
                functions[kernel.name].max_dynamic_shared_size_bytes = size
        # CuPy compiles for an older architecture where its NVRTC does not know this one: such kernels wait for nothing
        waits = all(functions[k.name].ptx_version >= FIRST_CAPABILITY for k in program.kernels if k.starts_early)
    return CupyEngine(program, functions, waits and available(cupy))
