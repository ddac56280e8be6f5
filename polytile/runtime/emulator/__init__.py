"""Runs generated CUDA on the CPU: a .cu file is compiled, unchanged, as C++ against a shim of the CUDA dialect.

`compile_shared` makes a library to be called through `EmulatorLibrary`, `compile_object` an object to be linked with
the user's own C. Results are those of sequential C compiled with `-ffp-contract=off`, bit for bit, wherever the kernel
computes in the same order.

Kernels run in the calling process: one that writes out of bounds may end it, unless the library was built to be checked
(`instrument.checked`), when that and more becomes a `findings.Finding`. A kernel whose threads can never all go on
(a divergent barrier, a shuffle whose lanes do not come) is reported on standard error and by `EmulatorLibrary.message`,
and its launch fails; so is a copy or a split barrier that is used wrongly. Blocks run one after another, so kernels
whose blocks wait for each other must say so (cooperative launches); clusters of several blocks are refused.
Environment: POLYTILE_EMULATOR_MEMORY_BYTES limits the device memory, POLYTILE_EMULATOR_STACK_KIB (256) is the stack of
one thread.
"""

from polytile.runtime.emulator.build import (
    INCLUDE_DIRECTORY,
    EmulatorBuild,
    HostCompileError,
    compile_object,
    compile_shared,
    extern_shared_flags,
)
from polytile.runtime.emulator.host_compiler import HostCompiler, host_compiler
from polytile.runtime.emulator.library import EmulatorCounts, EmulatorLibrary

__all__ = [
    "INCLUDE_DIRECTORY",
    "EmulatorBuild",
    "EmulatorCounts",
    "EmulatorLibrary",
    "HostCompileError",
    "HostCompiler",
    "compile_object",
    "compile_shared",
    "extern_shared_flags",
    "host_compiler",
]
