"""Small programs in every schedule, bitwise as C computes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import polytile
from polytile.choices import SCHEDULES
from tests.bitwise import same_as_c


def source(arguments: str, body: str) -> str:
    """A function of the sizes n and m, and these arguments, whose body is a SCoP."""
    return f"void f(int n, int m, {arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


def code(cuda: str) -> str:
    """Kernels without comments, which name the schedule: those of two schedules are often the same."""
    return re.sub(r"\s*//.*", "", cuda)


def same_in_every_schedule(text: str, sizes: Sequence[Mapping[str, int]], *, alone: bool = True) -> list[str]:
    """Compare each different code of kernels with C; the schedules whose only SCoP stays on the host. The SCoP can
    stand `alone`, as a function of what is passed, unless it reads from variables of the function."""
    seen: set[str] = set()
    serial = []
    for schedule in SCHEDULES:
        settings = {"strict": True, "verify_passes": True, "raise_bugs": True}
        (scop,) = polytile.compile(text, name="f.c", schedule=schedule, **settings).scops
        if scop.program is None:
            serial.append(schedule)
        elif code(scop.cuda) not in seen:
            seen.add(code(scop.cuda))
            same_as_c(scop, sizes, text=alone)
    return serial
