"""The GPU through CuPy: kernels compiled by NVRTC, buffers in device memory, the host program run from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np

from polytile.codegen.targets.cuda.cuda import print_kernels
from polytile.codegen.targets.cuda.shared_memory import dynamic_shared_bytes
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError, UserError
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from polytile.machine import MAX_GRID
from polytile.options import Options
from polytile.runtime.cuda_graphs import Replays
from polytile.runtime.device_buffers import DeviceBuffer, device_buffers
from polytile.runtime.host_copies import HostCopies
from polytile.runtime.host_interpreter import execute
from polytile.runtime.inputs import POISON_FLOAT
from polytile.runtime.launches import KernelRuns, launches_of
from polytile.runtime.layout import Layout, scalar_dtype
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
    """Import the module `cupy`; raises DeviceError without CuPy or without a GPU."""
    cupy, reason = _import_cupy()
    if cupy is None:
        raise DeviceError(reason, hint=INSTALL)
    return cupy


def cupy_available() -> bool:
    return _import_cupy()[0] is not None


def device_arch() -> str:
    """Return the architecture of the current device, such as `sm_90`."""
    return f"sm_{require_cupy().cuda.Device().compute_capability}"


def device_failures() -> tuple[type[Exception], ...]:
    """Return what CuPy raises where the device, or its compiler, fails; raises DeviceError without CuPy or a GPU."""
    cuda = require_cupy().cuda
    return (
        cuda.runtime.CUDARuntimeError,
        cuda.driver.CUDADriverError,
        cuda.memory.OutOfMemoryError,
        cuda.compiler.CompileException,
    )


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
        cupy, program = require_cupy(), self.engine.program
        numbers = [value.tobytes() for value in self.scalars.values()]
        key = (cupy.cuda.runtime.getDevice(), *self.values.values(), *self.pointers.values(), *numbers)
        self.engine.replays.run(cupy, key, self.for_each_launch, graphs=program.graphs)

    def record(self) -> list[Callable[[], None]]:
        """Record the launches of one run, to be repeated without the cost of finding them."""
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
        kernel, clamped = self.engine.program.kernel(name), clamped_grid(name, grid)
        shared = dynamic_shared_bytes(kernel)
        function, arguments = self.engine.functions[name], self._arguments(kernel, scope)
        if early and kernel.starts_early:
            return programmatic_launch(require_cupy(), function.kernel.ptr, clamped, kernel.block, shared, arguments)
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


def clamped_grid(kernel: str, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return a grid that a device has: kernels stride over what lies beyond its limits of y and z; raises UserError
    beyond that of x."""
    if grid[0] > MAX_GRID[0]:
        raise UserError(f"the kernel {kernel} needs {grid[0]} blocks, more than a grid can have")
    return grid[0], min(grid[1], MAX_GRID[1]), min(grid[2], MAX_GRID[2])


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

    def run(
        self,
        layouts: Mapping[str, Layout],
        values: Mapping[str, int],
        memory: Mapping[str, Any],
        *,
        wait: bool = True,
    ) -> None:
        """Run on `memory`: NumPy arrays are copied to the device and back, CuPy arrays are used in place."""
        self.sized(layouts, values).run(*self._divided(layouts, memory), wait=wait)

    def sized(self, layouts: Mapping[str, Layout], values: Mapping[str, int]) -> SizedRun:
        """Prepare what runs with these sizes and layouts have in common."""
        return SizedRun(self, dict(values), device_buffers(self.program, layouts, values))

    def launched(self, values: Mapping[str, int]) -> tuple[KernelRuns, ...]:
        return launches_of(self.program, values)

    def bind(
        self,
        layouts: Mapping[str, Layout],
        values: Mapping[str, int],
        memory: Mapping[str, Any],
        copies: dict[str, Any],
    ) -> Bound:
        """Put every buffer into device memory; `copies` receives the blocks made for arrays of the host."""
        return self.sized(layouts, values).bound(*self._divided(layouts, memory), copies)

    def _divided(
        self, layouts: Mapping[str, Layout], memory: Mapping[str, Any]
    ) -> tuple[dict[str, int], dict[str, Any], dict[str, Any]]:
        """Return the addresses of arrays on the device, the arrays of the host, and the numbers that are passed by
        value."""
        cupy = require_cupy()
        scalars = {name: _number(memory[name]) for name in self.program.by_value}
        resident = {b.array.name for b in self.program.buffers if isinstance(memory.get(b.array.name), cupy.ndarray)}
        return {name: memory[name].data.ptr for name in resident}, dict(memory), scalars


@dataclass(frozen=True, slots=True)
class SizedRun:
    """Runs of one program with the same sizes and layouts, on any memory."""

    engine: CupyEngine
    values: Mapping[str, int]
    buffers: tuple[DeviceBuffer, ...]

    def run(
        self, addresses: Mapping[str, int], host: Mapping[str, Any], scalars: Mapping[str, Any], *, wait: bool = True
    ) -> None:
        """Run on arrays at `addresses` of the device and on those of the host, which are copied, by name.

        Without `wait` kernels may still run behind it, where no array is the host's. Raises DeviceError.
        """

        def launch(_: int, pointers: Sequence[int]) -> None:
            by_name = {b.name: pointer for b, pointer in zip(self.buffers, pointers, strict=True)}
            Bound(self.engine, self.values, by_name, scalars, ()).launch_all()

        self.around(launch, addresses, host, wait=wait)

    def around(
        self,
        launch: Callable[[int, Sequence[int]], None],
        addresses: Mapping[str, int],
        host: Mapping[str, Any],
        *,
        wait: bool,
    ) -> None:
        """Run what launches the kernels in a stream, CuPy's current one, on the bases of all buffers. Raises
        DeviceError."""
        cupy = require_cupy()
        try:
            stream = cupy.cuda.get_current_stream().ptr
            pointers: list[int] = []
            taken: list[tuple[DeviceBuffer, Any]] = []  # memory for temporaries and for copies
            copied: list[tuple[DeviceBuffer, Any]] = []
            for b in self.buffers:
                address = addresses.get(b.name)
                if address is not None:
                    pointers.append(address + b.lead)
                    continue
                block = cupy.cuda.alloc(b.size)
                pointers.append(block.ptr - b.first)
                taken.append((b, block))
                if not b.temporary:
                    copied.append((b, block))
            if copied:
                _poison(cupy, taken, stream)
                with HostCopies(cupy, stream) as copies:
                    before = _copied_in(copies, copied, host)
                    launch(stream, pointers)
                    _copy_back(copies, copied, host, before)
            else:
                launch(stream, pointers)
            if wait or copied:  # for the stream, not the device: another thread may be recording a graph
                cupy.cuda.runtime.streamSynchronize(stream)
        except device_failures() as error:
            raise DeviceError(f"running {self.engine.program.name} failed: {error}") from error

    def bound(
        self, addresses: Mapping[str, int], host: Mapping[str, Any], scalars: Mapping[str, Any], copies: dict[str, Any]
    ) -> Bound:
        """Put every buffer into device memory, for runs without copies; `copies` receives the blocks made for arrays of
        the host."""
        cupy = require_cupy()
        pointers: dict[str, int] = {}
        blocks: list[Any] = []
        copied = any(not b.temporary and b.name not in addresses for b in self.buffers)
        for b in self.buffers:
            address = addresses.get(b.name)
            if address is not None:
                pointers[b.name] = address + b.lead
                continue
            poisoned = copied and (b.temporary or not b.buffer.copy_in)
            block = cupy.full(b.size, POISON_FLOAT, dtype=np.uint8) if poisoned else cupy.empty(b.size, np.uint8)
            if not b.temporary:
                copies[b.name] = block
                if b.buffer.copy_in:
                    block.set(b.part(host[b.name]))
            blocks.append(block)
            pointers[b.name] = int(block.data.ptr) - b.first
        return Bound(self.engine, self.values, pointers, scalars, tuple(blocks))


def _number(data: Any) -> np.generic:
    """Read the value of an array of one element."""
    host = data if isinstance(data, np.ndarray) else data.get()
    return host.reshape(-1)[0]  # type: ignore[no-any-return]


def _poison(cupy: Any, taken: Iterable[tuple[DeviceBuffer, Any]], stream: int) -> None:
    """Fill what is not copied in with what is no value that a program could use by accident."""
    for b, block in taken:
        if b.size and not b.buffer.copy_in:
            cupy.cuda.runtime.memsetAsync(block.ptr, POISON_FLOAT, b.size, stream)


def _copied_in(
    copies: HostCopies, copied: Iterable[tuple[DeviceBuffer, Any]], host: Mapping[str, Any]
) -> dict[str, Bytes]:
    """Copy arrays of the host to their blocks; returns what was in those of which changes come back."""
    before: dict[str, Bytes] = {}
    for b, block in copied:
        if b.buffer.copy_in:
            part = b.part(host[b.name])
            if b.changes:
                before[b.name] = np.empty_like(part)
            copies.to_device(block.ptr, part, before.get(b.name))
    return before


def _copy_back(
    copies: HostCopies,
    copied: Iterable[tuple[DeviceBuffer, Any]],
    host: Mapping[str, Any],
    before: Mapping[str, Bytes],
) -> None:
    for b, block in copied:
        if b.changes:
            copies.changes_back(b.part(host[b.name]), block.ptr, before[b.name], b.unit)
        elif b.back is not None:
            copies.back(b.part(host[b.name]), block.ptr, b.back)


def flags_of(options: Options) -> tuple[str, ...]:
    """Return the flags that NVRTC has, those of RawModule among them: it flushes subnormal numbers to zero, whatever
    else is said, and `strict` kernels are compiled without it."""
    return ("-std=c++17", "--fmad=false") if options.strict else ("-std=c++17", "-ftz=true")


def compiled_kernels(program: HostProgram, options: Options) -> tuple[bytes, str]:
    """Compile the kernels of a host program for the current GPU without keeping a copy on disk; returns the cubin and
    what ptxas says of it. Raises DeviceError without CuPy, a GPU or a working NVRTC."""
    cupy, said = require_cupy(), StringIO()
    flags = (*flags_of(options), "--ptxas-options=-v")
    try:
        binary, _ = cupy.cuda.compiler.compile_using_nvrtc(
            print_kernels(program), options=flags, log_stream=said, cache_in_memory=True
        )
    except device_failures() as error:
        raise DeviceError(f"compiling {program.name} with NVRTC failed: {error}") from error
    return bytes(binary), said.getvalue()


def loaded_engine(program: HostProgram, binary: bytes) -> CupyEngine:
    """Load kernels that were compiled before; raises DeviceError where the device does not take them."""
    cupy = require_cupy()
    try:
        return _engine(cupy, program, _loaded(cupy, program, binary))
    except device_failures() as error:
        raise DeviceError(f"loading {program.name} failed: {error}") from error


def cupy_engine(program: HostProgram, options: Options) -> CupyEngine:
    """Compile the kernels of a host program with NVRTC; raises DeviceError without CuPy, a GPU or a working NVRTC."""
    cupy = require_cupy()
    try:
        return _engine(cupy, program, _functions(cupy, program, options))
    except device_failures() as error:
        raise DeviceError(f"compiling {program.name} with NVRTC failed: {error}") from error


def _functions(cupy: Any, program: HostProgram, options: Options) -> dict[str, Any]:
    """Compile the kernels, by name. RawModule keeps them on disk; `strict` ones are compiled each time."""
    code = print_kernels(program)
    if options.strict:
        binary, _ = cupy.cuda.compiler.compile_using_nvrtc(code, options=flags_of(options), cache_in_memory=True)
        return _loaded(cupy, program, binary)
    module = cupy.RawModule(code=code, options=("-std=c++17",), backend="nvrtc")
    return {kernel.name: module.get_function(kernel.name) for kernel in program.kernels}


def _loaded(cupy: Any, program: HostProgram, binary: bytes) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "kernels.cubin"
        file.write_bytes(binary)
        module = cupy.RawModule(path=str(file))
        return {kernel.name: module.get_function(kernel.name) for kernel in program.kernels}


def _engine(cupy: Any, program: HostProgram, functions: Mapping[str, Any]) -> CupyEngine:
    for kernel in program.kernels:
        if size := dynamic_shared_bytes(kernel):
            functions[kernel.name].max_dynamic_shared_size_bytes = size
    # CuPy compiles for an older architecture where its NVRTC does not know this one: such kernels wait for nothing
    waits = all(functions[k.name].ptx_version >= FIRST_CAPABILITY for k in program.kernels if k.starts_early)
    return CupyEngine(program, functions, waits and available(cupy))
