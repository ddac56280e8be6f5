"""Whole programs: what --build makes prints what the C compiler's build prints."""

from __future__ import annotations

import re
from pathlib import Path

from polytile.api import Program
from polytile.diagnostics import DeviceError, ValidationError
from polytile.ir.libm import MATH_SIGNATURES
from polytile.runtime.compilers import c_compiler, check_command
from polytile.runtime.emulator.build import SAME_ZEROS
from polytile.runtime.emulator.process import run_to_end
from polytile.runtime.validate import EXACT_FUNCTIONS

FLAGS = ("-std=gnu99", "-O2", "-ffp-contract=off", "-w", *SAME_ZEROS)
SECONDS = 100.0
_CALL = re.compile(r"\b([a-z]\w*)\s*\(")


def same_bits_on_gpus(text: str) -> bool:
    """Return whether a program calls no mathematical function that CUDA rounds otherwise than the C library."""
    return EXACT_FUNCTIONS.issuperset(set(_CALL.findall(text)) & MATH_SIGNATURES.keys())


def compare_builds(program: Program, text: str, folder: Path, on: str) -> None:
    """Build a program both ways in `folder`, for the GPU or the emulator as `on` says, and run it.

    Raises ValidationError when the outputs differ.

    DeviceError says that a compiler, or the program itself, failed.
    """
    source = folder / "sequential.c"
    source.write_text(text)
    sequential = folder / "sequential"
    flags = [*FLAGS, *program.options.cflags]
    check_command([*c_compiler(), *flags, str(source), "-o", str(sequential), "-lm"], "compiling the whole program")
    expected = _printed(sequential)
    actual = _printed(program.build(folder / "built", on=on))
    if actual != expected:
        raise ValidationError(f"the whole program prints {actual.strip()!r}, the sequential C {expected.strip()!r}")


def _printed(executable: Path) -> str:
    finished = run_to_end([str(executable)], timeout=SECONDS)
    if finished.status != 0:
        raise DeviceError(f"{executable.name} ended with status {finished.status}: {finished.output[-500:]}")
    return finished.output
