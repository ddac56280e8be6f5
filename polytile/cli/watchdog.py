"""The command under watch: a child process does the work, and what it cannot do in bounded time and memory is refused.

before: polytile f.c         where the analysis of f_scop1 would take hours
after:  f.c:30:9: error: compiling this takes too long; the other SCoPs of the file are compiled
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from polytile import work_pieces
from polytile.cli.main import main
from polytile.cli.progress import Progress
from polytile.dataclass import dataclass
from polytile.diagnostics import EXIT_BUG, EXIT_USER
from polytile.recursion_limit import deep_recursion

_STACK = 100 * 2**20  # bytes; Linux keeps a little more free below a stack
_TICK = 0.2  # seconds between two looks at the child
_PATIENCE = 0.5  # seconds for a child that the terminal interrupted, too, to end by itself
_ANALYSIS_ENDS = 1.0  # seconds that an analysis has to end after a signal; it leaves nothing behind
_COMPILERS_END = 10.0  # seconds that everything else has
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE)  # of C that breaks C's rules
_SMALLER = "give smaller sizes with --param, or more memory"
_DEFINED = "give sizes with --param for which the sequential C is defined; its other inputs are random"


FEW_COLLECTIONS = 1_000_000  # objects between collections: a command is short, and hardly makes cycles


def guarded_main() -> int:
    """Run the command, its work in a child process; returns the exit status."""
    gc.set_threshold(FEW_COLLECTIONS, 20, 20)
    return main(watched=watched)


def watched(work: Callable[[], int]) -> int:
    """Do `work` in a child process, once more without each piece that takes too long, and return its exit status.

    `work` prints what it has to say when its pieces are done, and nothing else happens in this process meanwhile.
    """
    if not hasattr(os, "fork"):
        return work()
    hurried: set[str] = set()
    given_up: dict[str, str] = {}
    progress = Progress()
    while True:
        child = _Child.start(work, hurried, given_up, progress)
        status = child.wait()
        stuck = child.stuck(status)
        if stuck is None or stuck in given_up:
            return child.exit_status(status)
        if stuck in hurried:
            given_up[stuck] = child.reason or f"compiling this ends with {_named(-status)}"
        hurried.add(stuck)


def _named(number: int) -> str:
    return f"signal {number} ({signal.strsignal(number) or 'unknown'})"


@dataclass(slots=True)
class _Child:
    """The process that works; `piece` is what it is busy with, `reason` why it was ended."""

    pid: int
    pipe: int
    progress: Progress
    piece: str | None = None
    seconds: int = 0
    began: float = 0.0
    reason: str = ""
    unread: bytes = b""
    running: tuple[str, str] | None = None  # the user's own C: its place, and its name
    signal: int = 0  # that was passed on to the child
    deadline: float = 0.0  # for the child to end after that

    @classmethod
    def start(
        cls, work: Callable[[], int], hurried: set[str], given_up: dict[str, str], progress: Progress
    ) -> _Child:
        reader, writer = os.pipe()
        _flush()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            work_pieces.watched(lambda text: _tell(writer, text), hurried, given_up)
            signal.signal(signal.SIGTERM, _terminated)
            _allow_deep_recursion()
            end_process(_status(work))  # without going back through the frames that it has from its parent
        os.close(writer)
        return cls(pid, reader, progress)

    def wait(self) -> int:
        """Wait for the end of the child, or end it; returns its status, negative for a signal."""
        with _Forwarding(self):
            while not (self._listen() or self.gone()):
                self._check()
            self._listen()  # what it said last
            self.progress.turn_to("")
            status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.pipe)
        return status

    def gone(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def stuck(self, status: int) -> str | None:
        """Return the piece of work that the child did not survive, or None."""
        return self.piece if status < 0 and not self.signal else None

    def exit_status(self, status: int) -> int:
        """Return the exit status that a shell would give, and print what ended the child."""
        if status >= 0:
            return status
        if self.signal or -status in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            return 128 + (self.signal or -status)
        if self.running is not None and -status in _CRASHES:
            place, name = self.running
            what = f"the C itself ends with {_named(-status)}: it leaves its arrays, or divides by zero"
            print(f"{place}: error: {name}: {what}\n  note: {_DEFINED}", file=sys.stderr)
            return EXIT_USER
        if -status == signal.SIGKILL:  # by nobody here
            said = f"ended with {_named(-status)}, as where the machine has no memory left"
            print(f"polytile: error: {said}\n  note: {_SMALLER}", file=sys.stderr)
            return 128 + signal.SIGKILL
        print(f"polytile: error: internal error: ended with {_named(-status)}", file=sys.stderr)
        return EXIT_BUG

    def send(self, number: int) -> None:
        """Send a signal to the child; a child that is too busy to hear it is ended a little later."""
        self.signal = number
        self.deadline = time.monotonic() + (_COMPILERS_END if self.piece is None else _ANALYSIS_ENDS)
        os.kill(self.pid, number)

    def _listen(self) -> bool:
        """Read what the child announces and return whether it is gone."""
        if not select.select([self.pipe], [], [], _TICK)[0]:
            return False
        heard = os.read(self.pipe, 65536)
        *lines, self.unread = (self.unread + heard).split(b"\n")
        for line in lines:
            word, *rest = os.fsdecode(line).split("\t", 2)
            if word == "stage":
                self.progress.turn_to(rest[0])
                continue
            self.piece = rest[1] if word == "begin" else None
            self.seconds = int(rest[0]) if word == "begin" else 0
            self.running = (rest[0], rest[1]) if word == "runs" else None
            self.began = _processor_time(self.pid)
        return not heard

    def _check(self) -> None:
        self.progress.show()
        if self.signal and time.monotonic() > self.deadline:
            os.kill(self.pid, signal.SIGKILL)
        if self.piece is None or self.seconds == 0 or self.reason:
            return
        if _processor_time(self.pid) - self.began > self.seconds:
            self.reason = "compiling this takes too long"
        elif _megabytes(self.pid) > work_pieces.MEGABYTES:
            self.reason = f"compiling this takes more than {work_pieces.MEGABYTES} MB of memory"
        if self.reason:
            os.kill(self.pid, signal.SIGKILL)


def _status(work: Callable[[], int]) -> int:
    try:
        with deep_recursion():
            return work()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else EXIT_BUG
    except BaseException:
        import traceback

        traceback.print_exc()
        return EXIT_BUG


def end_process(status: int) -> NoReturn:
    """End this process, with what is to be done at its end."""
    atexit._run_exitfuncs()
    _flush()
    os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


def _allow_deep_recursion() -> None:
    """Raise the soft limit of the stack: Python's recursion needs the system's stack in places, and the limit is there
    for runaway programs."""
    import resource  # where there is fork, there is this

    _, most = resource.getrlimit(resource.RLIMIT_STACK)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_STACK, (_STACK if most < 0 else min(_STACK, most), most))


def _tell(pipe: int, text: str) -> None:
    with contextlib.suppress(OSError):  # nobody may watch any more
        os.write(pipe, os.fsencode(text.replace("\n", " ") + "\n"))


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    """Exit on SIGTERM as on SIGINT: temporary files are removed on the way."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(128 + signal.SIGTERM)


class _Forwarding:
    """Hands signals on to a child, which ends and says how."""

    def __init__(self, child: _Child) -> None:
        self.child = child
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> None:
        for number, handler in ((signal.SIGINT, self._interrupt), (signal.SIGTERM, self._forward)):
            self.before[number] = signal.signal(number, handler)

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        self.child.send(number)

    def _interrupt(self, number: int, _frame: FrameType | None) -> None:
        """Pass a signal on: a terminal interrupts the child, too; `kill` interrupts this process alone."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until and not self.child.gone():
            time.sleep(0.01)
        self.child.send(number)


def _processor_time(pid: int) -> float:
    """Return the seconds of processor time of a process where the system tells, else wall time."""
    try:
        return time.clock_gettime(((~pid) << 3) | 2)  # Linux: the clock of that process
    except OSError:
        return time.monotonic()


def _megabytes(pid: int) -> float:
    """Return the memory of a process in megabytes where the system tells, else 0."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, IndexError, ValueError):
        return 0.0
