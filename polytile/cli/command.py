"""One run of the command: read, compile, say what was done, run, write, build."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polytile.api import CompiledScop, Program, compile_file
from polytile.cli.arguments import PASSES, PLAN, Request
from polytile.cli.outputs import (
    CERTIFICATE,
    PICTURE,
    REPORT,
    SCHEDULES,
    beside_kernels,
    nothing_written,
    or_warning,
    write,
)
from polytile.cli.prepare import Prepared
from polytile.cli.report import Report, Said, as_object, reasons
from polytile.codegen.passes.driver import pass_names
from polytile.dataclass import dataclass
from polytile.diagnostics import (
    EXIT_DONE,
    EXIT_VALIDATION,
    Diagnostic,
    FindingsError,
    InternalError,
    NoScopError,
    NothingRunsError,
    OpaqueCallError,
    UserError,
    ValidationError,
)
from polytile.frontend.preprocess import STDIN

if TYPE_CHECKING:
    from polytile.ir.scop import Scop
    from polytile.mpi_program import MpiProgram
    from polytile.runtime.emulator.counts import Counts
    from polytile.runtime.validate import Validation


_ON_HOST = ": it stays on the host, with the loops around it"


def run(request: Request, report: Report, prepared: Prepared) -> int:
    """Do what was asked and return the exit status. Raises PolytileError for what ends the run."""
    dumps = _Dumps(request, report)
    program = compile_input(request, report, prepared, dumps.observe if request.dump else None)
    if request.json:
        _add_facts(request, report, program)
    report.say(what_is_said(request, program))
    status = exit_status(request, program)
    if request.explain and (explanation := beside_kernels(request, report, "explanation", program.explain)):
        report.add(explanation=explanation)
        report.text(explanation)
    dumps.finish()
    if request.validate and not _validate(request, report, program):
        report.line("nothing was written")
        return EXIT_VALIDATION
    if status != EXIT_DONE:
        return nothing_written(report, status)
    texts = {**beside(program), PICTURE: lambda: _drawing(report, program), REPORT: program.page}
    if request.ranks is not None:
        _write_for_ranks(request, report, program, texts)
        return status
    if request.build is not None:  # first: a build that fails leaves no other file either
        _build(request, report, program, request.build)
    try:
        write(request, report, files_of(report, program), texts)
    except BaseException:
        if request.build is not None:
            Path(request.build).unlink(missing_ok=True)
        raise
    return status


def _write_for_ranks(
    request: Request, report: Report, program: Program, texts: dict[str, Callable[[], str]]
) -> None:
    """Write C for mpicc, too, and build behind that: the file with `main` may lie beside a header that is written."""
    from polytile.cli.ranks import described, distribute  # for few commands

    try:
        made = distribute(request, report, program, request.ranks or ())
    except UserError as error:
        if not request.keep_going:
            raise
        report.diagnostic(replace(error.diagnostic, severity="warning"))
        write(request, report, files_of(report, program), texts)
        return
    texts[CERTIFICATE] = lambda: made.certificate
    texts[REPORT] = lambda: program.page(ranks=described(request, made))
    write(request, report, {**files_of(report, program), **made.files}, texts)
    if request.build is not None:
        _build(request, report, made, request.build)


def _build(request: Request, report: Report, program: Program | MpiProgram, executable: str) -> None:
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


def compile_input(
    request: Request,
    report: Report,
    prepared: Prepared,
    observe: Callable[[str, str, object], None] | None = None,
    text: str | None = None,
) -> Program:
    """Compile the file that a request names, or `text`, which was read from standard input."""
    with report.stage("compile"):
        try:
            return compile_file(
                request.input if text is None else STDIN,
                text,
                options=prepared.options,
                defines=request.defines,
                include_dirs=[Path(d) for d in request.include_dirs],
                autodetect=request.autodetect,
                schedules=prepared.schedules,
                schedules_file=request.load_schedule or "",
                observe=observe,
                preprocessor=request.preprocessor,
                preprocessor_flags=request.preprocessor_flags,
                device_source=prepared.device_source,
                managed=request.managed,
                tuned=prepared.tuned,
            )
        except NoScopError as error:
            report.say(reasons(error.reasons))
            raise


def files_of(report: Report, program: Program) -> dict[str, str]:
    """Return the texts of the written files, by their names."""
    with report.stage("print"):
        return {path.name: text for path, text in program.files(Path()).items()}


def beside(program: Program) -> dict[str, Callable[[], str]]:
    """Return functions that make the texts that may be written beside the kernels, by their names."""
    return {SCHEDULES: lambda: program.schedules, CERTIFICATE: lambda: program.certificate}


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

        text = or_warning(self.request, self.report, f"dump of {asked} of {scop}", partial(dump, asked, result))
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


def _add_facts(request: Request, report: Report, program: Program) -> None:
    """Add the facts of the SCoPs, and of those that stay C, to the JSON."""
    report.add(input=program.path, scops=[_facts_or_name(request, report, s) for s in program.scops])
    idle = [r for r in program.refusals if isinstance(r, NothingRunsError)]
    calls = [r for r in program.refusals if isinstance(r, OpaqueCallError)]
    report.add(refusals=[as_object(r.diagnostic) for r in program.refusals if r not in idle and r not in calls])
    report.add(idle=[as_object(r.diagnostic) for r in idle], calls=[as_object(r.diagnostic) for r in calls])


def what_is_said(request: Request, program: Program) -> Iterator[Said]:
    """Yield one line per SCoP, and the refusals."""
    for scop in program.scops:
        yield from (_result(scop, remark) for remark in scop.remarks)
    for refusal in program.refusals:
        if isinstance(refusal, InternalError) and request.verbose:
            import traceback

            traceback.print_exception(refusal.__cause__, file=sys.stderr)
        severity = _severity(request, program, refusal)
        yield Said(replace(refusal.diagnostic, message=_message(refusal), severity=severity))
    if program.unasked is not None:
        yield Said(_unasked(program.unasked))
    hidden = [lost for lost in program.unread if request.autodetect and lost.loops]
    yield from reasons([lost.remark for lost in hidden], "warning")
    yield from reasons([lost.remark for lost in program.unread if lost not in hidden])
    yield from (Said(replace(loop.diagnostic, severity="remark")) for loop in program.left_out)


def exit_status(request: Request, program: Program) -> int:
    """Return the exit status of the compilation: the worst of a refusal that is an error."""
    errors = (r for r in program.refusals if _severity(request, program, r) == "error")
    return max((refusal.exit_status for refusal in errors), default=EXIT_DONE)


def _unasked(scop: Scop) -> Diagnostic:
    message = "sizes and signs of structs, enumerations, char and long are those of x86-64: no C compiler was asked"
    return Diagnostic("remark", message, scop.location, "put cc on the PATH, or name the compiler with --preprocessor")


def _message(refusal: UserError | InternalError) -> str:
    return refusal.message + _ON_HOST if isinstance(refusal, OpaqueCallError) else refusal.message


def _severity(request: Request, program: Program, refusal: UserError | InternalError) -> str:
    """Return how bad it is that a SCoP stays C, which the file marks or detection found."""
    if any(refusal is one for one in program.marked):
        return "warning" if request.keep_going else "error"
    return "remark" if isinstance(refusal, UserError) and not isinstance(refusal, OpaqueCallError) else "warning"


def _result(scop: CompiledScop, remark: Diagnostic) -> Said:
    """Format a remark as a result, on one line and one for each reason; a warning stays a message."""
    if remark.severity not in ("remark", "note"):
        return Said(remark)
    place = remark.location
    where = f"{place.file}:{place.line}: " if place and place.line else ""
    named = "" if remark.message.startswith(scop.name) else f"{scop.name}: "
    return Said(remark, "\n".join([f"{where}{named}{remark.message}", *(remark.hint or "").splitlines()]))


def _facts_or_name(request: Request, report: Report, scop: CompiledScop) -> dict[str, Any]:
    """Return the facts of a SCoP for JSON; where these fail, no more than what the files show."""
    from polytile.cli.json_facts import scop_facts

    known = {"name": scop.name, "status": "sequential" if scop.program is None else "compiled"}
    return known | (or_warning(request, report, f"facts of {scop.name}", partial(scop_facts, scop)) or {})


def _validate(request: Request, report: Report, program: Program) -> bool:
    """Validate every compiled SCoP; returns whether all agreed."""
    from polytile.cli.json_facts import validation_facts
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
    """Warn that a kernel did not run, and say with which sizes it would."""
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


def _drawing(report: Report, program: Program) -> str:
    """Draw the picture, and warn about what is not in it."""
    from polytile.drawing import draw

    text, refused = draw([s.compilation for s in program.scops], {})
    for error in refused:
        report.diagnostic(replace(error.diagnostic, severity="warning"))
    return text
