"""Certificates of programs that read copies of their inputs: tampered ones are rejected."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

import polytile
from polytile.check.checker import problems

Scop = dict[str, Any]
PRODUCT = """void f(int m, int n, double A[m][m], double B[m][n], double C[m][n])
{
#pragma scop
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int k = i + 1; k < m; k++)
                B[i][j] += A[k][i] * B[k][j] + C[i][j];
#pragma endscop
}
"""
VALUES = "does not pass on the source's values of B"


@pytest.fixture(scope="module")
def genuine() -> Scop:
    found: Scop = json.loads(polytile.compile(PRODUCT, schedule="classic").certificate)["scops"][0]
    assert found["program"]["statements"]["S1"]["parts"] == []
    return found


def access(scop: Scop, statement: str, array: str) -> Any:
    return next(a for a in scop["program"]["statements"][statement]["accesses"] if a["array"] == array)


def moved(statement: str, array: str, to: str) -> Callable[[Scop], None]:
    def change(scop: Scop) -> None:
        domain = scop["program"]["statements"][statement]["domain"].split("->")[1].split(":")[0].strip(" {")
        access(scop, statement, array)["relation"] = f"[m, n] -> {{ {domain} -> {array}[{to}] }}"

    return change


def of_another_array(scop: Scop) -> None:
    """The same subscripts, and nothing writes C."""
    found = access(scop, "S1", "B")
    found.update(array="C", relation=found["relation"].replace("B[", "C["))


def of_a_part(scop: Scop) -> None:
    """Half of what is copied: the other half is read all the same."""
    statement = scop["program"]["statements"]["S1"]
    less = statement["domain"].replace("0 < e0 < m", "0 < e0 < m - 1")
    assert less != statement["domain"]
    statement["domain"] = less
    for place in (scop["program"], scop):
        key = "order" if "order" in place else "mapped"
        place[key] = place[key].replace("0 < e0 < m", "0 < e0 < m - 1")


def behind_everything(scop: Scop) -> None:
    """The copy's child of the mapped sequence becomes the last."""
    head, first, second = scop["mapped"].split("- filter:")
    scop["mapped"] = f"{head}- filter:{second.rstrip()}\n  - filter:{first.rstrip()}\n"


def twice(scop: Scop) -> None:
    accesses = scop["program"]["statements"]["S1"]["accesses"]
    accesses.append({**accesses[0], "relation": accesses[0]["relation"].replace("e1]", "e1 + 1]")})


TAMPERED = {
    "a copy of another row": (moved("S1", "B", "e0 - 1, e1"), VALUES),
    "a copy to another row": (moved("S1", "B_in", "e0 - 1, e1"), VALUES),
    "another row of the copy is read": (moved("S0", "B_in", "k - 1, j"), VALUES),
    "a copy of another array": (of_another_array, "S1 is no copy of elements"),
    "a copy of a part": (of_a_part, VALUES),
    "a copy of two elements": (twice, "S1 is no copy of elements"),
    "a copy behind everything": (behind_everything, "not ordered"),
}


def test_a_copy_of_an_input_is_accepted(genuine: Scop) -> None:
    assert list(problems(genuine)) == []


@pytest.mark.parametrize(("change", "expected"), TAMPERED.values(), ids=TAMPERED.keys())
def test_a_tampered_copy_is_rejected(genuine: Scop, change: Callable[[Scop], None], expected: str) -> None:
    scop = copy.deepcopy(genuine)
    change(scop)
    assert scop != genuine
    assert expected in " / ".join(problems(scop))
