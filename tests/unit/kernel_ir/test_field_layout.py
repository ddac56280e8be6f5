"""How far numbers inside a struct lie from each other in memory."""

from __future__ import annotations

import ctypes
from itertools import product

import pytest

from polytile.frontend.program import read_program
from polytile.ir.field_layout import numbers_inside
from polytile.ir.scop import Array
from polytile.scheduling.analysis.affine_references import references
from polytile.scheduling.cost.array_layout import stride


class Cell(ctypes.Structure):
    _fields_ = (("t", ctypes.c_char), ("v", ctypes.c_double * 4))


class Table(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int), ("cells", Cell * 3), ("k", (ctypes.c_float * 5) * 2))


STRUCTS = "struct table { int id; struct { char t; double v[4]; } cells[3]; float k[2][5]; };\n"


def table() -> Array:
    text = f"{STRUCTS}void f(struct table *restrict w) {{\n#pragma scop\nw->id = 1;\n#pragma endscop\n}}\n"
    return read_program("test.c", text).scops[0].array("w")


def test_as_the_compiler_lays_them_out() -> None:
    names = [name for name, _ in table().fields]
    inside = numbers_inside(table(), names.index("cells[1].v[2]"))
    assert names[inside.first] == "cells[0].v[0]" and inside.size == 8
    for k, j in product(range(3), range(4)):
        apart = k * ctypes.sizeof(Cell) + j * 8
        numbers = names.index(f"cells[{k}].v[{j}]") - inside.first
        assert (inside.elements(numbers), inside.elements(-numbers)) == (apart / 8, -apart / 8)


# An access for (i, j), and by how many elements of its size it moves with each.
ACCESSES = {
    "w->k[i][j]": (5, 1),
    "w->k[j][i]": (1, 5),
    "w->k[i][2 * j + 1]": (5, 2),
    "w->k[i][3 - j]": (5, -1),
    "w->cells[i].v[j]": (ctypes.sizeof(Cell) // 8, 1),
    "w->cells[j].t": (0, ctypes.sizeof(Cell)),
    "w[i].k[1][j]": (ctypes.sizeof(Table) // 4, 1),
    "w[2 * i].id": (2 * ctypes.sizeof(Table) // 4, 0),
    "w->k[i][n - 1]": (5, 0),
}


@pytest.mark.parametrize("access", ACCESSES)
def test_strides(access: str) -> None:
    text = (
        f"{STRUCTS}void f(int n, struct table w[4], float x[2][2]) {{\n__builtin_assume(n >= 1 && n <= 5);\n"
        f"#pragma scop\nfor (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) x[i][j] = {access};\n"
        "#pragma endscop\n}\n"
    )
    (scop,) = read_program("test.c", text).scops
    (found,) = (r for r in references(scop, scop.statements[0]) if r.array.name == "w")
    assert (stride(found, (1, 0)), stride(found, (0, 1))) == ACCESSES[access]
