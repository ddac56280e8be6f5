"""What all tests share: golden files, written anew with `pytest --update-golden`, `--full-matrix`, what is slow."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from polytile.diagnostics import DeviceError, UnsupportedCompilerError
from polytile.runtime.emulator import core, host_compiler
from polytile.runtime.emulator.instrument import CHECKS, COUNTING, checked

GOLDEN = Path(__file__).parent / "golden"
REPOSITORY = Path(__file__).resolve().parents[1]
SLOW_FOLDERS = frozenset(Path(__file__).parent / name for name in ("gpu", "mutation", "programs", "property"))
# The benchmark runner is used from the checkout. Behind everything else: the package may be an installed one.
if str(REPOSITORY) not in sys.path:
    sys.path.append(str(REPOSITORY))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files instead of comparing")
    parser.addoption("--full-matrix", action="store_true", help="validate the suite with all tile sizes")


SHARED = "POLYTILE_TEST_CORES"


def pytest_configure(config: pytest.Config) -> None:
    """What the emulator is made of is compiled once for all processes of a run: pytest-xdist's inherit the name."""
    if SHARED not in os.environ:
        holder = tempfile.TemporaryDirectory(prefix="polytile-cores-", ignore_cleanup_errors=True)
        os.environ[SHARED] = holder.name
        config.add_cleanup(holder.cleanup)
        config.add_cleanup(lambda: os.environ.pop(SHARED))
    core.share(Path(os.environ[SHARED]))
    os.environ["POLYTILE_CACHE"] = str(Path(os.environ[SHARED], "compilations"))  # not the user's


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow folders; keep what `slow(but=...)` names in the quick suite."""
    for item in items:
        if not SLOW_FOLDERS.isdisjoint(item.path.parents):
            item.add_marker("slow")
        elif (mark := item.get_closest_marker("slow")) is not None and _spared(item, mark.kwargs.get("but", ())):
            item.own_markers[:] = [m for m in item.own_markers if m.name != "slow"]


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay until the end: left to the garbage collector, which would look at them again
    and again, they take a tenth of the time of tests that compile. Nor do young objects, of which hardly any are in
    cycles, need to be looked at after each 700."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _spared(item: pytest.Item, names: str | tuple[str, ...]) -> bool:
    return item.name.partition("[")[2].removesuffix("]") in ((names,) if isinstance(names, str) else names)


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
    from tests import reading  # behind the search path that is set above

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
