"""Certificates in which elements that one instance needs share a cell are refused, though instances get their values
from the right ones."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import islpy as isl
import pytest

import polytile
from polytile.check.checker import problems
from polytile.check.conflicting_elements import conflicting_elements, read_first
from polytile.check.placements import elements_mixed
from polytile.check.source import differences
from tests.programs.test_small_arrays import TEXT as SMALL

Scop = dict[str, Any]
AT_ONCE, ANOTHER = "needs two elements of e at once", "another element than the one that is read"

def certificate(text: str) -> Scop:
    found: Scop = json.loads(polytile.compile(text, schedule="classic").certificate)["scops"][0]
    return found


@pytest.fixture(scope="module")
def genuine() -> Scop:
    found = certificate(SMALL)
    assert home(found)["cell"] == "{ [[p0, p1] -> e[a0, a1]] -> [a1] }"
    assert not list(problems(found))
    return found


def home(scop: Scop) -> Any:
    ((found,),) = (plan["placements"] for plan in scop["plans"])
    return found


@pytest.mark.parametrize(
    "change",
    [
        {"cell": "{ [[p0, p1] -> e[a0, a1]] -> [] }", "extents": []},
        {"cell": "{ [[p0, p1] -> e[a0, a1]] -> [floor(a1/2)] }", "extents": [1]},
        {
            "cell": "{ [[p0] -> e[a0, a1]] -> [a0 mod 32] }",
            "extents": [32],
            "memory": "shared",
            "owner": "block",
        },
    ],
    ids=["no subscript", "a quotient", "shared memory"],
)
def test_one_cell_for_what_an_instance_sets(genuine: Scop, change: dict[str, Any]) -> None:
    scop = copy.deepcopy(genuine)
    home(scop).update(change)
    found = " / ".join(problems(scop))
    assert AT_ONCE in found
    assert ANOTHER in found


TREE = """domain: "{ S0[i] : 0 <= i < 9; S1[i] : 0 <= i < 9; S2[i] : 0 <= i < 9; S3[i] : 0 <= i < 9 }"
child:
  mark: "kernel"
  child:
    mark: "block"
    child:
      schedule: "[{ S0[i] -> [(i)]; S1[i] -> [(i)]; S2[i] -> [(i)]; S3[i] -> [(i)] }]"
      child:
        sequence:
        - filter: "{ S0[i] }"
        - filter: "{ S1[i] }"
        - filter: "{ S2[i] }"
        - filter: "{ S3[i] }"
"""
WRITES = "{ S0[i] -> e[i, j] : j = 0 or j = 2; S1[i] -> e[i, j] : j = 1 or j = 3 }"
READS = "{ S2[i] -> e[i, j] : j = 0 or j = 2 or j = 3; S3[i] -> e[i, 1] }"


def mixed(cell: str, reads: str, may: str = "{ }") -> str:
    tree = isl.Schedule(TREE)
    placement = {"array": "e", "name": "e", "kernel": 0, "memory": "private", "owner": "thread", "cell": cell}
    bounds = isl.UnionSet("{ S0[i] : 0 <= i < 9; S1[i] : 0 <= i < 9; S2[i] : 0 <= i < 9; S3[i] : 0 <= i < 9 }")
    uses = tuple(isl.UnionMap(u).intersect_domain(bounds) for u in (reads, WRITES, may))
    return " / ".join(elements_mixed(tree, placement, uses, frozenset(("S2", "S3"))))


def test_reads_of_another_element_from_an_instance_that_is_read_anyway() -> None:
    """S2 needs 0 and 2 of S0 and 3 of S1; where 0 and 1 share a cell it reads S1 twice, and both all the same."""
    assert mixed("{ [[b] -> e[i, j]] -> [j] }", READS) == ""
    assert ANOTHER in mixed("{ [[b] -> e[i, j]] -> [0] : j <= 1; [[b] -> e[i, j]] -> [j] : j > 1 }", READS)


def test_a_read_of_what_nothing_set_beside_one_that_is_right() -> None:
    assert "where nothing wrote it" in mixed("{ [[b] -> e[i, j]] -> [j] }", "{ S2[i] -> e[i, j] : j = 0 or j = 5 }")
    cell, reads = "{ [[b] -> e[i, j]] -> [j] }", "{ S2[i] -> e[i, j] : j = 0 or j = 4 }"
    assert mixed(cell, reads, may="{ S1[i] -> e[i, 4] }") == ""


def test_who_reads_first_may_write_into_the_same_cell() -> None:
    reads, writes = isl.UnionMap("{ [S[i] -> A[i - 1]] -> [0] }"), isl.UnionMap("{ [S[i] -> A[i]] -> [0] }")
    assert conflicting_elements(reads, writes, frozenset(("S",))).is_empty()
    assert not conflicting_elements(reads, writes, frozenset()).is_empty()


MERGED = """void f(int n, double a[n], double g[n])
{
#pragma scop
for (int y = 0; y < n; y++) {
  if (a[y] > 0) { g[y] = a[y]; a[y] = g[y] * 2; }
}
#pragma endscop
}
"""


def test_claims_of_reading_first_are_held_against_the_c(tmp_path: Path) -> None:
    file = tmp_path / "f.c"
    file.write_text(MERGED)
    content = json.loads(polytile.compile(file, schedule="classic").certificate)
    (scop,) = content["scops"]
    assert not list(differences(content, str(file), ()))
    assert not read_first(scop, scop["program"])
    for statement in scop["source"]["statements"].values():
        statement["reads_first"] = True
    assert any("may read after it writes" in line for line in differences(content, str(file), ()))
