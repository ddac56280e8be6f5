"""Elements that batches load before an iteration runs, beside stores that may be to the same elements: as C has it."""

from __future__ import annotations

import pytest

import polytile
from tests.every_schedule import source

PROGRAMS = {
    "a store to an element that may be the same": (
        "int p, int q, T A[n][4], T x[n], T s[1]",
        "for (int i = 0; i < n; i++) { A[i][p] = x[i]; s[0] += A[i][q]; }",
    ),
    "a store where the load is not made": (
        "T A[40][16][40], T s[1]",
        "for (int i = 0; i < 40; i++) for (int j = 0; j < 16; j++) for (int k = 0; k < 40; k++) A[i][j][k] = 1;"
        " for (int i = 0; i < 40; i++) for (int j = 0; j < 16; j++) for (int k = i; k < 40; k++) A[i][j][k] += k;"
        " for (int i = 0; i < 40; i++) for (int j = 0; j < 16; j++) for (int k = i; k < 40; k++)"
        " s[0] += A[i][j][k] != 1 + k;",
    ),
    "loaded values in another array": (
        "T A[2 * n], T B[2 * n], T s[1]",
        "for (int i = 0; i < n; i++) { s[0] += A[2 * i]; B[2 * i] = A[2 * i + 1]; B[2 * i + 1] = A[2 * i]; }",
    ),
    "loaded values in another column": (
        "T A[n][8], T s[1]",
        "for (int i = 0; i < n; i++) { s[0] += A[i][0] - 2 * A[i][1]; A[i][4] = A[i][1]; A[i][5] = A[i][0]; }",
    ),
    "a pair that changes places": (
        "T A[2 * n], T s[1], T t",
        "for (int i = 0; i < n; i++) { t = A[2 * i]; A[2 * i] = A[2 * i + 1]; A[2 * i + 1] = t; s[0] += A[2 * i]; }",
    ),
}


@pytest.mark.quick
@pytest.mark.parametrize(
    ("name", "element", "schedule"),  # each program in both schedules, in all types
    [
        (name, element, ("classic", "superposed")[(row + column) % 2])
        for row, name in enumerate(PROGRAMS)
        for column, element in enumerate(("int", "unsigned", "double"))
    ],
)
def test_loads_see_stores_before_them(name: str, element: str, schedule: str) -> None:
    data, body = (part.replace("T ", f"{element} ") for part in PROGRAMS[name])
    text = source(data, body)
    scop = polytile.compile(text, name="f.c", schedule=schedule, raise_bugs=True).scops[0]
    assert scop.program is not None
    known = {parameter.name for parameter in scop.scop.parameters}
    for given in ({"n": n, "p": 1, "q": q} for n, q in ((1, 1), (5, 2), (140, 1))):
        scop.validate(on="emulator", parameters={name: given[name] for name in known}, seed=1)
