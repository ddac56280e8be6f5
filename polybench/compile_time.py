"""How long polytile takes, and how much memory: `python polybench/compile_time.py [PROGRAM ...] [--json FILE]`.

Measures whole commands from outside, import included, as a user meets them:

- `polytile --version`, which must answer within 0.3 s;
- `polytile PROGRAM.c --target cuda` for each program of the suite: within 2 s and 400 MB;
- `polytile PROGRAM.c --target cuda --validate --on emulator` at the small sizes that it chooses: within 10 s.

Every figure is the median of three runs. Memory is the largest resident set of the command or of any compiler that it
ran (what wait4 reports, so the measuring process itself stays small and imports nothing of polytile). The exit status
is 1 when a limit is exceeded or a command fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

SUITE = Path(__file__).resolve().parent / "polybench"
SEED = "1"
MAX_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What one command may take; no entry for memory means that it is only reported."""

    seconds: float
    megabytes: float | None = None


LIMITS = {"version": Limits(0.3), "compile": Limits(2.0, 400.0), "validate": Limits(10.0)}


@dataclass(frozen=True, slots=True)
class Run:
    """One finished command."""

    seconds: float
    megabytes: float
    status: int
    output: str


@dataclass(frozen=True, slots=True)
class Figure:
    """The median of a command's runs; `failure` says why a command did not succeed."""

    program: str
    action: str
    seconds: float
    megabytes: float
    failure: str = ""

    @property
    def exceeded(self) -> tuple[str, ...]:
        """The limits that this figure is beyond."""
        limits = LIMITS[self.action]
        found = [f"{limits.seconds:g} s"] if self.seconds > limits.seconds else []
        if limits.megabytes is not None and self.megabytes > limits.megabytes:
            found.append(f"{limits.megabytes:g} MB")
        return tuple(found)

    @property
    def good(self) -> bool:
        return not self.failure and not self.exceeded


def run(command: Sequence[str], log: Path) -> Run:
    """Run a command to its end, with its output in `log`."""
    with log.open("wb") as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    megabytes = usage.ru_maxrss * MAX_RSS_UNIT / 1e6
    return Run(seconds, megabytes, process.returncode, log.read_text(errors="replace"))


def measure(program: str, action: str, command: Sequence[str], folder: Path, repeat: int) -> Figure:
    """The figure of one command."""
    runs = [run(command, folder / "log") for _ in range(repeat)]
    failed = next((r for r in runs if r.status != 0), None)
    failure = ""
    if failed is not None:
        said = failed.output.strip().splitlines()
        failure = f"exit status {failed.status}{f': {said[0]}' if said else ''}"
    return Figure(program, action, median(r.seconds for r in runs), median(r.megabytes for r in runs), failure)


def commands(programs: Sequence[str], folder: Path, *, validate: bool) -> Iterator[tuple[str, str, list[str]]]:
    """(program, action, command) of everything to measure."""
    polytile = [sys.executable, "-m", "polytile"]
    table = suite()
    yield "", "version", [*polytile, "--version"]
    for name in programs:
        base = [*polytile, str(SUITE / table[name]), "--target", "cuda", "-o", str(folder)]
        yield name, "compile", base
        if validate:
            yield name, "validate", [*base, "--validate", "--on", "emulator", "--seed", SEED]


def suite() -> dict[str, str]:
    """The C file of every program."""
    return {name: entry["file"] for name, entry in tomllib.loads((SUITE / "programs.toml").read_text()).items()}


def line(figure: Figure) -> str:
    """A row of the table."""
    beyond = figure.failure or (f"over {' and '.join(figure.exceeded)}" if figure.exceeded else "")
    row = f"{figure.program:16} {figure.action:9} {figure.seconds:8.2f} s {figure.megabytes:8.0f} MB  {beyond}"
    return row.rstrip()


def report(figures: Sequence[Figure], repeat: int) -> str:
    """All figures as JSON."""
    return json.dumps(
        {
            "format": 1,
            "cpus": os.cpu_count(),
            "python": sys.version.split()[0],
            "repeat": repeat,
            "limits": {action: asdict(limits) for action, limits in LIMITS.items()},
            "figures": [{**asdict(f), "exceeded": list(f.exceeded)} for f in figures],
        },
        indent=2,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the exit status is 1 when something is beyond its limit or failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="programs of the suite (all)")
    parser.add_argument("--repeat", type=int, default=3, help="runs per command, of which the median counts (3)")
    parser.add_argument("--no-validate", action="store_true", help="leave out the runs in the emulator")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE too; - prints them instead of text")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.programs) - set(suite()))
    if unknown or chosen.repeat < 1:
        parser.error(f"no program {unknown[0]!r} in the suite" if unknown else "--repeat needs at least 1")
    figures = []
    with tempfile.TemporaryDirectory(prefix="polytile-") as name:
        show(f"{os.cpu_count()} CPUs, median of {chosen.repeat}", chosen.json)
        for work in commands(chosen.programs or list(suite()), Path(name), validate=not chosen.no_validate):
            figures.append(measure(*work, Path(name), chosen.repeat))
            show(line(figures[-1]), chosen.json)
    return finish(figures, chosen.repeat, chosen.json)


def show(text: str, json_file: str | None) -> None:
    """Print a line of the table, unless JSON is what standard output is for."""
    if json_file != "-":
        print(text, flush=True)


def finish(figures: Sequence[Figure], repeat: int, json_file: str | None) -> int:
    """Write the JSON and sum up; returns the exit status."""
    text = report(figures, repeat)
    if json_file == "-":
        print(text)
    elif json_file is not None:
        Path(json_file).write_text(text + "\n")
    bad = sum(not f.good for f in figures)
    show(f"{bad} of {len(figures)} beyond a limit or failed" if bad else "all within the limits", json_file)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
