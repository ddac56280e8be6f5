"""Words of a dialect of our own, which an engineer of the field would not search for, stand in no code and no page.

Each word has the places where it means what everybody means by it. The frontend and old entries of the changelog are
left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROOMS = ("polytile", "scheduling", "codegen", "docs")
PAGES = ("README.md", "CONTRIBUTING.md", "tests/README.md", "polybench/README.md")

# word -> what to say, and the files in which it may stand
WORDS: dict[str, tuple[str, frozenset[str]]] = {
    r"hand_?overs?|handed over": ("forward, forwarding", frozenset()),
    "sunk": (
        "move inward, fuse",
        frozenset({"codegen/passes/store_sinking.py", "codegen/passes/dependent_launch.py"}),  # store sinking
    ),
    r"tail(s|ed)?": (
        "second stage, remainder",
        frozenset(
            {  # the rest of a text
                "polytile/fuzz/printing_expressions.py",
                "polytile/ir/source_region.py",
                "polytile/runtime/emulator/findings.py",
                "polytile/runtime/source_reference.py",
            }
        ),
    ),
    "told apart": (
        "differ by, separate from",
        frozenset(
            {  # by people, who look at colours or lines
                "docs/drawings.md",
                "polytile/autotuning/record_lines.py",
                "polytile/drawing/colours.py",
                "polytile/drawing/iterations/point_colours.py",
            }
        ),
    ),
    r"together(: bool|=(True|False))": ("what is done by all at once: by_warp, one_tile", frozenset()),
    "taken along": ("fused", frozenset()),
}


def files() -> Iterator[Path]:
    for room in ROOMS:
        yield from (p for kind in ("*.py", "*.md") for p in (ROOT / room).rglob(kind) if not _is_linked(p))
    yield from (ROOT / page for page in PAGES)


def _is_linked(path: Path) -> bool:
    return any(parent.is_symlink() for parent in path.parents)


def found(word: str, text: str) -> list[str]:
    """The lines of a text that have a word, alone or as a part of a name."""
    pattern = re.compile(rf"(?<![a-z])(?:{word})(?![a-z])", re.IGNORECASE)
    return [line.strip() for line in text.splitlines() if pattern.search(line)]


@pytest.mark.parametrize("word", WORDS)
def test_no_private_words(word: str) -> None:
    instead, allowed = WORDS[word]
    wrong = [
        f"{name}: {line}"
        for path in files()
        if (name := str(path.relative_to(ROOT))) not in allowed
        for line in found(word, path.read_text())
    ]
    assert not wrong, f"say {instead}: {wrong}"


@pytest.mark.parametrize("word", [word for word, (_, allowed) in WORDS.items() if allowed])
def test_places_that_are_allowed_have_the_word(word: str) -> None:
    assert [name for name in WORDS[word][1] if not found(word, (ROOT / name).read_text())] == []


@pytest.mark.parametrize(
    ("word", "line", "expected"),
    [
        ("sunk", "loops are sunk here", True),
        ("sunk", "edge.sink", False),
        (r"tail(s|ed)?", "def with_tails(a)", True),
        (r"tail(s|ed)?", "in detail", False),
        (r"together(: bool|=(True|False))", "f(together=True)", True),
        (r"together(: bool|=(True|False))", "run together", False),
    ],
)
def test_which_words_are_found(word: str, line: str, expected: bool) -> None:
    assert bool(found(word, line)) == expected
