"""The layout of generated files: Jinja2 templates without decisions or arithmetic.

Jinja2 makes Python of a template, which is kept where Python keeps that of modules, in `__pycache__`, if it may.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import lru_cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket

from polytile.machine import MAX_GRID, MAX_PITCH, WARP_SIZE

_TEMPLATES = Path(__file__).parent / "templates"
_LAYOUT: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}


class _BesideModules(FileSystemBytecodeCache):
    """Templates as code, found by their texts; a folder that cannot be written costs only time."""

    def __init__(self) -> None:
        super().__init__(str(Path(cache_from_source(__file__)).parent), f"%s.{'.'.join(_LAYOUT)}")

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)


@lru_cache
def _environment(folder: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=False,
        bytecode_cache=None if sys.dont_write_bytecode else _BesideModules(),
        **_LAYOUT,
    )
    environment.globals.update(warp_size=WARP_SIZE, max_grid=MAX_GRID, max_pitch=MAX_PITCH)
    return environment


def render(template: str, **values: Any) -> str:
    """Fill `template` with `values`."""
    return render_from(_TEMPLATES, template, **values)


def render_from(folder: Path, template: str, **values: Any) -> str:
    """Fill a template of another folder with `values`."""
    return _environment(folder).get_template(template).render(**values)
