"""Digests in a file, a line each, and what differs between two sets of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from polybench.runner.digests.texts import TIMED
from polybench.runner.digests.variants import Variant
from polybench.runner.errors import RunnerError
from polytile.dataclass import dataclass

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
