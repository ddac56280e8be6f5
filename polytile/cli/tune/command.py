"""`polytile tune FILE.c --param N=V`: measure what the SCoPs of a file may be, and write down what is fastest."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from polytile.cli import progress
from polytile.cli.report import Report
from polytile.cli.tune.arguments import TuneRequest, parse
from polytile.diagnostics import (
    EXIT_DONE,
    DeviceError,
    InternalError,
    NothingRunsError,
    OpaqueCallError,
    PolytileError,
    UsageError,
    UserError,
)

if TYPE_CHECKING:
    from polytile.api import Program
    from polytile.autotuning.scop_search import Measuring, Searched
    from polytile.autotuning.search.search import Search
    from polytile.autotuning.space import Point, Space
    from polytile.autotuning.tuner import Observer
    from polytile.autotuning.workload import Workload
    from polytile.choices import Choices
    from polytile.compiled_scop import CompiledScop
    from polytile.options import Options

EXIT_INTERRUPTED = 130


def main(words: Sequence[str]) -> int:
    """Run the command; returns the exit status. Errors are messages, or in the object of --json; raises InternalError
    for bugs."""
    report = Report(as_json="--json" in words)
    try:
        request = parse(words)
        report.quiet = request.quiet
        status = run(request, report)
    except InternalError:
        raise
    except PolytileError as error:
        report.diagnostic(error.diagnostic)
        status = error.exit_status
    report.finish(status)
    return status


def run(request: TuneRequest, report: Report) -> int:
    """Tune each SCoP that was asked for and return the exit status. Raises PolytileError for what ends the run."""
    from polytile.runtime.output import check_targets

    check_targets([p for p in (request.record, request.output, request.report) if p is not None], Path(request.input))
    program = compiled(request, report)
    workloads = [(workload(request, program, scop), scop) for scop in chosen(request, program)]
    require_gpu()
    found: list[Searched] = []
    status = EXIT_DONE
    try:
        for one in _searched(request, report, workloads):
            found.append(one)
    except PolytileError as error:
        if not found:
            raise
        report.diagnostic(error.diagnostic)  # what others have found is written all the same
        status = error.exit_status
    _finish(request, report, program, found)
    return EXIT_INTERRUPTED if found[-1].tuned.interrupted else status


def options(request: TuneRequest) -> Options:
    """Return the options of all compilations, with the sizes that were given, for the GPU of this machine if there is
    one."""
    from polytile.options import Options
    from polytile.runtime.driver import driver_arch

    return Options(
        cflags=request.cflags,
        parameters=dict(request.parameters),
        strict=request.strict,
        atomics=request.atomics,
        arch=driver_arch() or Options().arch,
    )


def device_text(request: TuneRequest) -> str:
    """Return the CUDA that defines functions with access summaries."""
    from polytile.settings import read_device_source

    return "" if request.device_source is None else read_device_source(request.device_source)


def compiled(request: TuneRequest, report: Report) -> Program:
    """Compile the file as the compiler would by itself; SCoPs that are refused are warnings."""
    from polytile.api import compile_file

    program = compile_file(
        request.input,
        options=options(request),
        defines=request.defines,
        include_dirs=[Path(d) for d in request.include_dirs],
        autodetect=request.autodetect,
        device_source=device_text(request),
    )
    for refusal in program.refusals:
        if not isinstance(refusal, NothingRunsError | OpaqueCallError):
            report.diagnostic(replace(refusal.diagnostic, severity="warning"))
    return program


def chosen(request: TuneRequest, program: Program) -> Sequence[CompiledScop]:
    """Return the SCoP that is named, or all that have kernels. Raises UserError where there are none."""
    scops = [program[request.scop]] if request.scop is not None else program.scops
    found = [scop for scop in scops if scop.program is not None]
    if not found:
        what = "no SCoP has kernels" if request.scop is None else f"{request.scop} has no kernels"
        raise UserError(
            f"{request.input}: {what}, so that there is nothing to tune",
            hint=f"polytile {request.input} --explain says what keeps loops serial",
        )
    return found


def workload(request: TuneRequest, program: Program, scop: CompiledScop) -> Workload:
    """Return what is tuned. Raises UsageError where sizes are missing."""
    from polytile.autotuning.workload import Workload

    return Workload(
        path=request.input,
        scop=scop.name,
        sizes=sizes(request, scop),
        defines=request.defines,
        include_dirs=request.include_dirs,
        options=replace(options(request), parameters={}),
        autodetect=request.autodetect,
        device_source=device_text(request),
    )


def sizes(request: TuneRequest, scop: CompiledScop) -> Mapping[str, int]:
    """Return the values of all parameters of a SCoP, products of others included. Raises UsageError where some are
    missing."""
    from polytile.runtime.parameters import with_products

    source = scop.compilation.source
    given = {p.name: request.parameters[p.name] for p in source.parameters if p.name in request.parameters}
    values = with_products(source, given)
    products = {name for name, _ in source.products}
    missing = [p.name for p in source.parameters if p.name not in values]
    if missing:
        asked = [name for name in missing if name not in products] or missing
        raise UsageError(
            f"{scop.name}: a time is one at given sizes, and there is no value of {' and '.join(asked)}",
            hint=f"add {' '.join(f'--param {name}=N' for name in asked)}, with the sizes that matter to you",
        )
    return {p.name: values[p.name] for p in source.parameters}


def require_gpu() -> None:
    """Raise DeviceError where nothing can be measured."""
    from polytile.runtime.cupy_engine import cupy_available
    from polytile.runtime.driver import driver_arch

    if driver_arch() is None or not cupy_available():
        missing = "no GPU that the NVIDIA driver can use" if driver_arch() is None else "no CuPy that can use it"
        raise DeviceError(
            f"times are measured on a GPU, and there is {missing}",
            hint="an NVIDIA GPU with its driver and CuPy are needed (pip install 'polytile[cuda]')",
        )


def evaluator(request: TuneRequest, one: Workload, choices: Callable[[Point], Choices]) -> Measuring:
    """Return the evaluator that measures points on the GPU."""
    from polytile.autotuning.gpu_evaluator import GpuEvaluator

    return GpuEvaluator(one, choices, width=request.jobs)


def _searched(
    request: TuneRequest, report: Report, workloads: Sequence[tuple[Workload, CompiledScop]]
) -> Iterator[Searched]:
    """Search one SCoP after another, until Ctrl-C."""
    from polytile.autotuning.gpu_evaluator import most_workers
    from polytile.autotuning.scop_search import Plan, search_scop
    from polytile.autotuning.tuner import Budget
    from polytile.cli.tune.display import show
    from polytile.cli.tune.results import summary

    budget = Budget(request.evaluations, request.seconds)
    jobs = request.jobs or most_workers()
    plan = Plan(request.record, request.spaces, request.search, budget, request.seed, jobs)
    for one, scop in workloads:
        if is_live(report):
            show(f"{one.scop}: looking for kernels to choose from")
        found = search_scop(one, scop, plan, partial(evaluator, request), partial(_display, report, one))
        for remark in found.remarks:
            report.diagnostic(remark)
        report.text("\n".join(summary(found)))
        yield found
        if found.tuned.interrupted:
            return


def is_live(report: Report) -> bool:
    """Return whether the terminal shows a line that changes."""
    return progress.is_shown() and not (report.as_json or report.quiet)


def _display(report: Report, workload: Workload, space: Space, search: Search) -> Observer:
    """Return what shows a search: on a terminal a line that changes, else a line for each evaluation."""
    from polytile.autotuning.tuner import Observer
    from polytile.cli.tune.display import Display

    if report.as_json or report.quiet:
        return Observer()
    live = is_live(report)
    if live:
        progress.clear()
    values = " ".join(f"{name}={value}" for name, value in workload.sizes.items())
    report.line(f"{workload.scop}: {search.description}{f'; {values}' * bool(values)}")
    lines = None if live and sys.stdout.isatty() else partial(print, flush=True)
    return Display(workload.scop, len(space.points), lines, live)


def _finish(request: TuneRequest, report: Report, program: Program, found: Sequence[Searched]) -> None:
    """Write the files, and say how to go on."""
    from polytile.autotuning.report import page
    from polytile.cli.tune.results import facts, next_command
    from polytile.runtime.output import write_outputs

    texts = {request.output: result_text(request, found)}
    if request.report is not None:
        texts[request.report] = page([one.history for one in found])
    write_outputs(texts)
    names = [str(path) for path in texts]
    command = next_command(request, program.text, program.options.arch)
    report.text(f"wrote {', '.join(names)}; all that was measured is in {request.record}")
    report.text(f"next: {command}")
    report.add(input=request.input, scops=facts(found), files=names, record=str(request.record), next=command)


def result_text(request: TuneRequest, found: Sequence[Searched]) -> str:
    """Return the text of the result file, with what it has of other SCoPs already."""
    from polytile.autotuning.tuned import result_file, tuned_entry

    entries = [tuned_entry(one.workload, one.choices, one.tuned, request.record) for one in found]
    return result_file(request.output, entries, found[-1].conditions, found[-1].workload.options.arch).to_text()
