"""`pytest` has tests of every kind, says how to run all, and names the files whose tests have ended."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import selection, shared_rewriting
from tests.progress import FileProgress

TESTS = Path(__file__).resolve().parents[2]
ROOMS = sorted({str(file.parent.relative_to(TESTS.parent)) for file in TESTS.rglob("test_*.py")})


def pytest_says(*arguments: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", "--collect-only", "-q", *arguments]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout.splitlines()


def kept(file: Path) -> Iterator[str]:
    """The parameters that `slow(but=...)` keeps, and functions of which `quick` keeps some, as pytest names them."""
    for node in ast.walk(ast.parse(file.read_text())):
        for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            name = f"{file.relative_to(TESTS.parent)}::{node.name}"
            if ast.unparse(mark) == "pytest.mark.quick":
                yield name
            elif isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.slow":
                names = ast.literal_eval(mark.keywords[0].value)
                names = (names,) if isinstance(names, str) else names
                yield from [name] if isinstance(names, int) else (f"{name}[{each}]" for each in names)


@pytest.mark.slow
def test_the_quick_suite_has_every_kind_of_check() -> None:
    said, names = pytest_says(), names_in(pytest_says("--all"))
    quick = names_in(said)
    assert quick < names and left_out(said) == len(names - quick)
    files = {name.partition("::")[0] for name in quick}
    rooms = {str(Path(file).parent) for file in files}
    assert [room for room in ROOMS if room not in rooms] == []
    for folder in selection.SLOW_FOLDERS:
        assert [str(f) for f in folder.glob("test_*.py") if str(f.relative_to(TESTS.parent)) not in files] == []
    quick |= {name.partition("[")[0] for name in quick}
    assert [name for file in TESTS.rglob("test_*.py") for name in kept(file) if name not in quick] == []


def test_quick_marks_stand_where_all_is_slow() -> None:
    """Elsewhere they would leave nothing out."""
    others = (f for f in TESTS.rglob("test_*.py") if selection.SLOW_FOLDERS.isdisjoint(f.parents))
    assert [f for f in others if "mark.quick" in f.read_text() and f != Path(__file__)] == []


@pytest.mark.slow
def test_a_folder_leaves_out_what_is_slow_and_a_file_nothing() -> None:
    file = "tests/split/test_registers.py"
    folder, named = pytest_says("tests/split"), pytest_says(file)
    assert left_out(folder) and not left_out(named)
    assert {name for name in names_in(folder) if name.startswith(file)} < names_in(named)


def names_in(said: Sequence[str]) -> set[str]:
    return {line for line in said if "::" in line}


def left_out(said: Sequence[str]) -> int:
    """What the end says of slow tests, and how to run them."""
    found = re.search(r"^slow tests left out: (\d+) \(`pytest --all` runs them too\)$", "\n".join(said), re.MULTILINE)
    return int(found[1]) if found else 0


def config(folder: Path, *arguments: str, **options: bool) -> pytest.Config:
    given = {"all": False, "update_golden": False, "markexpr": "", **options}
    parameters = SimpleNamespace(dir=folder)
    made = SimpleNamespace(args=arguments, option=SimpleNamespace(**given), invocation_params=parameters)
    return made  # type: ignore[return-value]


@pytest.mark.parametrize(("but", "count", "quick"), [(1, 3, {0}), (2, 5, {0, 2}), (3, 9, {0, 3, 6}), (4, 2, {0, 1})])
def test_parameters_that_remain_are_spread_evenly(but: int, count: int, quick: set[int]) -> None:
    assert {number for number in range(count) if not selection.is_left_out(but, number, count)} == quick


def test_one_process_runs_what_is_named_alone() -> None:
    one, folder = "structure/test_quick_suite.py", TESTS / "unit"
    for arguments in ((one,), (f"{one}::test_a",), (f"{one}::test_a[1]", f"{one}::test_b"), (str(folder / one),)):
        assert selection.runs_alone(config(folder, *arguments))
    for arguments in ((".",), ("structure", one), (one, "structure/test_dataclass.py")):
        assert not selection.runs_alone(config(folder, *arguments))
    assert selection.runs_alone(config(folder, ".", update_golden=True))


def test_each_process_imports_a_part_of_all_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []
    monkeypatch.setattr(importlib, "import_module", imported.append)

    def parts(*arguments: str) -> list[list[str]]:
        found = []
        for name in ("gw0", "gw1", "gw2"):
            known = {"workerinput": {"workerid": name, "workercount": 3}, "rootpath": TESTS.parent}
            asked = SimpleNamespace(args=[*arguments], getini=lambda _: ["tests"], **known)
            shared_rewriting.import_own_part(asked)  # type: ignore[arg-type]
            found.append(imported.copy())
            imported.clear()
        return found

    modules = [f for f in TESTS.rglob("test_*.py") if not f.with_name("__init__.py").exists()]
    files = {str(f.relative_to(TESTS.parent).with_suffix("")).replace("/", ".") for f in modules}
    assert sorted(name for part in parts("tests") for name in part) == sorted(files)
    assert parts("tests/unit") == [[], [], []]


class Terminal:
    def __init__(self) -> None:
        self.lines: list[tuple[str, bool]] = []

    def write_line(self, line: str, red: bool) -> None:
        self.lines.append((line, red))


def report(progress: FileProgress, nodeid: str, category: str, when: str = "call") -> str:
    """One report of a test, as the terminal takes it; returns the letter that it writes."""
    told = SimpleNamespace(nodeid=nodeid, when=when)
    asked = progress.pytest_report_teststatus(told)  # type: ignore[arg-type]
    next(asked)
    try:
        asked.send((category, category[:1], category.upper()))
    except StopIteration as ended:
        progress.pytest_runtest_logreport(told)  # type: ignore[arg-type]
        return str(ended.value[1])
    raise AssertionError("more than one status")


def test_progress_by_file() -> None:
    terminal = Terminal()
    progress = FileProgress(terminal)
    assert report(progress, "a.py::x", "passed") == "p"  # one process, which names files itself
    for _ in range(2):  # processes
        progress.pytest_xdist_node_collection_finished(["a.py::x", "b.py::y[1]", "a.py::z", "c.py::w"])
    for nodeid, category in (("a.py::x", "passed"), ("b.py::y[1]", "skipped"), ("a.py::z", "passed")):
        assert report(progress, nodeid, "", "setup") == report(progress, nodeid, category) == ""
        if nodeid == "a.py::z":
            assert report(progress, nodeid, "error", "teardown") == ""
        progress.pytest_runtest_logfinish(nodeid)
    assert report(progress, "c.py::w", "failed", "???") == ""  # it ended its process
    assert report(progress, "c.py::w", "failed") == "f"  # the summary
    assert terminal.lines == [
        ("[ 50%] b.py: 1 skipped", False),
        ("[ 75%] a.py: 2 passed, 1 error", True),
        ("[100%] c.py: 1 failed", True),
    ]
