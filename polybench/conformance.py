"""Whether `polytile cc` compiles C as the C compiler does: `python polybench/conformance.py FOLDER ... [--json FILE]`.

Each `.c` file of the folders is a program of its own, as in test suites of compilers. It is built by the C compiler and
by `polytile cc --polytile-on=emulator --polytile-autodetect --polytile-fp=strict`, with the same flags; both programs
run in empty folders, and what they print and their exit statuses are compared. What the C compiler does not build, what
does not end and what prints something else when it runs again has no reference and is counted apart.

`--flags` and `--libraries` are words for both compilers, `--options` further ones for `polytile cc`. With `--json` each
result is appended to the file as soon as it is known, and files that are there already are not tried again. Which
programs ran kernels is known from the times that entry points print with POLYTILE_TIMING. The exit status is 1 when a
program differs, crashes, ends late or is not built.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from polytile.dataclass import dataclass
from polytile.process import Result, RunawayError, run_bounded
from polytile.runtime.compilers import c_compiler

KERNELS, HOST = "same, kernels ran", "same, C alone"
DIFFERS, CRASHES, LATE, NOT_BUILT = "differs", "crashes", "ends late", "not built"
NO_REFERENCE = "no reference"
GOOD = (KERNELS, HOST, NO_REFERENCE)
OURS = ("--polytile-on=emulator", "--polytile-autodetect", "--polytile-fp=strict")
_SHOWN = 2000  # characters of a message


@dataclass(frozen=True, slots=True)
class Asked:
    """The words for the compilers, and the seconds that building and running a program may take."""

    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    options: tuple[str, ...]
    build_seconds: float
    run_seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one program: its `outcome`, why, the entry points that ran and how often, seconds of building."""

    program: str
    outcome: str
    reason: str = ""
    entries: int = 0
    launches: int = 0
    seconds: float = 0.0


def compared(source: Path, asked: Asked) -> Row:
    """Build and run one program both ways."""
    with tempfile.TemporaryDirectory(prefix="polytile-conformance-") as name:
        folder = Path(name)
        try:
            wanted = _reference(source, asked, folder)
        except RunawayError as error:
            return Row(str(source), NO_REFERENCE, str(error))
        if isinstance(wanted, str):
            return Row(str(source), NO_REFERENCE, wanted)
        began = time.monotonic()
        try:
            reason = _built([*_polytile_cc(), *OURS, *asked.options], source, folder / "ours", asked)
        except RunawayError as error:
            return Row(str(source), LATE, str(error))
        seconds = round(time.monotonic() - began, 2)
        if reason:
            return Row(str(source), NOT_BUILT, reason, seconds=seconds)
        return _judged(source, wanted, asked, folder / "ours", seconds)


def _reference(source: Path, asked: Asked, folder: Path) -> Result | str:
    """Return what the C compiler's program does, or why nothing can be compared with it. Raises RunawayError."""
    reason = _built(c_compiler(), source, folder / "c", asked)
    if reason:
        return reason
    first, second = (_ran(folder / "c", asked, PADDING="x" * size) for size in (100, 1000))
    if (first.status, first.output) != (second.status, second.output):
        return "it does not print the same twice"
    return first


def _built(compiler: Sequence[str], source: Path, program: Path, asked: Asked) -> str:
    """Return why the compiler fails, or nothing. Raises RunawayError."""
    words = [*compiler, *asked.flags, str(source.resolve()), "-o", str(program), *asked.libraries]
    result = run_bounded(words, timeout=asked.build_seconds, merged=True)
    said = result.output.decode(errors="replace")
    if "internal error" in said:
        return said[-_SHOWN:]
    return f"status {result.status}: {said[-_SHOWN:]}" if result.status else ""


def _judged(source: Path, wanted: Result, asked: Asked, program: Path, seconds: float) -> Row:
    try:
        result = _ran(program, asked, POLYTILE_TIMING="1")
    except RunawayError as error:
        return Row(str(source), LATE, str(error), seconds=seconds)
    lines = [line.split(b":") for line in result.errors.splitlines() if line.startswith(b"polytile: ")]
    launches = Counter(line[1] for line in lines if len(line) > 2 and line[2].startswith(b" kernels "))
    outcome, reason = KERNELS if launches else HOST, ""
    if (result.status, result.output) != (wanted.status, wanted.output):
        outcome = CRASHES if result.status < 0 and result.status != wanted.status else DIFFERS
        last = result.errors.decode(errors="replace")[-_SHOWN:]
        reason = f"status {result.status} for {wanted.status}; {last}"
    return Row(str(source), outcome, reason, len(launches), launches.total(), seconds)


def _ran(program: Path, asked: Asked, **environment: str) -> Result:
    """Run a program in an empty folder. Raises RunawayError."""
    with tempfile.TemporaryDirectory(prefix="polytile-conformance-") as folder:
        return run_bounded(
            [str(program)], directory=folder, environment={**os.environ, **environment}, timeout=asked.run_seconds
        )


def _polytile_cc() -> list[str]:
    return [sys.executable, "-m", "polytile", "cc"]


def programs(inputs: Sequence[str]) -> Iterator[Path]:
    """Yield the C files that are named, and those in the folders that are."""
    for name in inputs:
        path = Path(name)
        yield from sorted(path.rglob("*.c")) if path.is_dir() else (path,)


def main(words: Sequence[str] | None = None) -> int:
    """Compare; returns the exit status."""
    arguments = _parsed(words)
    if shutil.which(c_compiler()[0]) is None:
        print("no C compiler was found", file=sys.stderr)
        return 4
    split = {name: tuple(shlex.split(getattr(arguments, name))) for name in ("flags", "libraries", "options")}
    asked = Asked(**split, build_seconds=arguments.build_seconds, run_seconds=arguments.run_seconds)
    rows = _read(arguments.json)
    for source in programs(arguments.inputs):
        if str(source) in rows:
            continue
        row = rows[str(source)] = compared(source, asked)
        _kept(row, arguments.json)
        if row.outcome not in GOOD:
            print(f"{row.program}: {row.outcome}: {row.reason}", flush=True)
    for outcome, number in Counter(row.outcome for row in rows.values()).most_common():
        print(f"{number:6} {outcome}")
    return int(any(row.outcome not in GOOD for row in rows.values()))


def _parsed(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="conformance", description="Compare `polytile cc` with the C compiler.")
    parser.add_argument("inputs", nargs="+", metavar="FOLDER", help="C files, and folders of them")
    parser.add_argument("--flags", default="-O1 -std=gnu11", help="for both compilers (%(default)s)")
    parser.add_argument("--libraries", default="-lm", help="for both linkers (%(default)s)")
    parser.add_argument("--options", default="", help="further options of `polytile cc`")
    parser.add_argument("--build-seconds", type=float, default=120, help="for a build (%(default)g)")
    parser.add_argument("--run-seconds", type=float, default=60, help="for a run (%(default)g)")
    parser.add_argument("--json", type=Path, help="append each result to this file, and leave out those it has")
    return parser.parse_args(words)


def _read(file: Path | None) -> dict[str, Row]:
    if file is None or not file.exists():
        return {}
    return {row.program: row for row in (Row(**json.loads(line)) for line in file.read_text().splitlines())}


def _kept(row: Row, file: Path | None) -> None:
    if file is not None:
        with file.open("a") as log:
            log.write(json.dumps(asdict(row)) + "\n")


if __name__ == "__main__":
    sys.exit(main())
