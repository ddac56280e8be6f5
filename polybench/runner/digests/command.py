"""The command: compile, and write or compare the digests."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from polybench.runner.digests.processes import Ended, forked
from polybench.runner.digests.texts import TIMED, Source, digest, sources
from polybench.runner.digests.variants import (
    RANDOM,
    Variant,
    by_source,
    chosen_variants,
    random_variants,
    table_variants,
)
from polybench.runner.errors import EXIT_FAILED, RunnerError
from polybench.runner.tables import Entry, load
from polytile.cli.progress import bar
from polytile.dataclass import dataclass

SECONDS = 600.0  # for the variants of one program


def digests(chosen: argparse.Namespace) -> int:
    """Compute digests, and print, write or compare them.

    The exit status is 1 when something differs from the file that is compared with.
    """
    old = chosen.compare or chosen.update
    if old is not None:
        return _compare(chosen, old)
    entries = load(chosen.root)
    variants = table_variants(entries.values(), chosen.dtype, chosen.schedule)
    variants = chosen_variants([*variants, *random_variants(chosen.seed, chosen.random)], chosen.selection)
    found = computed(variants, chosen.dataset, entries, chosen)
    if chosen.write is None:
        print(found.to_text(), end="")
        return 0
    write(chosen.write, found)
    print(f"{len(found.digests)} variants are in {chosen.write}{_left_out(found)}")
    return 0


def _compare(chosen: argparse.Namespace, path: Path) -> int:
    """Compile what the file lists, as far as it is selected; `--update` then writes the file anew."""
    old = read(path)
    variants = chosen_variants(old.digests, chosen.selection)
    found: list[Difference] = []

    def compare(some: Digests) -> None:
        for difference in differences(old.digests, some):
            found.append(difference)
            print(difference, flush=True)

    new = computed(variants, old.dataset, load(chosen.root), chosen, compare)
    print(f"{summary(len(new.digests), found)}{_left_out(new)}{_releases(old, new) if found else ''}")
    if chosen.update is not None:
        write(path, Stored({**old.digests, **new.digests}, new.dataset, new.islpy))
        return 0
    return EXIT_FAILED if found else 0


def _left_out(found: Stored) -> str:
    timed = sum(TIMED in parts for parts in found.digests.values())
    return f" ({timed} depend on a time limit and are left out)" if timed else ""


def _releases(old: Stored, new: Stored) -> str:
    return f"; the file was made with islpy {old.islpy}, this is {new.islpy}" if old.islpy != new.islpy else ""


def computed(
    variants: Sequence[Variant],
    dataset: str,
    entries: Mapping[str, Entry],
    chosen: argparse.Namespace,
    seen: Callable[[Digests], None] = lambda _: None,
) -> Stored:
    """Compute the digests of variants, each program and type in a process of its own.

    `seen` gets those of each as it ends.
    """
    gone = sorted({v.program for v in variants} - entries.keys())
    missing = [program for program in gone if not program.startswith(f"{RANDOM}/")]
    if missing:
        raise RunnerError(f"there is no program {missing[0]!r} any more")
    kept = chosen.keep.resolve() if chosen.keep is not None else None
    work = sources(by_source(variants), entries, dataset, chosen.root, kept)
    found: dict[Variant, dict[str, str]] = {}
    with bar("digests", len(work)) as advance:
        for number, result in forked([one.digests for one in work], chosen.jobs, SECONDS):
            own = _failed(work[number], result) if isinstance(result, Ended) else result
            found |= own
            seen(own)
            advance()
    return Stored.of(found, dataset)


def _failed(source: Source, ended: Ended) -> dict[Variant, dict[str, str]]:
    part = TIMED if ended.late else "error"
    return {variant: {part: digest(ended.reason)} for variant in source.variants}


FORMAT = "1"
Digests = Mapping[Variant, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Stored:
    """The digests of a file. `islpy` is the release that they were made with, of which schedules may depend."""

    digests: Digests
    dataset: str
    islpy: str

    @classmethod
    def of(cls, digests: Digests, dataset: str) -> Stored:
        return cls(digests, dataset, version("islpy"))

    def to_text(self) -> str:
        lines = [f"# format {FORMAT}, dataset {self.dataset}, islpy {self.islpy}"]
        for variant, parts in sorted(self.digests.items()):
            lines += [f"{variant} {part} {digest}" for part, digest in parts.items()]
        return "\n".join(lines) + "\n"


def read(path: Path) -> Stored:
    """Read a file of digests; raises RunnerError for a file that is none of this format."""
    try:
        head, *lines = path.read_text().splitlines()
        facts = dict(item.split(" ") for item in head.removeprefix("# ").split(", "))
        if facts["format"] != FORMAT:
            raise RunnerError(f"{path}: format {facts['format']}, this version reads {FORMAT}")
        found: dict[Variant, dict[str, str]] = {}
        for line in lines:
            program, dtype, schedule, fp, part, digest = line.split(" ")
            found.setdefault(Variant(program, dtype, schedule, fp), {})[part] = digest
        return Stored(found, facts["dataset"], facts["islpy"])
    except OSError as error:
        raise RunnerError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError) as error:
        raise RunnerError(f"{path} holds no digests") from error


def write(path: Path, stored: Stored) -> None:
    try:
        path.write_text(stored.to_text())
    except OSError as error:
        raise RunnerError(f"{path}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class Difference:
    """What of one variant is other than before."""

    variant: Variant
    changed: tuple[str, ...]
    new: tuple[str, ...]
    gone: tuple[str, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        return (*self.changed, *self.new, *self.gone)

    def __str__(self) -> str:
        """Print `polybench/lu float auto reassociate: kernel:lu_k1 entry changed; kernel:lu_k2 new`, for example."""
        kinds = (("changed", self.changed), ("new", self.new), ("gone", self.gone))
        said = [f"{' '.join(parts)} {how}" for how, parts in kinds if parts]
        return f"{self.variant}: {'; '.join(said)}"


def differences(old: Digests, new: Digests) -> Iterator[Difference]:
    """Yield what differs in the variants of both.

    A text that depends on the time that a process had is not compared.
    """
    for variant in sorted(old.keys() & new.keys()):
        a, b = old[variant], new[variant]
        if TIMED in a or TIMED in b:
            continue
        changed = tuple(p for p in a if p in b and a[p] != b[p])
        found = Difference(variant, changed, tuple(p for p in b if p not in a), tuple(p for p in a if p not in b))
        if found.parts:
            yield found


def summary(compared: int, found: Sequence[Difference]) -> str:
    """Print a summary, such as `3 of 60 variants differ: 4 kernel, 1 schedule, 3 entry`."""
    if not found:
        return f"none of {compared} variants differs"
    kinds = Counter(part.partition(":")[0] for difference in found for part in difference.parts)
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return f"{len(found)} of {compared} variants differ: {counts}"
