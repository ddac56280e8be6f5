"""The guide to ranks in C is true: its commands print what stands below them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import polytile
from tests.ranks.mpirun import launcher

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "distribution.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def runs(line: str) -> bool:
    """Whether a line of a shell block is for this machine: not what installs, or needs nvcc and a GPU."""
    return line.startswith(("polytile ", "mpirun ")) and "nvcc" not in line


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
def test_the_guide(tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "polytile").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m polytile "$@"\n')
    (tools / "polytile").chmod(0o755)
    path = f"{tools}{os.pathsep}{launcher().parent}{os.pathsep}{os.environ['PATH']}"
    home = Path(polytile.__file__).parents[1]
    environment = {**os.environ, "PATH": path, "PYTHONPATH": f"{home}"}
    printed = ""
    blocks = BLOCK.findall(PAGE.read_text().partition("## Predicted scaling")[0])
    for language, block in blocks:
        for line in block.splitlines() if language == "sh" else ():
            if runs(line):
                done = subprocess.run(
                    ["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
                )
                assert done.returncode == 0, done.stderr
                printed += done.stdout
    shown = [line for language, block in blocks if language == "text" for line in block.splitlines()]
    assert [line for line in shown if line not in printed.splitlines()] == [], printed
