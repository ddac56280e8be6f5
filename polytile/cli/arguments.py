"""The command line: what may be written, and one record of what was asked. Nothing heavy is imported here."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from polytile import __version__
from polytile.choices import CHOICES, Choice, Choices, Kind
from polytile.cli.option_parser import OptionParser
from polytile.cli.option_values import definition, integer, natural, page, parameters, ranks, sizes, words
from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.machine import STATIC_SHARED_BYTES

DESCRIPTION = "Compile the static control parts of a C file to CUDA, proven legal and optionally validated."
EPILOG = """exit status: 0 done; 1 the input, or a SCoP of it, cannot be compiled; 2 wrong usage; 3 validation failed;
4 a device or host-compiler failure; 70 a bug in polytile. Also: `polytile cc` is a C compiler for make and cmake,
make CC="polytile cc"; `polytile tune` measures which kernels are fastest; `polytile check` checks certificates;
`polytile fuzz` tests polytile"""
CHECKS = ("address", "undefined", "race", "uninitialised")
PLAN = "plan"
STAGES = ("scop", "dependences", "schedule", PLAN, "ast")
EXCHANGES = ("basic", "diagonal", "overlap")  # distribution/transfers.py
PASSES = "passes"  # the list of passes, each of which can be dumped too


@dataclass(frozen=True, slots=True)
class Request:
    """What one run of the command was asked to do."""

    input: str
    output: str
    include_dirs: tuple[str, ...]
    defines: tuple[str, ...]
    cflags: tuple[str, ...]
    parameters: dict[str, int]
    specialize: bool
    min_compute: int
    arch: str
    choices: Choices
    max_operations: int | None
    max_seconds: int | None
    strict: bool
    atomics: bool
    validate: bool
    sanitize: tuple[str, ...]
    count: bool
    on: str
    build: str | None
    link: tuple[str, ...]
    managed: bool
    explain: bool
    verify_passes: bool
    keep_going: bool
    autodetect: bool
    dump: tuple[str, ...]
    save_schedule: str | None
    load_schedule: str | None
    tuned: str | None
    certificate: str | None
    draw: str | None
    report: str | None
    json: bool
    verbose: bool
    quiet: bool
    cache: bool
    seed: int | None
    device_source: str | None = None
    ranks: tuple[int, ...] | None = None  # None: no program for ranks; none: the grid is chosen when it runs
    steps_per_exchange: int = 1
    exchange: str = EXCHANGES[0]
    preprocessor: str = "auto"
    preprocessor_flags: tuple[str, ...] = ()


def _parser() -> argparse.ArgumentParser:
    parser = OptionParser(prog="polytile", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    parser.add_argument("input", metavar="INPUT.c", help="the C file; - is standard input")
    parser.add_argument("--version", action="version", version=f"polytile {__version__}")
    _input_options(parser.add_argument_group("input"))
    _schedule_options(parser.add_argument_group("schedule"))
    _output_options(parser.add_argument_group("output"))
    _rank_options(parser.add_argument_group("many GPUs"))
    _run_options(parser.add_argument_group("running"))
    return parser


def long_options() -> frozenset[str]:
    """Return the names of all options that have one, without dashes."""
    found = (text for action in _parser()._actions for text in action.option_strings)
    return frozenset(text[2:] for text in found if text.startswith("--"))


def _input_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("-I", dest="include_dirs", metavar="DIR", action="append", default=[], help="search DIR for include files")
    add("-D", dest="defines", metavar="NAME[=V]", action="append", default=[], help="define a macro")
    flags = "flags of the C compiler that builds the program, as in --cflags=-fwrapv (repeatable)"
    add("--cflags", metavar="FLAGS", action="append", default=[], help=flags)
    add("--param", metavar="N=V", action="append", default=[], help="the value of a parameter (repeatable)")
    add("--specialize", action="store_true", help="kernels for the values of --param alone, the C for others")
    add("--min-compute", metavar="N", default="0", help="statement instances below which programs run the C (0)")
    add("--device-source", metavar="F.cu", help="the definitions of functions with access summaries")
    add("--autodetect", action="store_true", help="find SCoPs in files without pragmas")
    add("--keep-going", action="store_true", help="refused SCoPs are warnings")


def _schedule_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    for choice in CHOICES:
        _add_choice(group, choice)
    add("--max-operations", metavar="N", help="isl operations that one analysis or proof may take")
    add("--max-seconds", metavar="N", help="processor time that compiling one SCoP may take (30; 0: any)")
    rounding = "may results round differently: additions in another order, reciprocals of constants and roots?"
    add("--fp", choices=("reassociate", "strict"), default="reassociate", help=rounding)
    add("--atomics", action="store_true", help="floating sums in elements that data choose may come in any order")
    add("--load-schedule", metavar="F", help="use the schedule in this file, if it is legal")
    add("--save-schedule", metavar="F", help="write the schedules to this file")
    add("--tuned", metavar="F", help="use the schedules in this file of `polytile tune`, where they hold")


def _add_choice(group: argparse._ArgumentGroup, choice: Choice) -> None:
    """Add the option of a choice; what it says is read in `_choice`."""
    if choice.kind is Kind.SWITCH:
        group.add_argument(choice.option, action=argparse.BooleanOptionalAction, default=None, help=choice.help)
    elif choice.kind is Kind.NAMES:
        group.add_argument(choice.option, metavar=choice.example, action="append", default=[], help=choice.help)
    else:
        group.add_argument(choice.option, metavar=choice.example, help=choice.help)


def _choice(choice: Choice, said: Any) -> Any:
    """Return the value of a choice from what stands behind its option, or its default where that is not given."""
    match choice.kind:
        case Kind.NAMES:
            return tuple(said)
        case Kind.SIZES:
            return sizes(choice.option, said, written=_written(choice))
        case Kind.BYTES:
            return natural(choice.option, said, written=_written(choice))
        case Kind.NUMBER:
            return 0 if said is None else integer(choice.option, said, written=_written(choice))
        case Kind.WORD:
            return getattr(Choices(), choice.name) if said is None else said
        case Kind.SWITCH | Kind.TEXT:
            return said


def _written(choice: Choice) -> str:
    """Return an option with a number that it takes."""
    number = str(STATIC_SHARED_BYTES) if choice.kind is Kind.BYTES else "32"
    few = choice.values or not choice.least <= int(number) <= choice.most
    return f"{choice.option} {choice.example if few and choice.kind is not Kind.BYTES else number}"


def _output_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--target", choices=("cuda",), default="cuda", help="the language to write (cuda)")
    add("--arch", metavar="sm_90", default="sm_90", help="the GPU architecture (sm_90)")
    add("-o", dest="output", metavar="DIR", default=".", help="the folder for the written files (.)")
    add("--explain", action="store_true", help="print the proof, the schedule and the reasons")
    add("--certificate", metavar="F", help="write what was proven to this file, for `polytile check`")
    add("--draw", metavar="F.svg", help="draw the iterations, their tiles and dependences in this file")
    add("--report", metavar="F.html", help="write the loops, kernels, proofs and times to this file, for a browser")
    stages = f"{', '.join(STAGES)}, {PASSES}, or a pass"
    add("--dump", metavar="STAGE", action="append", default=[], help=f"print a stage: {stages}")
    add("--verify-passes", action="store_true", help="check each kernel after each pass")
    add("--no-cache", action="store_true", help="compile anew, and keep nothing for the next run")
    add("--json", action="store_true", help="print one machine-readable result instead of text")
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument("-v", "--verbose", action="store_true", help="say what takes how long")
    loudness.add_argument("-q", "--quiet", action="store_true", help="print errors only")


def _rank_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--ranks", metavar="2,2|auto", help="write C for MPI, too: ranks along each axis, or as they come when it runs")
    add("--steps-per-exchange", metavar="T", help="steps of a time loop between two exchanges of halos (1)")
    add("--exchange", choices=EXCHANGES, help="how ranks exchange halos (overlap)")


def _run_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--validate", action="store_true", help="run the result against the sequential C on random inputs")
    add("--sanitize", metavar="CHECKS", help=f"check in the emulator: {','.join(CHECKS)}, or all")
    add("--count", action="store_true", help="count sectors and bank conflicts of each access in the emulator")
    add("--on", choices=("auto", "gpu", "emulator"), default="auto", help="where to run (auto)")
    add("--seed", metavar="N", help="the seed of the random inputs")
    add("--build", metavar="EXE", help="compile and link the whole program")
    add("--link", metavar="FILE", action="append", default=[], help="a C file, object or library to link (repeatable)")
    add("--managed", action="store_true", help="with --build: heap memory that host and GPU share, which is not copied")


def parse(arguments: Sequence[str]) -> Request:
    """Read a command line; raises UsageError, or SystemExit after --help and --version."""
    found = _parser().parse_args(_with_libraries(arguments))
    _check_together(found)
    return Request(
        input=found.input,
        output=found.output,
        include_dirs=tuple(found.include_dirs),
        defines=tuple(definition(d) for d in found.defines),
        cflags=words("--cflags", found.cflags),
        parameters=parameters(found.param),
        specialize=found.specialize,
        min_compute=integer("--min-compute", found.min_compute),
        arch=found.arch,
        choices=Choices(**{choice.name: _choice(choice, getattr(found, choice.name)) for choice in CHOICES}),
        max_operations=natural("--max-operations", found.max_operations),
        max_seconds=natural("--max-seconds", found.max_seconds),
        strict=found.fp == "strict",
        atomics=found.atomics,
        validate=found.validate,
        sanitize=_checks(found.sanitize),
        count=found.count,
        on=found.on,
        build=found.build,
        link=tuple(found.link),
        managed=found.managed,
        explain=found.explain,
        verify_passes=found.verify_passes,
        keep_going=found.keep_going,
        autodetect=found.autodetect,
        dump=_stages(found.dump),
        save_schedule=found.save_schedule,
        load_schedule=found.load_schedule,
        tuned=found.tuned,
        certificate=found.certificate,
        draw=_picture(found.draw),
        report=page(found.report),
        json=found.json,
        verbose=found.verbose,
        quiet=found.quiet,
        cache=not found.no_cache,
        seed=natural("--seed", found.seed),
        device_source=found.device_source,
        ranks=ranks(found.ranks),
        steps_per_exchange=integer("--steps-per-exchange", found.steps_per_exchange or "1", least=1),
        exchange=found.exchange or "overlap",
    )


def _check_together(found: argparse.Namespace) -> None:
    """Raise UsageError where an option needs another one."""
    if found.link and found.build is None:
        raise UsageError("--link needs --build", hint="--build EXE --link FILE")
    if found.managed and found.build is None:
        raise UsageError("--managed needs --build", hint="--build EXE --managed")
    for option, value in (("--steps-per-exchange", found.steps_per_exchange), ("--exchange", found.exchange)):
        if value is not None and found.ranks is None:
            raise UsageError(f"{option} needs --ranks", hint=f"--ranks auto {option} {value}")
    if found.tuned is not None and found.load_schedule is not None:
        raise UsageError("--tuned and --load-schedule both say what the schedules are", hint="one of the two")
    if found.sanitize is not None and (not found.validate or found.on == "gpu"):
        raise UsageError("--sanitize checks what --validate runs in the emulator", hint="--validate --on emulator")
    if found.count and (not found.validate or found.on == "gpu"):
        raise UsageError("--count counts what --validate runs in the emulator", hint="--validate --on emulator --count")


def _with_libraries(arguments: Sequence[str]) -> list[str]:
    """Let `--link -lm` be understood, and `--cflags -fwrapv`: argparse takes `-lm` for an option of its own."""
    words: list[str] = []
    for word in arguments:
        if words and words[-1] in ("--link", "--cflags") and word.startswith("-"):
            words[-1] = f"{words[-1]}={word}"
        else:
            words.append(word)
    return words


def _checks(text: str | None) -> tuple[str, ...]:
    """Parse `address,race`, or `all`. Raises UsageError for another name."""
    names = () if text is None else tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in (*CHECKS, "all"):
            raise UsageError(f"--sanitize: there is no check {name!r}", hint=f"some of {','.join(CHECKS)}, or all")
    return names


def _picture(name: str | None) -> str | None:
    if name is not None and not name.endswith(".svg"):
        raise UsageError(f"--draw {name}: pictures are SVG files", hint="--draw FILE.svg")
    return name


def _passes() -> set[str]:
    """Return the names of passes; only who asks for one pays for the import."""
    from polytile.codegen.passes.driver import pass_names

    return set(pass_names())


def _stages(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in (*STAGES, PASSES) and name not in _passes():
            hint = f"one of {', '.join(STAGES)}, {PASSES}, or a pass, which --dump {PASSES} lists"
            raise UsageError(f"--dump: there is no stage {name!r}", hint=hint)
    return tuple(names)
