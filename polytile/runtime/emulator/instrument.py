"""Kinds of builds of a kernel library: plain, checked, or counting.

An instrumented build is the same .cu, compiled so that the compiler calls a function before each access to memory
(`-fsanitize=thread`) and where C++ leaves behaviour undefined (`-fsanitize=undefined`). The headers define these
functions (include/polytile_emulator/access.h says how), so that no sanitizer library is needed.
"""

from __future__ import annotations

from collections.abc import Iterable

from polytile.dataclass import dataclass
from polytile.diagnostics import UnsupportedCompilerError
from polytile.runtime.emulator.host_compiler import HostCompiler

LEAST_GCC = 12
CHECKS = ("address", "undefined", "race", "uninitialised")

# Accesses stay as the text has them: none is moved to where the program does not make it, and no store vanishes.
_ACCESSES = ("-fsanitize=thread", "-g1", "-fno-omit-frame-pointer")
_GCC_EXACT = ("--param=tsan-instrument-func-entry-exit=0", "-fno-tree-loop-im", "-fno-tree-dse", "-fno-tree-sink")
# Behind the calls before accesses nothing changes what is observed, so that the passes over machine instructions only
# cost time: a third of that of a checked build.
_GCC_QUICK = (
    *("-fno-forward-propagate", "-fno-dse", "-fno-dce", "-fno-if-conversion", "-fno-if-conversion2"),
    *("-fno-split-wide-types", "-fno-reorder-blocks", "-fno-shrink-wrap", "-fno-compare-elim", "-fno-cprop-registers"),
    *("-fno-move-loop-invariants", "-fno-combine-stack-adjustments", "-fno-branch-count-reg", "-fno-ipa-ra"),
    "-fira-region=one",
)
# Most of a small .cu is its host functions, which need no speed: inlining them takes a third of the build. A counting
# build keeps it, as it decides which accesses nvcc would make.
_LITTLE_INLINING = ("--param=max-inline-insns-single=10",)
# A counting build keeps the loads and stores that nvcc keeps, each in one place, and the blocks in the source's order.
_GCC_COUNTED = (
    "--param=tsan-instrument-func-entry-exit=0",
    "-fsanitize-coverage=trace-pc",
    "-gdwarf-4",  # line_table.py reads it
    "-ftree-pre",
    "-fno-reorder-blocks",
    "-fno-thread-jumps",
    "-fno-tree-sink",
    "-fno-tree-sra",
)
_CLANG_COUNTED = (
    *("-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-instrument-read-before-write"),
    "-fsanitize-coverage=edge,trace-pc,no-prune",
    "-gdwarf-4",
    "-fno-unroll-loops",
)
_UNDEFINED = (
    "shift,integer-divide-by-zero,unreachable,return,signed-integer-overflow,float-cast-overflow,bool,enum,"
    "pointer-overflow,builtin,vla-bound"
)


@dataclass(frozen=True, slots=True)
class Instrumentation:
    """What a build observes: `checks` (some of CHECKS), or counts; neither in a plain build."""

    checks: tuple[str, ...] = ()
    counting: bool = False

    @property
    def label(self) -> str:
        """A part of a file name that tells kinds of builds apart."""
        return "count" if self.counting else "-".join(("check", *self.checks)) if self.checks else "plain"

    def flags(self, compiler: HostCompiler) -> tuple[str, ...]:
        """Return the compiler's flags; the linker must not see them. Raises UnsupportedCompilerError."""
        if not self.counting and not self.checks:
            return _LITTLE_INLINING if compiler.is_gcc else ()
        if self.counting and not compiler.is_gcc:
            return (*_ACCESSES, *_CLANG_COUNTED, "-DPOLYTILE_EMULATOR_COUNT=1")
        if not compiler.is_gcc or compiler.major < LEAST_GCC:
            what = "counts" if self.counting else "checks"
            message = f"the emulator's {what} need g++ {LEAST_GCC} or later; the compiler is {compiler.version}"
            raise UnsupportedCompilerError(message, hint="install one, or name it in the environment variable CXX")
        if self.counting:
            return (*_ACCESSES, *_GCC_COUNTED, "-DPOLYTILE_EMULATOR_COUNT=1")
        macros = tuple(f"-DPOLYTILE_EMULATOR_CHECK_{check.upper()}=1" for check in self.checks)
        return (*self._check_flags(), "-DPOLYTILE_EMULATOR_CHECK=1", *macros)

    def _check_flags(self) -> tuple[str, ...]:
        pointers = ["null", "alignment", "bounds-strict"]
        undefined = [_UNDEFINED] if "undefined" in self.checks else []
        sanitized = ",".join([*undefined, *(pointers if {"undefined", "address"} & set(self.checks) else [])])
        poison = ("-ftrivial-auto-var-init=pattern",) if "uninitialised" in self.checks else ()
        own = (f"-fsanitize={sanitized}",) if sanitized else ()
        return (*_ACCESSES, *_GCC_EXACT, *_GCC_QUICK, *_LITTLE_INLINING, *own, *poison)


PLAIN = Instrumentation()
COUNTING = Instrumentation(counting=True)


def checked(checks: Iterable[str]) -> Instrumentation:
    """Return the build that makes these checks, in the order of CHECKS."""
    wanted = set(checks)
    return Instrumentation(tuple(check for check in CHECKS if check in wanted))
