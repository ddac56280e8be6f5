"""Structs that a SCoP declares: variables for their fields."""

from __future__ import annotations

import pytest

from polytile.choices import SCHEDULES
from tests.every_schedule import same_in_every_schedule, source

SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 33, "m": 40})
HEAD = """typedef struct { double x, y; } pair;
struct cell { float v; int kind; };
struct link { int next; double v; };
static double length(pair p) { return p.x * p.x + p.y * p.y; }
"""
PROGRAMS = {
    "by its fields": (
        "double *a, double *b",
        "for (int i = 0; i < n; i++) { pair p; p.x = a[i]; p.y = 2 * p.x; b[i] = p.x - p.y; p.x += b[i]; a[i] = p.x; }",
    ),
    "copied": (
        "pair *a, pair *b, double *c",
        "for (int i = 0; i < n; i++) { pair p = a[i], q; q = p; q.x += 1; b[i] = q; c[i] = q.x * p.y; }",
    ),
    "under conditions": (
        "struct cell *a, int *c",
        "for (int i = 0; i < n; i++) { struct cell s = a[i]; if (s.kind > 3) s.v = 1;"
        " else { struct cell t = s; t.v *= 2; s = t; } a[i] = s; c[i] = s.kind; }",
    ),
    "over a loop inside": (
        "double *a, pair *b",
        "for (int i = 0; i < n; i++) { pair sum; sum.x = 0; sum.y = 1; for (int j = 0; j < m; j++)"
        " { sum.x += a[j]; if (a[j] > 0.5) sum.y = a[j]; } b[i] = sum; }",
    ),
    "passed to a function": (
        "pair *a, double *b",
        "for (int i = 0; i < n; i++) { pair p = a[i]; p.x *= 3; b[i] = length(p) + p.y; }",
    ),
    "declared in the header of a loop": (
        "pair *a, double *b",
        "for (int i = 0; i < n; i++) { b[i] = 0; for (pair p = a[i]; p.x < 3; p.x += 1) b[i] += p.y; }",
    ),
    "with the name of one outside": (
        "pair g, pair *a, double *b, double *c",
        "for (int i = 0; i < n; i++) { pair g = a[i]; b[i] = g.x; } for (int i = 0; i < n; i++) c[i] = g.x;",
    ),
    "names that are taken": (
        "pair *a, double *p_x",
        "for (int i = 0; i < n; i++) { pair p = a[i]; p_x[i] = p.x + p.y; }",
    ),
}

pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    assert same_in_every_schedule(HEAD + source(*PROGRAMS[name]), SIZES) == []


@pytest.mark.quick
@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; i++) { struct link p; p.next = i; p.v = 0; p = a[p.next]; b[i].v = p.v; }",
        "int c = 0; for (int i = 0; i < n; i++) { struct link p = a[i]; p.v += 1; b[c++] = p; }",
        "for (int i = 0; i < n; i++) { struct link p, q; q = p = a[i]; b[i].v = p.v + q.v; }",
    ],
)
def test_structs_that_cannot_be_copied_field_by_field_stay_whole(body: str) -> None:
    serial = same_in_every_schedule(HEAD + source("struct link a[n], struct link b[n]", body), SIZES)
    assert serial == list(SCHEDULES)
