"""Loops over data that have to run in many threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polytile
from polytile.runtime.emulator.instrument import CHECKS

SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 301, "m": 5})


def total(declared: str, loop: str, *results: str) -> str:
    """Statements that keep the results of a loop in the array o."""
    out = " ".join(f"o[{k}] = {name};" for k, name in enumerate(results))
    return f"{declared} {loop} {out}"


def runs_in_many_threads(text: str, sizes: Sequence[Mapping[str, int]] = SIZES[2:], *, alone: int = 0) -> None:
    """The only SCoP has kernels, of which no more than `alone` parts, without loops over data, run in one thread, and
    they compute what C does."""
    (scop,) = polytile.compile(text, name="f.c", raise_bugs=True).scops
    said = [remark.message for remark in scop.remarks]
    assert scop.program is not None, said
    assert len([message for message in said if "one GPU thread" in message]) <= alone, said
    names = {p.name for p in scop.compilation.scop.parameters}
    for case in sizes:
        scop.validate(on="emulator", parameters={k: v for k, v in case.items() if k in names}, sanitize=CHECKS)
