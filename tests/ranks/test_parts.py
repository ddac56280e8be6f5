"""The kernels of phases and copies alone, in the emulator with all its checks: races, addresses, what is never set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import polytile
from polytile.compiled_scop import compile_scop
from polytile.distribution.plan import DistributionPlan
from polytile.distribution.planner import distribute
from polytile.ir.scop import Scop

SUITE = Path(__file__).resolve().parents[2] / "polybench"
WAVE = """
void wave(int steps, int nx, int ny, int ri, int rj, double c[nx][ny], double u[3][nx][ny], double seen[steps])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                u[(t + 2) % 3][i][j] = 2.0 * u[(t + 1) % 3][i][j] - u[t % 3][i][j]
                    + c[i][j] * (u[(t + 1) % 3][i][j - 1] + u[(t + 1) % 3][i - 1][j] + u[(t + 1) % 3][i + 1][j]);
        seen[t] = u[(t + 2) % 3][ri][rj];
    }
#pragma endscop
}
"""
POSITIONS = 9  # of a rank's arrays, along each axis
OFFSET = 4


def parts(plan: DistributionPlan) -> Iterator[tuple[Scop, dict[str, int]]]:
    """Each SCoP that ranks run, and sizes: a box in the middle of a rank's arrays, on a rank in the middle."""
    sizes = {p.name: 5 if p.name in ("ri", "rj") else 20 for p in plan.scop.parameters}
    stored = {box.extent: POSITIONS for box in plan.boxes}
    given = {**sizes, **stored, plan.step: 3, **{box.offset: OFFSET for box in plan.boxes}}
    given |= {name: value for box in plan.boxes for name, value in ((box.first, 2), (box.end, POSITIONS - 2))}
    given |= {"plane": 1}
    for copy in plan.copies:
        given |= {name: 2 + k for k, name in enumerate(copy.first) if name}
        given |= {name: 3 for name in copy.count if name}
    for scop in (*plan.local, *(s for copy in plan.copies[:1] for s in (copy.pack, copy.unpack))):
        yield scop, {p.name: given[p.name] for p in scop.parameters}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["polybench/jacobi-2d", "polybench/fdtd-2d", "cluster/stencil-13pt", "wave"])
def test_kernels_of_ranks(name: str, emulator: None, checking_compiler: None) -> None:
    source = WAVE if name == "wave" else SUITE / f"{name}.c"
    (program,) = polytile.compile(source, strict=True, schedule="classic")
    ran = 0
    for scop, sizes in parts(distribute(program.compilation.source, 2)):
        (found,) = compile_scop(scop, strict=True).validate(on="emulator", parameters=sizes, seed=1, sanitize="all")
        assert found.line
        ran += 1
    assert ran >= 3
