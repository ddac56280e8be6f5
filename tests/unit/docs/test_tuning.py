"""The guide to tuning is true: its commands can be typed, its options exist, its example compiles and is right."""

from __future__ import annotations

import re
import shlex
import subprocess
from functools import cache
from pathlib import Path

import pytest

import polytile
from polytile.cli.main import main
from polytile.cli.tune.arguments import SEARCHES, SPACES, parse
from polytile.frontend.program import read_program
from polytile.runtime.compilers import c_compiler

ROOT = Path(__file__).resolve().parents[3]
GUIDE, README = ROOT / "docs" / "tuning.md", ROOT / "README.md"
WAVE = ROOT / "docs" / "examples" / "wave.c"
COMMAND = re.compile(r"^polytile tune (.*)$", re.MULTILINE)


def names(text: str) -> set[str]:
    """The options in a text: `-v, --verbose`."""
    return set(re.findall(r"(?<![\w-])--?[A-Za-z][a-z-]*", text))


@pytest.mark.parametrize("file", [GUIDE, README], ids=lambda file: file.name)
def test_commands_can_be_typed_and_name_all_sizes(file: Path) -> None:
    commands = COMMAND.findall(file.read_text())
    assert commands
    for words in commands:
        assert set(parse(shlex.split(words)).parameters) == parameters()


@cache
def parameters() -> set[str]:
    """The sizes of the example."""
    (scop,) = read_program(str(WAVE)).scops
    return {p.name for p in scop.parameters}


def test_the_table_has_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    main(["tune", "--help"])
    lines = re.findall(r"^  (-.*?)(?:  .*)?$", capsys.readouterr().out, re.MULTILINE)
    known = {name for line in lines for name in names(line)}
    rows = GUIDE.read_text().partition("## Options")[2].splitlines()
    listed = {name for row in rows if row.startswith("| `-") for name in names(row.split(" | ")[0])}
    assert listed == known


@pytest.mark.parametrize("name", [*SEARCHES, *SPACES])
def test_searches_and_spaces_are_explained(name: str) -> None:
    assert re.search(rf"^\| [^|]*`{name}`[^|]* \|", GUIDE.read_text(), re.MULTILINE)


@pytest.mark.slow
def test_the_example_is_a_program_whose_kernels_are_right(tmp_path: Path) -> None:
    (scop,) = polytile.compile(WAVE).scops
    assert scop.validate(on="emulator", seed=1)
    subprocess.run([*c_compiler(), str(WAVE), "-o", str(tmp_path / "c"), "-lm"], check=True)
    polytile.compile(WAVE).build(tmp_path / "emulator", on="emulator")
    assert sums(tmp_path / "c") == sums(tmp_path / "emulator")


def sums(program: Path) -> str:
    """What the example prints, without its time."""
    printed = subprocess.run([program, "20", "3"], capture_output=True, text=True, check=True).stdout
    return str(re.findall(r"sum of squares [\d.e+-]+", printed)[0])
