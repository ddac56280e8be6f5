"""Along which dimension of elements neighbouring threads move in copies: the plan's, in whatever order cells are."""

from __future__ import annotations

import re

import pytest

import polytile
from tests.bitwise import same_as_c

TEXT = """void f(int n, int m, double a[m][n], double b[n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            b[i][j] = 2.0 * a[j][i];
#pragma endscop
}
"""
CELL = re.compile(r"-> \[\((-32b1 \+ e0)\), \((-32b0 \+ e1)\)\]")


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("cells", ["rows", "columns"])
@pytest.mark.parametrize(("lanes", "fastest"), [("[1, 0]", r"n \+ tj"), ("[0, 1]", r"\(tj \+ 32 \* bj\) \* n")])
def test_threads_move_along_the_dimension_that_is_asked_for(cells: str, lanes: str, fastest: str) -> None:
    (plain,) = polytile.compile(TEXT, name="f.c", strict=True).scops
    assert CELL.search(plain.saved_schedule) and '"lanes": [1, 0]' in plain.saved_schedule
    changed = plain.saved_schedule.replace('"lanes": [1, 0]', f'"lanes": {lanes}')
    if cells == "columns":
        changed = CELL.sub(r"-> [(\2), (\1)]", changed)
    (found,) = polytile.compile(TEXT, name="f.c", strict=True, load_schedule=changed).scops
    fills = re.findall(r"a_tile\[[^=]*= (?:[^;]*\? *)?\s*a\[([^;]*)\]", found.cuda)
    assert fills and all(re.search(fastest, fill) for fill in fills), fills
    same_as_c(found, [{"n": 37, "m": 65}, {"n": 1, "m": 33}])
