"""How much `polytile tune` gains: `python -m polybench.tuned_programs --seconds 330 -o DIR [PROGRAM..]`.

Programs of the suite are tuned in both types, several at a time, until the time is over; then winners and defaults are
timed again by `python -m polybench sweep`, on inputs of its own:

    PROGRAM-TYPE.tune.jsonl, .tuned.json, .log   what `polytile tune` measured, found and said
    jobs.jsonl, rows.jsonl                       what the sweep was asked for, and its rows
    table.md                                     default / winner of each, the geometric mean and the least
    tuned-programs.tar.gz                        all of these

The same command goes on from what DIR has, and unpacks the last file where that is all it has. Where nothing is left to
measure no GPU is needed. Times of 20 us vary by half while many processes compile, so the sweep takes few.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from polybench.runner import rows
from polybench.runner.errors import EXIT_FAILED, RunnerError
from polybench.runner.rows import Row
from polybench.runner.run import check_machine
from polybench.runner.tables import DATASETS, Entry, load, select
from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.tuned_file import TunedScop, read_tuned_file

PROGRAMS = (
    *(f"polybench/{name}" for name in ("gemm", "2mm", "3mm", "syrk", "syr2k", "trmm", "atax", "bicg", "mvt")),
    *(f"polybench/{name}" for name in ("gesummv", "gemver", "doitgen", "jacobi-2d", "heat-3d", "fdtd-2d")),
    *("an5d/star2d1r", "an5d/box3d1r", "cluster/stencil-27pt", "cluster/stencil-7pt", "reorder/3d27pt"),
)
TYPES = ("double", "float")
ARCHIVE, JOBS, ROWS, TABLE = "tuned-programs.tar.gz", "jobs.jsonl", "rows.jsonl", "table.md"
TO_START = 30.0  # seconds that must be left for another program
TO_END = 20.0  # of these, for the best points to be timed again
PATIENCE = 10.0  # seconds from an interrupt until what has not ended is killed
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Task:
    """A program to be tuned in one type, at the sizes of a data set; its files are in `folder`."""

    entry: Entry
    dtype: str
    dataset: str
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.entry.id} {self.dtype}"

    def file(self, ending: str) -> Path:
        """Return its file with an ending."""
        return self.folder / f"{self.entry.family}-{self.entry.name}-{self.dtype}{ending}"

    def command(self, evaluations: int, jobs: int, seconds: float) -> list[str]:
        """Return the command that tunes it, or goes on, and stops after so many seconds."""
        sizes = [word for n, v in self.entry.sizes(self.dataset).items() for word in ("--param", f"{n}={v}")]
        budget = ["--search", "gaussian", "--evaluations", str(evaluations), "--seconds", str(max(1, int(seconds)))]
        files = ["--record", str(self.file(".tune.jsonl")), "--output", str(self.file(".tuned.json"))]
        tune = [sys.executable, "-m", "polytile", "tune", str(self.entry.path), "-D", f"DATA_TYPE={self.dtype}"]
        return [*tune, *sizes, *budget, "--jobs", str(jobs), "-q", *files]

    def found(self) -> TunedScop | None:
        """Return what was found, or None where no result has been written yet."""
        try:
            (scop,) = read_tuned_file(self.file(".tuned.json")).scops
        except (UsageError, ValueError):
            return None
        return scop


def tasks_of(patterns: Sequence[str], dataset: str, folder: Path) -> list[Task]:
    """Return the tasks for the programs that are named, all doubles first.

    Raises RunnerError for unknown ones, those with data of their own, and those with several SCoPs.
    """
    entries = load()
    chosen = select(entries, patterns) if patterns else [entries[name] for name in PROGRAMS]
    for entry in chosen:
        if entry.data:
            raise RunnerError(f"{entry.id} needs data of its own", hint="name programs that the sweep can run")
        if entry.path.read_text().count("#pragma scop") != 1:
            raise RunnerError(f"{entry.id} has several SCoPs", hint="name programs that have one")
    return [Task(entry, dtype, dataset, folder) for dtype in TYPES for entry in chosen]


def unfinished(tasks: Iterable[Task], evaluations: int) -> list[Task]:
    """Return the tasks that have no result of so many evaluations."""
    return [task for task in tasks if (found := task.found()) is None or found.evaluations < evaluations]


def tune_all(tasks: Sequence[Task], chosen: argparse.Namespace) -> list[Task]:
    """Tune programs, several at a time, until the time is over; return those whose command failed."""
    until = time.monotonic() + chosen.seconds
    waiting, failed = deque(tasks), []
    running: dict[subprocess.Popen[bytes], Task] = {}
    try:
        while True:
            left = until - time.monotonic()
            while waiting and len(running) < chosen.at_once and left >= TO_START:
                task = waiting.popleft()
                command = task.command(chosen.evaluations, chosen.jobs, left - TO_END)
                running[started(command, task.file(".log"))] = task
            for process in [p for p in running if p.poll() is not None]:
                task = running.pop(process)
                print(f"{task.name}: {said(task, process.returncode)}", flush=True)
                if process.returncode not in (0, INTERRUPTED):
                    failed.append(task)
            if left <= 0 or not (running or (waiting and left >= TO_START)):
                return failed
            time.sleep(0.05)
    finally:
        end(running)


def started(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a command in a group of processes of its own, that writes to a log."""
    with log.open("ab") as file:
        return subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)


def said(task: Task, status: int) -> str:
    """Return how tuning a program ended, in a line."""
    found = task.found() if status in (0, INTERRUPTED) else None
    if found is None:
        lines = task.file(".log").read_text(errors="replace").split("\n")
        return f"exit status {status}: " + next((line for line in reversed(lines) if line.strip()), "")
    return f"{found.default_milliseconds} ms by default, {found.milliseconds} ms after {found.evaluations} evaluations"


def end(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    """Interrupt groups of processes, which then write what they have, and kill those that do not end."""
    living = [process for process in processes if process.poll() is None]
    for process in living:
        os.killpg(process.pid, signal.SIGINT)
    until = time.monotonic() + PATIENCE
    for process in living:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def sweep_jobs(tasks: Iterable[Task]) -> Iterator[Row]:
    """Yield a job of the default and one of the winner for each program where these are two."""
    for task in tasks:
        if (found := task.found()) is not None and found.point:
            common = {"program": task.entry.id, "dtype": task.dtype, "dataset": task.dataset}
            yield {**common, "label": "default"}
            yield {**common, "label": "winner", "settings": {"load_schedule": found.schedule}}


def about(row: Row) -> tuple[str, ...]:
    """Return what a job, or its row, is about."""
    schedule = row.get("settings", {}).get("load_schedule", "")
    return row["program"], row["dtype"], row["dataset"], row["label"], schedule


def measured(path: Path) -> dict[tuple[str, ...], Row]:
    """Return the rows of a file by what they are about, the last of each."""
    return {about(row): row for row in rows.read(path)} if path.exists() else {}


def not_measured(jobs: Iterable[Row], known: Mapping[tuple[str, ...], Row]) -> list[Row]:
    """Return the jobs without a row; both of a program where one of them has none, to be timed in one run."""
    jobs = list(jobs)
    missing = {job_pair(job) for job in jobs if about(job) not in known or rows.failed(known[about(job)])}
    return [job for job in jobs if job_pair(job) in missing]


def job_pair(job: Row) -> tuple[str, ...]:
    """Return what the job of a default has in common with that of the winner."""
    return about(job)[:3]


def sweep_command(folder: Path, jobs: int, runs: int) -> list[str]:
    """Return the command that times the jobs."""
    sweep = [sys.executable, "-m", "polybench", "sweep", str(folder / JOBS), "--json", str(folder / ROWS)]
    return [*sweep, "--jobs", str(jobs), "--runs", str(runs)]


def sweep(jobs: Sequence[Row], chosen: argparse.Namespace) -> None:
    """Time jobs until the time for it is over."""
    (chosen.output / JOBS).write_text("".join(json.dumps(job) + "\n" for job in jobs))
    process = started(sweep_command(chosen.output, chosen.sweep_jobs, chosen.runs), chosen.output / "sweep.log")
    try:
        process.wait(chosen.sweep_seconds)
    except subprocess.TimeoutExpired:
        print("the time for the sweep is over; the same command goes on", flush=True)
    finally:
        end([process])


@dataclass(frozen=True, slots=True)
class Gain:
    """Times of a program in ms, of the default and of the winner; the spreads are parts of them, None where the
    default stays and neither was timed again."""

    program: str
    dtype: str
    default: float
    winner: float
    spreads: tuple[float, float] | None = None

    @property
    def ratio(self) -> float:
        """Return how many times as fast the winner is."""
        return self.default / self.winner

    def line(self) -> str:
        """Return its row of the table."""
        winner, spreads = "the default", ""
        if self.spreads is not None:
            winner, spreads = f"{self.winner:.4g}", " and ".join(f"{100 * spread:.0f}%" for spread in self.spreads)
        return f"| {self.program} | {self.dtype} | {self.default:.4g} | {winner} | {spreads} | {self.ratio:.2f} |"


def gain(task: Task, known: Mapping[tuple[str, ...], Row]) -> Gain | str:
    """Return what tuning a program gains, or why that is not known."""
    found = task.found()
    if found is None:
        return "not tuned"
    if not found.point:
        ms = found.default_milliseconds
        return "the default was not measured" if ms is None else Gain(task.entry.id, task.dtype, ms, ms)
    pair = [known.get(about(job)) for job in sweep_jobs([task])]
    if any(row is None for row in pair):
        return "not timed again"
    if errors := [str(row["error"]) for row in pair if row is not None and rows.failed(row)]:
        return errors[0]
    default, winner = (row for row in pair if row is not None)
    spreads = float(default["spread"]), float(winner["spread"])
    return Gain(task.entry.id, task.dtype, float(default["median_ms"]), float(winner["median_ms"]), spreads)


def table(tasks: Sequence[Task], known: Mapping[tuple[str, ...], Row]) -> str:
    """Return the table in markdown: a row for each program whose gain is known, means and leasts, and the others."""
    found = [(task, gain(task, known)) for task in tasks]
    gains = [one for _, one in found if isinstance(one, Gain)]
    heads = ("| program | type | default ms | winner ms | spreads | default / winner |", "| --- " * 6 + "|")
    lines = [*heads, *(one.line() for one in gains), ""]
    for what in (*TYPES, "both types"):
        if some := [one for one in gains if what in (one.dtype, "both types")]:
            lines.append(f"- {what}: {summary(some)}")
    lines += [f"- {task.name}: {why}" for task, why in found if isinstance(why, str)]
    return "\n".join(lines) + "\n"


def summary(gains: Sequence[Gain]) -> str:
    """Return the geometric mean, and the least, in words."""
    mean = math.exp(sum(math.log(one.ratio) for one in gains) / len(gains))
    least = min(gains, key=lambda one: one.ratio)
    stays = sum(one.spreads is None for one in gains)
    return (
        f"{mean:.3f} (geometric mean of {len(gains)}, the default stays in {stays}), "
        f"least {least.ratio:.2f} ({least.program} {least.dtype})"
    )


def pack(folder: Path) -> None:
    """Put all files of a folder into its archive."""
    with tarfile.open(folder / ARCHIVE, "w:gz") as archive:
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.name != ARCHIVE:
                archive.add(path, path.name)


def unpack(folder: Path) -> None:
    """Make a folder, and unpack its archive where that is all it has: files, which end up in the folder itself.

    Not by `extractall`, which has no filter before Python 3.11.4.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if [path.name for path in folder.iterdir()] == [ARCHIVE]:
        with tarfile.open(folder / ARCHIVE) as archive:
            for member in archive:
                data = archive.extractfile(member)  # None where it is no file
                if data is not None:
                    (folder / Path(member.name).name).write_bytes(data.read())


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m polybench.tuned_programs", description=(__doc__ or "").partition(":")[0]
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="of the suite, as of `run` (20 of them)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="where all files are")
    parser.add_argument("--dataset", choices=DATASETS, default="large", help="the sizes (large)")
    parser.add_argument("--evaluations", type=int, default=40, metavar="N", help="points of each program (40)")
    parser.add_argument("--at-once", type=int, default=5, metavar="N", help="programs tuned at a time (5)")
    parser.add_argument("--jobs", type=int, default=4, metavar="N", help="processes that compile for each (4)")
    parser.add_argument("--seconds", type=float, default=330, metavar="S", help="for tuning; 0: what is there (330)")
    parser.add_argument("--sweep-jobs", type=int, default=2, metavar="N", help="processes while timing again (2)")
    parser.add_argument("--runs", type=int, default=15, metavar="N", help="timed runs of each (15)")
    parser.add_argument("--sweep-seconds", type=float, default=200, metavar="S", help="for timing again (200)")
    return parser.parse_args(arguments)


def measure(chosen: argparse.Namespace) -> int:
    """Tune, time again and print the table; return the exit status, 1 where a command or a row failed."""
    tasks = tasks_of(chosen.programs, chosen.dataset, chosen.output)
    unpack(chosen.output)
    failed: list[Task] = []
    try:
        waiting = unfinished(tasks, chosen.evaluations)
        if waiting and chosen.seconds > 0:
            check_machine("gpu", metrics=False)
            failed = tune_all(waiting, chosen)
        if jobs := not_measured(sweep_jobs(tasks), measured(chosen.output / ROWS)):
            check_machine("gpu", metrics=False)
            sweep(jobs, chosen)
        known = measured(chosen.output / ROWS)
        text = table(tasks, known)
        (chosen.output / TABLE).write_text(text)
        print(text)
    finally:
        pack(chosen.output)
    wrong = [job for job in sweep_jobs(tasks) if (row := known.get(about(job))) is not None and rows.failed(row)]
    return EXIT_FAILED if failed or wrong else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; what a user can do wrong is one line on standard error, with a hint."""
    try:
        return measure(parse(arguments))
    except RunnerError as error:
        print(f"polybench: error: {error}{error.hint and f'; {error.hint}'}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("polybench: interrupted; the same command goes on", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
