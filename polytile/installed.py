"""What installers have left beside libraries. `importlib.metadata` reads it, too; importing that takes 20 ms, as it
imports what reads mail, ZIP and CSV."""

from __future__ import annotations

import os
from importlib.util import find_spec

_LEFT = (".dist-info", ".egg-info")


def installer_folder(library: str) -> str | None:
    """The folder `LIBRARY-VERSION.dist-info` with the record of what was installed; None without one."""
    spec = find_spec(library)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = os.path.dirname(spec.submodule_search_locations[0])
    try:
        beside = os.listdir(folder)
    except OSError:  # an archive
        return None
    named = (name for name in beside if name.endswith(_LEFT) and name.partition("-")[0].lower() == library)
    return next((os.path.join(folder, name) for name in named), None)
