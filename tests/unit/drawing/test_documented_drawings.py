"""The pictures of docs/drawings.md are what its commands draw; `pytest --update-golden` writes them anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polytile.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "drawings.md").read_text()
COMMANDS = [words.split() for words in re.findall(r"^polytile (.* --draw .*)$", PAGE, re.MULTILINE)]


@pytest.mark.slow(
    but=(  # quick ones
        "jacobi-1d-classic", "jacobi-1d-split", "jacobi-1d-overlapped", "doitgen",
    )
)
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: Path(words[-1]).stem)
def test_a_picture_is_current(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    kept, drawn = ROOT / "docs" / "drawings" / words[-1], tmp_path / words[-1]
    monkeypatch.chdir(ROOT)
    assert main([*words[:-1], str(drawn), "-o", str(tmp_path), "-q"]) == 0
    if request.config.getoption("--update-golden"):
        kept.write_text(drawn.read_text())
    assert drawn.read_text() == kept.read_text(), f"{kept} is old: run pytest --update-golden and look at it"


def test_each_picture_is_shown_and_has_a_command() -> None:
    pictures = {path.name for path in (ROOT / "docs" / "drawings").iterdir()}
    assert pictures == {words[-1] for words in COMMANDS}
    assert pictures == set(re.findall(r"\]\(drawings/([^)]*)\)", PAGE))
