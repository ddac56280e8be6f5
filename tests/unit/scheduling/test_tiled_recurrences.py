"""Reductions over elements of their own array in tiles: which ones, that wrong orders of steps are not proven, and that
the model takes tiles."""

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
from polytile.diagnostics import UserError
from polytile.ir.partial_results import EarlyTerms
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.proof.dataflow import changed_values
from polytile.scheduling.proof.reductions import wrong_regroupings
from polytile.scheduling.transform.reductions.early_terms import accumulating, with_early_terms

Read = Callable[..., Scop]
ARRAYS = "int n, int t[n][n], double c[n][n], double w[n][n]"
FOLD = """for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            t[i][j] = t[i][j] >= t[i + 1][j] ? t[i][j] : t[i + 1][j];
            for (int k = i + 1; k < j; k++)
                t[i][j] = t[i][j] >= t[i][k] + t[k + 1][j] ? t[i][j] : t[i][k] + t[k + 1][j];
        }"""
PARENTHESES = """for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            c[i][j] = 1e300;
            for (int k = i; k < j; k++)
                c[i][j] = c[i][k] + c[k + 1][j] < c[i][j] ? c[i][k] + c[k + 1][j] : c[i][j];
            c[i][j] += w[i][j];
        }"""
BACK_SUBSTITUTION = """for (int i = n - 1; i >= 0; i--)
        for (int j = i; j < n; j++) {
            for (int k = i; k < j; k++)
                c[i][j] += w[i][k] * c[k + 1][j];
            c[i][j] = c[i][j] / w[i][j];
        }"""
PROGRAMS = {"fold": FOLD, "parentheses": PARENTHESES, "back substitution": BACK_SUBSTITUTION}
FAR = "[n] -> { S1[i, j, k] : 0 <= i < k < j < n and 32*floor(i/32) <= k - 31 and 32*floor(j/32) > k }"


def source_of(body: str) -> str:
    return f"void f({ARRAYS})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


def compiled(body: str, **settings: Any) -> Any:
    return polytile.compile(source_of(body), name="f.c", **settings)


@pytest.mark.parametrize(
    ("body", "steps"),
    [
        (FOLD, [(("S0", (0, 1)), ("S1", (0, 1)))]),
        (PARENTHESES, [(("S1", (0, 1)),), (("S2", (0, 1)),)]),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) c[i][j] = w[j][i];", []),
        ("for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) c[i][j] += c[i - 1][j];", [(("S0", (0, 1)),)]),
    ],
)
def test_chains_of_steps(scop: Read, body: str, steps: list[Any]) -> None:
    assert [made.steps for made in accumulating(scop(ARRAYS, body))] == steps


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("n", [20, 37])
def test_sizes_below_those_of_tiles(n: int) -> None:
    """The kernel of far terms has nothing to do then."""
    assert "tiled recurrence" in compiled(FOLD, parameters={"n": n}).explain()


def test_sums_whose_order_matters(scop: Read) -> None:
    """The sum of signed integers could overflow in another order, and --fp strict keeps that of floating-point sums."""
    total = "for (int i = 1; i < n; i++) for (int k = 0; k < i; k++) t[0][i] += t[0][k] * t[i][k];"
    assert accumulating(scop(ARRAYS, total)) == ()
    assert accumulating(scop(ARRAYS, BACK_SUBSTITUTION), strict=True) == ()
    assert accumulating(scop(ARRAYS, FOLD), strict=True) != ()


# The proof -----------------------------------------------------------------------------------------------------------
def faults(source: Scop, program: Scop) -> list[str]:
    before, after = analyse(source), analyse(program)
    wrong = [why for _, why in wrong_regroupings(source, before, program, after)]
    return wrong + [f"{c.array}: {c.what}" for c in changed_values(source, before, program, after)]


def begun(source: Scop, first: str) -> Scop:
    (made,) = accumulating(source)
    return with_early_terms(source, replace(made, first=first))


def test_a_right_one_is_proven(scop: Read) -> None:
    source = scop(ARRAYS, FOLD)
    assert faults(source, begun(source, FAR)) == []


def test_steps_before_their_terms(scop: Read) -> None:
    """Others read t[i][j] when its steps have run; the steps of all k and j cannot run before those of other rows."""
    source = scop(ARRAYS, FOLD)
    program = begun(source, FAR)
    node = program.schedule.get_root().child(0)
    upwards = isl.MultiUnionPwAff.from_union_map(
        isl.UnionMap("[n] -> { S0[i, j] -> [i, j, 1, 0]; S1[i, j, k] -> [i, j, 0, k] }").intersect_domain(
            program.domain.intersect_params(program.context)
        )
    )
    wrong = replace(program, schedule=node.delete().insert_partial_schedule(upwards).get_schedule())
    assert any("t: reads values" in line for line in faults(source, wrong))


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda made: (), ": reads values"),
        (lambda made: (replace(made, op="min"),), "does not do what"),
        (lambda made: (replace(made, steps=made.steps[1:]),), "in what adds the partial results up, "),
        (lambda made: (replace(made, steps=(("S0", (0,)), made.steps[1])),), "in the source, "),
    ],
)
def test_wrong_claims(scop: Read, change: Callable[[EarlyTerms], tuple[EarlyTerms, ...]], why: str) -> None:
    source = scop(ARRAYS, FOLD)
    program = begun(source, FAR)
    made = program.backwards[0]
    assert isinstance(made, EarlyTerms)
    found = faults(source, replace(program, backwards=change(made)))
    assert any(why in line for line in found), found


# Compiled ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.slow(but="fold")
def test_tiles_are_taken_and_proven(name: str) -> None:
    state = compiled(PROGRAMS[name]).scops[0].compilation
    assert state.schedule.strategy == "classic (tiled recurrence)"
    assert state.proof.proven
    assert re.findall(r"thread\[[\d,]+\]", state.schedule.to_text()) == ["thread[8,64]", "thread[64]"]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.slow(but="back substitution")
def test_the_checker_agrees(name: str) -> None:
    scop = json.loads(compiled(PROGRAMS[name]).certificate)["scops"][0]
    assert list(problems(scop)) == []
    (made,) = scop["program"]["backwards"]
    for changes in ([], [{**made, "steps": [[name, [0]] for name, _ in made["steps"]]}]):
        wrong = copy.deepcopy(scop)
        wrong["program"]["backwards"] = changes
        assert next(problems(wrong), None) is not None


def test_a_file_has_the_early_steps(tmp_path: Path) -> None:
    saved = compiled(FOLD).scops[0].compilation.schedule_text()
    assert "# S0 begins with [n] -> { S1[i, j, k]" in saved
    again = compiled(FOLD, load_schedule=saved).scops[0]
    assert again.compilation.schedule_text().splitlines()[1:] == saved.splitlines()[1:]
    for wrong in (saved.replace("S0 begins", "S7 begins"), saved.replace("begins with [n]", "begins with (n")):
        with pytest.raises(UserError, match="cannot begin with"):
            compiled(FOLD, load_schedule=wrong)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.slow
def test_they_compute_what_c_does(name: str) -> None:
    compiled(PROGRAMS[name]).scops[0].validate(on="emulator")
