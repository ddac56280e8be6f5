"""The command line of the runner: arguments in, one exit status out."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from polybench.processors import usable_processors
from polybench.runner.errors import EXIT_FAILED, RunnerError
from polybench.runner.tables import DATASETS, ROOT, SIZES, Entry, load, select
from polytile.autotuning.search.named import SEARCHES
from polytile.choices import ORDERS, SCHEDULES

Command = Callable[[argparse.Namespace], int]
CAPS = (255, 168, 128, 96, 80, 64, 48)  # registers of a thread
STRATEGIES = ("random_sample", "simulated_annealing", "genetic_algorithm", "greedy_ils", "bayes_opt")  # Kernel Tuner's


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; what a user can do wrong is one line on standard error, with a hint."""
    chosen = _parser().parse_args(arguments)
    command: Command = chosen.command
    try:
        return command(chosen)
    except RunnerError as error:
        print(f"polybench: error: {error}{error.hint and f'; {error.hint}'}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("polybench: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (nothing may be flushed to the closed pipe at exit)
        return EXIT_FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m polybench", description="Run and report the benchmark programs.")
    parser.set_defaults(root=ROOT)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listed = commands.add_parser("list", help="the programs and their sizes")
    _selection(listed, "the programs (all)")
    listed.set_defaults(command=_list)
    _run_parser(commands.add_parser("run", help="validate, time or count, each program in a process of its own"))
    _sweep_parser(commands.add_parser("sweep", help="time many settings of programs on the GPU, data on the device"))
    _limits_parser(commands.add_parser("limits", help="what limits kernels of jobs as of `sweep`, by ncu on this GPU"))
    _export_parser(commands.add_parser("export", help="write a folder that needs nvcc, make and a C compiler only"))
    imported = commands.add_parser("import", help="read the results of an exported folder")
    imported.add_argument("folder", type=Path, metavar="DIR")
    imported.add_argument("--json", type=Path, metavar="FILE", help="append the rows to FILE")
    imported.add_argument(
        "--from", dest="files", type=Path, nargs="+", default=[], metavar="RESULTS", help="(DIR/results.jsonl)"
    )
    imported.set_defaults(command=_import)
    _digests_parser(commands.add_parser("digests", help="which kernels and schedules a change of the compiler changes"))
    _damage_parser(commands.add_parser("damage", help="whether validation notices kernels that are damaged on purpose"))
    _counts_parser(commands.add_parser("counts", help="sectors per request: the emulator's, and those of a GPU by ncu"))
    taken = commands.add_parser("resources", help="registers and code of kernels: estimated, and by ptxas (needs nvcc)")
    _selection(taken, "the programs (all)")
    taken.add_argument("--dataset", choices=DATASETS, default="large", help="the size (large)")
    taken.add_argument("--dtype", choices=tuple(SIZES), default="double", help="the element type (double)")
    taken.add_argument("--markdown", type=Path, metavar="FILE", help="write the table to FILE")
    taken.set_defaults(command=_resources)
    _caps_parser(commands.add_parser("caps", help="registers and spills by ptxas at caps on registers (needs nvcc)"))
    _ablation_parser(commands.add_parser("ablation", help="large bodies without one improvement each, for `sweep`"))
    estimated = commands.add_parser("estimates", help="what the cost model says, beside results that were measured")
    estimated.add_argument("results", type=Path, nargs="+", metavar="RESULTS")
    estimated.add_argument("--only", nargs="+", default=[], metavar="SELECTION", help="the programs (all)")
    estimated.set_defaults(command=_estimates)
    _replay_parser(commands.add_parser("replay", help="searches of the tuner compared on a record, without a GPU"))
    built = commands.add_parser("kernels", help="a table of built kernels that were measured on their own")
    built.add_argument("results", type=Path, nargs="+", metavar="RESULTS")
    built.add_argument("--markdown", type=Path, metavar="FILE", help="write the table to FILE")
    built.set_defaults(command=_kernels)
    report = commands.add_parser("report", help="a table, and a plot, of results; of two files, their times compared")
    report.add_argument("results", type=Path, nargs="+", metavar="RESULTS")
    report.add_argument("--plot", type=Path, metavar="FILE", help="draw FILE.png or FILE.svg (needs matplotlib)")
    report.add_argument("--markdown", type=Path, metavar="FILE", help="write the table to FILE")
    report.set_defaults(command=_report)
    return parser


def _limits_parser(limited: argparse.ArgumentParser) -> None:
    limited.add_argument("file", type=Path, metavar="JOBS", help="a JSON object a line: program, dtype, settings, ...")
    _jobs(limited)
    limited.add_argument("--timeout", type=_seconds, default=600.0, metavar="S", help="seconds for each job (600)")
    limited.add_argument("--json", type=Path, metavar="FILE", help="append the rows to FILE")
    limited.add_argument("--markdown", type=Path, metavar="FILE", help="write the table to FILE")
    limited.set_defaults(command=_limits, runs=1)


def _export_parser(exported: argparse.ArgumentParser) -> None:
    exported.add_argument("folder", type=Path, metavar="DIR")
    _selection(exported, "the programs (all)")
    _what(exported)
    exported.add_argument("--runs", type=_positive, default=7, help="timed runs (7)")
    exported.add_argument("--known-sizes", action="store_true", help="compile for the sizes, as by --param")
    exported.add_argument("--time-tile", type=_positive, metavar="N", help="iterations in a tile, as of `polytile`")
    _jobs(exported)
    exported.set_defaults(command=_export)


def _run_parser(run: argparse.ArgumentParser) -> None:
    _selection(run, "programs: FAMILY/NAME, NAME, FAMILY or a glob of these")
    _what(run)
    run.add_argument("--on", choices=("emulator", "gpu", "cpu"), default="emulator", help="where (emulator)")
    run.add_argument(
        "--sanitize",
        type=_checks,
        metavar="CHECKS",
        help="check in the emulator: address,undefined,race,uninitialised or all",
    )
    run.add_argument("--metrics", action="store_true", help="with --on cpu compile only; ptxas figures where nvcc is")
    _jobs(run)
    run.add_argument("--timeout", type=_seconds, default=600.0, metavar="S", help="seconds for each row (600)")
    run.add_argument("--runs", type=_positive, default=7, help="timed runs (7)")
    run.add_argument("--json", type=Path, metavar="FILE", help="append each row to FILE as soon as it is known")
    run.add_argument("--compare", type=Path, metavar="OLD", help="fail when a figure is worse than in OLD")
    run.set_defaults(command=_run)


def _sweep_parser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="JOBS", help="a JSON object a line: program, dtype, settings, ...")
    _jobs(parser)
    parser.add_argument("--timeout", type=_seconds, default=600.0, metavar="S", help="seconds for each row (600)")
    parser.add_argument("--runs", type=_positive, default=5, help="timed runs (5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append each row to FILE as soon as it is known")
    parser.add_argument("--lock", type=Path, metavar="FILE", help="the lock of the GPU, to share it between sweeps")
    parser.set_defaults(command=_sweep)


def _digests_parser(parser: argparse.ArgumentParser) -> None:
    _selection(parser, "the programs (all), random ones too: 'random/*'")
    parser.add_argument("--dataset", choices=DATASETS, default="large", help="the size (large)")
    parser.add_argument("--dtype", type=_several(("double", "float")), default=["double", "float"], help="double,float")
    every = list(SCHEDULES)
    parser.add_argument("--schedule", type=_several(SCHEDULES), default=every, help=f"of polytile ({','.join(every)})")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="the first N random programs too (0)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the seed of the random programs (1)")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", type=Path, metavar="FILE", help="write the digests to FILE")
    action.add_argument(
        "--compare", type=Path, metavar="FILE", help="compile what FILE lists; fail when a text differs"
    )
    action.add_argument("--update", type=Path, metavar="FILE", help="the same, and write FILE anew")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="write the texts to DIR too, to be compared by diff -r"
    )
    _jobs(parser)
    parser.set_defaults(command=_digests)


def _damage_parser(parser: argparse.ArgumentParser) -> None:
    _selection(parser, "the programs (all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append what was said of each damage to FILE")
    _jobs(parser)
    parser.set_defaults(command=_damage)


def _counts_parser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR")
    _selection(parser, "the programs (gemm, doitgen, jacobi-2d, atax, mvt)")
    parser.add_argument("--dataset", choices=DATASETS, default="small", help="the size (small)")
    parser.add_argument("--dtype", type=_several(tuple(SIZES)), default=["double"], help="double,float (double)")
    parser.add_argument("--schedule", type=_several(SCHEDULES), default=["classic"], help="of polytile (classic)")
    parser.add_argument("--read", action="store_true", help="read the folder, with what ncu wrote there")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="with --read, write the table to FILE")
    _jobs(parser)
    parser.set_defaults(command=_counts, runs=1, known_sizes=False, time_tile=None)


def _caps_parser(parser: argparse.ArgumentParser) -> None:
    _selection(parser, "the programs (reorder)")
    parser.add_argument("--dataset", choices=DATASETS, default="large", help="the size (large)")
    parser.add_argument("--dtype", type=_several(tuple(SIZES)), default=["double", "float"], help="double,float")
    both = ["strict", "reassociate"]
    parser.add_argument("--fp", type=_several(both), default=both, help=f"of polytile ({','.join(both)})")
    parser.add_argument("--order", type=_several(ORDERS), default=["source", "auto"], help="of polytile (source,auto)")
    parser.add_argument("--points", type=_numbers, default=(), metavar="4,1", help="points of a thread, as of polytile")
    parser.add_argument(
        "--caps", type=_numbers, default=CAPS, metavar="N,...", help="registers of a thread; 0: those polytile chooses"
    )
    parser.add_argument("--timeout", type=_seconds, default=600.0, metavar="S", help="seconds for each row (600)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append each row to FILE as soon as it is known")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables to FILE")
    _jobs(parser)
    parser.set_defaults(command=_caps)


def _ablation_parser(parser: argparse.ArgumentParser) -> None:
    _selection(parser, "the programs (reorder)")
    parser.add_argument("--dataset", choices=DATASETS, default="large", help="the size (large)")
    parser.add_argument("--dtype", type=_several(tuple(SIZES)), default=["double", "float"], help="double,float")
    parser.add_argument("--write", type=Path, metavar="JOBS", help="write the jobs for `sweep` to JOBS")
    parser.add_argument("--timeout", type=_seconds, default=600.0, metavar="S", help="seconds for each row (600)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append each row to FILE as soon as it is known")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables to FILE")
    _jobs(parser)
    parser.set_defaults(command=_ablation)


def _replay_parser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", type=Path, metavar="RECORD", help="of `polytile tune`, or T4 results (.json)")
    parser.add_argument("--source", default="", metavar="SHA256", help="the beginning of one (that with most points)")
    every = ["random", "model", "gaussian"]
    parser.add_argument("--search", type=_several(SEARCHES), default=every, help=f"of polytile ({','.join(every)})")
    parser.add_argument(
        "--kernel-tuner", type=_several(STRATEGIES), default=[], metavar="STRATEGY,...", help=f"{','.join(STRATEGIES)}"
    )
    parser.add_argument("--seeds", type=_positive, default=20, metavar="N", help="runs of each search (20)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append a row for each search to FILE")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="write the record as a cache file of Kernel Tuner")
    parser.add_argument("--t4", type=Path, metavar="FILE", help="write the record as results in the T4 format")
    parser.set_defaults(command=_replay)


def _selection(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("selection", nargs="*", metavar="SELECTION", help=text)


def _what(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dataset", choices=DATASETS, default="mini", help="the size (mini)")
    parser.add_argument("--dtype", type=_several(tuple(SIZES)), default=["double", "float"], help="double,float")
    parser.add_argument("--schedule", type=_several(SCHEDULES), default=["auto"], help="of polytile (auto)")


def _jobs(parser: argparse.ArgumentParser) -> None:
    cores = usable_processors()
    parser.add_argument("--jobs", type=_positive, default=cores, metavar="N", help=f"processes at a time ({cores})")


def _several(known: Sequence[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        values = list(dict.fromkeys(v.strip() for v in text.split(",") if v.strip()))
        unknown = [v for v in values if v not in known]
        if unknown or not values:
            given = repr(unknown[0]) if unknown else "nothing"
            raise argparse.ArgumentTypeError(f"{given}: choose from {', '.join(known)}")
        return values

    return parse


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, text.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers") from None


def _checks(text: str) -> str:
    from polytile.diagnostics import UsageError
    from polytile.runtime.checked import checks_named

    try:
        return ",".join(checks_named(text.split(",")))
    except UsageError as error:
        raise argparse.ArgumentTypeError(f"{error.message}: {error.hint}") from error


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is no time")
    return value


def _list(chosen: argparse.Namespace) -> int:
    for entry in select(load(chosen.root), chosen.selection):
        sizes = " ".join(f"{name}={value}" for name, value in entry.sizes("large").items())
        print(f"{entry.id:<32} {entry.ctype:<7} large: {sizes}")
    return 0


def _run(chosen: argparse.Namespace) -> int:
    from polybench.runner.run import run

    return run(chosen, _entries(chosen))


def _sweep(chosen: argparse.Namespace) -> int:
    from polybench.runner.sweep import sweep

    return sweep(chosen, load(chosen.root))


def _limits(chosen: argparse.Namespace) -> int:
    from polybench.runner.limits import limits

    return limits(chosen, load(chosen.root))


def _replay(chosen: argparse.Namespace) -> int:
    from polybench.runner.replay import replay

    return replay(chosen)


def _entries(chosen: argparse.Namespace) -> list[Entry]:
    return select(load(chosen.root), chosen.selection)


def _export(chosen: argparse.Namespace) -> int:
    from polybench.runner.export import export

    return export(chosen, _entries(chosen))


def _import(chosen: argparse.Namespace) -> int:
    from polybench.runner.imports import import_results

    return import_results(chosen.folder, chosen.json, chosen.files)


def _counts(chosen: argparse.Namespace) -> int:
    from polybench.runner.counts import FIVE, counts

    chosen.selection = chosen.selection or list(FIVE)
    return counts(chosen, [] if chosen.read else _entries(chosen))


def _digests(chosen: argparse.Namespace) -> int:
    from polybench.runner.digests.command import digests

    return digests(chosen)


def _damage(chosen: argparse.Namespace) -> int:
    from polybench.runner.damage.experiment import damage

    return damage(chosen, _entries(chosen))


def _resources(chosen: argparse.Namespace) -> int:
    from polybench.runner.resources import resources

    return resources(chosen, _entries(chosen))


def _caps(chosen: argparse.Namespace) -> int:
    from polybench.runner.caps import FAMILY, caps

    chosen.selection = chosen.selection or [FAMILY]
    return caps(chosen, _entries(chosen))


def _ablation(chosen: argparse.Namespace) -> int:
    from polybench.runner.ablation import ablation
    from polybench.runner.caps import FAMILY

    chosen.selection = chosen.selection or [FAMILY]
    return ablation(chosen, _entries(chosen))


def _estimates(chosen: argparse.Namespace) -> int:
    from polybench.runner.estimates import estimates

    programs = load(chosen.root)
    return estimates(chosen.results, programs, [entry.id for entry in select(programs, chosen.only)])


def _kernels(chosen: argparse.Namespace) -> int:
    from polybench.runner.built import kernels

    return kernels(chosen.results, chosen.markdown)


def _report(chosen: argparse.Namespace) -> int:
    from polybench.runner.compare_runs import are_two_runs, report_runs
    from polybench.runner.report import report

    if are_two_runs(chosen.results):
        old, new = chosen.results
        return report_runs(old, new, load(chosen.root), plot=chosen.plot, markdown=chosen.markdown)
    return report(chosen.results, load(chosen.root), plot=chosen.plot, markdown=chosen.markdown)
