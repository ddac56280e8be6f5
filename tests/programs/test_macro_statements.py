"""Loop bodies of many statements that become one: lattice Boltzmann with walls, eliminations in blocks of a matrix."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polytile
from polytile.check.source import differences
from polytile.compiled_scop import CompiledScop
from polytile.facts import Where
from tests.bitwise import same_as_c
from tests.reading import shared

DIRECTIONS = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)]
LATTICE_SIZES = tuple({"s": s, "n": n, "m": m} for s, n, m in ((0, 3, 3), (1, 1, 4), (3, 3, 3), (2, 7, 9), (5, 12, 5)))
BLOCK_SIZES = tuple({"n": n, "m": m} for n, m in ((0, 0), (1, 1), (2, 3), (7, 5), (33, 4)))


def lattice(walls: str) -> str:
    """Every point pulls nine values of its neighbours; walls throw them back, and the last row but one moves."""
    reads = " ".join(f"double p{k} = f[t % 2][y - ({b})][x - ({a})][{k}];" for k, (a, b) in enumerate(DIRECTIONS))
    back = " ".join(f"f[(t + 1) % 2][y][x][{8 - k}] = p{k};" for k in range(9))
    moved = "if (y == n - 3) u = 0.1;"
    sets = " ".join(
        f"f[(t + 1) % 2][y][x][{k}] = p{k} - 0.5 * (p{k} - rho * (1 + ({a}) * u));"
        for k, (a, _) in enumerate(DIRECTIONS)
    )
    inside = f"double rho = ({' + '.join(f'p{k}' for k in range(9))}) / 9; double u = p6 + p7 - p1 - p2; {moved} {sets}"
    loops = "for (int t = 0; t < s; t++) for (int y = 1; y < n - 1; y++) for (int x = 1; x < m - 1; x++)"
    return f"{loops} {{ {reads} if ({walls}) {{ {back} }} else {{ {inside} }} }}"


def elimination() -> str:
    """Gauss's elimination in blocks of 6 x 6, element by element: what is set is used in the same iteration."""
    lines = []
    for k in range(6):
        lines.append(f"pivot = 1.0 / (4 + a[j][i][{k}][{k}]);")
        lines += [f"a[j][i][{k}][{c}] = a[j][i][{k}][{c}] * pivot;" for c in range(k + 1, 6)]
        for r in (r for r in range(6) if r != k):
            lines.append(f"factor = a[j][i][{r}][{k}];")
            lines += [f"a[j][i][{r}][{c}] = a[j][i][{r}][{c}] - factor * a[j][i][{k}][{c}];" for c in range(k + 1, 6)]
    body = f"a[j][i][0][0] += a[j][i - 1][5][5]; {' '.join(lines)}"
    return f"double pivot, factor; for (int j = 0; j < n; j++) for (int i = 1; i < m; i++) {{ {body} }}"


@shared
def compiled(arguments: str, body: str) -> CompiledScop:
    text = f"void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (scop,) = polytile.compile(text, name="f.c", strict=True, raise_bugs=True).scops
    assert scop.program is not None, [remark.message for remark in scop.remarks]
    return scop


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("walls", ["x == 1 || x == m - 2 || y == 1 || y == n - 2", "y == 1 || p4 + p3 <= 0.4"])
def test_a_lattice_with_walls_is_one_kernel(walls: str) -> None:
    scop = compiled("int s, int n, int m, double f[2][n][m][9]", lattice(walls))
    assert len(scop.scop.statements) == 1
    assert scop.program is not None and len(scop.program.kernels) == 1
    same_as_c(scop, LATTICE_SIZES)


@pytest.mark.quick
@pytest.mark.usefixtures("emulator")
def test_blocks_of_a_matrix() -> None:
    scop = compiled("int n, int m, double a[n + 1][m + 1][6][6]", elimination())
    assert len(scop.scop.statements) == 1
    same_as_c(scop, BLOCK_SIZES)


@pytest.mark.usefixtures("emulator")
def test_few_statements_stay_apart() -> None:
    body = "for (int i = 1; i < n; i++) { if (i < m) { x[i] = y[i]; y[i - 1] = 2; } else { x[i] = 3; y[i - 1] = 4; } }"
    scop = compiled("int n, int m, double x[n], double y[n]", body)
    assert len(scop.scop.statements) == 4


@pytest.mark.usefixtures("emulator")
def test_sums_stay_statements_of_their_own() -> None:
    sets = " ".join(f"y[i][{k}] = x[i] + {k};" for k in range(24))
    body = f"for (int i = 0; i < n; i++) {{ if (x[i] > 0) {{ {sets} }} total += x[i]; }}"
    around = "double f(int n, double x[n], double y[n][24])\n{\ndouble total = 0;\n#pragma scop\n%s\n#pragma endscop\n"
    text = around % body + "return total;\n}\n"
    (scop,) = polytile.compile(text, name="f.c", raise_bugs=True).scops
    assert any(s.reduction is not None for s in scop.scop.statements)


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("last", ["*q", "q[0]"])
def test_an_element_for_all_iterations_keeps_them_apart(last: str) -> None:
    """What the last iteration leaves there can be seen; each has a copy of its own where statements are apart."""
    sets = " ".join(f"y[i][{k}] = x[i] + w;" for k in range(24))
    body = f"double w; for (int i = 0; i < n; i++) {{ {last} = x[i]; w = q[0]; if (i > 2) {{ {sets} {last} = w; }} }}"
    scop = compiled("int n, double x[n], double y[n][24], double *q", body)
    assert len(scop.scop.statements) > 20
    same_as_c(scop, tuple({"n": n} for n in (0, 1, 3, 7, 33)))


def faces(count: str) -> str:
    """Cells that add up what comes through their faces from neighbours that a table names, or from walls."""
    own = " ".join(f"double u{k} = u[i][{k}], s{k} = 0;" for k in range(6))
    inner = " ".join(f"s{k} += w * (u[e][{k}] - u{k}) + 0.5 * u{(k + 1) % 6};" for k in range(6))
    more = " ".join(f"s{k} -= w * v.x * u{k};" for k in range(6))
    walls = " ".join(f"s{k} += v.y * u{k};" for k in range(6))
    stored = " ".join(f"r[i][{k}] = s{k};" for k in range(6))
    loop = (
        f"for (int k = 0; k < {count}; k++) {{ int e = next[i][k]; struct vector v; v.x = g[i].x + k; v.y = g[i].y;"
        f" double w = v.x * v.y; if (e >= 0) {{ struct vector t = v; w += t.x; {inner} {more} }} else {{ {walls} }} }}"
    )
    return f"for (int i = 0; i < n; i++) {{ {own} {loop} {stored} }}"


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize(("count", "statements"), [("4", 1), ("m", None)])
def test_short_loops_are_part_of_one_statement(count: str, statements: int | None) -> None:
    text = (
        "struct vector { double x, y; };\nvoid f(int n, int m, double u[n][6], int next[n][4], struct vector g[n],"
        f" double r[n][6])\n{{\n#pragma scop\n{faces(count)}\n#pragma endscop\n}}\n"
    )
    (scop,) = polytile.compile(text, name="f.c", strict=True, raise_bugs=True).scops
    assert scop.program is not None
    assert statements is None or len(scop.scop.statements) == statements
    for n in (0, 1, 7, 257):
        assert scop.validate(on="emulator", parameters={"n": n} | ({} if statements else {"m": 3}), seed=n)[0].bitwise


def chain(beside: str = "") -> str:
    """The C of a loop of 24 assignments under a condition, each of which reads what the last one set before."""
    sets = " ".join(f"x{k + 1}[i] = x{k}[i - 1] + {k};" for k in range(24))
    arrays = ", ".join(f"double x{k}[n]" for k in range(25))
    loop = f"for (int i = 1; i < n; i++) {{ {beside} if (i > 2) {{ {sets} }} }}"
    return f"void f(int n, double w[n][n], {arrays})\n{{\n#pragma scop\n{loop}\n#pragma endscop\n}}\n"


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("beside", ["", "for (int j = 0; j < n; j++) w[i][j] = i + j;"])
def test_loops_that_can_be_distributed_are(beside: str) -> None:
    """As one statement the iterations would wait for one another, be something else in the loop parallel or not; apart,
    each array has a parallel loop."""
    (scop,) = polytile.compile(chain(beside), name="f.c", strict=True, raise_bugs=True).scops
    assert len(scop.scop.statements) == 24 + bool(beside)
    assert scop.loops[0].where != (Where.HOST,)
    same_as_c(scop, tuple({"n": n} for n in (0, 1, 3, 7, 33)))


def test_a_certificate_of_statements_that_are_apart(tmp_path: Path) -> None:
    file = tmp_path / "f.c"
    file.write_text(chain())
    program = polytile.compile(file)
    assert not list(differences(json.loads(program.certificate), str(file), []))
    fewer = chain().replace("x24[i] = x23[i - 1] + 23;", "")
    file.write_text(fewer)
    assert list(differences(json.loads(program.certificate), str(file), []))


def test_a_schedule_of_statements_that_are_apart() -> None:
    saved = polytile.compile(chain(), name="f.c").schedules
    (scop,) = polytile.compile(chain(), name="f.c", load_schedule=saved).scops
    assert len(scop.scop.statements) == 24
    assert scop.program is not None


def test_merged_statements_are_said_to_be_one() -> None:
    (scop,) = polytile.compile(
        f"void f(int n, int m, double a[n + 1][m + 1][6][6])\n{{\n#pragma scop\n{elimination()}\n#pragma endscop\n}}\n",
        name="f.c",
    ).scops
    (merged,) = (s for s in scop.scop.statements)
    assert f"{len(merged.merged)} assignments of line 4 are one statement" in scop.explain()


def equilibrium(declared: str, before: str = "", after: str = "") -> str:
    """Points that relax to what each computes in a small array, with walls."""
    sets = " ".join(f"e[{k // 3}][{k % 3}] = r * (1 + {k} * u) - {k};" for k in range(9))
    back = " ".join(f"g[y][x][{8 - k}] = e[{k // 3}][{k % 3}];" for k in range(9))
    relaxed = " ".join(f"g[y][x][{k}] = f[y][x][{k}] - 0.5 * e[{k // 3}][{k % 3}];" for k in range(9))
    body = f"double r = f[y][x][0] + f[y][x - 1][1]; {declared} double u = f[y][x - 1][1] - f[y][x][3]; {before} {sets}"
    walls = f"if (x == 1 || y == n - 1) {{ {back} }} else {{ {relaxed} }} {after}"
    return f"for (int y = 0; y < n; y++) for (int x = 1; x < m; x++) {{ {body} {walls} }}"


SQUARES = tuple({"n": n, "m": m} for n, m in ((0, 0), (1, 1), (1, 2), (3, 5), (7, 9), (33, 65), (64, 64)))


@pytest.mark.usefixtures("emulator")
def test_elements_of_small_arrays_are_locals_of_one_statement() -> None:
    scop = compiled("int n, int m, double f[n][m][9], double g[n][m][9]", equilibrium("double e[3][3];"))
    assert len(scop.scop.statements) == 1
    assert [array.name for array in scop.scop.arrays] == ["f", "g"]
    assert scop.program is not None and len(scop.program.kernels) == 1
    same_as_c(scop, SQUARES)


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if (u > 0.25) e[2][2] = 1;", "g[y][x][0] += e[2][2];"),  # set under a condition, and again for certain
        ("", "if (u > 0.25) { e[0][1] = u; } g[y][x][1] = e[0][1];"),
        ("", "for (int k = 0; k < 3; k++) g[y][x][k] += e[k][1];"),  # a loop chooses elements
    ],
)
def test_small_arrays_that_are_set_in_parts(before: str, after: str) -> None:
    body = equilibrium("double e[3][3];", before, after)
    scop = compiled("int n, int m, double f[n][m][9], double g[n][m][9]", body)
    same_as_c(scop, SQUARES)


@pytest.mark.usefixtures("emulator")
def test_a_small_array_that_is_seen_afterwards_stays_one() -> None:
    scop = compiled("int n, int m, double f[n][m][9], double g[n][m][9], double e[3][3]", equilibrium(""))
    assert "e" in [array.name for array in scop.scop.arrays]
    same_as_c(scop, SQUARES[2:5])
