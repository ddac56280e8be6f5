"""The trees of isl's scheduler, and what is left of them where it gives up."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.strategies.pluto import GAVE_UP, BandTree, band_trees

CHAIN = "int n, double a[n], double b[n], double c[n], double d[n]"
STENCILS = """for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i] + a[i + 1];
    for (int i = 1; i < n - 1; i++) c[i] = b[i - 1] + b[i] + b[i + 1];
    for (int i = 1; i < n - 1; i++) d[i] = c[i - 1] + c[i] + c[i + 1];"""


FAR = "__pencil_assume(n > 100);\nfor (int i = 0; i < n; i++) a[i] += a[i + n - 100];"


def trees(scop: Scop, operations: int) -> list[BandTree]:
    return band_trees(scop, analyse(scop), operations)


def test_components_are_scheduled_before_they_are_fused(
    scop: Callable[..., Scop], shape: Callable[[isl.Schedule], str]
) -> None:
    """Where there is enough for the components alone, these and the source's loops are what is left."""
    chain = scop(CHAIN, STENCILS)
    few, some, many = (trees(chain, operations) for operations in (2_000, 8_000, 100_000))
    assert [one.fusion for one in few] == ["original order"]
    assert [one.fusion for one in some] == ["distributed", "original order"]
    assert [one.fusion for one in many] == ["fused", "distributed", "original order"]
    assert all(one.notes and GAVE_UP in one.notes[0] for one in (*few, *some))
    assert not any(one.notes for one in many)
    assert shape(some[0].tree).count("serial[i*]") == 3


def test_a_distance_that_an_assumption_bounds_is_scheduled(scop: Callable[..., Scop]) -> None:
    far = scop("int n, double a[2 * n]", FAR)
    assert not any(one.notes for one in trees(far, 100_000))
