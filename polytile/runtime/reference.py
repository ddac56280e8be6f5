"""The sequential reference: the SCoP's own C, compiled by the host compiler and called on NumPy arrays.

It is compiled without contraction and without value-changing optimisation, so it is what C says the program computes.
A second build with every floating type replaced by `long double` tells how large the reference's rounding error is.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from polytile.c_flags import of_values
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.ir.scop import Scop
from polytile.runtime.compilers import c_compiler, check_command
from polytile.runtime.emulator.build import SAME_ZEROS
from polytile.runtime.layout import Layout, structured
from polytile.runtime.native import Memory, arguments, function, load
from polytile.runtime.shared_libraries import closing
from polytile.work_pieces import sequential_c

# At -O2 gcc takes four times as long for a sum of hundreds of terms, and small inputs run no faster.
FLAGS = (
    *("-std=gnu99", "-O1", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-fno-fast-math"),
    *("-w", "-fPIC", "-shared", *SAME_ZEROS),
)
_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
    "fmax fmin fmod hypot ldexp lgamma log log10 log1p log2 lrint lround llrint llround nearbyint pow remainder rint "
    "round sin sinh sqrt tan tanh tgamma trunc"
)
_FLOATING = re.compile(r"\blong\s+double\b|\bdouble\b|\bfloat\b")
# What gives structs another layout than their members do: with wider members there is none to keep.
_PADDING = r"char polytile_padding\d+\[\d+\];|^typedef char polytile_size_of.*$"
_LAYOUT = re.compile(rf"{_PADDING}|__attribute__\(\((?:packed|aligned)\b[^)]*\)*")
_CALL = re.compile(rf"\b({'|'.join(_MATH.split())})f?(?=\s*\()")


@dataclass(frozen=True, slots=True)
class Reference:
    """A compiled sequential program; calling it runs the SCoP on `memory`, in place."""

    scop: Scop
    entry: Any

    def __call__(self, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Memory) -> None:
        with sequential_c(self.scop.name, self.scop.location):
            self.entry(*arguments(self.scop, layouts, values, memory))


def workspace() -> Path:
    """Return a private folder for compiled code, removed when Python ends; or one that is shared for the time being."""
    return _SHARED[-1] if _SHARED else _own_workspace()


@contextmanager
def shared_workspace(folder: Path) -> Iterator[None]:
    """Let another process's folder be the one for compiled code; what has been loaded from there stays when it goes."""
    _SHARED.append(folder)
    try:
        yield
    finally:
        _SHARED.pop()


@cache
def _own_workspace() -> Path:
    holder = tempfile.TemporaryDirectory(prefix="polytile-", ignore_cleanup_errors=True)
    _HOLDERS.append(holder)
    return Path(holder.name)


_SHARED: list[Path] = []
_HOLDERS: list[tempfile.TemporaryDirectory[str]] = []


@cache
def _compile(text: str, flags: tuple[str, ...]) -> Path:
    key = hashlib.sha256("\0".join((text, *flags)).encode()).hexdigest()[:16]
    source = workspace() / f"reference_{key}.c"
    library = source.with_suffix(".so")
    source.write_text(text)
    command = [*c_compiler(), *FLAGS, *flags, str(source), "-o", str(library), "-lm"]
    check_command(command, "compiling the sequential reference")
    return library


def reference(scop: Scop, text: str) -> Reference:
    """Compile `text`, C99 with the function `<name>_reference`; raises DeviceError without a C compiler."""
    library = closing(load(_compile(text, of_values(scop.cflags))))
    return Reference(scop, function(library, f"{scop.name}_reference", None))


def widen(text: str) -> str:
    """Widen the reference to more precision: before: `double x = sqrtf(y);`, after: `long double x = sqrtl(y);`."""
    lines = (line if line.lstrip().startswith("#") else _widen_line(line) for line in text.splitlines())
    return "\n".join(lines) + "\n"


def _widen_line(line: str) -> str:
    return _CALL.sub(r"\1l", _FLOATING.sub("long double", _LAYOUT.sub("", line)))


def wide_reference(scop: Scop, text: str) -> Reference | None:
    """Compile the reference in `long double`.

    Returns None where the host has no wider type or the widened text does not compile.
    """
    if np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps:
        return None
    try:
        return reference(scop, widen(text))
    except DeviceError:
        return None


def wide_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Replace every floating type in `dtype` by `long double`."""
    if dtype.names is not None:
        return structured([(name, wide_dtype(dtype[name])) for name in dtype.names])
    return np.dtype(np.longdouble) if dtype.kind == "f" else dtype
