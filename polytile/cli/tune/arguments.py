"""The words of `polytile tune`, and one record of what was asked. Nothing heavy is imported here."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from polytile.cli.option_parser import OptionParser
from polytile.cli.option_values import definition, integer, natural, page, parameters, words
from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError

DESCRIPTION = (
    "Measure kernels that the SCoPs of a C file may have, at given sizes on the GPU of this machine, and write down "
    "which are fastest."
)
EPILOG = """exit status: 0 done; 1 the C cannot be compiled, or has no kernels; 2 wrong usage; 4 there is no GPU, or
CuPy is missing; 130 interrupted, with all that was measured in the record: the same command goes on from there.
docs/tuning.md is the guide."""
SEARCHES = ("exhaustive", "random", "model", "gaussian")
SPACES = ("classic", "superposed", "tiled", "split", "overlapped", "streaming", "zhang-mueller")
RECORD_ENDING, OUTPUT_ENDING = ".tune.jsonl", ".tuned.json"


@dataclass(frozen=True, slots=True)
class TuneRequest:
    """What one run of `polytile tune` was asked to do; `search` is empty where the size of the space decides, and
    `spaces` where all strategies are searched."""

    input: str
    parameters: Mapping[str, int]
    defines: tuple[str, ...]
    include_dirs: tuple[str, ...]
    cflags: tuple[str, ...]
    strict: bool
    atomics: bool
    autodetect: bool
    device_source: str | None
    scop: str | None
    spaces: tuple[str, ...]
    search: str
    evaluations: int | None
    seconds: int | None
    record: Path
    output: Path
    report: Path | None
    jobs: int | None
    seed: int
    json: bool
    quiet: bool


def _parser() -> argparse.ArgumentParser:
    parser = OptionParser(prog="polytile tune", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    parser.add_argument("input", metavar="FILE.c", help="the C file")
    _input_options(parser.add_argument_group("input"))
    _search_options(parser.add_argument_group("search"))
    _output_options(parser.add_argument_group("output"))
    return parser


def _input_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--param", metavar="N=V", action="append", default=[], help="a size at which times are measured (repeatable)")
    add("-I", dest="include_dirs", metavar="DIR", action="append", default=[], help="search DIR for include files")
    add("-D", dest="defines", metavar="NAME[=V]", action="append", default=[], help="define a macro")
    add("--cflags", metavar="FLAGS", action="append", default=[], help="flags of the C compiler, as of polytile")
    add("--fp", choices=("reassociate", "strict"), default="reassociate", help="may results round differently?")
    add("--atomics", action="store_true", help="floating sums in elements that data choose may come in any order")
    add("--device-source", metavar="F.cu", help="the definitions of functions with access summaries")
    add("--autodetect", action="store_true", help="find SCoPs in files without pragmas")
    add("--scop", metavar="NAME", help="tune this SCoP, by its name or its function's (all, one after another)")


def _search_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--space", metavar="S,..", help=f"only points of these: {', '.join(SPACES)} (all but the last)")
    how = "exhaustive up to 200 points, else model, or gaussian without Optuna"
    add("--search", choices=SEARCHES, default="", help=f"exhaustive, random, or by the cost model and times ({how})")
    add("--evaluations", metavar="N", help="points of each SCoP, those of the record included (all)")
    add("--seconds", metavar="S", help="seconds for each SCoP, before the best are timed again (any)")
    add("--jobs", metavar="N", help="processes that compile (one for each processor, at most 16)")
    add("--seed", metavar="N", default="0", help="the seed of the search (0)")


def _output_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--record", metavar="F", help=f"the record, which is read and added to (FILE.c{RECORD_ENDING})")
    add("--output", metavar="F", help=f"the file for --tuned (FILE{OUTPUT_ENDING})")
    add("--report", metavar="F.html", help="write times over evaluations and parameters to this file, for a browser")
    add("--json", action="store_true", help="print one machine-readable result instead of text")
    add("-q", "--quiet", action="store_true", help="print the result only")


def parse(arguments: Sequence[str]) -> TuneRequest:
    """Read a command line; raises UsageError, or SystemExit after --help."""
    found = _parser().parse_args(list(arguments))
    if found.input == "-":
        raise UsageError("a search needs a file: its record and its result are named after it", hint="name a C file")
    source, report = Path(found.input), page(found.report)
    return TuneRequest(
        input=found.input,
        parameters=parameters(found.param),
        defines=tuple(definition(d) for d in found.defines),
        include_dirs=tuple(found.include_dirs),
        cflags=words("--cflags", found.cflags),
        strict=found.fp == "strict",
        atomics=found.atomics,
        autodetect=found.autodetect,
        device_source=found.device_source,
        scop=found.scop,
        spaces=_spaces(found.space),
        search=found.search,
        evaluations=natural("--evaluations", found.evaluations),
        seconds=natural("--seconds", found.seconds),
        record=Path(found.record) if found.record else source.with_name(source.name + RECORD_ENDING),
        output=Path(found.output) if found.output else source.with_suffix(OUTPUT_ENDING),
        report=None if report is None else Path(report),
        jobs=None if found.jobs is None else integer("--jobs", found.jobs, least=1),
        seed=integer("--seed", found.seed, least=0),
        json=found.json,
        quiet=found.quiet,
    )


def _spaces(text: str | None) -> tuple[str, ...]:
    """Parse `classic,overlapped`; none stands for all. Raises UsageError for another name."""
    names = () if text is None else tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in SPACES:
            raise UsageError(f"--space: there is no space {name!r}", hint=f"some of {','.join(SPACES)}")
    return names
