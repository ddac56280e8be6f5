"""`polytile fuzz`: attack polytile with random programs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from polytile.cli.option_parser import OptionParser
from polytile.diagnostics import EXIT_DONE, EXIT_VALIDATION, DeviceError, UsageError

DESCRIPTION = (
    "Compile random programs with random options, run them in the emulator with its checks or on the GPU, and compare "
    "them with C."
)
SECONDS_TO_LOOK = 60.0  # for a GPU
FAMILIES = ("nests", "stencils", "pieces")
EPILOG = "exit status: 0 nothing was found; 2 wrong usage; 3 something was found. docs/fuzzing.md says what is drawn."


def _parser() -> argparse.ArgumentParser:
    parser = OptionParser(prog="polytile fuzz", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    add = parser.add_argument
    add("--programs", metavar="N", type=_natural, default=100, help="how many programs to try (100)")
    add("--seed", metavar="N", type=_natural, default=1, help="which programs: the same seed gives the same ones (1)")
    add("--first", metavar="I", type=_natural, default=0, help="the number of the first program (0)")
    add("--only", metavar="I", type=_natural, action="append", help="only program number I of the seed (repeatable)")
    add("--family", metavar="F", help="only programs of this family: nests, stencils or pieces (all)", default="")
    add("--print", dest="show", action="store_true", help="print the programs that --only names, and run nothing")
    add("--jobs", metavar="N", type=_positive, default=1, help="programs that run at a time (1)")
    add("--out", metavar="DIR", type=Path, help="shrink what fails and write it to DIR as C files")
    add("--time-limit", metavar="S", type=_positive, default=60, help="seconds of processor time for one program (60)")
    add("--shrink-time", metavar="S", type=_natural, default=120, help="seconds for shrinking one failure (120)")
    add("--stop-after", metavar="N", type=_natural, default=0, help="stop after N failures (0: never)")
    add("--on", choices=("emulator", "gpu"), default="emulator", help="where the kernels run (emulator)")
    add("--sanitize", metavar="CHECKS", default="all", help="checks of the emulator, as of --validate, or none (all)")
    return parser


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a natural number")
    return int(text)


def _positive(text: str) -> int:
    if _natural(text) < 1:
        raise argparse.ArgumentTypeError("the least value is 1")
    return int(text)


def main(words: Sequence[str]) -> int:
    """Run the command; returns the exit status. Raises UsageError for words that it does not understand."""
    found = _parser().parse_args(words)
    if found.show and not found.only:
        raise UsageError("--print needs --only", hint="polytile fuzz --seed 1 --only 7 --print")
    if found.family not in ("", *FAMILIES):
        raise UsageError(f"there is no family {found.family!r}", hint=f"the families are {', '.join(FAMILIES)}")
    if found.out is not None:
        _make_folder(found.out)
    # Heavy imports wait until the words are known to be right.
    from polytile.runtime.checked import checks_named

    checks = () if found.sanitize == "none" or found.on == "gpu" else checks_named(found.sanitize.split(","))
    indices = tuple(found.only or range(found.first, found.first + found.programs))
    return _show(found.seed, indices, found.family) if found.show else _run(found, indices, checks)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out: cannot make {folder}: {error.strerror}", hint="name a folder") from error


def _show(seed: int, indices: Sequence[int], family: str) -> int:
    from polytile.fuzz.case import case_of

    for index in indices:
        case = case_of(seed, index, family=family)
        print(f"/* {case.command(f'seed{seed}-{index}.c')} */\n{case.text}", end="")
    return EXIT_DONE


def _require_gpu() -> None:
    """Raise DeviceError where there is no GPU. A child asks, as children of a process that uses CUDA cannot use it."""
    from polytile.fuzz.children import run_one
    from polytile.fuzz.outcome import AGREED, Outcome
    from polytile.runtime.engine import on_gpu

    if run_one(lambda: Outcome(AGREED if on_gpu("gpu") else ""), SECONDS_TO_LOOK).failed:
        raise DeviceError(
            "--on gpu: there is no GPU, or neither CuPy nor nvcc can be used", hint="--on emulator needs none"
        )


def _run(found: argparse.Namespace, indices: tuple[int, ...], checks: tuple[str, ...]) -> int:
    from polytile.fuzz.campaign import Plan, run_campaign

    if found.on == "gpu":
        _require_gpu()
    plan = Plan(
        seed=found.seed,
        indices=indices,
        jobs=found.jobs,
        limit=found.time_limit,
        shrinking=found.shrink_time,
        stop_after=found.stop_after,
        sanitize=checks,
        out=found.out,
        family=found.family,
        on=found.on,
    )
    tally = run_campaign(plan, lambda line: print(line, flush=True))
    for line in tally.lines():
        print(line, flush=True)
    if tally.interrupted:
        raise KeyboardInterrupt  # for the exit status
    return EXIT_VALIDATION if tally.failures else EXIT_DONE
