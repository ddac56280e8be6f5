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
    conflicts: int


def cost(text: str, parameters: dict[str, int] | None = None, **settings: object) -> Cost:
    """What all kernels of a SCoP ask of global memory, how often a warp's lanes part, and how often they wait for one
    another's bank of shared memory."""
    program = polytile.compile(text, **settings)  # type: ignore[arg-type]
    (scop,) = program.scops
    found = scop.count(parameters=parameters, seed=1, unit=program.unit)
    assert found is not None
    sites = [s for s in found.counts.sites if s.space == "global"]
    branches = sum(k.divergent_branches for k in found.counts.kernels)
    conflicts = sum(s.bank_conflicts for s in found.counts.sites if s.space == "shared")
    return Cost(sum(s.requests for s in sites), sum(s.sectors for s in sites), branches, conflicts)


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


NEIGHBOUR_SUM = """
{type} {maximum}({type}, {type});
{type} f(int n, {array})
{{
    {type} s = 0;
#pragma scop
    {loops}
#pragma endscop
    return s;
}}
"""
NEIGHBOURS = {  # arrays, and loops over elements that are `{d}` apart
    "sum": ("a[n]", "for (int i = 3; i < n; i++) s += a[i] * a[i - {d}];"),
    "maximum": ("a[n]", "for (int i = 3; i < n; i++) s = {maximum}(s, a[i] - a[i - {d}]);"),
    "rows": (
        "a[3][n]",
        "for (int i = 0; i < 3; i++) for (int j = 3; j < n; j++) s += (a[i][j] - a[i][j - {d}]) * a[i][j];",
    ),
}


@pytest.mark.parametrize("type", ["float", "double"])
@pytest.mark.parametrize("form", NEIGHBOURS)
def test_sums_over_neighbours(form: str, type: str) -> None:
    """Of elements next to each other, beside elements three apart: every second lane could load both at once."""
    array, loops = NEIGHBOURS[form]
    maximum = {"float": "fmaxf", "double": "fmax"}[type]

    def of(d: int) -> Cost:
        own = loops.format(d=d, maximum=maximum)
        return cost(NEIGHBOUR_SUM.format(type=type, array=f"{type} {array}", loops=own, maximum=maximum), {"n": 20000})

    near, apart = of(1), of(3)
    assert near.requests <= MORE * apart.requests and near.sectors <= MORE * apart.sectors
    assert near.branches <= MORE * apart.branches


COPY = """
void f(int n, int m, {type} A{shape}, {type} B{of})
{{
#pragma scop
    {loops} B{place} = A{read};
#pragma endscop
}}
"""
MATRIX = {
    "loops": "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)",
    "of": "[n][m]",
    "place": "[i][j]",
}
SPACE = {
    "loops": "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < m; k++)",
    "of": "[n][n][m]",
    "place": "[i][j][k]",
}
COPIES = {  # with the shape of what is read, and what is
    "transposed": (MATRIX, "[m][n]", "[j][i]"),
    "turned space": (SPACE, "[m][n][n]", "[k][j][i]"),
    "turned planes": (SPACE, "[n][m][n]", "[i][k][j]"),
}


@pytest.mark.parametrize("type", ["char", "float", "double"])
@pytest.mark.parametrize("form", COPIES)
def test_transposes(form: str, type: str) -> None:
    """Copies of columns to rows beside copies of rows to rows, in whole tiles and not. In others the lanes of a warp
    part where rows of what is read end, too."""
    what, shape, read = COPIES[form]
    texts = [COPY.format(type=type, shape=s, read=r, **what) for s, r in ((what["of"], what["place"]), (shape, read))]
    plain, turned = (cost(text, {"n": 256 if what is MATRIX else 64, "m": 192}) for text in texts)
    assert turned.sectors <= MORE * plain.sectors and turned.branches <= MORE * plain.branches
    assert not turned.conflicts or type == "char"  # four elements in a bank
    plain, turned = (cost(text, dict.fromkeys("nm", 280 if what is MATRIX else 72)) for text in texts)
    assert turned.sectors <= MORE * plain.sectors
