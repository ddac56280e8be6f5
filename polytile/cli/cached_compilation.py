"""One run of the command, from the cache where an earlier run has done the same.

before: polytile gemm.c    compiles, says what was done, writes three files
again:  polytile gemm.c    says it again and writes them again, in the time that looking for them takes

What asks for more than the files is compiled: reports, pictures, explanations, stages, times, runs, builds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from polytile.cli.arguments import Request
from polytile.cli.light_imports import prepare_isl
from polytile.cli.outcome import Outcome
from polytile.cli.outputs import nothing_written, write
from polytile.cli.prepare import Prepared, prepare
from polytile.cli.report import Report
from polytile.dataclass import dataclass
from polytile.diagnostics import EXIT_DONE, InternalError, Location, PolytileError
from polytile.frontend.preprocess import STDIN, read_input, surroundings
from polytile.work_pieces import piece, undisturbed

if TYPE_CHECKING:
    from polytile.api import Program
    from polytile.compile_cache.entries import Entries


def run(request: Request, report: Report) -> int:
    """Do what was asked and return the exit status. Raises PolytileError for what ends the run."""
    prepared = prepare(request)
    entries = _entries() if _asks_for_files_alone(request) else None
    if entries is None:
        prepare_isl()
        from polytile.cli.command import run as compile_and_more

        return compile_and_more(request, report, prepared)
    asked = _Asked.of(request, prepared)
    key = asked.key()
    known = None if key is None else _known(entries, key)
    if known is None:
        return _compiled(report, asked, entries, key)
    report.say(known.said)
    made = {what: partial(str, text) for what, text in known.beside.items()}
    return _finished(request, report, known.status, known.files, made)


def _entries() -> Entries | None:
    from polytile.compile_cache.entries import Entries, cache_folder  # a run without a cache needs none of it

    folder = cache_folder()
    return None if folder is None else Entries(folder)


def _asks_for_files_alone(request: Request) -> bool:
    more = (request.validate, request.build, request.explain, request.dump, request.draw, request.report)
    plain = request.cache and request.ranks is None and request.on != "gpu"
    return plain and not any(more) and not (request.json or request.verbose)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request, with the name that messages have for the file, and its text."""

    request: Request
    prepared: Prepared
    path: str
    text: str

    @classmethod
    def of(cls, request: Request, prepared: Prepared) -> _Asked:
        return cls(request, prepared, *read_input(request.input))

    @property
    def piped(self) -> str | None:
        """The text of standard input, which is read once."""
        return self.text if self.path == STDIN else None

    def key(self) -> str | None:
        """Return the key of the request but for the names of the files that it writes, which are those of each run."""
        from polytile.compile_cache.key import key_of

        request = self.request
        same = replace(request, output="", save_schedule=None, certificate=None, quiet=False, seed=None)
        with piece("reading", Location(self.path, 1)):  # as where it is compiled
            around = surroundings(
                self.path,
                self.text,
                include_dirs=request.include_dirs,
                defines=request.defines,
                preprocessor=request.preprocessor,
                flags=request.preprocessor_flags,
                cflags=request.cflags,
            )
        return key_of(repr(same), self.text, around, self._given())

    def _given(self) -> list[str]:
        """Return what else the key depends on: texts of other files, and the GPU that tuned schedules are asked for."""
        prepared = self.prepared
        given = [prepared.schedules or "", prepared.device_source]
        if prepared.tuned is None:
            return given
        from polytile.runtime.gpu_identity import gpu_identity

        return [*given, prepared.tuned.to_text(), repr(gpu_identity())]

    def still_has(self, key: str) -> bool:
        """Return whether nothing has changed since the key was found, so that it is that of what was compiled
        meanwhile."""
        try:
            now = self if self.piped is not None else _Asked.of(self.request, self.prepared)
            return now.key() == key
        except PolytileError:
            return False


def _known(entries: Entries, key: str) -> Outcome | None:
    text = entries.read(key)
    try:
        return None if text is None else Outcome.from_text(text)
    except ValueError:
        return None


def _compiled(report: Report, asked: _Asked, entries: Entries, key: str | None) -> int:
    """Compile, and keep what comes of it."""
    prepare_isl()
    from polytile.cli.command import beside, compile_input, exit_status, files_of, what_is_said

    request = asked.request
    program = compile_input(request, report, asked.prepared, text=asked.piped)
    said = list(what_is_said(request, program))
    report.say(said)
    status = exit_status(request, program)
    files, made = (files_of(report, program), beside(program)) if status == EXIT_DONE else ({}, {})
    if key is not None and _lasts(program) and asked.still_has(key):
        texts = _all_made(made)
        if texts is not None:
            entries.write(key, Outcome(said, status, files, texts).to_text())
    return _finished(request, report, status, files, made)


def _lasts(program: Program) -> bool:
    """Return whether any run comes to the same: no bug has struck, and no piece of work was given up for what it
    took."""
    return undisturbed() and not any(isinstance(error, InternalError) for error in program.refusals)


def _all_made(made: Mapping[str, Callable[[], str]]) -> dict[str, str] | None:
    """Make all texts, or return None where one fails; whoever asks for that text is warned."""
    try:
        return {what: make() for what, make in made.items()}
    except Exception:  # nothing is kept; whoever asks for the text is told why, and it costs nobody the kernels
        return None


def _finished(
    request: Request, report: Report, status: int, files: Mapping[str, str], made: Mapping[str, Callable[[], str]]
) -> int:
    if status != EXIT_DONE:
        return nothing_written(report, status)
    write(request, report, files, made)
    return status
