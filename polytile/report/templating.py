"""Templates of pages: texts of the user's are escaped, and what is missing is an error."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from polytile.report.highlight import clean
from polytile.version import __version__


def templates_in(folder: Path, styles: dict[str, str], **names: object) -> Environment:
    """Return what renders the templates of a folder. They see `names`, polytile's `version`, and the text of each of
    `styles`, by the name that stands for a file of the folder."""
    made = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    )
    texts = {name: Markup((folder / file).read_text(encoding="utf-8")) for name, file in styles.items()}
    made.globals.update(version=__version__, **texts, **names)
    return made
