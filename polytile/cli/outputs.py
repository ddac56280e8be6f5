"""The files that a run of the command leaves, and what of them cannot be made."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from polytile.cli.arguments import Request
from polytile.cli.report import Report
from polytile.diagnostics import BUGS, Diagnostic, PolytileError, described
from polytile.runtime.output import write_outputs

SCHEDULES, CERTIFICATE, PICTURE, REPORT = "schedule file", "certificate", "picture", "report"
_Made = TypeVar("_Made")


def nothing_written(report: Report, status: int) -> int:
    """Say of a SCoP that is refused what comes of it: a file newer than its source would let the next `make` go on."""
    report.line("nothing was written; with --keep-going a SCoP that is refused stays C in what is written")
    return status


def write(request: Request, report: Report, files: Mapping[str, str], beside: Mapping[str, Callable[[], str]]) -> None:
    """Write the files of kernels, by their names, and what is asked for beside them, all or none."""
    folder = "" if request.output == "." else request.output
    texts = {Path(request.output) / name: text for name, text in files.items()}
    names = [os.path.join(folder, name) for name in files]
    asked = request.save_schedule, request.certificate, request.draw, request.report
    for what, name in zip((SCHEDULES, CERTIFICATE, PICTURE, REPORT), asked, strict=True):
        if name is not None and (text := beside_kernels(request, report, what, beside[what])) is not None:
            texts[Path(name)] = text
            names.append(name)
    with report.stage("write"):
        write_outputs(texts)
    report.add(files=names)
    report.line("wrote " + ", ".join(names))


def or_warning(request: Request, report: Report, what: str, make: Callable[[], _Made]) -> _Made | None:
    """Make something that is said of the kernels, or warn and return None where it fails: that never costs the
    kernels."""
    try:
        return make()
    except PolytileError as error:
        found = replace(error.diagnostic, severity="warning")
    except Exception as error:
        found = Diagnostic("warning", f"internal error: {described(error)}", hint=BUGS)
        if request.verbose:
            import traceback

            traceback.print_exc(file=sys.stderr)
    report.diagnostic(replace(found, message=f"no {what}: {found.message}"))
    return None


def beside_kernels(request: Request, report: Report, what: str, make: Callable[[], str]) -> str | None:
    """Make a text that is a stage of its own; a failure is a warning, and gives None."""
    with report.stage(what):
        return or_warning(request, report, what, make)
