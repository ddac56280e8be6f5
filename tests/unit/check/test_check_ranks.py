"""Certificates of plans for ranks: right ones hold, and changed plans, boxes, messages and programs do not."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polytile.check.ranks import of_another_program, rank_problems
from polytile.cli.main import main
from polytile.rank_certificate import ranks_entry
from tests.unit.distribution.programs import NAMED, READ_BEHIND, STAR, distribute, named, scop_of
from tests.unit.distribution.test_proof import PLANTED, Change, plan_of

Claim = dict[str, Any]
# Reads along a diagonal, so that corners are exchanged, of what another statement of the step has computed.
DIAGONALS = """
void diagonals(int steps, int n, int m, double A[n][m], double B[n][m])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) B[i][j] = A[i - 1][j - 1] + A[i + 1][j + 1];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) A[i][j] = 0.5 * B[i][j];
    }
#pragma endscop
}
"""


def claim_of(text: str, steps: int) -> Claim:
    plan = distribute(scop_of(text), steps)
    return dict(json.loads(json.dumps(ranks_entry(plan, plan.scop))))


@pytest.mark.slow(but=("1-star", "2-advection", "2-read behind"))
@pytest.mark.parametrize("program", [*NAMED, "polybench/jacobi-2d.c", "polybench/fdtd-2d.c", "cluster/himeno-19pt.c"])
@pytest.mark.parametrize("steps", [1, 2])
def test_right_plans_hold(program: str, steps: int) -> None:
    plan = distribute(named(program), steps)
    assert not list(rank_problems(json.loads(json.dumps(ranks_entry(plan, plan.scop)))))


@pytest.mark.slow(but="names0-1")
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("names", [("one", "e", "p"), ("t", "p0", "p1"), ("x0", "e0", "e1"), ("step", "x1", "t")])
def test_parameters_may_be_called_like_coordinates(names: tuple[str, str, str], steps: int) -> None:
    """isl takes a coordinate that is called like a parameter for it: with an extent `e` no instance was anywhere."""
    text = re.sub(r"\b(steps|n|m)\b", lambda found: names[("steps", "n", "m").index(found[0])], DIAGONALS)
    if names[0] == "t" or names[2] == "t":
        text = re.sub(r"int t = 0; t <", "int s = 0; s <", text).replace("; t++)", "; s++)")
    claim = claim_of(text, steps)
    assert not list(rank_problems(claim))
    claim["ends"][0] = replaced(claim["ends"][0], f"({names[1]})", f"(-3 + {names[1]})")
    assert any("positions of no rank" in problem for problem in rank_problems(claim))


@pytest.mark.slow(but=("program6-1-_thin_sides",))
@pytest.mark.parametrize(("program", "steps", "change"), [planted[:3] for planted in PLANTED])
def test_plans_that_the_proof_refuses_do_not(program: str, steps: int, change: Change) -> None:
    plan = change(plan_of(program, steps))
    assert list(rank_problems(json.loads(json.dumps(ranks_entry(plan, plan.scop)))))


def replaced(value: str, old: str, new: str) -> str:
    assert old in value, value
    return value.replace(old, new)


def halo_one_short(claim: Claim) -> None:
    """Send and receive one position less of what lies below a part, along all ways."""
    for message in (m for way in ("at_once", "in_turn") for one in claim["between"][way] for m in one):
        for box in message["receives"]:
            box[1] = box[1].replace("i_lower - 1 <=", "i_lower <=")
        for box in message["sends"]:
            box[1] = box[1].replace("i_upper - 1 <=", "i_upper <=")


def shifted(key: str) -> Callable[[Claim], None]:
    def change(claim: Claim) -> None:
        box = claim["between"]["at_once"][0][0][key][0]
        box[1] = replaced(box[1], "<= p0 <", "<= p0 + 1 <")

    return change


def overlapping_interior(claim: Claim) -> None:
    claim["interior"] = replaced(claim["interior"], "i_lower + 1 <=", "i_lower <=")


def interior_one_short(claim: Claim) -> None:
    claim["interior"] = replaced(claim["interior"], "< i_upper - 1", "< i_upper - 2")


def small_box(claim: Claim) -> None:
    boxes = claim["phases"][0]["boxes"]
    assert boxes[0] != boxes[1]
    boxes[1] = boxes[0]


def box_that_leaves_out(claim: Claim) -> None:
    boxes = claim["phases"][0]["boxes"]
    boxes[0] = replaced(boxes[0], "i_lower <=", "i_lower + 1 <=")


def without_corner(claim: Claim) -> None:
    for one in claim["between"]["at_once"]:
        kept = [m for m in one if m["to"] not in ([-1, -1], [1, 1])]
        assert len(kept) == len(one) - 2
        one[:] = kept


def without_corner_in_turn(claim: Claim) -> None:
    for message in claim["between"]["in_turn"][1]:
        for way in ("sends", "receives"):
            for box in message[way]:
                box[1] = box[1].replace("i_lower - 1 <=", "i_lower <=").replace("< i_upper + 1", "< i_upper")


def unanswered(claim: Claim) -> None:
    claim["between"]["at_once"][0].pop()


def other_order(claim: Claim) -> None:
    claim["programs"] = claim["programs"][::-1]
    claim["phases"] = claim["phases"][::-1]


def other_instances(claim: Claim) -> None:
    first = claim["programs"][0]["statements"]["S0"]
    first["domain"] = replaced(first["domain"], "-i_offset", "1 - i_offset")


def thin_side(claim: Claim) -> None:
    assert claim["sides"][0] and claim["phases"][0]["boxes"][0].count("i_lower - 1")
    for old, new in (("i_lower + 2", "i_lower + 1"), ("i_upper - 2", "i_upper - 1")):
        claim["sides"] = [side.replace(old, new) for side in claim["sides"]]
        claim["interior"] = claim["interior"].replace(old, new)


def without_sizes(claim: Claim) -> None:
    """Nothing is wrong for no sizes, whatever it accesses."""
    made = claim["programs"][0]
    made["context"] = made["context"].partition("->")[0] + "-> { : 1 = 0 }"
    access = made["statements"]["S0"]["accesses"][0]
    access["relation"] = replaced(access["relation"], "-1 + ", "-3 + ")


def without_most_steps(claim: Claim) -> None:
    made = claim["programs"][0]
    made["context"] = replaced(made["context"], f"{made['step']} <", f"{made['step']} + 1 <")


def without_order(claim: Claim) -> None:
    made = claim["programs"][0]
    made["order"] = replaced(made["order"], "x0 >= i_first", "x0 >= i_first + 1")


PLANTED_IN_TEXT = {
    "program for no sizes": (STAR, 1, without_sizes, "not for all sizes, boxes and steps"),
    "program for some steps": (STAR, 1, without_most_steps, "not for all sizes, boxes and steps"),
    "order of some instances": (STAR, 1, without_order, "has no order for some instances of S0"),
    "halo one short": (STAR, 1, halo_one_short, "reads elements of A that are not right"),
    "box that a neighbour sends": (STAR, 1, shifted("sends"), "is not what is received there"),
    "box that is received": (STAR, 1, shifted("receives"), "is not what is received there"),
    "interior over a side": (STAR, 1, overlapping_interior, "overlap"),
    "interior that is too small": (STAR, 1, interior_one_short, "are not the box of the last phase"),
    "box of a step": (STAR, 2, small_box, "reads elements of A that are not right"),
    "positions that are owned": (STAR, 1, box_that_leaves_out, "leaves out positions that the rank owns"),
    "corner": (DIAGONALS, 1, without_corner, "reads elements of A that are not right"),
    "corner along axes in turn": (DIAGONALS, 1, without_corner_in_turn, "received along axes in turn"),
    "message without an answer": (STAR, 1, unanswered, "is not what is received there"),
    "phases": (DIAGONALS, 1, other_order, "not in the order"),
    "sides": (READ_BEHIND, 1, thin_side, "in front of what computes it"),
}


@pytest.mark.slow(but=6)
@pytest.mark.parametrize("name", PLANTED_IN_TEXT)
def test_changed_text_does_not(name: str) -> None:
    program, steps, change, reason = PLANTED_IN_TEXT[name]
    changed = claim_of(program, steps)
    before = copy.deepcopy(changed)
    change(changed)
    assert changed != before and not list(rank_problems(before))
    found = list(rank_problems(changed))
    assert any(reason in line for line in found), found


def test_plans_of_another_program_are_none() -> None:
    claim = claim_of(STAR, 1)
    scop = {"name": claim["name"], "source": claim["source"], "visible": claim["visible"], "context": claim["context"]}
    assert not list(of_another_program(claim, [scop]))
    assert list(of_another_program(claim, [])) == ["the certificate has no SCoP of this name"]
    other = {**scop, "source": {**scop["source"], "arrays": []}}
    assert list(of_another_program(claim, [other])) == ["the plan is of another program"]
    for_none = {**claim, "context": claim["context"].partition("->")[0] + "-> { : 1 = 0 }"}
    assert list(of_another_program(for_none, [scop])) == ["the plan is not for all sizes that the program may have"]


@pytest.mark.slow
def test_the_command_checks_plans(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, written = tmp_path / "star.c", tmp_path / "star.json"
    source.write_text(STAR)
    assert main([str(source), "-o", str(tmp_path), "--ranks", "auto", "--certificate", str(written)]) == 0
    assert main(["check", str(written), "--source", str(source)]) == 0
    assert f"{written}: star_scop0 on ranks holds\n" in capsys.readouterr().out
    content = json.loads(written.read_text())
    overlapping_interior(content["ranks"][0])
    written.write_text(json.dumps(content))
    assert main(["check", str(written)]) == 1
    assert "star_scop0 on ranks: sides and interior overlap" in capsys.readouterr().out
    content["ranks"] = [{"name": "star_scop0"}]
    written.write_text(json.dumps(content))
    assert main(["check", str(written)]) == 1
    assert "is not a certificate: KeyError" in capsys.readouterr().err
