"""The texts of one compilation, apart: schedules, each kernel, and what is around the kernels."""

from __future__ import annotations

import hashlib
import os
import re
import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polybench.runner.digests.variants import Variant
from polybench.runner.tables import Entry
from polytile.api import CompiledScop, Program
from polytile.dataclass import dataclass
from polytile.diagnostics import PolytileError
from polytile.frontend.program import SourceProgram, read_program
from polytile.options import Options
from polytile.pipeline import compile_scop
from polytile.recursion_limit import deep_recursion

TIMED = "time-limited"  # the only part of a variant whose text depends on the speed of the machine
NEAR_LIMIT = 2.0  # seconds of isl's scheduler, which some compilations let run in a process and end after 6
DIGITS = 12

# Comment lines, the definition's first line, and all up to the first brace at the start of a line.
_KERNEL = re.compile(r'(?:^//[^\n]*\n)*^extern "C" __global__ .*?^\}\n', re.MULTILINE | re.DOTALL)
_NAME = re.compile(r'^extern "C" __global__ [^;{]*?\b(\w+)\((?!\d)', re.MULTILINE)

Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Source:
    """A program that is read once and compiled in several variants; `entry` is None for a random one."""

    variants: tuple[Variant, ...]
    entry: Entry | None
    dataset: str
    root: Path
    keep: Path | None = None

    def digests(self) -> dict[Variant, dict[str, str]]:
        """Compute the digest of each text of each variant; runs in a process of its own.

        Works in the folder of the families, so that texts hold no path of this machine.
        """
        os.chdir(self.root)
        found = {}
        for variant, texts in self._texts():
            found[variant] = {part: digest(text) for part, text in texts.items()}
            if self.keep is not None:
                keep(self.keep, variant, texts)
        return found

    def _texts(self) -> Iterator[tuple[Variant, Texts]]:
        try:
            source, options = self._read()
        except Exception as error:
            yield from ((v, {"error": _said(error)}) for v in self.variants)
            return
        for variant in self.variants:
            yield variant, variant_texts(source, options(variant))

    def _read(self) -> tuple[SourceProgram, Callable[[Variant], Options]]:
        first = self.variants[0]
        if first.drawn is not None:
            return _drawn_program(*first.drawn)
        assert self.entry is not None
        source = read_program(self.entry.file, defines=self.entry.defines(self.dataset, first.dtype))
        return source, lambda v: Options(schedule=v.schedule, strict=v.fp == "strict")


def _drawn_program(seed: int, index: int) -> tuple[SourceProgram, Callable[[Variant], Options]]:
    from polytile.fuzz.case import case_of
    from polytile.fuzz.printing import c_text

    case = case_of(seed, index)
    source = read_program("random.c", c_text(case.program), autodetect=case.program.autodetect)
    return source, lambda v: case.choices.options(v.schedule)


def variant_texts(source: SourceProgram, options: Options) -> Texts:
    """Return part -> text. What fails is a part too: a message that changes is a change."""
    before = _scheduler_seconds()
    try:
        with deep_recursion():
            program, failed = _compiled(source, options)
            texts = {**failed, **program_texts(program)}
    except Exception as error:
        texts = {"error": _said(error)}
    if _scheduler_seconds() - before >= NEAR_LIMIT:
        return {TIMED: ""}
    return {"source": source.text, **texts}


def _compiled(source: SourceProgram, options: Options) -> tuple[Program, dict[str, str]]:
    failed = {f"refused:{r.name}": r.error.message for r in source.refusals}
    scops = []
    for scop in source.scops:
        try:
            scops.append(CompiledScop(compile_scop(scop, options)))
        except PolytileError as error:
            failed[f"refused:{scop.name}"] = error.message
    return Program(source.path, source.text, tuple(scops), options=options, macros=source.macros), failed


def program_texts(program: Program) -> Texts:
    """Return the texts of a program.

    `entry` is the generated file but for its first line, with the version, and the kernels: only their names.
    """
    unit = program.cuda.partition("\n")[2]
    found = {_NAME.search(text): text for text in _KERNEL.findall(unit)}
    kernels = {name[1]: text for name, text in found.items() if name is not None}
    for name, text in kernels.items():
        unit = unit.replace(text, f"// kernel {name}\n")
    return {
        **{f"schedule:{s.name}": s.schedule for s in program.scops},
        **{f"kernel:{name}": text for name, text in kernels.items()},
        "entry": unit,
        "header": program.header,
        "host": program.host,
    }


def _scheduler_seconds() -> float:
    """Return processor time of the processes that compilations started and ended: isl's scheduler."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def keep(folder: Path, variant: Variant, texts: Texts) -> None:
    """Write each text to a file of its own, of the same name in every run, to be compared by `diff -r`."""
    own = folder / str(variant).replace("/", "-").replace(" ", "-")
    own.mkdir(parents=True, exist_ok=True)
    for part, text in texts.items():
        (own / part.replace(":", "-")).write_text(text)


def sources(
    grouped: Mapping[Any, Sequence[Variant]], entries: Mapping[str, Entry], dataset: str, root: Path, kept: Path | None
) -> list[Source]:
    """List the sources whose digests are computed, a process each."""
    return [Source(tuple(own), entries.get(own[0].program), dataset, root, kept) for own in grouped.values()]
