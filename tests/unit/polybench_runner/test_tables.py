"""The tables of the programs, and how programs are selected."""

from __future__ import annotations

from pathlib import Path

import pytest

from polybench.runner.errors import RunnerError
from polybench.runner.tables import DATASETS, figure, load, select


def test_every_family_of_the_checkout_is_read() -> None:
    entries = load()
    assert {"polybench/gemm", "polybench/heat-3d"} <= set(entries)
    for entry in entries.values():
        assert entry.path.exists(), entry.id
        for dataset in DATASETS:
            sizes = entry.sizes(dataset)
            assert figure(entry.flops, sizes, "double") > 0, entry.id
            assert figure(entry.bytes, sizes, "float") > 0, entry.id


def test_selection(family: Path) -> None:
    entries = load(family)
    assert list(entries) == ["tiny/scale", "tiny/refused"]
    for pattern, expected in {
        "tiny/scale": ["scale"],
        "scale": ["scale"],
        "tiny": ["scale", "refused"],
        "tiny/*": ["scale", "refused"],
        "s*": ["scale"],
    }.items():
        assert [e.name for e in select(entries, [pattern])] == expected, pattern
    assert [e.name for e in select(entries, ["refused", "scale", "tiny"])] == ["scale", "refused"]
    assert len(select(entries, [])) == 2


def test_an_unknown_program_is_an_error_with_a_hint(family: Path) -> None:
    entries = load(family)
    with pytest.raises(RunnerError, match="no program matches 'scala'; did you mean 'scale'"):
        select(entries, ["scala"])
    with pytest.raises(RunnerError, match="polybench list"):
        select(entries, ["zzz/*"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[scale]\nfile = 1 2", "programs.toml"),
        ("[scale]\nfile = 'scale.c'", "has no 'type'"),
        ("scale = 3", "is no table of a program"),
    ],
)
def test_broken_tables(family: Path, text: str, message: str) -> None:
    (family / "tiny" / "programs.toml").write_text(text)
    with pytest.raises(RunnerError, match=message):
        load(family)


def test_defines_and_sizes(family: Path) -> None:
    entry = load(family)["tiny/scale"]
    assert entry.defines("small", "float") == ["SMALL_DATASET=1", "DATA_TYPE=float", "N=20"]
    assert entry.sizes("extralarge") == {"n": 50}
    assert figure(entry.bytes, entry.sizes("mini"), "float") == 80
