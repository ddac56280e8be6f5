"""What a strategy was asked for stands in schedule files; what their trees and plans do not say holds again."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

import polytile
from polytile.choices import CHOICES, Choices, Kind
from polytile.diagnostics import UserError
from polytile.ir.choices_text import choices_line, split_choices, with_choices
from polytile.options import Options
from polytile.settings import Settings
from tests.benchmarks import compiled

ROOT = Path(__file__).parents[3]
GEMM = ROOT / "polybench" / "polybench" / "gemm.c"
TABLE = ROOT / "docs" / "command-line.md"


def test_each_field_is_described_and_a_keyword() -> None:
    names = [choice.name for choice in CHOICES]
    assert names == [f.name for f in fields(Choices)]
    assert set(names) <= get_type_hints(Settings).keys()
    assert {f.name for f in fields(Options)} >= set(names)


def test_the_table_of_options_has_each_choice_with_its_values() -> None:
    rows = [line.partition("| ")[2].partition(" | ") for line in TABLE.read_text().splitlines() if line[:2] == "| "]
    for choice in CHOICES:
        told = [meaning for names, _, meaning in rows if re.search(rf"{choice.option}(?![\w-])", names)]
        assert len(told) == 1, choice.option
        assert choice.kind is not Kind.WORD or all(f"{value}" in str(rows) for value in choice.values)


def test_what_was_asked_is_read_back() -> None:
    asked = Choices(schedule="overlapped", tile=(32, 64), time_tile=4, registers=96, disable_pass=("loop-carry",))
    rest, found = split_choices(f"{choices_line(asked)}domain: ..\n")
    assert (rest, found) == ("domain: ..\n", asked)
    assert choices_line(Choices()) == "" and split_choices("domain: ..\n") == ("domain: ..\n", Choices())


def test_only_what_a_schedule_does_not_say_is_taken_over() -> None:
    saved = Choices(schedule="overlapped", time_tile=4, registers=96, order="sweep")
    found = with_choices(Options(order="tree"), saved)
    assert found == Options(order="tree", registers=96)


def test_registers_hold_again_when_a_schedule_is_loaded() -> None:
    first = polytile.compile(GEMM, schedule="tiled", registers=64, disable_pass="loop-carry")
    assert first.schedules.splitlines()[1] == (
        '# choices {"schedule": "tiled", "registers": 64, "disable_pass": ["loop-carry"]}'
    )
    again = polytile.compile(GEMM, load_schedule=first.schedules)
    assert again.cuda == first.cuda.replace("tiled (loop tree) schedule", "loaded schedule")
    assert "__maxnreg__(128)" in polytile.compile(GEMM, load_schedule=first.schedules, registers=128).cuda


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("# choices {broken", "no JSON"),
        ('# choices {"tiles": [4]}', "is no Choices"),
        ('# choices {"registers": 7}', "7 is out of range"),
        ('# choices {"order": "sweep"}\n# choices {"order": "tree"}', "two lines"),
    ],
)
def test_wrong_lines_are_errors(line: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        polytile.compile(GEMM, load_schedule=f"{line}\n{compiled('gemm').scops[0].saved_schedule}")


def test_kinds_of_choices_have_values_of_their_kind() -> None:
    kinds = {Kind.WORD: str, Kind.NUMBER: int, Kind.SIZES: tuple, Kind.NAMES: tuple}
    for choice in CHOICES:
        if choice.kind in kinds:
            assert isinstance(getattr(Choices(), choice.name), kinds[choice.kind])
