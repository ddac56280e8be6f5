"""Variables that serve one purpose after another become several, unless the user can see them or values pass on."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.transform.live_range_splitting import split_live_ranges

ARGUMENTS = "int n, int m, double A[n][m], double b[m]"
TWO_PURPOSES = """for (int i = 0; i < n; i++) {
        w = b[0];
        for (int k = 0; k < m; k++)
            w -= A[i][k];
        A[i][0] = w;
    }
    w = 0;
    for (int k = 0; k < m; k++)
        w += b[k];
    b[0] = w;"""


def names(scop: Scop) -> list[list[str]]:
    split = split_live_ranges(scop, analyse(scop))
    return [sorted({a.array for a in s.accesses if a.array.startswith("w")}) for s in split.statements]


def test_each_purpose_gets_its_variable(scop: Callable[..., Scop]) -> None:
    assert names(scop(ARGUMENTS, TWO_PURPOSES, "double w;")) == [["w"], ["w"], ["w"], ["w_2"], ["w_2"], ["w_2"]]


def test_values_that_pass_on_keep_one_variable(scop: Callable[..., Scop]) -> None:
    body = "w = 0; for (int i = 0; i < n; i++) w += b[i]; for (int i = 0; i < n; i++) b[i] = w;"
    assert names(scop(ARGUMENTS, body, "double w;")) == [["w"], ["w"], ["w"]]


def test_what_the_user_can_see_stays_one_variable(scop: Callable[..., Scop]) -> None:
    arguments = f"{ARGUMENTS}, double w[1]"
    assert {a for found in names(scop(arguments, re.sub(r"\bw\b", "w[0]", TWO_PURPOSES))) for a in found} == {"w"}


def test_the_new_name_is_free(scop: Callable[..., Scop]) -> None:
    found = names(scop(f"{ARGUMENTS}, double w_2[m]", TWO_PURPOSES.replace("b[k]", "w_2[k]"), "double w;"))
    assert found[3] == ["w_2_"] and found[4] == ["w_2", "w_2_"]


def test_both_nests_compute_what_they_did(compiled: Callable[..., Any], emulator: None) -> None:
    kernel = compiled(ARGUMENTS, TWO_PURPOSES, "double w;", strict=True)
    assert "w is expanded over i" in kernel.explain()
    for size in (1, 2, 33):
        kernel.validate(on="emulator", parameters={"n": size, "m": size + 1}, seed=size)
