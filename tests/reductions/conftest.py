"""Programs run in the emulator, which needs a C++ compiler."""

from __future__ import annotations

import pytest

from polytile.diagnostics import DeviceError
from polytile.runtime.emulator import host_compiler


@pytest.fixture(scope="session")
def compiler() -> None:
    """Skips a test where no host compiler is installed."""
    try:
        host_compiler()
    except DeviceError as error:
        pytest.skip(f"requires g++ or another C++ compiler: {error.message}")
