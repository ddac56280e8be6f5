"""Barriers of a sequence are as few as the dependences between threads allow."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl
import pytest

from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.promotion.barrier_elimination import without_barriers
from polytile.scheduling.proof.legality import prove

ARGUMENTS = "int n, double a[n], double b[n], double c[n], double d[n], double e[n]"


def loops(*sources: str) -> str:
    targets = "bcde"
    return " ".join(f"for (int i = 0; i < n; i++) {t}[i] = {s};" for t, s in zip(targets, sources, strict=False))


def tree(scop: Scop) -> isl.Schedule:
    """All loops of a SCoP in one block, one after the other, with barriers between."""
    domain = scop.domain.intersect_params(scop.context)
    text = f'domain: "{domain}"\nchild:\n  mark: "kernel"\n  child:\n    mark: "sync"\n    child:\n      sequence:\n'
    for statement in scop.statements:
        name = statement.name
        text += f'      - filter: "{{ {name}[i] }}"\n        child:\n          mark: "thread[64]"\n          child:\n'
        text += f'            schedule: "[{{ {name}[i] -> [i] }}]"\n'
    return isl.Schedule(text)


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (("a[i]", "b[i]", "c[i]", "d[i]"), "kernel(seq(A, B, C, D))"),
        (("a[i]", "b[n - 1 - i]", "c[i]", "d[i]"), "kernel(sync seq(A, seq(B, C, D)))"),
        (("a[i]", "b[i]", "b[n - 1 - i]", "d[i]"), "kernel(sync seq(seq(A, B), seq(C, D)))"),
        (("a[i]", "a[i]", "b[n - 1 - i]", "c[n - 1 - i]"), "kernel(sync seq(seq(A, B), seq(C, D)))"),
        (("a[i]", "b[i]", "c[i]", "b[n - 1 - i]"), "kernel(sync seq(seq(A, B, C), D))"),
        (("a[i]", "b[n - 1 - i]", "c[n - 1 - i]", "d[n - 1 - i]"), "kernel(sync seq(A, B, C, D))"),
    ],
)
def test_as_few_as_the_dependences_allow(
    scop: Callable[..., Scop], shape: Callable[[isl.Schedule], str], sources: tuple[str, ...], expected: str
) -> None:
    found = scop(ARGUMENTS, loops(*sources))
    dependences = analyse(found)
    thinned = without_barriers(tree(found), dependences.all.intersect_params(found.context))
    for letter, statement in zip("ABCD", found.statements, strict=True):
        expected = expected.replace(letter, f"thread[64] {statement.name}")
    assert shape(thinned) == expected
    assert prove(found, dependences, MappedSchedule(thinned, "test")).proven
