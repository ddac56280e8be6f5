"""The tutorial is true: its files compile, its commands print what stands below them, its Python runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import polytile

PAGE = Path(__file__).resolve().parents[3] / "docs" / "first-hour.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(command: list[str], folder: Path) -> str:
    """What a command prints, both streams."""
    environment = {**os.environ, "PYTHONPATH": str(Path(polytile.__file__).parents[1])}
    finished = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
    )
    return finished.stdout


def said(line: str, folder: Path) -> str:
    """What a line of a shell block prints: calls of polytile, and of the programs that it made."""
    words = shlex.split(line)
    if words[0] == "polytile":
        return run([sys.executable, "-m", *words], folder)
    return run([str(folder / words[0])], folder) if words[0].startswith("./") else ""


@pytest.mark.slow
def test_the_first_hour(tmp_path: Path) -> None:
    text = PAGE.read_text()
    printed = ""
    for language, block in BLOCK.findall(text):
        if language == "c":
            (tmp_path / block.split()[1]).write_text(block)
        elif language == "sh":
            printed += "".join(said(line, tmp_path) for line in block.splitlines())
        elif language == "python":
            (tmp_path / "call.py").write_text(block)
            printed += run([sys.executable, "call.py"], tmp_path)
    printed += said("polytile scale.c", tmp_path)
    assert "Traceback" not in printed
    assert "\n200\n" in printed, printed
    shown = [line for language, block in BLOCK.findall(text) if language == "text" for line in block.splitlines()]
    missing = [line for line in shown if line not in printed.splitlines()]
    assert missing == [], "write what is printed now into docs/first-hour.md"
