"""The cache's folder: what is written is read again or absent, whatever happens to the folder meanwhile."""

from __future__ import annotations

import errno
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from polytile.compile_cache import entries
from polytile.compile_cache.entries import ABANDONED, Entries, cache_folder

KEYS = tuple(f"{number:064x}" for number in range(200))
TEXT = '{"a": "\\udcff\\n", "b": "' + "é" * 300 + '"}'
pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions and limits are POSIX's")


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_text_is_read_as_it_was_written(tmp_path: Path) -> None:
    kept = Entries(tmp_path / "not/yet/there")
    assert kept.read(KEYS[0]) is None
    for text in (TEXT, "", "another\n"):
        kept.write(KEYS[0], text)
        assert kept.read(KEYS[0]) == text
    assert kept.read(KEYS[1]) is None
    assert files(kept.folder) == [f"{KEYS[0]}.entry"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: b"",
        lambda content: content[:20],
        lambda content: content[:-1],
        lambda content: content[:100] + bytes(len(content) - 100),
        lambda content: content[:-30] + bytes([content[-30] ^ 1]) + content[-29:],
        lambda content: content + b"\n",
        lambda content: content.replace(b"polytile cache 1", b"polytile cache 0", 1),
        lambda content: content.partition(b"\n")[2],
        lambda content: b"\xff\xfe\n\n" + content,
    ],
)
def test_a_torn_or_foreign_entry_is_dropped(tmp_path: Path, spoil) -> None:
    kept = Entries(tmp_path)
    kept.write(KEYS[0], TEXT)
    (entry,) = tmp_path.iterdir()
    entry.write_bytes(spoil(entry.read_bytes()))
    assert kept.read(KEYS[0]) is None
    assert files(tmp_path) == []
    kept.write(KEYS[0], TEXT)
    assert kept.read(KEYS[0]) == TEXT


def test_what_is_no_file_is_no_entry(tmp_path: Path) -> None:
    kept = Entries(tmp_path)
    (tmp_path / f"{KEYS[0]}.entry").mkdir()
    os.mkfifo(tmp_path / f"{KEYS[1]}.entry")  # whoever opens this waits
    (tmp_path / f"{KEYS[2]}.entry").symlink_to("nowhere")
    for key in KEYS[:3]:
        assert kept.read(key) is None
        kept.write(key, TEXT)
    assert kept.read(KEYS[1]) == kept.read(KEYS[2]) == TEXT


@pytest.mark.parametrize("where", ["file", "below a file", "/dev/null", "/proc/none/such"])
def test_a_folder_that_cannot_be_is_no_error(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("mine")
    folder = tmp_path / "file/folder" if where == "below a file" else tmp_path / where
    kept = Entries(folder)
    kept.write(KEYS[0], TEXT)
    assert kept.read(KEYS[0]) is None
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Entries(tmp_path)
    kept.write(KEYS[0], TEXT)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    for name in ("write_bytes", "unlink", "replace", "mkdir"):  # permissions do not bind a superuser
        monkeypatch.setattr(Path, name, refuse)
    monkeypatch.setattr(os, "utime", refuse)
    kept.write(KEYS[1], TEXT)
    assert kept.read(KEYS[0]) == TEXT
    assert kept.read(KEYS[1]) is None


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from pathlib import Path; "
        "from polytile.compile_cache.entries import Entries; "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); "
        f"kept = Entries(Path({str(tmp_path)!r})); kept.write({KEYS[0]!r}, 'x' * 5000); kept.write({KEYS[1]!r}, 'y'); "
        f"print(kept.read({KEYS[0]!r}), kept.read({KEYS[1]!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("None y\n", "")
    assert files(tmp_path) == [f"{KEYS[1]}.entry"]


def test_what_was_used_last_stays(tmp_path: Path) -> None:
    kept = Entries(tmp_path, most=10_000)
    for number in range(9):
        kept.write(KEYS[number], "x" * 1000)
        os.utime(tmp_path / f"{KEYS[number]}.entry", (number, number))
    assert kept.read(KEYS[0]) is not None  # and is the youngest
    (tmp_path / "notes.txt").write_text("m" * 20_000)  # nobody's business
    kept.write(KEYS[9], "x" * 1000)
    left = [number for number in range(10) if kept.read(KEYS[number]) is not None]
    assert left == [0, *range(4, 10)]  # 8000 bytes are left, with what stands in front of each text
    assert (tmp_path / "notes.txt").exists()


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    kept = Entries(tmp_path, most=100)
    old, new = (tmp_path / f".{name * 16}.unfinished" for name in "ab")
    for path in (old, new):
        path.write_text("half")
    now = new.stat().st_mtime
    os.utime(old, (now - ABANDONED - 60, now - ABANDONED - 60))
    kept.write(KEYS[0], "x" * 20)
    assert not old.exists() and new.exists()


def _work(folder: str, seed: int) -> None:
    kept = Entries(Path(folder), most=20_000)
    for step in range(300):
        key = KEYS[(step * 7 + seed) % 40]
        found = kept.read(key)
        assert found is None or found == key * 20
        kept.write(key, key * 20)


def test_processes_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    working = [context.Process(target=_work, args=(str(tmp_path), seed)) for seed in range(3)]
    for process in working:
        process.start()
    for process in working:
        process.join(60)
    assert [process.exitcode for process in working] == [0, 0, 0]
    assert all(name.endswith(".entry") for name in files(tmp_path))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 20_000


def test_the_folder_is_the_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(entries.VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.setenv(entries.VARIABLE, "0")
    assert cache_folder() is None
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(entries.VARIABLE, "~/kept")
    assert cache_folder() == tmp_path / "kept"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    for unset in ("", None):
        monkeypatch.setenv(entries.VARIABLE, "")
        if unset is None:
            monkeypatch.delenv(entries.VARIABLE)
        found = cache_folder()
        assert found is not None and found.is_relative_to(tmp_path) and found.name == "polytile"
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: Path("~/.cache/polytile"))
    assert cache_folder() is None  # a user without a home
