"""Building the user's whole program: the host file with the C compiler, the kernels with nvcc or for the emulator.

before: gemm_host.c, gemm_kernel.cu, the user's other files
after:  one executable
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError, UsageError
from polytile.runtime import managed_heap
from polytile.runtime.compilers import c_compiler, check_command, nvcc
from polytile.runtime.emulator import compile_object, host_compiler
from polytile.runtime.emulator.build import LINK_LIBRARIES, program_core
from polytile.runtime.emulator.core import Core
from polytile.runtime.emulator.process import words_of
from polytile.runtime.output import make_folder

PLACES = ("gpu", "emulator")
_C_FLAGS = "-std=gnu99 -O2"
_CPP_SUFFIXES = (".cc", ".cpp", ".cxx")
_CUDA_SUFFIX = ".cu"
_LINKABLE = (".o", ".a", ".so")


@dataclass(frozen=True, slots=True)
class Build:
    """One build of a program; objects go to `folder`, which is thrown away afterwards. With a `core`, kernels for the
    emulator are compiled against it, and it is linked."""

    folder: Path
    on: str
    include_dirs: tuple[Path | str, ...]
    defines: tuple[str, ...]
    arch: str
    strict: bool
    managed: bool = False
    core: Core | None = None
    cflags: tuple[str, ...] = ()

    def object(self, source: Path) -> Path:
        """Compile one C, C++ or CUDA file."""
        return self.kernel_object(source) if source.suffix == _CUDA_SUFFIX else self.c_object(source)

    def c_object(self, source: Path) -> Path:
        """Compile one C (or C++) file of the user's."""
        compiler = list(host_compiler().command) if source.suffix in _CPP_SUFFIXES else c_compiler()
        variable, default = ("CXXFLAGS", "-O2") if source.suffix in _CPP_SUFFIXES else ("CFLAGS", _C_FLAGS)
        flags = [*words_of(variable, default), *self.cflags]
        exact = ["-ffp-contract=off"] if self.strict else []
        includes = [f"-I{d}" for d in self.include_dirs]
        heap = managed_heap.definitions() if self.managed and source.suffix not in _CPP_SUFFIXES else []
        defines = [*heap, *(f"-D{d}" for d in self.defines)]
        target = self._object(source)
        self._run([*compiler, *flags, *exact, *includes, *defines, "-c", str(source), "-o", str(target)], source)
        return target

    def kernel_object(self, source: Path) -> Path:
        """Compile a generated .cu."""
        target = self._object(source)
        if self.on == "emulator":
            return compile_object(source, target, core=self.core)
        exact = ["--fmad=false", "-Xcompiler", "-ffp-contract=off"] if self.strict else []
        command = [_nvcc(), "-std=c++17", "-O3", f"-arch={self.arch}", *exact, "-Xcompiler", "-fPIC", "-c", str(source)]
        command += ["-o", str(target)]
        self._run(command, source)
        return target

    def linked(self, objects: Sequence[Path], libraries: Sequence[str], executable: Path) -> None:
        """Link objects and libraries; the executable appears when it is complete."""
        linker = [_nvcc(), f"-arch={self.arch}"] if self.on == "gpu" else list(host_compiler().command)
        system = ["-lm"] if self.on == "gpu" else list(LINK_LIBRARIES)
        partial = executable.with_name(f".{executable.name}.{os.getpid()}.tmp")
        emulator = [] if self.core is None else [self.core.object]
        command = [*linker, *(str(o) for o in (*objects, *emulator)), *libraries, *system, "-o", str(partial)]
        try:
            check_command(command, f"linking {executable.name}")
            partial.replace(executable)
        finally:
            partial.unlink(missing_ok=True)

    def _object(self, source: Path) -> Path:
        return self.folder / f"{len(list(self.folder.iterdir()))}_{source.stem[:40]}.o"

    def _run(self, command: Sequence[str], source: Path) -> None:
        try:
            check_command(command, f"compiling {source.name}")
        except DeviceError as error:
            message = error.message.replace(f"{source.parent}{os.sep}", "")
            raise DeviceError(message, hint=error.hint) from error


def build_program(
    host_c: Path,
    kernel_cu: Path,
    executable: Path,
    *,
    on: str,
    link: Sequence[Path | str] = (),
    include_dirs: Sequence[Path | str] = (),
    defines: Sequence[str] = (),
    arch: str = "sm_90",
    strict: bool = False,
    managed: bool = False,
    cflags: Sequence[str] = (),
) -> None:
    """Compile and link a program for the GPU ("gpu", with nvcc) or for this machine's CPU ("emulator").

    `link` takes C and C++ sources, generated .cu files, objects, archives, shared libraries and linker flags such as
    `-lfftw3`. `include_dirs` starts with the folder of the user's file, whose own headers are looked up there; `cflags`
    are more flags for the host's compiler. `strict` compiles without contraction. With `managed`, C files allocate
    memory that host and GPU share. Raises DeviceError when a compiler is missing or fails.
    """
    if on not in PLACES:
        raise UsageError(f"unknown place to run: {on!r}", hint=f"one of {', '.join(PLACES)}")
    make_folder(executable)
    sources, libraries = _sorted_links(link)
    if on == "gpu":
        _nvcc()
    with tempfile.TemporaryDirectory(prefix="polytile-build-") as folder:
        core = program_core() if on == "emulator" else None
        build = Build(Path(folder), on, tuple(include_dirs), tuple(defines), arch, strict, managed, core, tuple(cflags))
        heap = [managed_heap.SOURCE] if managed else []
        objects = [build.object(source) for source in (host_c, *sources, kernel_cu, *heap)]
        build.linked(objects, libraries, executable)


def _sorted_links(link: Sequence[Path | str]) -> tuple[list[Path], list[str]]:
    """Split `link` into the sources to compile, and the arguments that are passed to the linker unchanged."""
    sources: list[Path] = []
    libraries: list[str] = []
    for entry in link:
        path = Path(entry)
        if str(entry).startswith("-"):
            libraries.append(str(entry))
        elif not path.is_file():
            raise UsageError(f"--link: there is no file {entry}", hint="a library of the system is written -lNAME")
        elif path.suffix in (".c", _CUDA_SUFFIX, *_CPP_SUFFIXES):
            sources.append(path)
        elif set(path.suffixes).intersection(_LINKABLE):
            libraries += _library(path)
        else:
            raise UsageError(
                f"--link: cannot link {entry}", hint="C, C++ and .cu sources, .o, .a, .so and -lNAME are linked"
            )
    return sources, libraries


def _library(path: Path) -> list[str]:
    """Return the linker options for an object or a library; the program finds a shared one at its present path."""
    found = str(path.resolve())
    return [found, "-Xlinker", f"-rpath={path.resolve().parent}"] if ".so" in path.suffixes else [found]


def _nvcc() -> str:
    compiler = nvcc()
    if compiler is None:
        hint = "put the CUDA toolkit's bin folder on PATH, set NVCC, or build with --on emulator"
        raise DeviceError("nvcc was not found", hint=hint)
    return compiler
