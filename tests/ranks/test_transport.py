"""Which libraries of MPI are given memory of a GPU."""

from __future__ import annotations

from typing import Any

import pytest

from polytile.runtime.ranks import mpi_transport


class Said:
    """A communicator that says which kinds of memory it takes."""

    def __init__(self, kinds: str | None) -> None:
        self.kinds = kinds

    def Get_info(self) -> Said:
        return self

    def Get(self, key: str) -> str | None:
        return self.kinds if key == "mpi_memory_alloc_kinds" else None


@pytest.mark.quick
@pytest.mark.parametrize(
    ("version", "kinds", "takes"),
    [
        ((5, 0), "mpi,system", False),
        ((4, 1), "system,mpi,cuda:device", True),
        ((4, 1), "cuda", True),
        ((5, 0), None, False),
        ((3, 1), "system,mpi,cuda:device", False),  # given back as it was asked for
    ],
)
def test_device_memory_goes_to_libraries_that_take_it(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], kinds: str | None, takes: bool
) -> None:
    class Library:
        @staticmethod
        def Get_version() -> tuple[int, int]:
            return version

    monkeypatch.setattr(mpi_transport, "require_mpi", lambda: Library)
    comm: Any = Said(kinds)
    assert mpi_transport.takes_device_memory(comm) == takes
