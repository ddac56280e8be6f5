"""How many processors a container may use, by the files in which Linux says it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from polybench.processors import usable_processors

TWO = "30 24 0:26 {root} {at}/two rw,nosuid - cgroup2 cgroup rw,nsdelegate"
ONE = "32 31 0:29 {root} {at}/one rw,relatime shared:1 - cgroup cgroup rw,cpu,cpuacct"
MEMORY = "35 31 0:32 / {at}/memory rw,relatime - cgroup cgroup rw,memory"


@pytest.fixture(autouse=True)
def eight_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


def process(folder: Path, mount: str, group: str, files: Mapping[str, str], root: str = "/") -> Path:
    """A folder as under /proc, of a process in `group`, and the files of control groups."""
    (folder / "cgroup").write_text(f"{group}\n")
    (folder / "mountinfo").write_text("\n".join((MEMORY, mount)).format(at=folder, root=root) + "\n")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n")
    return folder


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({}, 8),
        ({"two/cpu.max": "max 100000"}, 8),
        ({"two/a/b/cpu.max": "200000 100000"}, 2),
        ({"two/a/b/cpu.max": "150000 100000"}, 2),
        ({"two/a/b/cpu.max": "1000 100000"}, 1),
        ({"two/a/b/cpu.max": "900000 100000"}, 8),
        ({"two/a/b/cpu.max": "max 100000", "two/a/cpu.max": "300000 100000", "two/cpu.max": "max 100000"}, 3),
        ({"two/a/b/cpu.max": "nonsense"}, 8),
    ],
)
def test_quotas_of_version_2(tmp_path: Path, files: Mapping[str, str], count: int) -> None:
    assert usable_processors(process(tmp_path, TWO, "0::/a/b", files)) == count


@pytest.mark.parametrize(("quota", "count"), [("-1", 8), ("200000", 4), ("125000", 3)])
def test_quotas_of_version_1(tmp_path: Path, quota: str, count: int) -> None:
    files = {"one/a/cpu.cfs_quota_us": quota, "one/a/cpu.cfs_period_us": "50000"}
    assert usable_processors(process(tmp_path, ONE, "1:cpu,cpuacct:/a", files)) == count


@pytest.mark.parametrize("group", ["0::/docker/f00", "0::/", "0::/../.."])
def test_a_container_sees_its_own_group_as_the_root(tmp_path: Path, group: str) -> None:
    files = {"two/cpu.max": "200000 100000"}
    assert usable_processors(process(tmp_path, TWO, group, files, root="/docker/f00")) == 2


def test_groups_of_other_controllers_and_other_systems_limit_nothing(tmp_path: Path) -> None:
    files = {"memory/a/cpu.max": "100000 100000", "two/a/cpu.max": "100000 100000"}
    assert usable_processors(process(tmp_path, TWO, "5:memory:/a", files)) == 8
    assert usable_processors(tmp_path / "no such folder") == 8
