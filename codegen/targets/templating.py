"""The layout of generated files: Jinja2 templates without decisions or arithmetic."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from polytile.machine import MAX_GRID, MAX_PITCH, WARP_SIZE


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.globals.update(warp_size=WARP_SIZE, max_grid=MAX_GRID, max_pitch=MAX_PITCH)
    return environment


def render(template: str, **values: Any) -> str:
    """The text of `template` with `values` filled in."""
    return _environment().get_template(template).render(**values)
