"""C entries of generated .cu files, called with arrays on the device: beside their kernels alone and cuBLAS.

Each program's .cu is compiled by nvcc to a library with one more function, which calls the entry many times and takes
the time, as a C program would. Outputs are compared with CuPy's.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import polytile
from polybench.call_rows import CallRow, check, least_us
from polytile.compiled_scop import CompiledScop
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.runtime.compilers import nvcc
from polytile.runtime.cuda_graphs import capture
from polytile.runtime.cupy_engine import device_arch, require_cupy

PROGRAMS = Path(__file__).resolve().parent / "polybench"
ALPHA, BETA = 1.5, 1.2
BESIDE_KERNELS = 15  # microseconds that an entry may take besides
LAUNCHES = 20  # of all kernels in one graph, so that starting it does not count
TIMER = """
#include <chrono>
extern "C" double timed(int calls, {parameters})
{{
    const auto start = std::chrono::steady_clock::now();
    int status = 0;
    for (int k = 0; k < calls; ++k)
        status |= {entry}({names});
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    return status ? -1 : took.count() / calls;
}}
"""
Arrays = dict[str, Any]


SCALARS: list[Any] = []  # whose addresses are in use


@cache
def address_of(value: float) -> int:
    """Return the address of a double of the host that keeps this value."""
    SCALARS.append(np.array(value))
    return int(SCALARS[-1].ctypes.data)


class Blas:
    """Products of matrices in rows and vectors by cuBLAS, of doubles."""

    def __init__(self) -> None:
        from cupy.cuda import cublas, device

        self.cublas, self.handle = cublas, device.get_cublas_handle()

    def product(
        self, a: Any, x: Any, y: Any, alpha: float = 1.0, beta: float = 0.0, *, transposed: bool = False
    ) -> None:
        """Compute y = alpha A x + beta y, or with the transpose of A."""
        rows, columns = a.shape
        self.cublas.dgemv(
            self.handle, 0 if transposed else 1, columns, rows, address_of(alpha), a.data.ptr, columns,
            x.data.ptr, 1, address_of(beta), y.data.ptr, 1,
        )  # fmt: skip

    def outer(self, a: Any, u: Any, v: Any) -> None:
        """Compute A += u v^T."""
        rows, columns = a.shape
        self.cublas.dger(
            self.handle, columns, rows, address_of(1.0), v.data.ptr, 1, u.data.ptr, 1, a.data.ptr, columns
        )  # fmt: skip

    def add(self, x: Any, y: Any) -> None:
        """Compute y += x."""
        self.cublas.daxpy(self.handle, x.size, address_of(1.0), x.data.ptr, 1, y.data.ptr, 1)


def _atax(e: Arrays) -> None:
    e["tmp"] = e["A"] @ e["x"]
    e["y"] = e["A"].T @ e["tmp"]


def _atax_blas(blas: Blas, a: Arrays) -> None:
    blas.product(a["A"], a["x"], a["tmp"])
    blas.product(a["A"], a["tmp"], a["y"], transposed=True)


def _bicg(e: Arrays) -> None:
    e["s"] = e["A"].T @ e["r"]
    e["q"] = e["A"] @ e["p"]


def _bicg_blas(blas: Blas, a: Arrays) -> None:
    blas.product(a["A"], a["r"], a["s"], transposed=True)
    blas.product(a["A"], a["p"], a["q"])


def _mvt(e: Arrays) -> None:
    e["x1"] += e["A"] @ e["y_1"]
    e["x2"] += e["A"].T @ e["y_2"]


def _mvt_blas(blas: Blas, a: Arrays) -> None:
    blas.product(a["A"], a["y_1"], a["x1"], beta=1.0)
    blas.product(a["A"], a["y_2"], a["x2"], beta=1.0, transposed=True)


def _gemver(e: Arrays) -> None:
    e["A"] += e["u1"][:, None] * e["v1"] + e["u2"][:, None] * e["v2"]
    e["x"] += BETA * (e["A"].T @ e["y"]) + e["z"]
    e["w"] += ALPHA * (e["A"] @ e["x"])


def _gemver_blas(blas: Blas, a: Arrays) -> None:
    blas.outer(a["A"], a["u1"], a["v1"])
    blas.outer(a["A"], a["u2"], a["v2"])
    blas.product(a["A"], a["y"], a["x"], BETA, 1.0, transposed=True)
    blas.add(a["z"], a["x"])
    blas.product(a["A"], a["x"], a["w"], ALPHA, 1.0)


def _gesummv(e: Arrays) -> None:
    e["y"] = ALPHA * (e["A"] @ e["x"]) + BETA * (e["B"] @ e["x"])
    e.pop("tmp", None)  # its last value need not be in memory


def _gesummv_blas(blas: Blas, a: Arrays) -> None:
    blas.product(a["A"], a["x"], a["y"], ALPHA)
    blas.product(a["B"], a["x"], a["y"], BETA, 1.0)


@dataclass(frozen=True, slots=True)
class EntryCase:
    """A program: its sizes, shapes of arrays by names of sizes (`nn` of others called A or B, else `n`), what CuPy
    computes, in place, what cuBLAS does, and macros that make constant extents those of the sizes."""

    sizes: Mapping[str, int]
    shapes: Mapping[str, str]
    expected: Callable[[Arrays], None]
    peer: Callable[[Blas, Arrays], None]
    defines: tuple[str, ...] = ()

    def shape(self, array: str) -> tuple[int, ...]:
        """Return the shape of an array."""
        return tuple(self.sizes[size] for size in self.shapes.get(array, "nn" if array in ("A", "B") else "n"))


CASES = {
    "atax": EntryCase({"m": 1800, "n": 2200}, {"A": "mn", "tmp": "m"}, _atax, _atax_blas),
    "bicg": EntryCase({"m": 1800, "n": 2200}, {"A": "nm", "s": "m", "p": "m"}, _bicg, _bicg_blas),
    "mvt": EntryCase({"n": 4000}, {}, _mvt, _mvt_blas),
    "gemver": EntryCase({"n": 4000}, {}, _gemver, _gemver_blas),
    "gesummv": EntryCase({"n": 2800}, {}, _gesummv, _gesummv_blas, ("N=2800",)),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a C entry, as its header declares it."""

    text: str

    @property
    def name(self) -> str:
        """Return its name."""
        return self.text.replace("*", " ").split()[-1]

    @property
    def is_array(self) -> bool:
        return "*" in self.text

    @property
    def ctype(self) -> Any:
        """Return the type that ctypes passes it as."""
        if self.is_array:
            return ctypes.c_void_p
        return ctypes.c_double if "double" in self.text.split() else ctypes.c_int


def entry_of(header: str) -> tuple[str, tuple[Parameter, ...]]:
    """Return the name and the parameters of the entry that a generated header declares."""
    found = re.search(r"int (polytile_\w+)\(([^)]*)\);", header)
    if found is None:
        raise ValueError("the header declares no entry")
    return found[1], tuple(Parameter(" ".join(part.split())) for part in found[2].split(","))


def with_timer(unit: str, entry: str, parameters: Sequence[Parameter]) -> str:
    """Return the text of a .cu with `timed`, which calls the entry many times and returns microseconds a call."""
    names = ", ".join(p.name for p in parameters)
    return unit + TIMER.format(entry=entry, parameters=", ".join(p.text for p in parameters), names=names)


def build(name: str, folder: Path) -> tuple[Any, tuple[Parameter, ...]]:
    """Compile a program to a library; return its `timed` and the parameters behind the number of calls.

    Raises CalledProcessError where a compiler refuses, DeviceError without nvcc.
    """
    compiler = nvcc()
    if compiler is None:
        raise DeviceError("there is no nvcc", hint="put it on the PATH")
    command = [sys.executable, "-m", "polytile", str(PROGRAMS / f"{name}.c"), "--target", "cuda", "-o", str(folder)]
    command += [f"-D{define}" for define in CASES[name].defines]
    subprocess.run(command, check=True, capture_output=True)
    entry, parameters = entry_of((folder / f"{name}_kernel.h").read_text())
    unit, library = folder / f"{name}_kernel.cu", folder / f"{name}.so"
    unit.write_text(with_timer(unit.read_text(), entry, parameters))
    flags = ["-std=c++17", "-O3", f"-arch={device_arch()}", "-Xcompiler", "-fPIC", "-shared"]
    subprocess.run([compiler, *flags, str(unit), "-o", str(library)], check=True, capture_output=True)
    timed = ctypes.CDLL(str(library)).timed
    timed.restype, timed.argtypes = ctypes.c_double, [ctypes.c_int, *(p.ctype for p in parameters)]
    return timed, parameters


def kernels_us(scop: CompiledScop, given: Arrays) -> float:
    """Return the microseconds of the kernels alone, from a graph that has them many times over."""
    cupy = require_cupy()
    scop(**given)
    call = scop._bind((), given)
    bound: Any = scop._engines["gpu"]
    graph = capture(cupy, bound.bind(call.layouts, call.values, call.memory, {}).record() * LAUNCHES)
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()

    def once() -> float:
        begin.record()
        graph.launch()
        end.record()
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(begin, end)) * 1000 / LAUNCHES

    return min([once() for _ in range(11)][1:])


def measure_entry(name: str, timed: Any, parameters: Sequence[Parameter], blas: Blas) -> Iterator[CallRow]:
    """Measure one program's entry, and the call of its SCoP from Python, after a comparison of its outputs."""
    cupy, case = require_cupy(), CASES[name]
    scalars = {"alpha": ALPHA, "beta": BETA, **case.sizes}
    arrays: Arrays = {p.name: cupy.random.rand(*case.shape(p.name)) for p in parameters if p.is_array}
    given: Arrays = {p.name: arrays[p.name] if p.is_array else scalars[p.name] for p in parameters}
    expected = {name: data.copy() for name, data in arrays.items()}
    case.expected(expected)
    passed = [arrays[p.name].data.ptr if p.is_array else given[p.name] for p in parameters]
    cupy.cuda.Device().synchronize()
    check(timed(1, *passed) >= 0, f"status of {name}")
    for array, data in expected.items():
        check(bool(cupy.allclose(arrays[array], data, rtol=1e-9)), f"{array} of {name}")
    (scop,) = polytile.compile(PROGRAMS / f"{name}.c", defines=case.defines).scops
    kernels = kernels_us(scop, given)
    for data in arrays.values():
        data[...] = cupy.random.rand(*data.shape)
    cupy.cuda.Device().synchronize()
    timed(50, *passed)
    entry = min(timed(300, *passed) for _ in range(5))

    def peer() -> None:
        case.peer(blas, arrays)
        cupy.cuda.runtime.streamSynchronize(0)

    by_cublas = least_us(peer, calls=300)
    sizes = " ".join(f"{size}={value}" for size, value in case.sizes.items())
    row = CallRow(f"C entry of {name}, {sizes}", entry, peers={"kernels": kernels, "cuBLAS": by_cublas})
    yield row.at_most(min(kernels + BESIDE_KERNELS, by_cublas), f"<= kernels + {BESIDE_KERNELS}, cuBLAS")
    python = least_us(lambda: scop(**given), calls=300)
    yield CallRow(f"{name} from Python, CuPy arrays", python, peers={"cuBLAS": by_cublas})


def entry_times() -> Iterator[CallRow]:
    """Build and measure the entries of all programs."""
    with tempfile.TemporaryDirectory(prefix="polybench-") as folder:
        with ThreadPoolExecutor(len(CASES)) as pool:
            built = dict(zip(CASES, pool.map(lambda name: build(name, Path(folder)), CASES), strict=True))
        blas = Blas()
        for name, (timed, parameters) in built.items():
            yield from measure_entry(name, timed, parameters, blas)
