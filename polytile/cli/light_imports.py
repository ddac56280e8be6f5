"""Imports without what the command never uses of them, for runs that take half a second.

before: islpy asks `importlib.metadata` for its own version, which imports readers of mail, archives and tables
after:  islpy finds the version that stands in the name of the folder that its installer left
"""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

_ISL = "islpy"
_VERSION = f"{_ISL}.version"
_INSTALLED = re.compile(_ISL + r"-(?P<text>(?P<numbers>[0-9.]+)(?P<status>[a-z0-9]*))\.dist-info")


def prepare_isl() -> None:
    """Import islpy, and tell it its version; it looks for itself where its folder does not say."""
    if _ISL in sys.modules or _VERSION in sys.modules:
        return
    found = _installed()
    if found is None:
        return
    module = ModuleType(_VERSION, "The version of islpy.")
    numbers = found["numbers"].strip(".").split(".")
    vars(module).update(
        VERSION_TEXT=found["text"], VERSION_STATUS=found["status"], VERSION=tuple(int(n) for n in numbers)
    )
    sys.modules[_VERSION] = module
    vars(import_module(_ISL))["version"] = module


def _installed() -> re.Match[str] | None:
    """Find the folder that says which version is installed."""
    spec = find_spec(_ISL)
    if spec is None or not spec.submodule_search_locations:
        return None
    try:
        beside = os.listdir(os.path.dirname(spec.submodule_search_locations[0]))
    except OSError:  # an archive
        return None
    found = [match for name in beside if (match := _INSTALLED.fullmatch(name))]
    return found[0] if len(found) == 1 else None
