"""Which sources of a call have SCoPs; all others need nothing of polytile."""

from __future__ import annotations

import re
from pathlib import Path

from polytile.cc.call import Call
from polytile.cc.host_arguments import Argument

_PRAGMA = re.compile(rb"^[ \t]*(?:#|%:|\?\?=)[ \t]*pragma[ \t]+scop\b", re.MULTILINE)


def scop_sources(call: Call, *, autodetect: bool) -> list[Argument]:
    """Return the C files among the inputs that mark a SCoP, or may have one where all loops are looked at. There are
    none where the host compiler is only asked, or makes no objects."""
    return [] if call.host_only else [a for a in call.inputs if a.is_c and _may_have_one(a.value, autodetect)]


def _may_have_one(name: str, autodetect: bool) -> bool:
    if name == "-":
        return False
    try:
        text = Path(name).read_bytes()
    except OSError:
        return False  # for the host compiler to say
    return bool(_PRAGMA.search(text)) or (autodetect and b"for" in text)
