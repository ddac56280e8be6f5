"""The gallery: each block with a command that writes a report is that command, run when the site is built, and the
report below it. On a forge the block is the command alone.

    ```{report}
    polytile polybench/polybench/lu.c --report lu.html
    ```
"""

from __future__ import annotations

import posixpath
import shlex
from contextlib import chdir
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import polytile

FOLDER = "docs/reports"  # of the built site


class Report(SphinxDirective):
    """One command: the file, settings as `--tile 32`, and the name of the report."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        command = "\n".join(self.content)
        _, source, *words = shlex.split(command)
        named = zip(words[::2], words[1::2], strict=True)
        settings = {option.removeprefix("--").replace("-", "_"): value for option, value in named}
        name = settings.pop("report")
        self.env.note_dependency(source)
        target = Path(self.env.app.outdir) / FOLDER / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with chdir(self.env.srcdir):  # the page says the path of the command
            polytile.compile(Path(source), **settings).report(target)
        link = posixpath.relpath(f"{FOLDER}/{name}", posixpath.dirname(self.env.docname))
        page = (
            f'<iframe class="report" src="{escape(link)}" title="report of {escape(source)}" loading="lazy"></iframe>'
            f'<p><a class="reference external" href="{escape(link)}">Open {escape(name)} alone</a></p>'
        )
        return [nodes.literal_block(command, command, language="sh"), nodes.raw("", page, format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("report", Report)
    return {"parallel_read_safe": False}
