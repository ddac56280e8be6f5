"""A tiny family of programs for fast runs of the runner."""

from __future__ import annotations

from pathlib import Path

import pytest

SCALE = """
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    int n = N;
    DATA_TYPE *x = malloc((n + 1) * sizeof *x);
    for (int i = 0; i < n; i++)
        x[i] = (DATA_TYPE) i / 7;
#pragma scop
    for (int i = 0; i < n; i++)
        x[i] = 2 * x[i];
#pragma endscop
    fprintf(stderr, "0.000125\\n");
    printf("x %g\\n", (double) x[n / 2]);
    free(x);
    return 0;
}
"""
REFUSED = SCALE.replace("x[i] = 2 * x[i];", "x[i * i] = 2;")
TABLE = """
[scale]
file = "scale.c"
type = "double"
live_out = ["x"]
flops = "n"
bytes = "2 * n * sizeof"

[scale.parameters]
n = { macro = "N", mini = 10, small = 20, medium = 30, large = 40, extralarge = 50 }

[refused]
file = "refused.c"
type = "double"
live_out = ["x"]
flops = "n"
bytes = "2 * n * sizeof"

[refused.parameters]
n = { macro = "N", mini = 10, small = 20, medium = 30, large = 40, extralarge = 50 }
"""


@pytest.fixture
def family(tmp_path: Path) -> Path:
    """A folder of families with one program that works and one that polytile refuses."""
    return write_family(tmp_path)


def write_family(parent: Path) -> Path:
    """The same, written below `parent`."""
    root = parent / "families"
    folder = root / "tiny"
    folder.mkdir(parents=True)
    (folder / "scale.c").write_text(SCALE)
    (folder / "refused.c").write_text(REFUSED)
    (folder / "programs.toml").write_text(TABLE)
    return root
