"""What is demanded of a random program in the emulator."""

from __future__ import annotations

import importlib.util
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import polytile
from polytile.api import CompiledScop
from polytile.check.checker import problems
from polytile.fuzz.draw import Draw
from polytile.runtime.emulator.instrument import CHECKS

from .c_text import c_text
from .generate import sizes_of
from .program import Program, Sizes

MOST_WORK = 150_000  # iterations of a size


def _definition() -> Any:
    spec = importlib.util.spec_from_file_location("definition", Path(__file__).parent / "device" / "definition.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DEFINITION = _definition()


def compiled(program: Program) -> CompiledScop:
    """Tiles where they are possible, sums in the order of C."""
    (scop,) = _made(c_text(program)).scops
    return scop


@lru_cache(maxsize=32)
def _made(text: str) -> polytile.Program:
    return polytile.compile(text, schedule="tiled", strict=True, raise_bugs=True)


def same_as_c(scop: CompiledScop, program: Program, draw: Draw, most: int = MOST_WORK) -> None:
    """Bitwise what C computes, under all of the emulator's checks, at all kinds of sizes."""
    for sizes in sizes_of(program, draw, most):
        for done in scop.validate(on="emulator", parameters=known(scop, sizes), seed=1, sanitize=CHECKS):
            assert all(c.relative == 0 for c in done.comparisons), done.line


def known(scop: CompiledScop, sizes: Sizes) -> dict[str, int]:
    """The sizes of the parameters that the SCoP has."""
    names = {p.name for p in scop.scop.parameters}
    return {name: size for name, size in sizes.items() if name in names}


def as_defined(scop: CompiledScop, program: Program, sizes: Sizes) -> None:
    """What the definition in NumPy says, but for rounding."""
    described = program.described()
    arrays, scalars = DEFINITION.inputs_of(described, sizes, 1)
    results = {name: values.copy() for name, values in arrays.items()}
    used = {array.name for array in scop.scop.external_arrays}  # a SCoP may do without what no iteration uses
    given = {name: value for name, value in (results | scalars).items() if name in used}
    scop(**known(scop, sizes), **given)
    for name, off, allowed, wrong in DEFINITION.differences(described, sizes, arrays, scalars, results):
        assert not wrong, f"{sizes}: {name} differs by {off}, beyond {allowed}"


def accepted(program: Program) -> list[str]:
    """What the independent checker has against the certificate."""
    return [line for scop in json.loads(_made(c_text(program)).certificate)["scops"] for line in problems(scop)]
