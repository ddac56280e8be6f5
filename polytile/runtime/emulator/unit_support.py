"""The host functions that all generated units have, compiled once for many libraries.

before: c++ gemm.cu emulator.o -> gemm.so; c++ atax.cu emulator.o -> atax.so      each with PolytileRun in it
after:  c++ gemm.cu emulator.o -> gemm.so; c++ atax.cu emulator.o support.o -> atax.so; ...

Two thirds of the code of a small unit are these functions. g++ compiles them apart by `#pragma interface` and `#pragma
implementation` ("C++ Interface and Implementation Pragmas" of its manual), which leave the unit's lines as they are.
Those and the entry points run once a call and need no speed; kernels are optimised as ever.
"""

from __future__ import annotations

import re
from pathlib import Path

from polytile.dataclass import dataclass

FILE = "polytile_support.h"  # what messages call the functions that are compiled apart
_NAMESPACE = "polytile_unit_support"
_FUNCTIONS = re.compile(
    r"^// Shared by the entry points of all files\.\n.*?^\}  // namespace (?P<name>\w+_support)\n",
    re.DOTALL | re.MULTILINE,
)
_MACRO = re.compile(r"^[ \t]*#[ \t]*(?:define|undef)\b", re.MULTILINE)
_DEVICE_SOURCE = re.compile(r"^// From --device-source:$|\Z", re.MULTILINE)
_SLOW = '#pragma GCC push_options\n#pragma GCC optimize("O0")\n'
_AS_BEFORE = "#pragma GCC pop_options\n"


@dataclass(frozen=True, slots=True)
class SupportedUnit:
    """A unit whose host functions are declared, and the text that defines them."""

    text: str
    definitions: str


def supported_unit(text: str, path: Path) -> SupportedUnit | None:
    """Split the text of the unit at `path`, whose lines keep their numbers.

    None where it has no such functions, or macros before them, which may change what they are.

    before: namespace polytile_entry_points {...} namespace gemm_support {...} int polytile_gemm(..) {...}
    after:  the same as an interface, in a namespace with the same name in all units, and without optimisation
    """
    found = _FUNCTIONS.search(text)
    last = found and _DEVICE_SOURCE.search(text, found.end())
    if found is None or last is None or _MACRO.search(text, 0, found.start()):
        return None

    def line(place: int, file: object) -> str:
        return f'# {text.count(chr(10), 0, place) + 1} "{file}"\n'

    start, end = found.span()
    block = found[0].replace("() = default;", "() {}")  # the compiler defines no defaulted one unless it is called
    declared = line(start, f"{path.parent}/./{path.name}")  # another name: the pragma is for all lines of a file
    functions = f"{declared}#pragma interface\n{_SLOW}{declared}{block}{line(end, path)}"
    rest = f"{text[end : last.start()]}\n{_AS_BEFORE}{line(last.start(), path)}{text[last.start() :]}"
    name = re.compile(rf"\b{found['name']}\b")
    definitions = f'#pragma implementation "{FILE}"\n# 1 "{FILE}"\n#pragma interface\n{_SLOW}{block}'
    return SupportedUnit(
        name.sub(_NAMESPACE, f"{text[:start]}{functions}{rest}"), name.sub(_NAMESPACE, definitions)
    )
