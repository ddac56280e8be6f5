"""The site: built without a warning, its notebooks run, its diagrams drawn, its links followed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import polytile
from tests.site.links import broken, read

ROOT = Path(__file__).resolve().parents[2]
INSTALL = "the site needs sphinx, furo and myst-nb: pip install '.[docs]'"


def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#there">x</a><a href="b.html#here">x</a><a href="c.html">x</a>')
    (tmp_path / "b.html").write_text(
        '<p id="here"><img src="https://example.org/x.png"></p><a href="https://a.b/">y</a>'
    )
    assert sorted(broken(tmp_path)) == [
        "a.html: no anchor for b.html#there",
        "a.html: no file for c.html",
        "b.html loads https://example.org/x.png",
    ]


def test_each_page_is_in_the_navigation() -> None:
    """Sphinx would say so, too, where it is installed."""
    listed = (ROOT / "docs" / "_navigation.md").read_text().splitlines()
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/notebooks/*.py"), *ROOT.glob("p*/*/README.md")]
    pages += ROOT.glob("[a-z]*/README.md")
    named = {str(page.relative_to(ROOT).with_suffix("")) for page in pages if not page.name.startswith("_")}
    links = {f"polytile/{room}/README" for room in ("frontend", "scheduling", "codegen")}
    assert sorted(named - links - {"polybench/results/README"} - set(listed)) == []


@pytest.mark.slow
def test_the_site(tmp_path: Path) -> None:
    """One build for all that is asked of it, as it takes half a minute."""
    for module in ("sphinx", "furo", "myst_nb"):
        pytest.importorskip(module, reason=INSTALL)
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-c", "docs", ".", str(site)]
    environment = {**os.environ, "PYTHONPATH": str(Path(polytile.__file__).parents[1])}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert built.returncode == 0, built.stderr
    assert list(broken(site)) == []
    check_front_page(site)
    check_diagrams(site)
    check_notebooks(site)
    check_gallery(site)


def check_front_page(site: Path) -> None:
    assert (site / "index.html").read_text() == (site / "README.html").read_text()
    assert (site / "searchindex.js").is_file()
    linked = {link.partition("#")[0] for link in read(site / "index.html").links}
    assert {"docs/command-line.html", "docs/api.html", "scheduling/README.html", "CONTRIBUTING.html"} <= linked


def check_diagrams(site: Path) -> None:
    """Each Mermaid block of a Markdown file is a picture, not code and no script."""
    for source in [*ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md")]:
        blocks = len(re.findall(r"^```mermaid$", source.read_text(), re.MULTILINE))
        page = (site / source.relative_to(ROOT)).with_suffix(".html")
        if page.is_file():
            assert page.read_text().count('<div class="flowchart"><svg ') == blocks, source


def check_notebooks(site: Path) -> None:
    """Each has run, and shows what it printed."""
    notebooks = sorted((ROOT / "docs" / "notebooks").glob("*.py"))
    assert len(notebooks) == 2
    for notebook in notebooks:
        page = (site / "docs" / "notebooks" / notebook.name).with_suffix(".html").read_text()
        assert page.count('class="cell_output') >= 4, notebook


def check_gallery(site: Path) -> None:
    """Five reports, each below its command."""
    commands = re.findall(r"--report (\S+)$", (ROOT / "docs" / "gallery.md").read_text(), re.MULTILINE)
    assert len(commands) == 5
    shown = read(site / "docs" / "gallery.html").resources
    assert [link for link in shown if link.startswith("reports/")] == [f"reports/{name}" for name in commands]
