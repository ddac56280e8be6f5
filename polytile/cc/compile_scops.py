"""Polytile's own part: the host file and the kernels of one source, in a process that is watched over.

before: blur.c
after:  FOLDER/blur_host.c, FOLDER/blur_kernel.cu, FOLDER/blur_kernel.h; or none, where all of it stays C
"""

from __future__ import annotations

import os
import sys
import traceback
from dataclasses import replace
from pathlib import Path

from polytile.cc.call import Call
from polytile.cc.messages import CompilerReport, rendered
from polytile.cc.own_options import Settings, as_own
from polytile.cc.ranks import Driver
from polytile.cli.arguments import Request, parse
from polytile.cli.watchdog import watched
from polytile.dataclass import dataclass
from polytile.diagnostics import (
    BUGS,
    EXIT_DONE,
    EXIT_USER,
    Diagnostic,
    InternalError,
    NoScopError,
    PolytileError,
    UsageError,
    UserError,
    described,
    is_bug,
)

# Options that change what the preprocessor makes of a source. Those with a path get an absolute one: the preprocessor
# runs in the folder of the source.
_WITH_PATHS = frozenset(("-isystem", "-iquote", "-idirafter", "-include", "-imacros"))


@dataclass(frozen=True, slots=True)
class Kernels:
    """What was made of a source: the exit status, and the two texts, or None where the source stays as it is; and what
    runs its SCoPs on ranks, where that is asked for and can be."""

    status: int
    host: Path | None = None
    unit: Path | None = None
    driver: Driver | None = None


def compile_scops(source: str, call: Call, settings: Settings, host: str, folder: Path) -> Kernels:
    """Compile the SCoPs of one source with a command line's macros and folders; messages go to standard error."""
    status = watched(lambda: _work(source, call, settings, host, folder))
    made = sorted(folder.glob("*_host.c"))
    if status != EXIT_DONE or not made or made[0].read_bytes() == Path(source).read_bytes():  # no SCoP was replaced
        return Kernels(status)
    unit = made[0].with_name(made[0].name.removesuffix("_host.c") + "_kernel.cu")
    return Kernels(status, made[0], unit, Driver.beside(made[0]))


def request(source: str, call: Call, settings: Settings, host: str, folder: Path) -> Request:
    """Return what the command would be asked for. Raises UsageError for a wrong value of an option."""
    try:
        asked = parse([f"./{source}" if source.startswith("-") else source, "-o", str(folder), *settings.words])
    except UsageError as error:
        raise UsageError(as_own(error.message), hint=as_own(error.hint) if error.hint else None) from None
    return replace(
        asked,
        include_dirs=tuple(a.value for a in call.arguments if a.option == "-I"),
        defines=_defines(call),
        cflags=tuple(word for word in call.cflags if not word.startswith("-fdiagnostics")),
        on="emulator" if settings.on == "emulator" else "auto",
        managed=settings.managed,
        keep_going=True,
        preprocessor=host,
        preprocessor_flags=tuple(_preprocessor_flags(call)),
    )


def _defines(call: Call) -> tuple[str, ...]:
    """Return the macros that remain defined after all `-D` and `-U`, in their order."""
    found: dict[str, str] = {}
    for a in call.arguments:
        name = a.value.partition("=")[0].partition("(")[0]
        if a.option in ("-D", "-U"):
            found.pop(name, None)
        if a.option == "-D":
            found[name] = a.value
    return tuple(found.values())


def _preprocessor_flags(call: Call) -> list[str]:
    flags: list[str] = []
    for a in call.arguments:
        if a.option in _WITH_PATHS:
            flags += [a.option, os.path.abspath(a.value) if os.path.exists(a.value) else a.value]
        elif a.option == "-U":
            flags += a.given
    return flags


def _work(source: str, call: Call, settings: Settings, host: str, folder: Path) -> int:
    """Compile; whatever goes wrong with the source leaves it to the host compiler, with a warning."""
    try:
        asked = request(source, call, settings, host, folder)
        report = CompilerReport(warn=settings.warn, fatal=settings.fatal, quiet=True, verbose=asked.verbose)
    except PolytileError as error:
        print(rendered(error.diagnostic, "error"), file=sys.stderr)
        return error.exit_status
    status = _run(asked, report)
    return status or (EXIT_USER if report.failed else EXIT_DONE)


def _run(asked: Request, report: CompilerReport) -> int:
    from polytile.cli.cached_compilation import run

    try:
        return run(asked, report)
    except NoScopError:  # its pragmas are in a comment, or in code that this call leaves out
        return EXIT_DONE
    except RecursionError:
        report.diagnostic(Diagnostic("warning", "something in this file is nested too deeply for polytile"))
        return EXIT_DONE
    except Exception as error:
        if isinstance(error, PolytileError) and not isinstance(error, UserError | InternalError):
            report.diagnostic(replace(error.diagnostic, message=as_own(error.message)))
            return error.exit_status
        if isinstance(error, UserError):
            report.diagnostic(replace(error.diagnostic, severity="warning"))
            return EXIT_DONE
        if not is_bug(error):
            raise
        if report.verbose:
            traceback.print_exc()
        report.diagnostic(Diagnostic("warning", f"internal error: {described(error)}", hint=BUGS))
        return EXIT_DONE
