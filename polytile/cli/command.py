"""One run of the command: read, compile, say what was done, run, write, build."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from polytile.api import CompiledScop, Program, compile_file, output_stem
from polytile.cli.arguments import PASSES, PLAN, Request
from polytile.cli.json_facts import scop_facts, validation_facts
from polytile.cli.report import Report, as_object, say_reasons
from polytile.codegen.passes.driver import pass_names
from polytile.dataclass import dataclass
from polytile.diagnostics import (
    BUGS,
    EXIT_DONE,
    EXIT_VALIDATION,
    Diagnostic,
    FindingsError,
    InternalError,
    NoScopError,
    NothingRunsError,
    OpaqueCallError,
    PolytileError,
    UsageError,
    UserError,
    ValidationError,
    described,
)
from polytile.options import MAX_OPERATIONS, Options
from polytile.runtime.output import check_targets, write_outputs
from polytile.settings import read_device_source
from polytile.work_pieces import limit

if TYPE_CHECKING:
    from polytile.ir.scop import Scop
    from polytile.runtime.emulator.counts import Counts
    from polytile.runtime.validate import Validation


_Made = TypeVar("_Made")
_ON_HOST = ": it stays on the host, with the loops around it"


def run(request: Request, report: Report) -> int:
    """Do what was asked; returns the exit status. Raises PolytileError for what ends the run."""
    options = _options(request)
    if request.max_seconds is not None:
        limit(request.max_seconds)
    if request.on == "gpu" and (request.validate or request.build is None):
        from polytile.runtime.engine import on_gpu

        on_gpu("gpu")
    check_targets(_targets(request), Path(request.input))
    dumps = _Dumps(request, report)
    with report.stage("compile"):
        try:
            program = _compile(request, options, dumps)
        except NoScopError as error:
            say_reasons(report, error.reasons)
            raise
    status = _say_what_was_done(request, report, program)
    dumps.finish()
    if request.validate and not _validate(request, report, program):
        report.line("nothing was written")
        return EXIT_VALIDATION
    if status != EXIT_DONE:  # a file that is newer than its source would let the next `make` go on
        report.line("nothing was written; with --keep-going a SCoP that is refused stays C in what is written")
        return status
    if request.build is not None:  # first: a build that fails leaves no other file either
        _build(request, report, program, request.build)
    try:
        _write(request, report, program)
    except BaseException:
        if request.build is not None:
            Path(request.build).unlink(missing_ok=True)
        raise
    return status


def _build(request: Request, report: Report, program: Program, executable: str) -> None:
    from polytile.execution import build_place

    place = build_place(request.on)
    with report.stage("build"):
        program.build(executable, on=place, link=request.link, managed=request.managed)
    report.add(executable=executable, built_for=place)
    if place == "gpu":
        how = f"with nvcc, for {request.arch}"
    elif request.on == "auto":
        how = "for the emulator, which runs the kernels on this machine's CPU, slowly: nvcc was not found"
    else:
        how = "for the emulator, which runs the kernels on this machine's CPU, slowly"
    report.line(f"built {executable} {how}")


def _options(request: Request) -> Options:
    return Options(
        schedule=request.schedule,
        tile=request.tile,
        time_tile=request.time_tile,
        points=request.points,
        block=request.block,
        sizes=request.sizes,
        max_shared_memory=request.max_shared_memory,
        max_operations=MAX_OPERATIONS if request.max_operations is None else min(request.max_operations, 2**60),
        cflags=request.cflags,
        parameters=request.parameters,
        specialize=request.specialize,
        min_compute=request.min_compute,
        strict=request.strict,
        atomics=request.atomics,
        order=request.order,
        registers=request.registers,
        disable_pass=request.disable_pass,
        graphs=request.graphs,
        verify_passes=request.verify_passes,
        arch=request.arch,
    )


def _targets(request: Request) -> list[Path]:
    """Files that will be written, to be refused before any work is done; the input names the others."""
    asked = request.save_schedule, request.certificate, request.draw, request.report, request.build
    named = [name for name in asked if name]
    stem, endings = output_stem(request.input), ("host.c", "kernel.cu", "kernel.h")
    return [*(Path(request.output) / f"{stem}_{ending}" for ending in endings), *(Path(name) for name in named)]


def _read_schedules(name: str) -> str:
    try:
        return Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise UsageError(f"--load-schedule: cannot read {name}: {reason}", hint="name a file that exists") from error


def _compile(request: Request, options: Options, dumps: _Dumps) -> Program:
    load = request.load_schedule
    return compile_file(
        request.input,
        options=options,
        defines=request.defines,
        include_dirs=[Path(d) for d in request.include_dirs],
        autodetect=request.autodetect,
        schedules=None if load is None else _read_schedules(load),
        schedules_file=load or "",
        observe=dumps.observe if request.dump else None,
        preprocessor=request.preprocessor,
        preprocessor_flags=request.preprocessor_flags,
        device_source="" if request.device_source is None else read_device_source(request.device_source),
        managed=request.managed,
    )


@dataclass(slots=True)
class _Dumps:
    """Collects the stages that --dump asks for as the pipeline reports them."""

    request: Request
    report: Report
    texts: dict[str, dict[str, str]] = field(default_factory=dict)
    failed: set[tuple[str, str]] = field(default_factory=set)  # which are tried no more

    def observe(self, scop: str, stage: str, result: object) -> None:
        for asked in self.request.dump:
            with_kernels = asked == PLAN or asked in pass_names()
            if stage == ("ast" if with_kernels else asked) and (scop, asked) not in self.failed:
                self._keep(scop, asked, result)

    def _keep(self, scop: str, asked: str, result: object) -> None:
        from polytile.cli.dump import dump

        text = _or_warning(self.request, self.report, f"dump of {asked} of {scop}", partial(dump, asked, result))
        if text is None:
            self.failed.add((scop, asked))
        elif text:
            self.texts.setdefault(scop, {})[asked] = text

    def finish(self) -> None:
        if PASSES in self.request.dump:
            from polytile.cli.dump import passes

            self.report.add(passes=passes())
            self.report.text(passes())
        if self.texts:
            self.report.add(dumps=self.texts)
        for scop, stages in self.texts.items():
            for stage in self.request.dump:
                if stage in stages:
                    self.report.text(f"# {scop}: {stage}\n{stages[stage]}\n")


def _say_what_was_done(request: Request, report: Report, program: Program) -> int:
    """One line per SCoP, the refusals, and the explanation; returns the exit status of the compilation."""
    report.add(input=program.path)
    if request.json:
        report.add(scops=[_facts_or_name(request, report, s) for s in program.scops])
    for scop in program.scops:
        for remark in scop.remarks:
            _remark(report, scop, remark)
    idle = [r for r in program.refusals if isinstance(r, NothingRunsError)]
    calls = [r for r in program.refusals if isinstance(r, OpaqueCallError)]
    report.add(refusals=[as_object(r.diagnostic) for r in program.refusals if r not in idle and r not in calls])
    report.add(idle=[as_object(r.diagnostic) for r in idle], calls=[as_object(r.diagnostic) for r in calls])
    status = EXIT_DONE
    for refusal in program.refusals:
        if isinstance(refusal, InternalError) and request.verbose:
            traceback.print_exception(refusal.__cause__, file=sys.stderr)
        severity = _severity(request, refusal, marked=any(refusal is one for one in program.marked))
        if severity == "error":
            status = max(status, refusal.exit_status)
        report.diagnostic(replace(refusal.diagnostic, message=_message(refusal), severity=severity))
    if program.unasked is not None:
        report.diagnostic(_unasked(program.unasked))
    hidden = [lost for lost in program.unread if request.autodetect and lost.loops]
    say_reasons(report, [lost.remark for lost in hidden], "warning")
    say_reasons(report, [lost.remark for lost in program.unread if lost not in hidden])
    for loop in program.left_out:
        report.diagnostic(replace(loop.diagnostic, severity="remark"))
    if request.explain and (explanation := _beside_kernels(request, report, "explanation", program.explain)):
        report.add(explanation=explanation)
        report.text(explanation)
    return status


def _unasked(scop: Scop) -> Diagnostic:
    message = "sizes and signs of structs, enumerations, char and long are those of x86-64: no C compiler was asked"
    return Diagnostic("remark", message, scop.location, "put cc on the PATH, or name the compiler with --preprocessor")


def _message(refusal: UserError | InternalError) -> str:
    return refusal.message + _ON_HOST if isinstance(refusal, OpaqueCallError) else refusal.message


def _severity(request: Request, refusal: UserError | InternalError, *, marked: bool) -> str:
    """How bad it is that a SCoP stays C, which the file marks or detection found."""
    if marked:
        return "warning" if request.keep_going else "error"
    return "remark" if isinstance(refusal, UserError) and not isinstance(refusal, OpaqueCallError) else "warning"


def _remark(report: Report, scop: CompiledScop, remark: Diagnostic) -> None:
    """A remark is a result, on one line and one for each reason; a warning is a message."""
    if remark.severity not in ("remark", "note"):
        report.diagnostic(remark)
        return
    report.diagnostics.append(remark)
    place = remark.location
    where = f"{place.file}:{place.line}: " if place and place.line else ""
    named = "" if remark.message.startswith(scop.name) else f"{scop.name}: "
    report.line("\n".join([f"{where}{named}{remark.message}", *(remark.hint or "").splitlines()]))


def _facts_or_name(request: Request, report: Report, scop: CompiledScop) -> dict[str, Any]:
    """What JSON says of a SCoP: where its facts fail no more than what the files show."""
    known = {"name": scop.name, "status": "sequential" if scop.program is None else "compiled"}
    return known | (_or_warning(request, report, f"facts of {scop.name}", partial(scop_facts, scop)) or {})


def _validate(request: Request, report: Report, program: Program) -> bool:
    """Validate every compiled SCoP; returns whether all agreed."""
    from polytile.runtime.inputs import new_seed

    seed = new_seed() if request.seed is None else request.seed
    agreed = True
    results: list[dict[str, Any]] = []
    for scop in program.scops:
        if scop.program is None:
            report.line(f"{scop.name}: not validated, it stays sequential C")
            continue
        try:
            with report.stage(f"validate {scop.name}"):
                found, counts = _run_scop(request, program, scop, seed)
        except ValidationError as error:
            agreed = False
            for diagnostic in error.findings if isinstance(error, FindingsError) else (error.diagnostic,):
                report.diagnostic(diagnostic)
            results.append({"scop": scop.name, "seed": seed, "agreed": False})
            continue
        for validation in found:
            results.append(validation_facts(validation))
            report.line(validation.line)
            for kernel in validation.unrun:
                report.diagnostic(_unrun(scop, kernel))
        if counts is not None:
            results[-1] |= {"counts": _counts(report, counts)}
    report.line(f"inputs were random with --seed {seed}")
    report.add(validations=results, seed=seed)
    return agreed


def _unrun(scop: CompiledScop, kernel: str) -> Diagnostic:
    """That a kernel did not run, and with which sizes it would."""
    sizes = scop.sizes_that_run(kernel)
    given = [name for name in sizes or {} if name in scop.compilation.options.parameters]
    hint = "no sizes were found with which it runs"
    if sizes is not None:
        hint = f"it runs with {' '.join(f'--param {name}={sizes[name]}' for name in given or sizes)}"
    return Diagnostic("warning", f"{kernel} has not run: it is not validated", scop.scop.location, hint)


def _counts(report: Report, counts: Counts) -> Mapping[str, Any]:
    """Say what was counted; returns it as facts."""
    from polytile.cli.count_report import as_facts, render

    report.text(render(counts))
    return as_facts(counts)


def _run_scop(
    request: Request, program: Program, scop: CompiledScop, seed: int
) -> tuple[tuple[Validation, ...], Counts | None]:
    """Validate one SCoP in the ways that were asked for; a run that counts comes last."""
    found: tuple[Validation, ...] = ()
    if request.sanitize or not request.count:
        found = scop.validate(on=request.on, seed=seed, sanitize=request.sanitize, unit=program.unit)
    counted = scop.count(seed=seed, unit=program.unit) if request.count else None
    return ((*found, counted.validation), counted.counts) if counted else (found, None)


def _write(request: Request, report: Report, program: Program) -> None:
    with report.stage("print"):
        files = program.files(Path(request.output))
    folder = "" if request.output == "." else request.output
    names = [os.path.join(folder, path.name) for path in files]
    wanted: tuple[tuple[str, str | None, Callable[[], str]], ...] = (
        ("schedule file", request.save_schedule, lambda: program.schedules),
        ("certificate", request.certificate, lambda: program.certificate),
        ("picture", request.draw, lambda: _drawing(report, program)),
        ("report", request.report, program.page),
    )
    for what, name, make in wanted:
        if name is not None and (text := _beside_kernels(request, report, what, make)) is not None:
            files[Path(name)] = text
            names.append(name)
    with report.stage("write"):
        write_outputs(files)
    report.add(files=names)
    report.line("wrote " + ", ".join(names))


def _or_warning(request: Request, report: Report, what: str, make: Callable[[], _Made]) -> _Made | None:
    """Something that is said of the kernels, or None with a warning where it fails: that never costs the kernels."""
    try:
        return make()
    except PolytileError as error:
        found = replace(error.diagnostic, severity="warning")
    except Exception as error:
        found = Diagnostic("warning", f"internal error: {described(error)}", hint=BUGS)
        if request.verbose:
            traceback.print_exc(file=sys.stderr)
    report.diagnostic(replace(found, message=f"no {what}: {found.message}"))
    return None


def _beside_kernels(request: Request, report: Report, what: str, make: Callable[[], str]) -> str | None:
    """The same of a text that is a stage of its own."""
    with report.stage(what):
        return _or_warning(request, report, what, make)


def _drawing(report: Report, program: Program) -> str:
    """The picture, and warnings about what is not in it."""
    from polytile.drawing import draw

    text, refused = draw([s.compilation for s in program.scops], {})
    for error in refused:
        report.diagnostic(replace(error.diagnostic, severity="warning"))
    return text
