"""The guide to ranks from Python says what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ranks.mpirun import REPOSITORY, launcher

BLOCKS = re.findall(r"```(\w+)\n(.*?)```\n", (REPOSITORY / "docs" / "ranks.md").read_text(), re.DOTALL)


@pytest.mark.slow
def test_the_program_prints_what_the_guide_shows(emulator: None, tmp_path: Path) -> None:
    first, second = (text for kind, text in BLOCKS if kind == "python")
    assert first == (REPOSITORY / "docs" / "examples" / "himeno.py").read_text()
    shown = next(text for kind, text in BLOCKS if kind == "text")
    program = tmp_path / "himeno.py"
    program.write_text(f"{first}\n{second}\nassert local.nbytes == himeno.record.array_bytes\n")
    command = [str(launcher()), "-n", "4", sys.executable, str(program)]
    whole_lines = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=whole_lines, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(done.stdout.splitlines()) == shown.splitlines()
