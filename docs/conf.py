"""The site: `sphinx-build -W -n -c docs . build/site`. The sources are the Markdown files where they are, from the
README as the front page to the pages of the rooms, so that their links work here as they do on a forge."""

from __future__ import annotations

import shutil
import sys
from dataclasses import is_dataclass
from pathlib import Path

from sphinx.application import Sphinx

from polytile.version import __version__

HERE = Path(__file__).parent
sys.path.append(str(HERE / "_extensions"))

project = "polytile"
author = "The polytile authors"
copyright = author
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "flowcharts", "reports"]
root_doc = "README"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/*.md",
    "docs/notebooks/*.py",
    "*/README.md",
    "polytile/*/README.md",
    "polybench/*/*.md",
]
exclude_patterns = ["build", "dist", ".*", "docs/_*", "polytile/frontend", "polytile/scheduling", "polytile/codegen"]
NAVIGATION = (HERE / "_navigation.md").read_text()  # behind the front page's text

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True

highlight_language = "none"
default_role = "code"
add_module_names = False
autodoc_member_order = "bysource"
# What signatures name and no page describes: the standard library, and values that pass between the rooms.
nitpick_ignore_regex = [
    ("py:class", r"(collections|islpy|numpy|os|pathlib|typing)\..*|(tuple|dict)\[.*"),
    ("py:class", r"polytile\.(compilation|ir)\..*|Unit|Expectation|Counted|Timing|Validation|Intracomm|Ranks"),
]

html_theme = "furo"
html_title = "polytile"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}


def prepare(app: Sphinx, page: str, source: list[str]) -> None:
    """The front page has the site's table of contents, which a forge would show as code; tables of measurements that
    begin without a title have their file's name."""
    if page == root_doc:
        source[0] += "\n" + NAVIGATION
    elif page.startswith("polybench/results/") and not source[0].startswith("# "):
        source[0] = f"# {page.rpartition('/')[2]}\n\n{source[0]}"


def without_fields(app: Sphinx, what: str, name: str, value: object, *_: object) -> tuple[str, str] | None:
    """Classes of the library are made by its functions: what they are made of is no business of a caller's."""
    return ("", "") if what == "class" and is_dataclass(value) else None


def add_index(app: Sphinx, error: Exception | None) -> None:
    """The front page is what a server shows for the folder, too."""
    if error is None and app.builder.format == "html":
        shutil.copy(app.outdir / f"{root_doc}.html", app.outdir / "index.html")


def setup(app: Sphinx) -> None:
    app.connect("source-read", prepare)
    app.connect("autodoc-process-signature", without_fields)
    app.connect("build-finished", add_index)
