"""The command under watch: what takes too long, too much memory or crashes is refused, and the rest is compiled."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from polytile import work_pieces
from polytile.cli import watchdog
from polytile.diagnostics import Location, UserError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
# A command whose pieces of work do what their names say.
SCRIPT = """
import os, signal, sys, time
from polytile import work_pieces
from polytile.cli import watchdog
from polytile.diagnostics import Location, UserError

work_pieces.MEGABYTES = 300
def work(name):
    while name.startswith("hang"): pass
    if name == "grow": kept = [bytearray(10_000_000) for _ in range(60)]; time.sleep(20)
    if name == "crash": os.kill(os.getpid(), signal.SIGSEGV)
    return name + " done"

def main():
    work_pieces.limit(int(os.environ.get("LIMIT", "1")))
    for name in sys.argv[1:]:
        try:
            with work_pieces.piece(name, Location("x.c", 3, 1)) as hurried:
                print("easy done" if hurried and name == "hang_first" else work(name), flush=True)
        except UserError as error:
            print(error.message, flush=True)
    if "late" in sys.argv:
        os.kill(os.getpid(), signal.SIGABRT)
    if "killed" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
    if "wait" in sys.argv:
        print("waiting", flush=True)
        time.sleep(60)
    return 7

sys.exit(watchdog.watched(main))
"""


def run(*names: str, limit: int = 1) -> tuple[int, list[str], str]:
    """The status, the lines and the messages of the command, which has `limit` seconds for each piece of work."""
    command, environment = [sys.executable, "-c", SCRIPT, *names], {**os.environ, "LIMIT": str(limit)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_the_status_is_that_of_the_command() -> None:
    assert run("a", "b") == (7, ["a done", "b done"], "")


@pytest.mark.slow
def test_what_hangs_is_refused_and_the_rest_is_done() -> None:
    status, lines, _ = run("a", "hang", "b")
    assert status == 7
    assert lines[-3:] == ["a done", "compiling this takes too long", "b done"]


@pytest.mark.slow
def test_a_second_attempt_is_made_in_haste() -> None:
    assert run("hang_first", "b")[:2] == (7, ["easy done", "b done"])


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell a process's memory")
def test_what_grows_is_refused() -> None:
    status, lines, _ = run("grow", "b", limit=50)  # to fill that much memory can take a busy machine a second
    assert status == 7
    assert lines == ["compiling this takes more than 300 MB of memory", "b done"]


def test_what_crashes_is_refused() -> None:
    status, lines, _ = run("crash", "b")
    assert status == 7
    assert lines[0].startswith("compiling this ends with signal 11")
    assert lines[-1] == "b done"


STRAYING = """
void f(int n, double *x, int *count) {
  unsigned k;
#pragma scop
  for (int i = 0; i < n; i++) { k = x[i] < 100 ? -1 : 0; count[k] += 1; }
#pragma endscop
}
"""


def test_a_crash_of_the_users_c_is_the_users(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(STRAYING)
    command = [sys.executable, "-m", "polytile", "f.c", "--validate", "--on", "emulator"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "f.c:4: error: f_scop0: the C itself ends with signal 11" in done.stderr


def test_a_crash_elsewhere_is_a_bug() -> None:
    status, lines, said = run("a", "late")
    assert (status, lines[0]) == (70, "a done")
    assert "internal error: ended with signal 6" in said


def test_what_a_machine_without_memory_kills_is_no_bug() -> None:
    status, lines, said = run("a", "killed")
    assert (status, lines[0]) == (137, "a done")
    assert "ended with signal 9" in said
    assert "internal error" not in said


@pytest.mark.slow(but=("wait-2-130", "wait-15-143", "hang-15-143"))
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("busy", ["wait", "hang"])
def test_signals_end_the_command_and_its_child(number: int, status: int, busy: str) -> None:
    environment = {**os.environ, "LIMIT": "50"}
    script = SCRIPT.replace("watched(main)", "watched(ended(main))", 1)
    command = [sys.executable, "-c", script, "a", busy]
    command[2] = command[2].replace("def main():", ENDED + "\ndef main():", 1)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.3)
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
    assert process.returncode == status
    assert "Traceback" not in said


ENDED = """
def ended(main):
    def inner():
        try:
            return main()
        except KeyboardInterrupt:
            return 130
        except SystemExit as leaving:
            return leaving.code
    return inner
"""


SHOWN = """
import sys, time
from polytile.cli import progress, watchdog
from polytile.work_pieces import tell_stage

def work():
    for name in ("f_scop0: schedule: tiled", "f_scop0: a name that is longer than the line of a terminal" * 9):
        tell_stage(name)
        time.sleep(0.5)
    tell_stage("")
    progress.clear()
    print("f_scop0: done", file=sys.stderr)
    return 7

progress.PATIENCE = 0.1
sys.exit(watchdog.watched(work))
"""


def test_a_terminal_shows_the_stage_that_takes_long() -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", SHOWN], stdin=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        said = ""
        with contextlib.suppress(OSError):  # as Linux says that nobody writes any more
            while heard := os.read(ours, 4096):
                said += heard.decode()
    os.close(ours)
    assert process.returncode == 7
    lines = said.replace("\x1b[K", "").split("\r")
    assert any(re.fullmatch(r"polytile: \d s: f_scop0: schedule: tiled", line) for line in lines)
    assert any(re.match(r"polytile: \d s: f_scop0: a name", line) for line in lines) and max(map(len, lines)) < 80
    assert lines[-2:] == ["f_scop0: done", "\n"]


def test_without_a_watcher_nothing_is_told() -> None:
    work_pieces.tell_stage("a")
    with work_pieces.piece("a", Location("x.c", 1)):
        pass


def test_a_given_up_piece_is_refused_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_pieces._WATCHER, "given_up", {"a": "too long"})
    with pytest.raises(UserError, match="too long") as refused, work_pieces.piece("a", Location("x.c", 3, 1)):
        raise AssertionError
    assert str(refused.value.location) == "x.c:3:1"
    assert watchdog._named(9).startswith("signal 9")


NEST = "void f(int n, double *A)\n{\n#pragma scop\nLOOPSA[SUM] += 1;\n#pragma endscop\n}\n"
EASY = "void g(int n, double *A)\n{\n#pragma scop\nfor (int i = 0; i < n; i++) A[i] = i;\n#pragma endscop\n}\n"


@pytest.mark.slow
def test_a_scop_that_takes_too_long_leaves_the_others_alone(tmp_path: Path) -> None:
    loops = "".join(f"for (int i{k} = 0; i{k} < n; i{k}++) " for k in range(30))
    nest = NEST.replace("LOOPS", loops).replace("SUM", " + ".join(f"i{k}" for k in range(30)))
    (tmp_path / "deep.c").write_text(nest + EASY)
    command = [sys.executable, "-m", "polytile", "deep.c", "--max-seconds", "2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 1
    assert done.stderr.startswith("deep.c:3:9: error: compiling this takes too long\n")
    assert not (tmp_path / "deep_host.c").exists()
    done = subprocess.run([*command, "--keep-going"], cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0
    assert done.stderr.startswith("deep.c:3:9: warning: compiling this takes too long\n")
    assert "g_scop0" in (tmp_path / "deep_host.c").read_text()
    assert "f_scop0" not in (tmp_path / "deep_host.c").read_text()
