"""The version of islpy, which a command tells it: when islpy is imported it asks `importlib.metadata`, 20 ms of each
command for what the name of a folder says."""

from __future__ import annotations

import os
import re
import sys
from types import ModuleType

from polytile.installed import installer_folder

_FOLDER = r"(?i)islpy-(([0-9.]+)([a-z0-9]*))\.dist-info"


def tell_islpy_its_version() -> None:
    """Make the module `islpy.version`, where a folder says what is in it; islpy makes it elsewhere."""
    folder = None if "islpy" in sys.modules else installer_folder("islpy")
    found = re.fullmatch(_FOLDER, os.path.basename(folder or ""))
    if found is not None:
        module = ModuleType("islpy.version")
        numbers = tuple(map(int, found[2].split(".")))
        vars(module).update(VERSION_TEXT=found[1], VERSION_STATUS=found[3], VERSION=numbers)
        sys.modules[module.__name__] = module
