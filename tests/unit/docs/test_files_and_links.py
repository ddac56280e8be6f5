"""What the documentation points to is there: files, folders, sections, and the passes of the list."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import pytest

from polytile.codegen.passes import KERNEL_PASSES, PROGRAM_PASSES

ROOT = Path(__file__).resolve().parents[3]
LINKS = {ROOT / "polytile" / room for room in ("frontend", "scheduling", "codegen")}  # to the folders beside it
NOT_OURS = {".git", ".venv", "venv", "build", "node_modules", ".hypothesis"}
SOURCE = re.compile(r"(?<![\w.*/<-])((?:[\w-]+/)*[\w-]+\.(?:py|j2|toml))\b")
PLACEHOLDER = "NAME"  # of what a reader adds
FOLDER = re.compile(r"`((?:[\w-]+/)+)`")


def files(suffixes: tuple[str, ...]) -> list[Path]:
    """The files of the project that end so, each once."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        here = Path(folder)
        folders[:] = [f for f in folders if f not in NOT_OURS and here / f not in LINKS]
        found += [here / name for name in names if name.endswith(suffixes)]
    return sorted(found)


DOCUMENTS = files((".md",))


@cache
def sources() -> list[str]:
    return [f"/{path.relative_to(ROOT)}" for path in files((".py", ".j2", ".toml"))]


@cache
def folders() -> set[str]:
    held = {path.parent for path in files(("",))}
    return {f"/{f.relative_to(ROOT)}/" for one in held for f in (one, *one.parents) if ROOT in f.parents}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def sections(file: Path) -> set[str]:
    """The anchors of a document's headings, as they are linked to."""
    headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("file", DOCUMENTS, ids=name)
def test_links_lead_somewhere(file: Path) -> None:
    for target, section in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", file.read_text()):
        found = file.parent / target if target else file
        assert found.exists(), target
        assert not section or section in sections(found), f"{target}#{section}"


def missing(file: Path) -> list[str]:
    """The modules that a text names and that are nowhere."""
    named = {n for n in SOURCE.findall(file.read_text()) if PLACEHOLDER not in n}
    return [n for n in sorted(named) if not any(path.endswith(f"/{n}") for path in sources())]


@pytest.mark.parametrize("file", DOCUMENTS, ids=name)
def test_modules_that_are_named_exist(file: Path) -> None:
    assert missing(file) == []


def test_modules_that_comments_name_exist() -> None:
    ours = (path for path in files((".py",)) if ROOT / "tests" not in path.parents)
    assert {name(path): found for path in ours if (found := missing(path))} == {}


@pytest.mark.parametrize("file", [f for f in DOCUMENTS if "polybench" not in f.parts], ids=name)
def test_folders_that_are_named_exist(file: Path) -> None:
    named = {n for n in FOLDER.findall(file.read_text()) if PLACEHOLDER not in n}
    assert [n for n in sorted(named) if not any(path.endswith(f"/{n}") for path in folders())] == []


def test_the_page_of_codegen_says_what_each_pass_does() -> None:
    text = (ROOT / "codegen" / "README.md").read_text()
    listed = re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)
    assert listed == [one.name for one in (*KERNEL_PASSES, *PROGRAM_PASSES)]


def test_architecture_is_short() -> None:
    assert len((ROOT / "docs" / "architecture.md").read_text().splitlines()) <= 250
