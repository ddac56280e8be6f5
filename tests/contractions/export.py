"""`python -m tests.contractions FOLDER --count 100 --seed 1`: random programs, compiled, for a machine with a GPU.

The folder needs Python, NumPy and nvcc there, and nothing of ours: `python run.py` builds each program, runs it on
random inputs of several sizes and compares with its definition in NumPy.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sys
from argparse import ArgumentParser
from pathlib import Path

import polytile
from polytile.api import CompiledScop
from polytile.diagnostics import UserError
from polytile.fuzz.draw import source_of
from polytile.ir.placed_storage import tile_plans

from .c_text import c_text
from .generate import program_of, sizes_of
from .program import Program

DEVICE = Path(__file__).parent / "device"
MOST_ON_GPU = 60_000_000


def has_tiles(scop: CompiledScop) -> bool:
    """Whether a kernel keeps tiles of arrays in shared memory or in registers."""
    return any(plan.placements for plan in tile_plans(scop.plans))


def write(folder: Path, count: int, seed: int, schedule: str = "tiled") -> int:
    """Write `count` programs that have tiles, leaving others out; returns how many these were. Raises UserError."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in DEVICE.glob("*.py"):
        shutil.copy(file, folder)
    written = 0
    for index in itertools.count():
        if written == count:
            return index - count
        program = program_of(seed, index)
        (scop,) = polytile.compile(c_text(program), name="f.c", schedule=schedule).scops
        if not has_tiles(scop):
            continue
        _write_one(folder / f"{index:03}", program, scop, sizes_of(program, source_of(seed, index), MOST_ON_GPU))
        written += 1
    raise AssertionError


def _write_one(folder: Path, program: Program, scop: CompiledScop, sizes: list[dict[str, int]]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "f.c").write_text(c_text(program))
    (folder / f"{scop.name}_kernel.cu").write_text(scop.cuda)
    (folder / f"{scop.name}_kernel.h").write_text(scop.header)
    (folder / "case.json").write_text(json.dumps(described(program, scop, sizes), indent=1))


def described(program: Program, scop: CompiledScop, sizes: list[dict[str, int]]) -> dict[str, object]:
    """The program, and how its compiled entry point is called."""
    entry = scop.program
    assert entry is not None
    return {
        "program": program.described(),
        "sizes": sizes,
        "source": f"{scop.name}_kernel.cu",
        "entry": entry.name,
        "integers": [p.name for p in entry.parameters],
        "arguments": [[a.name, a.name in entry.by_value] for a in entry.arguments],
    }


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status."""
    parser = ArgumentParser(prog="python -m tests.contractions", description="Write random programs for a GPU.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schedule", default="tiled")
    given = parser.parse_args(arguments)
    try:
        others = write(given.folder, given.count, given.seed, given.schedule)
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{given.folder}: {given.count} programs with tiles ({others} without were left out)")
    return 0
