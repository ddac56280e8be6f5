"""Inputs of earlier validations of one SCoP, for those of its other schedules: finding sizes that cover kernels, and
running the C for them, takes longer than the kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.runtime.expectation import Expectation
from polytile.runtime.layout import layouts

MOST_BYTES = 200_000_000  # of the arrays that are kept

Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class KnownInputs:
    """What was expected for sizes, with a note; the latest are last."""

    found: dict[tuple[tuple[str, int], ...], tuple[Expectation, str]] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[Sizes, ...]:
        """Return the sizes that are known, the latest first."""
        return tuple(dict(key) for key in reversed(self.found))

    def get(self, scop: Scop, sizes: Sizes, seed: int) -> tuple[Expectation, str] | None:
        """Return what is expected for sizes, of a Scop that was made of the same one and has the same arrays."""
        key = tuple(sizes.items())
        expectation, note = self.found.get(key, (None, ""))
        if expectation is None or expectation.seed != seed or expectation.scop.source != scop.source:
            return None
        if layouts(scop, expectation.values) != expectation.layouts:
            return None
        self.found[key] = self.found.pop(key)
        return replace(expectation, scop=scop), note

    def keep(self, sizes: Sizes, expectation: Expectation, note: str) -> None:
        """Keep what is expected for sizes, in the place of the oldest ones."""
        self.found[tuple(sizes.items())] = expectation, note
        while len(self.found) > 1 and sum(_bytes(one) for one, _ in self.found.values()) > MOST_BYTES:
            del self.found[next(iter(self.found))]


def _bytes(expectation: Expectation) -> int:
    return 2 * sum(data.nbytes for data in expectation.before.values())
