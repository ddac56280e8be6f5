"""Builds each kernel file once per test run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from polytile.runtime.emulator import EmulatorLibrary, compile_shared

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(scope="session")
def built(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`built(name)`: the shared library of kernels/NAME.cu."""
    directory = tmp_path_factory.mktemp("emulator")
    libraries: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in libraries:
            libraries[name] = compile_shared(
                KERNELS / f"{name}.cu", directory / f"{name}.so", extra_flags=["-Wall", "-Werror"]
            )
        return libraries[name]

    return build


@pytest.fixture
def library(built: Callable[[str], Path]) -> Iterator[Callable[[str], EmulatorLibrary]]:
    """`library(name)`: that library, with its counts and errors reset, and checked to leak no device memory."""
    opened: list[EmulatorLibrary] = []

    def open_library(name: str) -> EmulatorLibrary:
        opened.append(EmulatorLibrary.open(built(name)))
        opened[-1].reset_counts()
        opened[-1].reset_errors()
        return opened[-1]

    yield open_library
    for each in opened:
        assert each.allocated_bytes() == 0
