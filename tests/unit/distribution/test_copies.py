"""Packing halos and unpacking them, in the emulator: planes, dimensions that are not cut, structs, and all types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polytile
from tests.unit.distribution.programs import distribute, scop_of

PROGRAM = """
typedef struct {{ double x; float y; }} Cell;
void f(int steps, int n, int m, {type} A[2][n][3][m])
{{
#pragma scop
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) {{
                A[(t + 1) % 2][i][0][j]{field} = A[t % 2][i - 1][1][j]{field} + A[t % 2][i][2][j + 1]{field};
                A[(t + 1) % 2][i][1][j]{field} = A[t % 2][i][0][j]{field};
                A[(t + 1) % 2][i][2][j]{field} = A[t % 2][i][1][j]{field};
            }}
#pragma endscop
}}
"""
CELL = np.dtype([("x", np.float64), ("y", np.float32)], align=True)


@pytest.mark.slow(but=1)
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize(
    ("ctype", "field", "dtype"), [("double", "", np.float64), ("short", "", np.int16), ("Cell", ".y", CELL)]
)
def test_a_box_of_a_plane_goes_there_and_back(ctype: str, field: str, dtype: Any) -> None:
    plan = distribute(scop_of(PROGRAM.format(type=ctype, field=field)))
    (copy,) = plan.copies
    shape = (2, 7, 3, 6)
    whole = np.arange(2 * 7 * 3 * 6 * np.dtype(dtype).itemsize).astype(np.uint8).view(dtype).reshape(shape)
    box = {"first": (2, 1), "count": (2, 4)}
    given = {name: value for key in box for name, value in zip(filter(None, getattr(copy, key)), box[key], strict=True)}
    sizes = {"steps": 1, "n": 20, "m": 20, "i_extent": 7, "j_extent": 6, **given, copy.plane: 1}
    known = {name: sizes[name] for name in (p.name for p in copy.pack.parameters)}
    source, buffer = whole.copy(), np.zeros((2, 3, 4), dtype)
    polytile.compile_scop(copy.pack)(on="emulator", **known, **{copy.array: source, copy.buffer: buffer})
    expected = whole[1, 2:4, :, 1:5]
    names = expected.dtype.names or [None]
    assert all(np.array_equal(_part(buffer, n), _part(expected, n), equal_nan=ctype != "short") for n in names)
    target = np.zeros_like(whole)
    polytile.compile_scop(copy.unpack)(on="emulator", **known, **{copy.array: target, copy.buffer: buffer})
    filled = np.zeros_like(whole)
    filled[1, 2:4, :, 1:5] = expected
    assert all(np.array_equal(_part(target, n), _part(filled, n), equal_nan=ctype != "short") for n in names)


def _part(values: Any, name: str | None) -> Any:
    return values if name is None else values[name]
