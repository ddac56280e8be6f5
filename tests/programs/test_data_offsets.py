"""Elements at offsets that data give: `Y[off[k] + i]` is another one for each i."""

from __future__ import annotations

import json

import pytest

import polytile
from polytile.certificate import certificate
from polytile.check.checker import problems
from polytile.check.source import differences
from polytile.runtime.emulator.instrument import CHECKS
from tests.every_schedule import same_in_every_schedule, source

pytestmark = pytest.mark.usefixtures("emulator")

SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 301, "m": 5})
PROGRAMS = {
    "rows that are stored": (
        "int off[m], double X[m][n], double Y[2 * n]",
        "for (int k = 0; k < m; k++) for (int i = 0; i < n; i++) Y[off[k] + i] = X[k][i];",
    ),
    "rows that are added": (
        "int off[m], float X[m][n], float Y[2 * n + 3]",
        "for (int k = 0; k < m; k++) for (int i = 0; i < n; i++) Y[off[k] + i + 2] += X[k][i];",
    ),
    "unsigned offsets": (
        "unsigned off[m], unsigned long at[m], int X[m][n], int Y[2 * n], int Z[2 * n]",
        "for (int k = 0; k < m; k++) for (int i = 0; i < n; i++) { Y[off[k] + i] = X[k][i]; Z[at[k] + i] -= X[k][i]; }",
    ),
    "pairs of elements": (
        "int off[m], double X[m][n], double Y[4 * n]",
        "for (int k = 0; k < m; k++) for (int i = 0; i < n; i++)"
        " { Y[off[k] + 2 * i] = X[k][i]; Y[off[k] + 2 * i + 1] = -X[k][i]; }",
    ),
    "a step of lattice Boltzmann": (
        "int cy[9], int cx[9], double f[n][m][9], double g[n + 2][m + 2][9]",
        "for (int y = 0; y < n; y++) for (int x = 0; x < m; x++) for (int k = 0; k < 9; k++)"
        " g[y + cy[k]][x + cx[k]][k] = f[y][x][k];",
    ),
    "planes, one after the other": (
        "int cy[9], int cx[9], double f[9][n][m], double g[n + 2][m + 2]",
        "for (int k = 0; k < 9; k++) for (int y = 0; y < n; y++) for (int x = 0; x < m; x++)"
        " g[y + cy[k]][x + cx[k]] += f[k][y][x];",
    ),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_added_is_parallel(name: str) -> None:
    (scop,) = polytile.compile(source(*PROGRAMS[name]), name="f.c", raise_bugs=True).scops
    said = [remark.message for remark in scop.remarks]
    assert scop.program is not None, said
    assert not [message for message in said if "one GPU thread" in message]
    assert name == "unsigned offsets" or "atomic" not in scop.cuda
    for sizes in SIZES[2:]:
        scop.validate(on="emulator", parameters=sizes, sanitize=CHECKS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_schedule_computes_what_c_does(name: str) -> None:
    assert "auto" not in same_in_every_schedule(source(*PROGRAMS[name]), SIZES)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_checker_finds_the_same(name: str, tmp_path: object) -> None:
    text = source(*PROGRAMS[name])
    (scop,) = polytile.compile(text, name="f.c").scops
    content = json.loads(certificate("f.c", text, (), [scop.compilation]))
    assert [line for one in content["scops"] for line in problems(one)] == []
    file = tmp_path / "f.c"  # type: ignore[operator]
    file.write_text(text)
    assert list(differences(content, str(file), ())) == []


def test_a_certificate_that_says_too_much() -> None:
    """What the checker does not compute itself, it compares with the C; what is written is no data."""
    text = source(*PROGRAMS["rows that are stored"])
    (scop,) = polytile.compile(text, name="f.c").scops
    content = json.loads(certificate("f.c", text, (), [scop.compilation]))["scops"][0]
    for statement in (content["program"]["statements"]["S0"], content["source"]["statements"]["S0"]):
        (entry,) = statement["offsets"]["Y"][0]
        entry["reads"] = ["Y"]
    assert any("conflict through Y" in line for line in problems(content))
    entry["reads"] = content["program"]["statements"]["S0"]["offsets"]["Y"][0][0]["reads"] = ["off"]
    assert not list(problems(content))
    content["program"]["statements"]["S0"]["offsets"]["Y"][0][0]["adds"] = "{ S0[k, i] -> [0] }"
    assert any("conflict through Y" in line for line in problems(content))


IN_ORDER = {
    "an offset for each element": "Y[off[i]] = X[k][i];",
    "half of the counter": "Y[off[k] + i / 2] = X[k][i];",
    "offsets that change": "{ Y[off[k] + i] = X[k][i]; off[k] = i % 2; }",
    "the element before": "Y[off[k] + i + 1] = Y[off[k] + i] + X[k][i];",
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_what_may_be_one_element_stays_in_order(name: str) -> None:
    body = f"for (int k = 0; k < m; k++) for (int i = 0; i < n; i++) {IN_ORDER[name]}"
    arguments = "int off[m + n], double X[m][n], double Y[2 * n + 2]"
    assert "auto" in same_in_every_schedule(source(arguments, body), SIZES)
