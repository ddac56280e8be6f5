"""What is compiled: programs of the tables and random ones, each with several types, schedules and settings of --fp."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product

from polybench.runner.errors import RunnerError
from polybench.runner.tables import Entry
from polytile.dataclass import dataclass

RANDOM = "random"
DRAWN = "drawn"  # the type of a random program: each of its arrays has its own
STRICT_TYPE, STRICT_SCHEDULE = "double", "auto"  # of the variants with --fp strict


@dataclass(frozen=True, slots=True, order=True)
class Variant:
    """One compilation: `polybench/gemm float classic reassociate`, or `random/1-17 drawn auto strict`."""

    program: str
    dtype: str
    schedule: str
    fp: str

    def __str__(self) -> str:
        return f"{self.program} {self.dtype} {self.schedule} {self.fp}"

    @property
    def drawn(self) -> tuple[int, int] | None:
        """The seed and the number of a random program."""
        family, _, name = self.program.partition("/")
        seed, _, index = name.partition("-")
        return (int(seed), int(index)) if family == RANDOM else None


def table_variants(entries: Iterable[Entry], dtypes: Sequence[str], schedules: Sequence[str]) -> list[Variant]:
    """Return every type with every schedule; in one of these also with the reductions in the source's order."""
    found = []
    for entry, dtype, schedule in product(entries, dtypes, schedules):
        found.append(Variant(entry.id, dtype, schedule, "reassociate"))
        if (dtype, schedule) == (STRICT_TYPE, STRICT_SCHEDULE):
            found.append(Variant(entry.id, dtype, schedule, "strict"))
    return found


def random_variants(seed: int, programs: int) -> list[Variant]:
    """Return the first random programs of a seed, with the strategies that were drawn for them."""
    from polytile.fuzz.case import case_of

    found = []
    for index in range(programs):
        case = case_of(seed, index)
        fp = "strict" if case.choices.strict else "reassociate"
        found += [Variant(f"{RANDOM}/{seed}-{index}", DRAWN, strategy, fp) for strategy in case.strategies]
    return found


def chosen_variants(variants: Iterable[Variant], patterns: Sequence[str]) -> list[Variant]:
    """Select those whose program a pattern names.

    A pattern is `family/name`, `name`, `family`, or a glob of these; none means all.
    """
    found = [v for v in variants if not patterns or any(_named(v.program, p) for p in patterns)]
    if not found:
        raise RunnerError(f"no program matches {' or '.join(map(repr, patterns))}" if patterns else "no program")
    return found


def _named(program: str, pattern: str) -> bool:
    family, _, name = program.partition("/")
    return any(fnmatchcase(text, pattern) for text in (program, family, name))


def by_source(variants: Iterable[Variant]) -> Mapping[tuple[str, str], list[Variant]]:
    """Group variants by program and type: the C text is read once for these."""
    found: dict[tuple[str, str], list[Variant]] = {}
    for variant in variants:
        found.setdefault((variant.program, variant.dtype), []).append(variant)
    return found
