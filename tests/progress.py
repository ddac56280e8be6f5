"""Progress of tests that run in several processes: a line for each file, once all of its tests have ended.

One process prints a line for each file by itself; of several, pytest-xdist prints a letter for each test alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Sequence
from typing import Any

import pytest

Status = tuple[str, str, Any]


class FileProgress:
    """Takes the letters from `terminal` and gives it lines of files."""

    def __init__(self, terminal: Any) -> None:
        self._terminal = terminal
        self._count = 0
        self._waiting: Counter[str] = Counter()  # tests that have not ended, by file
        self._found: defaultdict[str, Counter[str]] = defaultdict(Counter)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        if not self._count:  # each process collects the same
            self._count = len(ids)
            self._waiting = Counter(map(_file, ids))

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Generator[None, Status, Status]:
        category, letter, word = yield
        if _file(report.nodeid) not in self._waiting:  # one process, or the summary at the end
            return category, letter, word
        self._found[_file(report.nodeid)][category] += 1
        return category, "", word

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        file = _file(nodeid)
        if file in self._waiting:
            self._waiting[file] -= 1
            if not self._waiting[file]:
                del self._waiting[file]
                self._write(file, self._found.pop(file))

    @pytest.hookimpl(trylast=True)  # the terminal counts it first
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when not in ("setup", "call", "teardown"):  # a test that ended its process, and has no other end
            self.pytest_runtest_logfinish(report.nodeid)

    def _write(self, file: str, found: Counter[str]) -> None:
        said = ", ".join(f"{count} {category}" for category, count in found.items() if category)
        percent = 100 * (self._count - self._waiting.total()) // self._count
        self._terminal.write_line(f"[{percent:3}%] {file}: {said}", red=bool(found["failed"] or found["error"]))


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]
