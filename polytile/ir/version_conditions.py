"""Where the host takes one of several versions of a SCoP, in words of explanations, certificates and schedule files.

    # for grids of fewer than 2792241 cells, and 6 or more iterations behind tiles:  split tiles, beside overlapped ones
    # for sizes near n = 2000, steps = 100:                                          measured with these
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from polytile.dataclass import dataclass
from polytile.ir.def_use import mentioned_names
from polytile.ir.scop import Scop
from polytile.options import TunedVersion

NEAR = 2  # times as large or as small a size is near another one
_HEADING = r"(?m)^# for sizes near (\w+ = -?\d+(?:, \w+ = -?\d+)*):[ \t]*$\n?"


@dataclass(frozen=True, slots=True)
class FewerCells:
    """Spaces of fewer cells than `cells`, and of `least` or more; and `iterations` or more that tiles of larger ones
    leave."""

    cells: int
    least: int = 0
    iterations: int = 1

    def __str__(self) -> str:
        grids = f"grids of {f'at least {self.least} and ' if self.least else ''}fewer than {self.cells} cells"
        return f"{grids}, and {self.iterations} or more iterations behind tiles"


@dataclass(frozen=True, slots=True)
class NearSizes:
    """Sizes between half and twice those that something was measured with; `decisive` names those that are asked."""

    sizes: tuple[tuple[str, int], ...]
    decisive: frozenset[str]

    def __str__(self) -> str:
        return f"sizes near {', '.join(f'{name} = {size}' for name, size in self.sizes)}"

    @property
    def ranges(self) -> tuple[tuple[str, int, int], ...]:
        """Return names with their least and largest values."""
        sides = ((name, -(-size // NEAR), NEAR * size) for name, size in self.sizes if name in self.decisive)
        return tuple((name, min(one, other), max(one, other)) for name, one, other in sides)

    def far(self, sizes: Mapping[str, int]) -> list[str]:
        """Return the names of decisive sizes that are out of range; what has no value is not."""
        return [name for name, least, most in self.ranges if not least <= sizes.get(name, least) <= most]


def near_sizes(scop: Scop, sizes: Iterable[tuple[str, int]]) -> NearSizes:
    """Return where a schedule of a SCoP is taken that was measured with these sizes: those of arrays decide, or all
    where arrays have none. The number of steps in time is none of them."""
    found = tuple(sizes)
    names = {name for name, _ in found}
    of_arrays = names & {n for a in scop.arrays for n in mentioned_names(*(e for e in a.extents if e is not None))}
    return NearSizes(found, frozenset(of_arrays or names))


def split_tuned(text: str) -> tuple[str, TunedVersion | None]:
    """Split the text of a schedule from that of a version for some sizes after it, if it has one."""
    parts = re.split(_HEADING, text, maxsplit=1)
    if len(parts) == 1:
        return text, None
    pairs = (pair.split(" = ") for pair in parts[1].split(", "))
    return parts[0], TunedVersion(parts[2], tuple((name, int(size)) for name, size in pairs))
