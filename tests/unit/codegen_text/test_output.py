"""Output files: all or none, and a reason when it is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from polytile.diagnostics import UserError
from polytile.runtime.output import write_outputs


def test_texts_are_written_as_they_are(tmp_path: Path) -> None:
    odd = b"// \xe9t\xe9\r\n".decode("utf-8", "surrogateescape")
    (tmp_path / "a.c").write_text("old")
    write_outputs({tmp_path / "a.c": odd, tmp_path / "b.h": "x\n"})
    assert (tmp_path / "a.c").read_bytes() == b"// \xe9t\xe9\r\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.c", "b.h"]


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "b.h").mkdir()
    with pytest.raises(UserError, match="a folder has that name"):
        write_outputs({tmp_path / "a.c": "x", tmp_path / "b.h": "y"})
    assert [p.name for p in tmp_path.iterdir()] == ["b.h"]


def test_a_rename_that_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(UserError, match=r"cannot write .*a\.c: No space left on device"):
        write_outputs({tmp_path / "a.c": "x"})
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="File name too long"):
        write_outputs({tmp_path / ("a" * 300): "x"})


def test_missing_folders_are_made(tmp_path: Path) -> None:
    write_outputs({tmp_path / "new" / "deep" / "a.c": "x"})
    assert (tmp_path / "new" / "deep" / "a.c").read_text() == "x"


def test_folders_that_cannot_take_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is not a folder"):
        write_outputs({tmp_path / "file" / "a.c": "x"})
    with pytest.raises(UserError, match="is not a folder"):
        write_outputs({tmp_path / "file" / "deep" / "a.c": "x"})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_locked_folder(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(UserError, match="cannot be written"):
        write_outputs({locked / "a.c": "x"})
