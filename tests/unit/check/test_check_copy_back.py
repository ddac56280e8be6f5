"""Certificates of programs without copies at the end of steps: right ones hold, and wrong ones do not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import islpy as isl
import pytest

import polytile
from polytile.check.checker import check_values, problems
from polytile.check.source import differences

Scop = dict[str, Any]
JACOBI = """void f(int n, int T, double A[n], double B[n])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = A[i - 1] + A[i + 1];
        for (int i = 1; i < n - 1; i++)
            A[i] = B[i];
    }
#pragma endscop
}
"""


@pytest.fixture(scope="module")
def genuine() -> Scop:
    found: Scop = json.loads(polytile.compile(JACOBI, schedule="split", time_tile=2, tile=(8,)).certificate)
    return found


def relation(statement: str, access: int, old: str, new: str) -> Callable[[Scop], None]:
    def change(program: Scop) -> None:
        entry = program["statements"][statement]["accesses"][access]
        moved = entry["relation"].replace(old, new)
        assert moved != entry["relation"]
        entry["relation"] = moved

    return change


def other_version(statement: str, access: int) -> Callable[[Scop], None]:
    """(t + o0) mod 2 = 0 is the version t mod 2."""
    return relation(statement, access, "mod 2 = 0", "mod 2 = 1")


def swap_operands(program: Scop) -> None:
    accesses = program["statements"]["S0"]["accesses"]
    accesses[0], accesses[1] = accesses[1], accesses[0]


def domain(statement: str, old: str, new: str) -> Callable[[Scop], None]:
    def change(program: Scop) -> None:
        entry = program["statements"][statement]
        assert old in entry["domain"]
        entry["domain"] = entry["domain"].replace(old, new)

    return change


TAMPERED: dict[str, Callable[[Scop], None]] = {
    "reads the version that it writes": other_version("S0", 0),
    "writes the version that it reads": other_version("S0", 2),
    "reads a neighbour": relation("S0", 0, "-1 + i", "-2 + i"),
    "operands change places": swap_operands,
    "the other version is left in A": other_version("S3", 0),
    "the other version is left in B": other_version("S4", 0),
    "a border of one version only": domain("S2", "0 <= e0 <= 1", "e0 = 0"),
    "a part of A is not restored": domain("S3", "0 < e0", "1 < e0"),
    "the border of B is overwritten": domain("S4", "0 < e0", "0 <= e0"),
    "B is restored from nowhere": domain("S4", "T > 0 and ", ""),
}


def test_a_right_certificate_holds(genuine: Scop) -> None:
    (scop,) = genuine["scops"]
    assert scop["source"]["statements"]["S1"]["copy"] and "S1" not in scop["program"]["statements"]
    assert list(problems(scop)) == []


@pytest.mark.parametrize("name", TAMPERED)
def test_wrong_programs_do_not_hold(genuine: Scop, name: str) -> None:
    scop = copy.deepcopy(genuine["scops"][0])
    TAMPERED[name](scop["program"])
    assert list(problems(scop)) != []


@pytest.mark.parametrize("name", TAMPERED)
def test_their_values_alone_are_wrong(genuine: Scop, name: str) -> None:
    """Whatever else does not fit any more."""
    scop = copy.deepcopy(genuine["scops"][0])
    TAMPERED[name](scop["program"])
    assert list(check_values(scop["source"], scop["program"], scop["visible"], isl.Set(scop["context"]))) != []


def test_a_statement_that_computes_is_not_left_out(genuine: Scop) -> None:
    scop = copy.deepcopy(genuine["scops"][0])
    del scop["source"]["statements"]["S1"]["copy"]
    assert "the program leaves out S1, which does not only copy" in list(problems(scop))


def test_what_only_copies_is_read_from_the_c_again(genuine: Scop, tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(JACOBI)
    assert list(differences(genuine, str(path), ())) == []
    path.write_text(JACOBI.replace("A[i] = B[i]", "A[i] = 2 * B[i]"))
    assert [line for line in differences(genuine, str(path), ()) if "S1 of f_scop0 does not only copy" in line]
