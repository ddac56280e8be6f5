"""Elements and fields as sizes: read before the SCoP, where nothing in it changes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.bitwise import same_as_c
from tests.same_output import prints_the_same

FILE = """
int grid[3];
struct inner { int from, to; };
struct dim { int count; int sizes[4]; struct inner range; double w; } dim;
"""
PROGRAMS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "elements": (
        "double a[60][60]",
        "for (int i = 0; i < grid[2]; i++) for (int j = grid[0]; j < grid[1] - 1; j++) a[i][j] = grid[1] + j;",
        ("grid[2]", "grid[0]", "grid[1]"),
    ),
    "fields": (
        "double *restrict a, const double *restrict b",
        "for (int i = dim.range.from; i < dim.count; i++) a[i] = b[i + dim.sizes[1]];",
        ("dim.range.from", "dim.count", "dim.sizes[1]"),
    ),
    "through pointers": (
        "double *restrict a, const struct dim *d, const int *n",
        "for (int i = n[1]; i < d->count; i++) if (i < d->count - 2) a[i] = d->count;",
        ("n[1]", "d->count"),
    ),
    "a condition": (
        "double a[60]", "for (int i = 0; i < 50; i++) if (i < grid[0]) a[i] = 2; else a[i] = 3;", ("grid[0]",),
    ),
}


def text(arguments: str, body: str) -> str:
    return f"{FILE}void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_loads_are_passed(name: str) -> None:
    arguments, body, loads = PROGRAMS[name]
    program = polytile.compile(text(arguments, body), name="f.c", strict=True, raise_bugs=True)
    (scop,) = program.scops
    assert sorted(spelt for _, spelt in scop.scop.passed) == sorted(loads)
    for load in loads:
        assert load in program.host.partition("polytile_f_scop0(")[2].partition("if (polytile_status != 0)")[0]
    names = [p.name for p in scop.scop.parameters]
    assert len(names) == len(loads)
    for size in (0, 1, 2, 37):
        sizes = {name: size if k % 2 == 0 else size // 2 for k, name in enumerate(names)}
        if "through" not in name:
            same_as_c(scop, [sizes])
        else:
            for report in scop.validate(on="emulator", parameters=sizes, seed=1):
                assert report.bitwise and "d->count" in report.note + "d->count"


STAYING = {
    "written": ("double a[60]", "for (int i = 0; i < grid[0]; i++) { grid[1] = i; a[i] = 1; }"),
    "written as a field": (
        "struct dim *p", "for (int i = 0; i < p->count; i++) { p[i].w = i; p[i].count = 3; }",
    ),
    "written with its struct": (
        "struct dim *p, const struct dim *q", "for (int i = 0; i < p->range.to; i++) p[i] = q[i];",
    ),
    "reached through another pointer": (
        "struct dim *p, int n", "for (int i = 0; i < p->count; i++) { p[i].w = i; (p + n)->count = 3; }",
    ),
    "guarded": (
        "double a[60], int n, const int *p",
        "for (int i = 0; i < n; i++) if (i > 3) for (int j = 0; j < p[0]; j++) a[i] = 1;",
    ),
    "beyond its end": ("double a[60]", "for (int i = 0; i < grid[3]; i++) a[i] = 1;"),
    "by an iterator": ("double a[60]", "for (int i = 0; i < 3; i++) for (int j = 0; j < grid[i]; j++) a[j] += 1;"),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", STAYING)
def test_what_may_change_or_not_be_read_is_no_size(name: str) -> None:
    try:
        (scop,) = polytile.compile(text(*STAYING[name]), name="f.c").scops
    except UserError:
        return
    assert not scop.scop.passed


ASKED: Mapping[str, tuple[str, str, Mapping[str, tuple[str, ...]]]] = {
    "an element": ("int *p", "for (int i = 0; i < grid[0]; i++) p[i] = i;", {"grid[0]": ("p",)}),
    "a field": (
        "struct dim *p", "for (int i = 0; i < dim.count; i++) p[i].range.to = i;", {"dim.count": ("p",)},
    ),
    "another type": ("struct dim *p", "for (int i = 0; i < dim.count; i++) p[i].w = i;", {}),
    "fields beside it": (
        "struct dim *p",
        "for (int i = 0; i < p->range.to; i++) { p[i].w = i; p[i].sizes[i % 4] = 3; p[i].range.from = 2; }",
        {},
    ),
    "through a pointer": (
        "const struct dim *d, int *p, int *restrict q",
        "for (int i = 0; i < d->count; i++) { p[i] = i; q[i] = i; }",
        {"d->count": ("p",)},
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_the_host_asks_whether_pointers_lead_there(name: str) -> None:
    """Where kernels run and where the C does is tested in test_alias_checks.py."""
    arguments, body, expected = ASKED[name]
    (scop,) = polytile.compile(text(arguments, body), name="f.c", strict=True).scops
    assert {c.lvalue: c.arrays for c in scop.scop.alias_checks} == expected
    assert len(scop.scop.passed) == 1
    for size in (0, 1, 30):
        parameters = {p.name: size for p in scop.scop.parameters}
        assert all(report.bitwise for report in scop.validate(on="emulator", parameters=parameters, seed=size))


UNREAD = """
#include <stdio.h>
struct image { int w; double *px; };
void declared(int n, const int size[2], double *a)
{
#pragma scop
    for (int i = 0; i < n; i++) for (int j = 0; j < size[1]; j++) a[i] += j;
#pragma endscop
}
void elements(int *image, const int *size)
{
#pragma scop
    for (int i = 0; i < size[0]; i++) for (int j = 0; j < size[1]; j++) image[i * size[1] + j] += i + j;
#pragma endscop
}
void rows(int n, int size[][3], const struct image pictures[1], double *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < size[1][2]; j++)
            for (int k = 0; k < pictures[0].w; k++) a[i] += j * k;
#pragma endscop
}
int main(void)
{
    double a[8] = {0};
    int sizes[2] = {4, 3}, none[1] = {0}, picture[12] = {0}, table[2][3] = {{0}, {0, 0, 4}};
    struct image first = {3, a};
    declared(0, 0, a);
    declared(8, sizes, a);
    elements(picture, none);
    elements(picture, sizes);
    rows(0, 0, 0, a);
    rows(8, table, &first, a);
    table[1][2] = 0;
    rows(8, table, 0, a);
    for (int i = 0; i < 8; i++) printf("%g %d ", a[i], picture[i]);
    printf("%d %d\\n", sizes[0], sizes[1]);
    return 0;
}
"""


def test_elements_are_read_only_where_the_loops_around_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters that are declared as arrays may be null, and arrays may be too short, where nothing reads them."""
    program = prints_the_same(UNREAD, "address,undefined", tmp_path, monkeypatch)
    assert [len(scop.scop.passed) for scop in program.scops] == [1, 2, 2]
