"""The assertions of test modules are rewritten by all processes of a run together, where no earlier run has left them.

before: each process rewrites those of all modules
after:  process k of n imports every n-th module first, and finds what the others have made of the rest
"""

from __future__ import annotations

import importlib
import os
from contextlib import suppress
from pathlib import Path

import pytest


def import_own_part(config: pytest.Config) -> None:
    """Import the modules that this process of several has to look at first, in a run of all folders. What they raise is
    said when they are collected."""
    given = getattr(config, "workerinput", None)
    root, folders = config.rootpath, config.getini("testpaths")
    if given is None or config.args != folders:
        return
    files = sorted(file for folder in folders for file in (root / folder).rglob("test_*.py") if _is_named_by_path(file))
    for file in files[int(given["workerid"].removeprefix("gw")) :: given["workercount"]]:
        with suppress(Exception):
            importlib.import_module(os.fspath(file.relative_to(root).with_suffix("")).replace(os.sep, "."))


def _is_named_by_path(file: Path) -> bool:
    """Whether pytest gives the module the name that it has from the root; packages are roots of their own to it."""
    return not (file.parent / "__init__.py").exists()
