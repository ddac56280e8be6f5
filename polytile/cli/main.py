"""`polytile INPUT.c --target cuda`: the command.

Results go to standard output, messages to standard error. Nothing heavy is imported before the command line is known
to be right, so that `--version` and wrong usage are answered at once.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from polytile.cli.arguments import Request, parse
from polytile.diagnostics import (
    BUGS,
    EXIT_BUG,
    EXIT_DEVICE,
    EXIT_DONE,
    EXIT_USER,
    Diagnostic,
    InternalError,
    PolytileError,
    described,
)
from polytile.work_pieces import tell_stage

if TYPE_CHECKING:
    from polytile.cli.report import Report

# Words that may stand first instead of a file, and the modules whose `main(words)` then runs (a file: ./check).
SUBCOMMANDS = {
    "cc": "polytile.cc.command",
    "check": "polytile.check.command",
    "fuzz": "polytile.fuzz.command",
    "tune": "polytile.cli.tune.command",
}
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


def main(arguments: Sequence[str] | None = None, watched: Callable[[Callable[[], int]], int] | None = None) -> int:
    """Run the command; returns the exit status. `watched` does the work of a right command line, and returns its
    status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    open_streams()
    status = _ended(lambda: _main(words, watched or (lambda work: work())))
    return _ended(lambda: _flushed(status))


def _flushed(status: int) -> int:
    """Write what was said, and return the exit status."""
    sys.stdout.flush()
    return status


def _ended(work: Callable[[], int]) -> int:
    """Return the exit status of some work, also where it ends by what says nothing of polytile."""
    try:
        return work()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:  # standard output is full
        print(f"polytile: error: cannot write: {error.strerror or error}", file=sys.stderr)
        _forget_output()
        return EXIT_DEVICE
    except SystemExit as leaving:  # --help and --version
        return leaving.code if isinstance(leaving.code, int) else EXIT_DONE


def _main(words: Sequence[str], watched: Callable[[Callable[[], int]], int]) -> int:
    if words and words[0] in SUBCOMMANDS:
        return _subcommand(SUBCOMMANDS[words[0]], words[1:])
    try:
        request = parse(words)
    except PolytileError as error:
        if "--json" in words:
            _json_report(error).finish(error.exit_status)
        else:
            print(error, file=sys.stderr)
        return error.exit_status
    return watched(lambda: _ended(lambda: _run(request)))


def _subcommand(module: str, words: Sequence[str]) -> int:
    """Run another command of polytile's; like the main one, it raises PolytileError for what ends it."""
    try:
        return int(importlib.import_module(module).main(words))
    except InternalError as error:
        print(f"polytile: internal error: {error.message}\n  note: {BUGS}", file=sys.stderr)
        return EXIT_BUG
    except PolytileError as error:
        print(error, file=sys.stderr)
        return error.exit_status


def _json_report(error: PolytileError) -> Report:
    from polytile.cli.report import Report

    report = Report(as_json=True)
    report.diagnostic(error.diagnostic)
    return report


def _run(request: Request) -> int:
    from polytile.cli.report import Report

    report = Report(as_json=request.json, quiet=request.quiet, verbose=request.verbose)
    report.watch_stages(tell_stage)
    status = _guarded(request, report)
    report.finish(status)
    sys.stdout.flush()
    return status


def _guarded(request: Request, report: Report) -> int:
    """Run, and turn every exception into a message and an exit status."""
    try:
        from polytile.cli.cached_compilation import run

        return run(request, report)
    except InternalError as error:
        return _bug(request, report, error)
    except PolytileError as error:
        report.diagnostic(error.diagnostic)
        return error.exit_status
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except OSError as error:
        what = f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
        report.diagnostic(
            Diagnostic("error", what, hint="this comes from the machine: its memory, disk or permissions")
        )
        return EXIT_DEVICE
    except RecursionError:
        hint = "split the expression or the nest that is nested this deeply"
        report.diagnostic(Diagnostic("error", "something in this file is nested too deeply", hint=hint))
        return EXIT_USER
    except Exception as error:
        return _bug(request, report, error)


def _bug(request: Request, report: Report, error: Exception) -> int:
    """Say what to report; only -v shows where in polytile it happened."""
    if request.verbose:
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    message = f"internal error: {described(error)}"
    report.diagnostic(Diagnostic("error", message, hint=f"{BUGS}; -v shows where it happened"))
    return EXIT_BUG


def open_streams() -> None:
    """Make standard streams usable: one that is closed leads nowhere, and names may hold what no encoding has."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - for the life of the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _forget_output() -> None:
    """Keep Python from complaining when it flushes standard output that nobody reads any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
