"""What all tests share: golden files, written anew with `pytest --update-golden`, `--full-matrix`, `--all`."""

# ruff: noqa: E402
from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "golden"
REPOSITORY = Path(__file__).resolve().parents[1]
# Two hundred interpreters are started, and each would compile what it imports: where none may write beside the sources,
# they write where pytest keeps what it knows of earlier runs.
if sys.dont_write_bytecode and sys.pycache_prefix is None:
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(REPOSITORY / ".pytest_cache" / "pycache")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
# The benchmark runner is used from the checkout. Behind everything else: the package may be an installed one.
if str(REPOSITORY) not in sys.path:
    sys.path.append(str(REPOSITORY))

from polybench.processors import usable_processors
from polytile.diagnostics import DeviceError, UnsupportedCompilerError
from polytile.runtime.emulator import core, host_compiler
from polytile.runtime.emulator.build import OPTIMISATION
from polytile.runtime.emulator.instrument import CHECKS, COUNTING, checked
from tests import progress, reading, selection, shared_rewriting


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run all tests, slow ones too")
    parser.addoption("--update-golden", action="store_true", help="write all golden files, in one process")
    parser.addoption("--full-matrix", action="store_true", help="validate the suite with all tile sizes")


@pytest.hookimpl(trylast=True)  # behind the terminal
def pytest_configure(config: pytest.Config) -> None:
    """What the emulator is made of is compiled once for all processes of a run: pytest-xdist's inherit the name, and so
    do the commands that tests start."""
    gc.set_threshold(20_000, 20, 20)  # young objects, of which hardly any are in cycles, are looked at after each 700
    if core.VARIABLE not in os.environ:
        holder = tempfile.TemporaryDirectory(prefix="polytile-cores-", ignore_cleanup_errors=True)
        os.environ[core.VARIABLE] = holder.name
        config.add_cleanup(holder.cleanup)
        config.add_cleanup(lambda: os.environ.pop(core.VARIABLE))
    os.environ.setdefault(OPTIMISATION, "-O0")  # kernels run for small sizes: building them takes longer
    os.environ["POLYTILE_CACHE"] = str(Path(os.environ[core.VARIABLE], "compilations"))  # not the user's
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and config.option.verbose == 0:
        config.pluginmanager.register(progress.FileProgress(terminal))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """What `-n auto` of pyproject.toml means here; with 0 this process runs the tests itself."""
    return 0 if selection.runs_alone(config) else usable_processors()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    shared_rewriting.import_own_part(session.config)


LEFT_OUT = pytest.StashKey[int]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Leave out what is slow, of what `-k` and the like have left, unless all or `-m` is asked for."""
    draw_no_constants_of_sources()
    slow = selection.slow_ones(items)
    yield
    if selection.takes_all(config):
        return
    named = selection.named_files(config)
    left_out = [item for item in items if item in slow and item.path not in named]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in slow or item.path in named]
    config.stash[LEFT_OUT] = len(left_out)


def draw_no_constants_of_sources() -> None:
    """Hypothesis would draw numbers that stand in our modules, too: examples would be others whenever any of them
    changes, and reading all takes seconds in each process."""
    providers = sys.modules.get("hypothesis.internal.conjecture.providers")
    if hasattr(providers, "_get_local_constants"):
        none = providers._local_constants
        providers._get_local_constants = lambda: none


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # of a process of pytest-xdist, whose parent has no items
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    if hasattr(node, "workeroutput"):
        node.config.stash[LEFT_OUT] = node.workeroutput["left_out"]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if count := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"slow tests left out: {count} (`pytest --all` runs them too)")


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay until the end: left to the garbage collector, which would look at them again
    and again, they take a tenth of the time of tests that compile."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(path, text)` compares a text with tests/golden/path, or writes it under --update-golden."""

    def check(path: str, text: str) -> None:
        file = GOLDEN / path
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        assert file.exists(), f"no golden file {file}: run pytest --update-golden and look at it"
        assert text == file.read_text(), f"differs from {file}: run pytest --update-golden and look at the difference"

    return check


# The emulator's checks and counts need a newer compiler than the rest: without one, what needs them is skipped.
@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Iterator[None]:
    try:
        return (yield)
    except UnsupportedCompilerError as error:
        pytest.skip(error.message)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    reading.before(item)
    try:
        return (yield)
    except UnsupportedCompilerError as error:
        pytest.skip(error.message)


@pytest.fixture
def anew() -> None:
    """For tests of two compilations of one program: nothing is taken from another one (reading.py)."""


@pytest.fixture(scope="session")
def emulator() -> None:
    """Skips a test where no host compiler is installed, which the emulator needs."""
    try:
        host_compiler()
    except DeviceError as error:
        pytest.skip(f"needs a host compiler: {error.message}")


@pytest.fixture(scope="session")
def checking_compiler() -> None:
    """Raises, and so skips, without a compiler that the emulator's checks and counts can use."""
    checked(CHECKS).flags(host_compiler())
    COUNTING.flags(host_compiler())
