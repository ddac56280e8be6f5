"""Compiles a .cu file with the host's C++ compiler and the emulator's headers."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.runtime.emulator.core import Core, shared_core, shared_support
from polytile.runtime.emulator.host_compiler import HostCompiler, host_compiler
from polytile.runtime.emulator.instrument import PLAIN, Instrumentation
from polytile.runtime.emulator.process import run_to_end
from polytile.runtime.emulator.unit_support import supported_unit

INCLUDE_DIRECTORY = Path(__file__).resolve().parent / "include"
COMPILE_TIMEOUT = 300.0
OPTIMISATION = "POLYTILE_EMULATOR_OPTIMISATION"  # of plain builds: half of the time of one goes to -O1
LINK_LIBRARIES = ("-ldl", "-lm", "-pthread")
# -Bsymbolic: a library's own functions are never replaced by another one's of the same name.
_SHARED_FLAGS = ("-shared", "-Wl,-z,defs", "-Wl,-Bsymbolic")

_COMMENT_OR_STRING = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
_SHARED = re.compile(r"\b(?P<extern>extern\s+)?(?P<word>__shared__)\b(?P<declaration>[^;{}]*)")
_ARRAY_NAME = re.compile(r"(\w+)\s*\[\s*\]\s*$")


class HostCompileError(DeviceError):
    """The host compiler refused a file; `command` and `output` say what was run and what it printed."""

    def __init__(self, command: Sequence[str], output: str) -> None:
        errors = [line for line in output.splitlines() if "error" in line or "undefined reference" in line]
        first = (errors or output.splitlines() or ["no message"])[0]
        super().__init__(f"the host compiler refused the generated code: {first}", hint=f"ran: {shlex.join(command)}")
        self.command = tuple(command)
        self.output = output


@dataclass(frozen=True, slots=True)
class EmulatorBuild:
    """One run of the host compiler: sources (or `text`, called `text_name` in messages) to one output."""

    sources: tuple[Path, ...]
    output: Path
    compiler: HostCompiler
    flags: tuple[str, ...]
    text: str | None = None
    text_name: str = "kernel.cu"
    language: str = "c++"

    @property
    def command(self) -> tuple[str, ...]:
        """The command line, with the output that it is to have."""
        return self._command_to(self.output)

    def run(self, *, timeout: float = COMPILE_TIMEOUT) -> Path:
        """Build; the output appears only when it is complete."""
        self.output.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{self.output.name}.", dir=self.output.parent)
        os.close(handle)
        partial = Path(name)
        try:
            command = self._command_to(partial)
            stdin = None if self.text is None else f'#line 1 "{self.text_name}"\n{self.text}'
            finished = run_to_end(command, stdin=stdin, timeout=timeout)
            if finished.status != 0:
                raise HostCompileError(self.command, finished.output)
            partial.chmod(0o755)
            partial.replace(self.output)
        finally:
            partial.unlink(missing_ok=True)
        return self.output

    def _command_to(self, output: Path) -> tuple[str, ...]:
        inputs = ["-"] if self.text is not None else [str(source) for source in self.sources]
        libraries = LINK_LIBRARIES if "-shared" in self.flags else ()
        return (
            *self.compiler.command,
            *self.flags,
            "-o",
            str(output),
            "-x",
            self.language,
            *inputs,
            "-x",
            "none",
            *libraries,
        )


def compile_shared(
    cu: str | Path,
    out: Path,
    *,
    defines: Sequence[str] = (),
    fp_contract: bool = False,
    optimise: str | None = None,
    extra_flags: Sequence[str] = (),
    instrumentation: Instrumentation = PLAIN,
    timeout: float = COMPILE_TIMEOUT,
) -> Path:
    """Compile a .cu file (a path) or its text (a string) to the shared library `out`, for EmulatorLibrary.

    An instrumented build is compiled and linked apart: the compiler's own run-time libraries must stay away. So is
    every build but the first of its kind in a process: what the emulator is made of is compiled once (core.py).
    """
    own = (*_define_flags(defines), *extra_flags, *instrumentation.flags(host_compiler()))
    optimise = optimise or (_optimisation() if instrumentation == PLAIN else "-O1")
    of_core = (flag for flag in own if not _only_warns(flag))
    kind = (*_base_flags(host_compiler(), fp_contract), optimise, *of_core)
    core = shared_core(host_compiler(), kind, timeout, _text(cu))
    if core is None and instrumentation == PLAIN:
        return _build(cu, out, (*_SHARED_FLAGS, *own), fp_contract, optimise).run(timeout=timeout)
    with tempfile.TemporaryDirectory(prefix="polytile-") as directory:
        part = Path(directory) / f"{out.stem}.o"
        if core is not None and not instrumentation.counting and not extra_flags:
            with suppress(HostCompileError):  # what cannot be compiled apart is compiled whole
                if support := _compile_against_support(cu, part, kind, core, timeout):
                    return _link((part, core.object, support), out, (), timeout)
        apart = () if core is None else core.flags(bool(extern_shared_flags(_text(cu))))
        _build(cu, part, ("-c", *own, *apart), fp_contract, optimise).run(timeout=timeout)
        parts = (part,) if core is None else (part, core.object)
        return _link(parts, out, extra_flags, timeout)


def _compile_against_support(
    cu: str | Path, out: Path, kind: tuple[str, ...], core: Core, timeout: float
) -> Path | None:
    """Compile a unit without the host functions that units share; returns their object, or None where there is none."""
    compiler, text = host_compiler(), _text(cu)
    source = out.with_name(f"{out.stem}.cu" if isinstance(cu, str) else cu.name)  # what messages call it
    unit = supported_unit(text, source) if compiler.is_gcc else None
    if unit is None:
        return None
    support = shared_support(core, compiler, kind, unit.definitions, timeout)
    if support is None:
        return None
    source.write_bytes(unit.text.encode("utf-8", "surrogateescape"))
    names = extern_shared_flags(text)
    headers = () if isinstance(cu, str) else (f"-iquote{cu.parent}",)
    flags = (*kind, *names, "-c", *headers, *core.flags(bool(names)))
    EmulatorBuild((source,), out, compiler, flags).run(timeout=timeout)
    return support


def _only_warns(flag: str) -> bool:
    """Return whether a flag leaves the code unchanged: libraries that are compiled with it share what others share."""
    return flag.startswith("-W") and not flag.startswith(("-Wa,", "-Wl,", "-Wp,"))


def _link(parts: tuple[Path, ...], out: Path, extra_flags: Sequence[str], timeout: float) -> Path:
    """Link quickly, else as the compiler does by itself: gold does not find the libraries of every installation."""
    compiler = host_compiler()
    flags = (*_SHARED_FLAGS, *extra_flags)
    if quick := _quick_linker(compiler):
        with suppress(HostCompileError):
            return EmulatorBuild(parts, out, compiler, (*flags, *quick), language="none").run(timeout=timeout)
    return EmulatorBuild(parts, out, compiler, flags, language="none").run(timeout=timeout)


def compile_object(
    cu: str | Path,
    out: Path,
    *,
    defines: Sequence[str] = (),
    fp_contract: bool = False,
    extra_flags: Sequence[str] = (),
    core: Core | None = None,
    timeout: float = COMPILE_TIMEOUT,
) -> Path:
    """Compile a .cu file or its text to the object `out`; link it with a C++ compiler and `LINK_LIBRARIES`, and where
    `core` is given, which is `program_core` for the same flags, with its object."""
    apart = () if core is None else core.flags(bool(extern_shared_flags(_text(cu))))
    flags = ("-c", *PLAIN.flags(host_compiler()), *_define_flags(defines), *extra_flags, *apart)
    return _build(cu, out, flags, fp_contract, _optimisation()).run(timeout=timeout)


def program_core(timeout: float = COMPILE_TIMEOUT) -> Core | None:
    """Compile what the objects of one program share, without other flags.

    All of them use it or none, so that the program has one emulator. Returns None for the first program of a process.
    """
    compiler = host_compiler()
    return shared_core(compiler, (*_base_flags(compiler, False), _optimisation(), *PLAIN.flags(compiler)), timeout)


def _optimisation() -> str:
    """Return the optimisation of a plain build.

    Where kernels run for small sizes alone, as in tests, -O0 takes less in all.
    """
    return os.environ.get(OPTIMISATION, "-O1")


def extern_shared_flags(text: str) -> tuple[str, ...]:
    """Return the flags that make `extern __shared__ T name[];` name the emulator's dynamic shared memory.

    C++ cannot tell that declaration from `__shared__ T name[32];` by itself, so the lines are told to the compiler.
    """
    code = _COMMENT_OR_STRING.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    extern_lines: dict[int, None] = {}
    static_lines: set[int] = set()
    names: dict[str, None] = {}
    for match in _SHARED.finditer(code):
        line = code.count("\n", 0, match.start("word")) + 1
        if not match["extern"]:
            static_lines.add(line)
            continue
        name = _ARRAY_NAME.search(match["declaration"])
        if name is None:
            raise DeviceError(f"line {line}: the emulator expects `extern __shared__ T name[];`, one name each")
        extern_lines[line] = names[name[1]] = None
    if both := static_lines & extern_lines.keys():
        raise DeviceError(f"line {min(both)}: `extern __shared__` and `__shared__` must be on lines of their own")
    if not names:
        return ()
    aliases = " ".join(f"POLYTILE_EMULATOR_ALIAS({name})" for name in names)
    markers = (f"-DPOLYTILE_EMULATOR_EXTERN_AT_{line}=~," for line in extern_lines)
    return (*markers, f"-DPOLYTILE_EMULATOR_EXTERN_NAMES={aliases}")


def _quick_linker(compiler: HostCompiler) -> tuple[str, ...]:
    """Find gold, where there is one.

    It links a small library in 0.03 s, GNU ld in 0.07, most of it names of libstdc++.
    """
    return ("-fuse-ld=gold",) if compiler.is_gcc and shutil.which("ld.gold") is not None else ()


def _define_flags(defines: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"-D{define}" for define in defines)


def _build(cu: str | Path, out: Path, flags: Sequence[str], fp_contract: bool, optimise: str) -> EmulatorBuild:
    compiler = host_compiler()
    all_flags = (*_base_flags(compiler, fp_contract), optimise, *extern_shared_flags(_text(cu)), *flags)
    if isinstance(cu, str):
        return EmulatorBuild((), out, compiler, all_flags, text=cu, text_name=f"{out.stem}.cu")
    return EmulatorBuild((cu,), out, compiler, all_flags)


def _text(cu: str | Path) -> str:
    try:
        return cu if isinstance(cu, str) else cu.read_text(errors="surrogateescape")
    except OSError as error:
        raise DeviceError(f"cannot read {cu}: {error.strerror}") from error


# C leaves open which zero fmin(-0.0, 0.0) is, and compilers that put their own instructions in place of the library's
# function choose by the surrounding code: what is compared calls the library.
SAME_ZEROS = tuple(f"-fno-builtin-{name}" for name in ("fmin", "fminf", "fmax", "fmaxf"))


def _base_flags(compiler: HostCompiler, fp_contract: bool) -> tuple[str, ...]:
    common = (
        "-std=c++17",
        "-fPIC",
        f"-I{INCLUDE_DIRECTORY}",
        f"-ffp-contract={'fast' if fp_contract else 'off'}",
        "-fno-strict-aliasing",  # as nvcc
        "-fno-math-errno",
        *SAME_ZEROS,
        "-Wno-unknown-pragmas",
    )
    # gcc's unique symbols would tie the static variables of two libraries together, and keep both from being closed.
    # Its -ftree-ter makes one instruction of a sum of hundreds of loads, which its combiner takes 11 of 12 seconds for.
    own = ("-fno-gnu-unique", "-fno-tree-ter") if compiler.is_gcc else ("-Wno-pass-failed",)
    return (*common, *own)
