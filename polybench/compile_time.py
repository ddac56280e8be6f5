"""How long polytile takes, and how much memory: `python polybench/compile_time.py [PROGRAM ...] [--json FILE]`.

Measures whole commands from outside, import included, as a user meets them:

- `polytile --version`, which must answer within 0.3 s;
- `polytile PROGRAM.c --target cuda` for each program of the suite: within 2 s and 400 MB;
- `polytile PROGRAM.c --target cuda --validate --on emulator` at the small sizes that it chooses: within 10 s.

`--all` takes the programs of all families. Every command compiles; with `--cached` it finds in polytile's cache what a
run before it has left. `--compare OLD.json` says by what factor the times changed since an earlier run; `--against DIR`
runs the commands of another checkout in turns with those of this one, so that both meet the same machine, load
included, and compares these; `--beside 'ppcg --target=cuda'` does so with another compiler. All give the geometric mean
over the programs, of the time that passed and of processor time, which other processes disturb less.

Every figure is the median of three runs. Memory is the largest resident set of the command or of any compiler that it
ran (what wait4 reports, so the measuring process itself stays small and imports nothing of polytile). The exit status
is 1 when a limit is exceeded or a command fails.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median

from polytile.dataclass import dataclass

FAMILIES = Path(__file__).resolve().parent
CHECKOUT = FAMILIES.parent
SUITE = "polybench"
SEED = "1"
NO_CACHE = "0"
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"  # with it each run would compile polytile's own modules first
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
    processor_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Figure:
    """The median of a command's runs; `failure` says why a command did not succeed."""

    program: str
    action: str
    seconds: float
    megabytes: float
    failure: str = ""
    processor_seconds: float = 0.0

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


@dataclass(frozen=True, slots=True)
class Change:
    """By what factor one command's time changed; `processor` is None where it was not measured before."""

    program: str
    action: str
    before: float
    after: float
    factor: float
    processor: float | None = None


def run(command: Sequence[str], log: Path, checkout: Path = CHECKOUT, cache: str = NO_CACHE) -> Run:
    """Run a command to its end, in the folder of `log`, which gets its output, with the polytile of a checkout."""
    path = os.pathsep.join(filter(None, [str(checkout), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "POLYTILE_CACHE": cache, "PYTHONPATH": path}
    environment.pop(NO_BYTECODE, None)
    place = log.parent  # `python -m` finds what is in the current folder first
    with log.open("wb") as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=place, env=environment
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    megabytes = usage.ru_maxrss * MAX_RSS_UNIT / 1e6
    processor = usage.ru_utime + usage.ru_stime
    return Run(seconds, megabytes, process.returncode, log.read_text(errors="replace"), processor)


def measure(
    program: str, action: str, command: Sequence[str], folder: Path, repeat: int, *, cached: bool = False
) -> Figure:
    """Measure one command, with `cached` of runs after one that has filled a cache."""
    cache = str(folder / "cache") if cached else NO_CACHE
    runs = [run(command, folder / "log", cache=cache) for _ in range(repeat + cached)]
    return figure(program, action, runs[cached:])


def figure(program: str, action: str, runs: Sequence[Run]) -> Figure:
    """Compute the medians of runs."""
    failed = next((r for r in runs if r.status != 0), None)
    failure = ""
    if failed is not None:
        said = failed.output.strip().splitlines()
        failure = f"exit status {failed.status}{f': {said[0]}' if said else ''}"
    seconds, processor = median(r.seconds for r in runs), median(r.processor_seconds for r in runs)
    return Figure(program, action, seconds, median(r.megabytes for r in runs), failure, processor)


def in_turns(
    program: str, action: str, other: Callable[[], Run], own: Callable[[], Run], repeat: int
) -> tuple[Figure, Figure, Change]:
    """Measure another command and this checkout's in turns: both figures, and the median of the factors between
    neighbouring runs."""
    pairs = []
    for number in range(repeat):
        if number % 2 == 0:
            pairs.append((other(), own()))
        else:
            mine = own()
            pairs.append((other(), mine))
    before, after = (figure(program, action, [pair[side] for pair in pairs]) for side in (0, 1))
    factor = median(b.seconds / a.seconds for a, b in pairs)
    processor = median(b.processor_seconds / a.processor_seconds for a, b in pairs)
    return before, after, Change(program, action, before.seconds, after.seconds, factor, processor)


def commands(programs: Sequence[str], folder: Path, *, validate: bool) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (program, action, command) of everything to measure."""
    polytile = [sys.executable, "-m", "polytile"]
    table = suite()
    yield "", "version", [*polytile, "--version"]
    for name in programs:
        base = [*polytile, str(table[name]), "--target", "cuda", "-o", str(folder)]
        yield name, "compile", base
        if validate:
            yield name, "validate", [*base, "--validate", "--on", "emulator", "--seed", SEED]


def suite() -> dict[str, Path]:
    """Return the C file of every program: `gemm` of the suite, `family/name` of the other families."""
    found: dict[str, Path] = {}
    for table in sorted(FAMILIES.glob("*/programs*.toml")):
        family = table.parent.name
        for name, entry in tomllib.loads(table.read_text()).items():
            found[name if family == SUITE else f"{family}/{name}"] = table.parent / entry["file"]
    return found


def selected(programs: Sequence[str], *, every: bool) -> list[str]:
    """Return the programs that are named, or all families, or the suite."""
    return list(programs) or [name for name in suite() if every or "/" not in name]


def line(figure: Figure) -> str:
    """Print a row of the table."""
    beyond = figure.failure or (f"over {' and '.join(figure.exceeded)}" if figure.exceeded else "")
    row = f"{figure.program:22} {figure.action:9} {figure.seconds:8.2f} s {figure.megabytes:8.0f} MB  {beyond}"
    return row.rstrip()


def report(figures: Sequence[Figure], repeat: int) -> str:
    """Print all figures as JSON."""
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


def changes(old: Sequence[Mapping[str, object]], new: Sequence[Figure]) -> list[Change]:
    """Compute the factors between the figures of a report and new ones, of the commands that succeeded in both."""
    before = {(f["program"], f["action"]): f for f in old if not f["failure"]}
    found = []
    for now in new:
        then = before.get((now.program, now.action))
        if then is None or now.failure:
            continue
        seconds, processor = float(str(then["seconds"])), float(str(then.get("processor_seconds") or 0))
        factor = now.processor_seconds / processor if processor else None
        found.append(Change(now.program, now.action, seconds, now.seconds, now.seconds / seconds, factor))
    return found


def change_line(change: Change) -> str:
    """Print a row of the table of changes."""
    processor = "" if change.processor is None else f"  processor x {change.processor:.3f}"
    times = f"{change.before:8.2f} s -> {change.after:.2f} s"
    return f"{change.program:22} {change.action:9} {times}  x {change.factor:.3f}{processor}"


def means(found: Sequence[Change]) -> Iterator[str]:
    """Yield a line for each action: the geometric mean of the factors."""
    for action in LIMITS:
        own = [c for c in found if c.action == action]
        processor = [c.processor for c in own if c.processor is not None]
        if own and action != "version":
            said = f", processor time x {geometric_mean(processor):.3f}" if processor else ""
            yield f"{action}: geometric mean of {len(own)}: time x {geometric_mean(c.factor for c in own):.3f}{said}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the exit status is 1 when something is beyond its limit or failed."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.programs) - set(suite()))
    if unknown or chosen.repeat < 1:
        parser.error(f"no program {unknown[0]!r} in the suite" if unknown else "--repeat needs at least 1")
    if chosen.against is not None and not (chosen.against / "polytile" / "__main__.py").exists():
        parser.error(f"--against: no polytile in {chosen.against}")
    old = _read(parser, chosen.compare) if chosen.compare else []
    show(f"{os.cpu_count()} CPUs, median of {chosen.repeat}", chosen.json)
    with tempfile.TemporaryDirectory(prefix="polytile-") as name:
        figures, found = _measured(chosen, Path(name))
    if chosen.compare:
        found = changes(old, figures)
        show("\n".join(map(change_line, found)), chosen.json)
    for text in means(found):
        show(text, chosen.json)
    return finish(figures, chosen.repeat, chosen.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="programs (those of the suite)")
    parser.add_argument("--all", action="store_true", help="the programs of all families")
    parser.add_argument("--repeat", type=int, default=3, help="runs per command, of which the median counts (3)")
    parser.add_argument("--no-validate", action="store_true", help="leave out the runs in the emulator")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE too; - prints them instead of text")
    before = parser.add_mutually_exclusive_group()
    before.add_argument(
        "--compare", type=Path, metavar="OLD", help="factors since the figures that --json wrote to OLD"
    )
    before.add_argument("--cached", action="store_true", help="compile from polytile's cache")
    before.add_argument("--against", type=Path, metavar="DIR", help="run the checkout in DIR in turns, and compare")
    before.add_argument("--beside", metavar="COMMAND", help="run another compiler, `COMMAND -I... FILE.c`, in turns")
    return parser


def _read(parser: argparse.ArgumentParser, path: Path) -> list[dict[str, object]]:
    """Read the figures of a report."""
    try:
        figures: list[dict[str, object]] = json.loads(path.read_text())["figures"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        parser.error(f"--compare: {path} is no report: {error}")
    return figures


def _measured(chosen: argparse.Namespace, folder: Path) -> tuple[list[Figure], list[Change]]:
    """Measure the figures of this checkout, and how they differ from the other one's; each is shown as it is known."""
    figures: list[Figure] = []
    found: list[Change] = []
    programs = selected(chosen.programs, every=chosen.all)
    work = list(commands(programs, folder, validate=not chosen.no_validate))
    if chosen.against is None and chosen.beside is None:
        for one in work:
            figures.append(measure(*one, folder, chosen.repeat, cached=chosen.cached))
            show(line(figures[-1]), chosen.json)
        return figures, found
    for program, action, command in work:
        other = _other(chosen, program, action, command, folder / "log")
        own = partial(run, command, folder / "log")
        if other is None:
            continue
        if not figures:  # so that neither pays for bytecode
            other(), own()
        before, after, change = in_turns(program, action, other, own, chosen.repeat)
        figures.append(after)
        if before.failure or after.failure:
            show(line(after if after.failure else before), chosen.json)
        else:
            found.append(change)
            show(change_line(change), chosen.json)
    return figures, found


def _other(
    chosen: argparse.Namespace, program: str, action: str, command: Sequence[str], log: Path
) -> Callable[[], Run] | None:
    """Choose what runs in turns with a command: that of another checkout, or another compiler for the same file."""
    if chosen.against is not None:
        return partial(run, command, log, chosen.against.resolve())
    if action != "compile":
        return None
    return partial(run, [*shlex.split(chosen.beside), f"-I{FAMILIES}", str(suite()[program])], log)


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
