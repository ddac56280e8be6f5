"""The parts of a generated .cu, and the lines of the user's C that its lines compute.

before: the text of the .cu, and where its lines come from
after:  kernel f_scop0_k0 in lines 18 to 40, entry f_scop0 in lines 250 to 271;  line 31 computes why.c:4
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from polytile.diagnostics import Location
from polytile.facts.model import CodePart, CodePartKind, GeneratedLine

_START = re.compile(r'extern "C" (?P<kernel>__global__ )?(?:void|int) (?:\w+\([^()]*\) )*(?P<name>[A-Za-z_$][\w$]*)\(')


def code_parts(cuda: str) -> tuple[CodePart, ...]:
    """Return the kernels and entry points of a .cu with the comments on top of them, in the order of the text."""
    return tuple(_parts(cuda.split("\n")))


def _parts(lines: Sequence[str]) -> Iterator[CodePart]:
    for number, line in enumerate(lines):
        start = _START.match(line)
        if start is None:
            continue
        first = number
        while first > 0 and lines[first - 1].startswith("//"):
            first -= 1
        last = next((k for k in range(number, len(lines)) if lines[k] == "}"), number)
        kind = CodePartKind.KERNEL if start["kernel"] else CodePartKind.ENTRY
        yield CodePart(start["name"], kind, first + 1, last + 1)


def generated_lines(places: Mapping[int, Location]) -> tuple[GeneratedLine, ...]:
    """Return where the lines of a .cu come from, in its order."""
    return tuple(GeneratedLine(line, place.file, place.line) for line, place in sorted(places.items()))
