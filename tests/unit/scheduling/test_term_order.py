"""Sums that run backwards, as their terms are made: which ones, and that wrong ones are not proven."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import islpy as isl
import pytest

import polytile
from polytile.check.checker import problems
from polytile.check.source import differences
from polytile.diagnostics import UserError
from polytile.ir.partial_results import Reversed
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.proof.dataflow import changed_values
from polytile.scheduling.proof.reductions import wrong_regroupings
from polytile.scheduling.transform.reductions.term_order import in_order_of_terms

Read = Callable[..., Scop]
ARRAYS = "int n, double A[n][n], double x[n], double y[n]"
BACK = """for (int i = n - 1; i >= 0; i--) {
        double w = y[i];
        for (int j = i + 1; j < n; j++)
            w -= A[i][j] * x[j];
        x[i] = w / A[i][i];
    }"""


IN_PLACE = """for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++)
            x[i] -= A[i][j] * x[j];
        x[i] = x[i] / A[i][i];
    }"""
UPWARDS = IN_PLACE.replace("i = n - 1; i >= 0; i--", "i = 0; i < n; i++").replace("j = i + 1; j < n", "j = 0; j < i")
PROGRAMS = {"S1": BACK, "S0": IN_PLACE}  # by the reduction


def source_of(body: str) -> str:
    return f"void f({ARRAYS})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


def turned(scop: Scop, *, strict: bool = False) -> dict[str, tuple[int, ...]]:
    found = in_order_of_terms(scop, analyse(scop), strict=strict)
    return {made.update: made.loops for made in found.backwards} if found else {}


def test_sums_over_later_values(scop: Read) -> None:
    assert turned(scop(ARRAYS, BACK)) == {"S1": (1,)}


@pytest.mark.parametrize(
    ("body", "loops"),
    [
        (BACK.replace("i = n - 1; i >= 0; i--", "i = 0; i < n; i++").replace("j = i + 1; j < n", "j = 0; j < i"), {}),
        (BACK.replace("j = i + 1; j < n; j++", "j = n - 1; j > i; j--"), {}),
        (BACK.replace("x[j]", "y[j]"), {}),  # made by nobody here
        (BACK.replace("w -= A[i][j] * x[j]", "w = A[i][j] - w * x[j]"), {}),  # no sum
        (BACK.replace("* x[j]", "* x[j] * x[n - 1 + i + 1 - j]"), {}),  # one term is made upwards, one downwards
        (BACK.replace("w -= A[i][j] * x[j];", "{ w -= A[i][j] * x[j]; A[j][i] = w; }"), {}),  # others see its steps
        (BACK.replace("w -=", "if (A[j][i] > 0) w -="), {}),
        (BACK.replace("double w", "int w"), {}),  # truncated at each step
        (BACK.replace("w -= A[i][j] * x[j]", "w = w > x[j] ? w : x[j]"), {"S1": (1,)}),
        (BACK.replace("w -= A[i][j] * x[j];", "for (int k = 0; k < 3; k++) w -= A[i][k] * x[j];"), {"S1": (1,)}),
    ],
)
def test_other_sums(scop: Read, body: str, loops: dict[str, tuple[int, ...]]) -> None:
    assert turned(scop(ARRAYS, body)) == loops


def test_strict(scop: Read) -> None:
    """Where C's rounding is kept, sums whose value does not depend on the order may run backwards all the same."""
    exact = BACK.replace("double w = y[i]", "unsigned w = u[i]").replace("A[i][j] * x[j]", "u[j] * 3")
    exact = exact.replace("x[i] = w / A[i][i]", "u[i] = w")
    assert turned(scop(ARRAYS, BACK), strict=True) == {}
    assert turned(scop(f"{ARRAYS}, unsigned u[n]", exact), strict=True) == {"S1": (1,)}


@pytest.mark.parametrize(
    ("body", "loops"),
    [
        (IN_PLACE, {"S0": (1,)}),
        (IN_PLACE.replace("x[i] -= A[i][j] * x[j]", "x[i] = x[i] < x[j] ? x[j] : x[i]"), {"S0": (1,)}),
        (UPWARDS, {}),
        (IN_PLACE.replace("j = i + 1", "j = i"), {}),  # which reads x[i] besides
        (IN_PLACE.replace("* x[j]", "* x[j] * x[i]"), {}),
        (IN_PLACE.replace("* x[j]", "* x[j] * x[n - 1]"), {}),  # which is there first in any order
        (IN_PLACE.replace("x[i] -=", "if (A[j][i] > 0) x[i] -="), {}),
        (IN_PLACE.replace("* x[j];", "* x[j] + x[i + 1];"), {}),  # which is there last in any order
    ],
)
def test_sums_in_the_array_that_they_read(scop: Read, body: str, loops: dict[str, tuple[int, ...]]) -> None:
    assert turned(scop(ARRAYS, body)) == loops


# The proof -----------------------------------------------------------------------------------------------------------
def faults(source: Scop, program: Scop) -> list[str]:
    before, after = analyse(source), analyse(program)
    wrong = [why for _, why in wrong_regroupings(source, before, program, after)]
    return wrong + [f"{c.array}: {c.what}" for c in changed_values(source, before, program, after)]


def made(source: Scop) -> Scop:
    found = in_order_of_terms(source, analyse(source))
    assert found is not None
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_right_one_is_proven(scop: Read, name: str) -> None:
    source = scop(ARRAYS, PROGRAMS[name])
    assert faults(source, made(source)) == []


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda p: replace(p, backwards=()), (": reads values",)),
        (lambda p: replace(p, backwards=(replace(p.backwards[0], op="*"),)), ("does not do what",)),
        (lambda p: replace(p, backwards=(replace(p.backwards[0], group=()),)), ("in the source, ",)),
        (lambda p: replace(p, backwards=(replace(p.backwards[0], group=(0, 1)),)), ("in the source, ",)),
    ],
)
def test_wrong_claims(scop: Read, name: str, change: Callable[[Scop], Scop], why: tuple[str]) -> None:
    source = scop(ARRAYS, PROGRAMS[name])
    found = faults(source, change(made(source)))
    assert any(why[0] in line for line in found), found


def test_terms_that_change_meanwhile(scop: Read) -> None:
    """Each step reads x[i + 1], which the steps before it change: they cannot be turned round."""
    source = scop("int n, double x[n], double a[n]", "for (int i = 0; i < n - 1; i++) x[0] += a[i] * x[1 + i];")
    assert in_order_of_terms(source, analyse(source)) is None
    source = scop("int n, double x[n]", "for (int i = 0; i < n - 1; i++) x[i + 1] = x[i + 1] + x[i];")
    node = source.schedule.get_root().child(0)
    tree = node.delete().insert_partial_schedule(node.band_get_partial_schedule().neg()).get_schedule()
    found = faults(source, replace(source, schedule=tree, backwards=(Reversed("S0", "+", (0,), (0,)),)))
    assert any("x: reads values" in line for line in found), found


def test_a_sum_whose_steps_others_see(scop: Read) -> None:
    body = "double s = 0; for (int i = 0; i < n; i++) { s += a[i]; b[i] = s; }"
    source = scop("int n, double a[n], double b[n]", body)
    node = source.schedule.get_root().child(0).child(1).child(0)
    assert node.get_type() == isl.schedule_node_type.band
    back = node.band_get_partial_schedule().neg()
    tree = node.delete().insert_partial_schedule(back).get_schedule()
    found = faults(source, replace(source, schedule=tree, backwards=(Reversed("S1", "+", (), (0,)),)))
    assert "in the source, a value is seen before the last" in found, found


# Certificates and schedule files -------------------------------------------------------------------------------------
def certified(name: str) -> dict[str, Any]:
    program = polytile.compile(source_of(PROGRAMS[name]), name="f.c")
    assert [made.update for made in program.scops[0].compilation.scop.backwards] == [name]
    found: dict[str, Any] = json.loads(program.certificate)["scops"][0]
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_checker_accepts_it(name: str) -> None:
    assert list(problems(certified(name))) == []


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("group", [[], [0, 1], None])
def test_the_checker_finds_wrong_claims(name: str, group: list[int] | None) -> None:
    scop = copy.deepcopy(certified(name))
    if group is None:
        scop["program"]["backwards"] = []
    else:
        scop["program"]["backwards"][0]["group"] = group
    assert list(problems(scop)) != []


def test_the_checker_compares_sums_in_place_with_the_source(tmp_path: Path) -> None:
    text = source_of(IN_PLACE)
    (tmp_path / "f.c").write_text(text)
    content = json.loads(polytile.compile(text, name="f.c").certificate)
    assert list(differences(content, str(tmp_path / "f.c"), [])) == []
    for side in ("source", "program"):
        content["scops"][0][side]["statements"]["S0"]["in_place"]["op"] = "*"
    found = list(differences(content, str(tmp_path / "f.c"), []))
    assert found == ["S0 of f_scop0 is no such reduction in the C"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_saved_schedule_gives_the_same_kernels(name: str) -> None:
    (first,) = polytile.compile(source_of(PROGRAMS[name]), name="f.c").scops
    text = first.compilation.saved_schedule()
    assert f"# {name} runs backwards through j\n" in text
    (again,) = polytile.compile(source_of(PROGRAMS[name]), name="f.c", load_schedule=text).scops
    plain = re.compile(r"//.*")
    assert plain.sub("", again.cuda) == plain.sub("", first.cuda)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("# S1 runs backwards through i", "S1 cannot run backwards through i"),
        ("# S2 runs backwards through j", "S2 cannot run backwards through j"),
        ("# S7 runs backwards through j", "there is no statement S7 that could run backwards"),
    ],
)
def test_wrong_lines(line: str, message: str) -> None:
    text = polytile.compile(source_of(BACK), name="f.c").scops[0].compilation.saved_schedule()
    wrong = text.replace("# S1 runs backwards through j", line)
    with pytest.raises(UserError, match=message):
        polytile.compile(source_of(BACK), name="f.c", load_schedule=wrong)
