"""Processes of jobs: what crashes, hangs or is killed is one failed row."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from polybench.runner.pool import Pool
from polybench.runner.rows import Row, head

HEAD = head("tiny/scale", "double", "classic", "mini", "cpu")


def one(code: str, *, timeout: float = 30.0) -> Row:
    """The row of a child that runs `code`, with its folder as `folder`."""
    prelude = "import json, os, pathlib, sys, time, signal, subprocess; folder = pathlib.Path(sys.argv[1])\n"
    (row,) = Pool(1, timeout, [sys.executable, "-c", prelude + code]).run([(HEAD, {"number": 3})])
    return row


def test_the_row_of_a_child() -> None:
    row = one("n = json.loads((folder / 'job.json').read_text()); (folder / 'row.json').write_text(json.dumps(n))")
    assert {**HEAD, "number": 3}.items() <= row.items()
    assert "error" not in row and row["wall_s"] > 0


def test_a_killed_child() -> None:
    assert one("os.kill(os.getpid(), signal.SIGKILL)")["error"] == "the child was killed by SIGKILL"
    assert "SIGSEGV" in one("os.kill(os.getpid(), signal.SIGSEGV)")["error"]


def test_a_child_that_fails_or_says_nothing() -> None:
    assert one("print('out of luck'); sys.exit(9)")["error"] == "the child ended with status 9: out of luck"
    assert one("pass")["error"] == "the child wrote no result"
    assert one("(folder / 'row.json').write_text('{')").get("kernels") is None


def test_a_timeout_ends_the_whole_group(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = f"p = subprocess.Popen(['sleep', '60']); pathlib.Path({str(pid)!r}).write_text(str(p.pid)); time.sleep(60)"
    started = time.monotonic()
    row = one(code, timeout=1.0)
    assert row["error"] == "timeout: did not end within 1 s"
    assert time.monotonic() - started < 10
    for _ in range(50):
        if not alive(int(pid.read_text())):
            return
        time.sleep(0.1)
    pytest.fail("a grandchild lives on")


def alive(pid: int) -> bool:
    """Whether a process runs: a zombie that nobody waited for does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def test_waiting_for_the_gpu_is_not_counted() -> None:
    code = "(folder / 'waiting').touch(); time.sleep(1.2); (folder / 'waiting').unlink()\n"
    code += "(folder / 'row.json').write_text('{}')"
    assert "error" not in one(code, timeout=0.9)


def test_what_was_found_before_the_failure_is_kept() -> None:
    row = one("(folder / 'row.json').write_text('{\"kernels\": 2}'); os.kill(os.getpid(), signal.SIGABRT)")
    assert row["kernels"] == 2
    assert row["error"] == f"the child was killed by {signal.SIGABRT.name}"


def test_one_failure_does_not_end_the_others() -> None:
    code = (
        "import json, os, pathlib, sys; f = pathlib.Path(sys.argv[1]); j = json.loads((f / 'job.json').read_text())\n"
    )
    code += "os.abort() if j['n'] == 1 else (f / 'row.json').write_text(json.dumps(j))"
    found = list(Pool(2, 30, [sys.executable, "-c", code]).run([(HEAD, {"n": n}) for n in range(4)]))
    assert sorted(r.get("n", -1) for r in found) == [-1, 0, 2, 3]
    assert sum("error" in r for r in found) == 1
