"""Arrays without a size are all given one before a SCoP is extracted again."""

from __future__ import annotations

import pytest

from polytile.diagnostics import UserError
from polytile.frontend import unknown_sizes
from polytile.frontend.extract import extract
from polytile.frontend.program import read_program
from polytile.frontend.scop_region import Region
from polytile.ir.scop import Scop

GATHERS = "double *y, const double *a, const double *b, const double *c, const int *p"


@pytest.fixture
def extractions(monkeypatch: pytest.MonkeyPatch) -> list[Region]:
    """The regions that are extracted."""
    seen: list[Region] = []

    def counted(region: Region, *, merging: bool) -> Scop:
        seen.append(region)
        return extract(region, merging=merging)

    monkeypatch.setattr(unknown_sizes, "extract", counted)
    return seen


def scop(parameters: str, body: str) -> Scop:
    program = read_program(
        "f.c", f"void f(int n, int m, {parameters})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    )
    for refusal in program.refusals:
        raise refusal.error
    return program.scops[0]


def test_a_scop_without_such_arrays_is_extracted_once(extractions: list[Region]) -> None:
    scop("double y[n]", "for (int i = 0; i < n; i++) y[i] = i;")
    assert len(extractions) == 1


def test_several_arrays_get_sizes_at_once(extractions: list[Region]) -> None:
    found = scop(GATHERS, "for (int i = 0; i < n; i++) y[i] = a[p[i]] + b[p[i]] + c[p[i]];")
    assert [one.source for one in found.reached] == ["a", "b", "c"]
    assert len(extractions) == 2


def test_several_memories_are_asked_at_once(extractions: list[Region]) -> None:
    body = "for (int k = 0; k < m; k++) for (int i = 0; i < n; i++) { p[i] = p[i] + q[i]; y[i] = a[p[i]] + b[p[i]]; }"
    found = scop("double *y, const double *a, const double *b, int *p, const int *q", body)
    assert [one.source for one in found.allocated] == ["a", "b"]
    assert len(extractions) == 3  # the SCoP sets p behind reads of it, which is known once all sizes are


def test_what_else_is_wrong_is_said_in_the_order_of_arrays(extractions: list[Region]) -> None:
    body = "for (i = 0; i < n; i++) for (j = 0; j < m; j++) { y[i] += a[p[i]]; z[i * j] = 1; y[i] += b[p[j]]; }"
    with pytest.raises(UserError, match="multiplies `i` by `j`"):
        scop("double *y, const double *a, double *z, const double *b, const int *p, int i, int j", body)
    assert [len(region.reached) for region in extractions] == [0, 1]
