"""The host functions that all generated units have, compiled once for many libraries.

before: c++ gemm.cu emulator.o -> gemm.so; c++ atax.cu emulator.o -> atax.so      each with PolytileRun in it
after:  c++ gemm.cu emulator.o -> gemm.so; c++ atax.cu emulator.o support.o -> atax.so; ...

Two thirds of the code of a small unit are these functions. g++ compiles them apart by `#pragma interface` and `#pragma
implementation` ("C++ Interface and Implementation Pragmas" of its manual), which leave the unit's text as it is.
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


@dataclass(frozen=True, slots=True)
class SupportedUnit:
    """A unit whose host functions are declared and can be inlined, and the text that defines them."""

    text: str
    definitions: str


def supported_unit(text: str, path: Path) -> SupportedUnit | None:
    """Split the text of the unit at `path`, whose lines keep their numbers; None where it has no such functions.

    before: namespace polytile_entry_points {...} namespace gemm_support {...}
    after:  the same as an interface, in a namespace with the same name in all units
    """
    found = _FUNCTIONS.search(text)
    if found is None:
        return None
    start, end = (text.count("\n", 0, place) + 1 for place in found.span())
    own, other = f'"{path}"', f'"{path.parent}/./{path.name}"'  # pragmas are for all lines of a file
    interface = f"# {start} {other}\n#pragma interface\n# {start} {other}\n{found[0]}# {end} {own}\n"
    whole = f"{text[: found.start()]}{interface}{text[found.end() :]}"
    name = re.compile(rf"\b{found['name']}\b")
    definitions = f'#pragma implementation "{FILE}"\n# 1 "{FILE}"\n#pragma interface\n{found[0]}'
    return SupportedUnit(name.sub(_NAMESPACE, whole), name.sub(_NAMESPACE, definitions))
