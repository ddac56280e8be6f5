"""Labels of loops: they change no kernel and no proof, and stand only where they separate no mark from its band."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import islpy as isl
import pytest

import polytile
from polytile.check.checker import problems
from polytile.ir.isl_util import mark_name
from polytile.ir.schedule import MappedSchedule, loop_label, loop_mark, nodes
from polytile.schedule_file import join_schedules

SUITE = Path(__file__).parents[3] / "polybench" / "polybench"
NODE = isl.schedule_node_type


def labelled(tree: isl.Schedule) -> str:
    """The tree with a label above every serial band, and above the sync mark that it may have."""
    number = 0
    while (node := next((n for n in nodes(tree) if is_unlabelled(n)), None)) is not None:
        node = node.parent() if mark_name(node.parent()) == "sync" else node
        tree = node.insert_mark(isl.Id(loop_mark(f"l{number}"))).get_schedule()
        number += 1
    assert number, "no loop to label"
    return MappedSchedule(tree, "").to_text()


def labels_in(program: polytile.Program) -> str:
    return join_schedules({s.name: labelled(isl.Schedule(s.schedule)) for s in program.scops if s.schedule})


def is_unlabelled(node: isl.ScheduleNode) -> bool:
    if node.get_type() != NODE.band or node.band_n_member() == 0:
        return False
    above = node.parent()
    above = above.parent() if mark_name(above) == "sync" else above
    role = mark_name(above) or ""
    return loop_label(above) is None and role != "block" and not role.startswith("thread")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "schedule"),
    [("gemm", "superposed"), ("jacobi-1d", "superposed"), ("lu", "classic")],
)
def test_labels_change_no_kernel(program: str, schedule: str) -> None:
    before = polytile.compile(SUITE / f"{program}.c", schedule=schedule)
    plain = polytile.compile(SUITE / f"{program}.c", load_schedule=before.schedules)
    after = polytile.compile(SUITE / f"{program}.c", load_schedule=labels_in(before))
    for one, other in zip(plain.programs, after.programs, strict=True):
        assert [(k.name, k.block, k.body) for k in other.kernels] == [(k.name, k.block, k.body) for k in one.kernels]
        assert other.body == one.body


@pytest.fixture(scope="module")
def certified() -> dict[str, Any]:
    marked = labels_in(polytile.compile(SUITE / "lu.c", schedule="classic"))
    found: dict[str, Any] = json.loads(polytile.compile(SUITE / "lu.c", load_schedule=marked).certificate)["scops"][0]
    return found


def test_certificates_with_labels_are_accepted(certified: dict[str, Any]) -> None:
    assert "loop[l0]" in certified["mapped"]
    assert list(problems(certified)) == []


def test_certificates_with_a_label_below_a_block_mark_are_not(certified: dict[str, Any]) -> None:
    tree = isl.Schedule(certified["mapped"])
    block = next(n for n in nodes(tree) if mark_name(n) == "block")
    tree = block.child(0).insert_mark(isl.Id(loop_mark("b"))).get_schedule()
    changed = {**certified, "mapped": MappedSchedule(tree, "").to_text()}
    assert "a loop[b] mark stands between a block mark and its band" in list(problems(changed))
