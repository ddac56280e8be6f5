"""Which tests a run takes, and in how many processes.

The quick suite is what is not slow; `pytest --all` runs all tests. A file that is named runs whole, as do its tests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

# All of their tests are slow but for those that have a mark `quick` or `slow(but=...)`.
SLOW_FOLDERS = frozenset(Path(__file__).parent / name for name in ("gpu", "mutation", "programs", "property"))


def slow_ones(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """What the quick suite leaves out; afterwards the mark `slow` says so too, for `-m`."""
    found, functions = set(), defaultdict(list)
    for item in items:
        functions[item.nodeid.partition("[")[0]].append(item)
    for same in functions.values():
        for number, item in enumerate(same):
            if _is_slow(item, number, len(same)):
                found.add(item)
                item.add_marker("slow")
            else:
                item.own_markers[:] = [mark for mark in item.own_markers if mark.name != "slow"]
    return found


def _is_slow(item: pytest.Item, number: int, count: int) -> bool:
    """A test of a file or a folder whose tests are slow may be quick; `number`: of the `count` parameters of its
    function."""
    mark = item.get_closest_marker("slow")
    if mark is None and not _in_slow_folder(item.path):
        return False
    if item.get_closest_marker("quick") is not None:
        return number > 0
    but = () if mark is None else mark.kwargs.get("but", ())
    if isinstance(but, int):
        return is_left_out(but, number, count)
    return item.name.partition("[")[2].removesuffix("]") not in ((but,) if isinstance(but, str) else but)


def is_left_out(but: int, number: int, count: int) -> bool:
    """Of `count` parameters, `but` remain, evenly spread: the first, and others where there are more."""
    return number not in {kept * count // but for kept in range(but)}


@cache
def _in_slow_folder(file: Path) -> bool:
    return not SLOW_FOLDERS.isdisjoint(file.parents)


def named_files(config: pytest.Config) -> frozenset[Path]:
    """The files of the command line, or those of tests that it names."""
    paths = (config.invocation_params.dir / str(argument).partition("::")[0] for argument in config.args)
    return frozenset(path.resolve() for path in paths if path.is_file())


def takes_all(config: pytest.Config) -> bool:
    """Whether slow tests run too; `-m` says itself what runs."""
    return bool(config.option.all or config.option.update_golden or config.option.markexpr)


def runs_alone(config: pytest.Config) -> bool:
    """Whether one process runs the tests: a single file or test starts sooner there, and golden files are written by
    one process alone."""
    places = {str(argument).partition("::")[0] for argument in config.args}
    return config.option.update_golden or (len(places) == 1 and bool(named_files(config)))
