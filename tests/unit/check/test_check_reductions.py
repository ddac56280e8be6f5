"""Certificates of reductions in partial results: the checker accepts right ones and finds what was tampered with."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from polytile.certificate import certificate
from polytile.check.checker import problems
from polytile.cli.main import main
from polytile.compilation import Compilation
from polytile.frontend.program import read_program
from polytile.ir.partial_results import Split
from polytile.ir.scop import Scop
from polytile.machine import machine_of
from polytile.options import Options
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.transform.reductions.plan import Adders
from polytile.scheduling.transform.reductions.privatise import NONE, privatise
from polytile.stages.analysis import expand_storage, find_dependences, join_locals, separate_purposes
from polytile.stages.place_data import choose_storage, prove_legality
from polytile.stages.select_schedule import find_schedule

Certificate = dict[str, Any]
ROWS = """void f(int n, int m, double A[n][m], double x[n], double B[n], double s[1])
{
    double t;
#pragma scop
    for (int i = 0; i < n; i++) {
        t = 0;
        for (int j = 0; j < m; j++)
            t += A[i][j];
        x[i] = t;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            if (A[i][j] > B[i])
                B[i] = A[i][j];
    for (int j = 0; j < m; j++) {
        s[0] += A[0][j];
        if (A[1][j] > 0)
            s[0] -= A[1][j];
    }
#pragma endscop
}
"""
STAGES = (join_locals, find_dependences, separate_purposes, expand_storage)
THEN = (find_dependences, find_schedule, choose_storage, prove_legality)


def compiled(*splits: tuple[str, tuple[Split, ...]], adders: Adders = NONE) -> Certificate:
    """The certificate of the program above with these statements split, and chunks added up by `adders`."""
    source = read_program("rows.c", ROWS).scops[0]
    state = Compilation(source, Options(), machine_of(Options().arch), source)
    for stage in STAGES:
        state = stage(state)
    program: Scop | None = state.scop
    for statement, parts in splits:
        assert program is not None
        program = privatise(program, analyse(program), statement, parts, {0: (8,)}, adders)
    assert program is not None
    state = Compilation(program, Options(), machine_of(Options().arch), source)
    for stage in THEN:
        state = stage(state)
    found: Certificate = json.loads(certificate("rows.c", ROWS, [], [state]))["scops"][0]
    return found


GENUINE: dict[str, Callable[[], Certificate]] = {
    "sum in lanes": lambda: compiled(("S1", (Split(1, 32, True),))),
    "maximum in chunks": lambda: compiled(("S3", (Split(1, 16, False),))),
    "gathered": lambda: compiled(("S1", (Split(1, 16, False), Split(1, 4, True))), adders={1: (4, 8)}),
    "two updates": lambda: compiled(("S5", (Split(0, 16, False), Split(0, 4, True)))),
    "both": lambda: compiled(("S1", (Split(1, 16, False), Split(1, 4, True))), ("S3", (Split(1, 32, True),))),
}


@cache
def genuine(name: str) -> Certificate:
    return GENUINE[name]()


def entry(scop: Certificate) -> dict[str, Any]:
    found: dict[str, Any] = scop["program"]["privatised"][0]
    return found


def relation(which: str, array: str, old: str, new: str) -> Callable[[Certificate], None]:
    """Changes the relations of a statement's accesses to an array, both named by their part in the entry."""

    def change(scop: Certificate) -> None:
        own = [
            a
            for a in scop["program"]["statements"][entry(scop)[which]]["accesses"]
            if a["array"] == entry(scop)[array]
        ]
        assert any(old in a["relation"] for a in own), own
        for access in own:
            access["relation"] = access["relation"].replace(old, new)

    return change


def of_total(old: str, new: str) -> Callable[[Certificate], None]:
    """Changes what the statement reads that makes the total of the lanes which add up chunks."""

    def change(scop: Certificate) -> None:
        given = entry(scop)["gathering"]
        own = [a for a in scop["program"]["statements"][given["total"]]["accesses"] if a["array"] == given["partial"]]
        assert any(old in a["relation"] for a in own), own
        for access in own:
            access["relation"] = access["relation"].replace(old, new)

    return change


def adders_without_a_start(scop: Certificate) -> None:
    entry(scop)["gathering"]["initial"] = entry(scop)["initial"]


def put(key: str, value: Any) -> Callable[[Certificate], None]:
    def change(scop: Certificate) -> None:
        entry(scop)[key] = value

    return change


def a_reader_in_between(scop: Certificate) -> None:
    """Whoever reads the row also looks at the running maximum, in the source and in the program."""
    for side, statement in (("source", "S3"), ("program", entry(scop)["update"])):
        access = {"array": "B", "kind": "read", "relation": f"[n, m] -> {{ {statement}[i, j] -> B[i - 1] }}"}
        scop[side]["statements"][statement]["accesses"].append(access)


def another_write(scop: Certificate) -> None:
    array = entry(scop)["partial"]
    access = {"array": array, "kind": "write", "relation": f"[n, m] -> {{ S2[i] -> {array}[0, i, 0] : i < 8 }}"}
    scop["program"]["statements"]["S2"]["accesses"].append(access)


def an_update_of_another_element(scop: Certificate) -> None:
    for access in scop["source"]["statements"]["S4"]["accesses"]:
        if access["array"] == "s":
            access["relation"] = access["relation"].replace("s[0]", "s[1]")


def one_update(scop: Certificate) -> None:
    scop["source"]["statements"]["S4"]["reduction"] = None


def no_reduction(scop: Certificate) -> None:
    scop["source"]["statements"]["S1"]["reduction"] = None


TAMPERED: dict[str, tuple[str, Callable[[Certificate], None], str]] = {
    "a lane is left out": ("sum in lanes", relation("combine", "partial", "<= 31", "<= 30"), "not every value"),
    "a lane is counted twice": ("sum in lanes", relation("update", "partial", "mod 32", "mod 16"), "not every value"),
    "a value for another row": (
        "sum in lanes",
        relation("update", "partial", "-7 + i <= 8o0 <= i", "-8 + i <= 8o0 < i"),
        "not every value",
    ),
    "partial results without a start": ("sum in lanes", put("initial", "S0"), "not every value"),
    "another operation": ("sum in lanes", put("op", "*"), "ValueError"),
    "no reduction": ("sum in lanes", no_reduction, "ValueError"),
    "results that differ by nothing": ("sum in lanes", put("group", []), "chain"),
    "an update of another element": ("two updates", an_update_of_another_element, "chain"),
    "one update alone": ("two updates", one_update, "chain"),
    "another array": ("sum in lanes", put("partial", "x"), "not every value"),
    "another statement combines": ("maximum in chunks", put("finish", "S0"), "chain"),
    "somebody else writes": ("sum in lanes", another_write, "not every value"),
    "somebody looks in between": ("maximum in chunks", a_reader_in_between, "chain"),
    "chunks from elsewhere": ("both", relation("finish", "middle", "[i1, i0]", "[0, i0]"), "not every value"),
    "an adder is left out": ("gathered", of_total("<= 3", "<= 2"), "not every value"),
    "adders without a start": ("gathered", adders_without_a_start, "not every value"),
    "no total is made": ("gathered", put("gathering", None), "chain"),
    "nothing is said of it": ("sum in lanes", lambda s: s["program"].update(privatised=[]), "does not pass on"),
}


@pytest.mark.slow(but="two updates")
@pytest.mark.parametrize("name", GENUINE)
def test_genuine_certificates_are_accepted(name: str) -> None:
    assert list(problems(genuine(name))) == []
    assert genuine(name)["program"]["privatised"]


@pytest.mark.slow(but="another-array")
@pytest.mark.parametrize("case", TAMPERED, ids=lambda case: case.replace(" ", "-"))
def test_tampered_certificates_are_rejected(case: str) -> None:
    program, change, expected = TAMPERED[case]
    scop = copy.deepcopy(genuine(program))
    change(scop)
    assert scop != genuine(program)
    try:
        found = " / ".join(problems(scop))
    except ValueError as error:  # the command says that this is no certificate
        found = f"ValueError: {error}"
    assert expected in found


def test_the_command_says_what_is_trusted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.json"
    content = {"format": "polytile certificate", "version": 3, "defines": [], "on_host": []}
    scop = copy.deepcopy(genuine("sum in lanes"))
    file.write_text(json.dumps({**content, "scops": [scop]}))
    assert main(["check", str(file)]) == 0
    said = "S1_init, S1_update, S1_fold are trusted to combine partial results of t by +"
    assert f"f_scop0: {said}" in capsys.readouterr().out
    del entry(scop)["op"]
    file.write_text(json.dumps({**content, "scops": [scop]}))
    assert main(["check", str(file)]) == 1
    assert "is not a certificate: KeyError" in capsys.readouterr().err
