"""Forms of a nest whose kernels must not ask memory for more than the plainest one does, as the emulator counts."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import polytile

pytestmark = [pytest.mark.usefixtures("emulator"), pytest.mark.slow]

MORE = 1.1  # what another form may need of what the plain one does


class Cost(NamedTuple):
    requests: int
    sectors: int
    branches: int


def cost(text: str, parameters: dict[str, int] | None = None, **settings: object) -> Cost:
    """What all kernels of a SCoP ask of global memory, and how often a warp's lanes part."""
    program = polytile.compile(text, **settings)  # type: ignore[arg-type]
    (scop,) = program.scops
    found = scop.count(parameters=parameters, seed=1, unit=program.unit)
    assert found is not None
    sites = [s for s in found.counts.sites if s.space == "global"]
    branches = sum(k.divergent_branches for k in found.counts.kernels)
    return Cost(sum(s.requests for s in sites), sum(s.sectors for s in sites), branches)


CONVOLUTION = """
void conv({arguments}, {type} in[28][28], {type} out[6][24][24])
{{
#pragma scop
    for (int f = 0; f < 6; f++)
        for (int y = 0; y < 24; y++)
            for (int x = 0; x < 24; x++) {{
                {type} s = {w}bconv[f];
                for (int ky = 0; ky < 5; ky++)
                    for (int kx = 0; kx < 5; kx++)
                        s += {w}wconv[f][ky][kx] * in[y + ky][x + kx];
                out[f][y][x] = s;
            }}
#pragma endscop
}}
"""


@pytest.mark.parametrize("type", ["float", "double"])
def test_arrays_inside_structs(type: str) -> None:
    """Weights in a struct, behind a member of another size, beside weights in arrays of their own."""
    struct = f"struct net {{ char name[3]; {type} wconv[6][5][5], bconv[6]; }};"
    inside = cost(struct + CONVOLUTION.format(arguments="const struct net *w", w="w->", type=type))
    arguments = f"const {type} wconv[6][5][5], const {type} bconv[6]"
    plain = cost(CONVOLUTION.format(arguments=arguments, w="", type=type))
    assert inside.requests <= MORE * plain.requests and inside.sectors <= MORE * plain.sectors
