"""What the command leaves out of its imports, and that libraries are as they were without it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import polytile

CHECKOUT = Path(polytile.__file__).resolve().parents[1]


def printed(code: str) -> str:
    """Run Python code in a new process."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_isl_has_its_version_and_no_reader_of_metadata() -> None:
    code = (
        "import sys; from polytile.cli.light_imports import prepare_isl; prepare_isl(); import islpy, islpy.version;"
        "print(islpy.__version__, islpy.version.VERSION_TEXT, islpy.version.VERSION);"
        "print('importlib.metadata' in sys.modules)"
    )
    number = version("islpy")
    assert printed(code) == f"{number} {number} {tuple(map(int, number.split('.')))}\nFalse"


def test_an_isl_that_is_there_stays() -> None:
    code = (
        "import islpy.version as before; from polytile.cli.light_imports import prepare_isl; prepare_isl();"
        "import islpy.version; print(islpy.version is before)"
    )
    assert printed(code) == "True"
