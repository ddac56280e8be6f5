"""What a run of the command needs before it compiles: what is wrong with it is refused before any work is done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from polytile.cli.arguments import Request
from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.options import MAX_OPERATIONS, Options
from polytile.runtime.output import check_targets, output_stem
from polytile.settings import read_device_source
from polytile.work_pieces import limit

if TYPE_CHECKING:
    from polytile.tuned_file import TunedFile


@dataclass(frozen=True, slots=True)
class Prepared:
    """The options of the compilation, and the texts of the files that they name."""

    options: Options
    schedules: str | None
    device_source: str
    tuned: TunedFile | None = None


def prepare(request: Request) -> Prepared:
    """Check a request; raises PolytileError for options, files and machines with which it must fail."""
    options = _options(request)
    if request.max_seconds is not None:
        limit(request.max_seconds)
    if request.on == "gpu" and (request.validate or request.build is None):
        from polytile.runtime.engine import on_gpu

        on_gpu("gpu")
    check_targets(_targets(request), Path(request.input))
    return Prepared(
        options,
        None if request.load_schedule is None else _read_schedules(request.load_schedule),
        "" if request.device_source is None else read_device_source(request.device_source),
        None if request.tuned is None else _read_tuned(request.tuned),
    )


def _options(request: Request) -> Options:
    return Options(
        **request.choices.asked,
        max_operations=MAX_OPERATIONS if request.max_operations is None else min(request.max_operations, 2**60),
        cflags=request.cflags,
        parameters=request.parameters,
        specialize=request.specialize,
        min_compute=request.min_compute,
        strict=request.strict,
        atomics=request.atomics,
        verify_passes=request.verify_passes,
        arch=request.arch,
    )


def _targets(request: Request) -> list[Path]:
    """Return the files that will be written, to be refused before any work is done; the input names the others."""
    asked = request.save_schedule, request.certificate, request.draw, request.report, request.build
    named = [name for name in asked if name]
    stem, endings = output_stem(request.input), ["host.c", "kernel.cu", "kernel.h"]
    if request.ranks is not None:
        endings += ["mpi.c", "mpi.h", "mpi_kernel.cu", "mpi_kernel.h"]
    return [*(Path(request.output) / f"{stem}_{ending}" for ending in endings), *(Path(name) for name in named)]


def _read_tuned(name: str) -> TunedFile:
    from polytile.tuned_file import read_tuned_file  # for few commands

    return read_tuned_file(name)


def _read_schedules(name: str) -> str:
    try:
        return Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise UsageError(f"--load-schedule: cannot read {name}: {reason}", hint="name a file that exists") from error
