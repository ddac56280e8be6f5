"""Tiled trees: blocks have tiles of two parallel loops, threads take their points in turns, a sum is strip-mined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import islpy as isl
import pytest


@dataclass(frozen=True)
class Nest:
    """How one statement goes through the tile: its parallel loops, the serial ones around the strip-mined one, this,
    and those inside, as expressions of its instance."""

    instance: str
    parallel: tuple[str, ...]
    serial: str = ""
    inside: tuple[str, ...] = ()
    batch: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()  # what their coordinates come from, if not from the parallel loops


@dataclass(frozen=True)
class Tiles:
    tile: tuple[int, ...] = (64, 64)
    block: tuple[int, ...] = (16, 16)
    strip: int = 16
    barrier: bool = True
    barrier_between: bool = False  # the nests
    points: str = "inside"  # or "outside" of the strip-mined loop


def _band(at: str, *rows: str) -> str:
    return f'{at}schedule: "[{", ".join(rows)}]"\n'


def _each(nests: Sequence[Nest], expressions: Callable[[Nest], list[str]]) -> list[str]:
    columns = [[f"{n.instance} -> [{e}]" for e in expressions(n)] for n in nests]
    return [f"{{ {'; '.join(row)} }}" for row in zip(*columns, strict=True)]


def _chain(levels: Sequence[str], depth: int) -> str:
    """Nested nodes: marks, and bands in brackets."""
    text = ""
    for k, level in enumerate(levels):
        at = "  " * (depth + k)
        text += f"{at}child:\n" + (_band(f"{at}  ", level) if level.startswith("{") else f'{at}  mark: "{level}"\n')
    return text


def tiled_tree(domain: str, nests: Sequence[Nest], sizes: Tiles = Tiles()) -> isl.Schedule:
    """`kernel / block / sequence { thread / points; loop[k0] / thread / loop[k] / points }`."""
    blocks = _each(
        nests,
        lambda n: [*n.batch, *(f"floor(({p})/{t})" for p, t in zip(n.parallel, sizes.tile, strict=True))],
    )
    text = f'domain: "{domain}"\n'
    text += 'child:\n  mark: "kernel"\n  child:\n    mark: "block"\n    child:\n' + _band("      ", *blocks)
    if len(nests) == 1:
        return isl.Schedule(text + _chain(_levels(nests[0], 0, sizes), 3))
    text += '      child:\n        mark: "sync"\n' if sizes.barrier_between else ""
    at = " " * (10 if sizes.barrier_between else 8)
    text += f"{at[2:]}child:\n{at}sequence:\n"
    for number, nest in enumerate(nests):
        text += f'{at}- filter: "{{ {nest.instance} }}"\n' + _chain(_levels(nest, number, sizes), len(at) // 2 + 1)
    return isl.Schedule(text)


def _levels(nest: Nest, number: int, sizes: Tiles) -> list[str]:
    def band(*values: str) -> str:
        return ", ".join(_each([nest], lambda _: list(values)))

    pairs = list(zip(nest.parallel, sizes.tile, sizes.block, strict=True))
    suffix = f"_{number}" if number else ""  # labels are distinct
    found: list[str] = []
    if nest.serial:
        found += [
            f"loop[k0{suffix}]",
            *(["sync"] if sizes.barrier else []),
            band(f"floor(({nest.serial})/{sizes.strip})"),
        ]
    threads = zip(nest.threads or nest.parallel, sizes.block, strict=True)
    found += [f"thread[{','.join(map(str, sizes.block))}]", band(*(f"({p}) mod {b}" for p, b in threads))]
    points = [f"loop[points{suffix}]", band(*(f"floor((({p}) mod {t})/{b})" for p, t, b in pairs))]
    serial = [f"loop[k{suffix}]", band(f"({nest.serial}) mod {sizes.strip}")] if nest.serial else []
    for k, inner in enumerate(nest.inside):
        serial += [f"loop[f{k}{suffix}]", band(inner)]
    return found + (points + serial if sizes.points == "outside" else serial + points)


@pytest.fixture(scope="session")
def tiled() -> Callable[..., isl.Schedule]:
    return tiled_tree


@pytest.fixture(scope="session")
def nest() -> type[Nest]:
    return Nest


@pytest.fixture(scope="session")
def sizes() -> type[Tiles]:
    return Tiles
