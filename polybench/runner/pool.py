"""Each job in a process of its own: what it writes is its row, and what it does not survive is a failed row."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from polybench.runner.rows import Row
from polytile.process import how_it_ended

REPOSITORY = Path(__file__).resolve().parents[2]
CHILD = (sys.executable, "-m", "polybench.runner.child")
POLL = 0.05
TAIL = 3  # lines of its standard error that the reason quotes


def of_children() -> dict[str, str]:
    """Return the environment in which `python -m polybench.runner.X` finds this checkout."""
    path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


class Pool:
    """Runs jobs, `jobs` at a time; `stop` ends the running ones and starts no more."""

    def __init__(self, jobs: int, timeout: float, command: Sequence[str] = CHILD) -> None:
        self._jobs = max(1, jobs)
        self._timeout = timeout
        self._command = command
        self._stopped = threading.Event()

    def run(self, heads: Sequence[tuple[Row, Row]]) -> Iterator[Row]:
        """Yield the rows of (head, job) in the order in which they end."""
        with ThreadPoolExecutor(self._jobs) as threads:
            futures = [threads.submit(self._one, head, job) for head, job in heads]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                self._stopped.set()

    def _one(self, head: Row, job: Row) -> Row:
        if self._stopped.is_set():
            return {**head, "error": "not started"}
        with tempfile.TemporaryDirectory(prefix="polybench-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            (folder / "job.json").write_text(json.dumps(job))
            started = time.perf_counter()
            reason = self._end(folder)
            row = {**head, **_written(folder / "row.json")}
            if reason:
                row["error"] = reason
            return {**row, "wall_s": round(time.perf_counter() - started, 3)}

    def _end(self, folder: Path) -> str | None:
        """Run the child of one job; why it failed, or None."""
        environment = {**of_children(), "TMPDIR": str(folder)}
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*self._command, str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
            try:
                reason = self._watch(process, folder)
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)  # the compilers that it may have left
                process.wait()
        if reason is not None or process.returncode == 0:
            return reason or (None if (folder / "row.json").exists() else "the child wrote no result")
        said = (folder / "log").read_text(errors="replace").strip().splitlines()[-TAIL:]
        return f"{how_it_ended('child', process.returncode)}{': ' + ' | '.join(said) if said else ''}"

    def _watch(self, process: subprocess.Popen[bytes], folder: Path) -> str | None:
        """Wait for the end; return why it was not waited for. Time spent waiting for the GPU does not count."""
        left, before = self._timeout, time.monotonic()
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(POLL)
                return None
            now = time.monotonic()
            left -= 0 if (folder / "waiting").exists() else now - before
            before = now
            if left <= 0:
                return f"timeout: did not end within {self._timeout:g} s"
            if self._stopped.is_set():
                return "interrupted"


def _written(path: Path) -> Row:
    try:
        row = json.loads(path.read_text())
    except (OSError, json.JSONDecodeError):
        return {}
    return row if isinstance(row, dict) else {}
