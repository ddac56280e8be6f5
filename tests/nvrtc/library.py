"""PTX of kernels for tests, which are skipped where there is no NVRTC."""

from __future__ import annotations

import pytest

from polytile.runtime.nvrtc import compile_to_ptx, nvrtc


def ptx_of(text: str) -> str:
    """The PTX of kernels; skips the test where there is no compiler."""
    library = nvrtc()
    if library is None:
        pytest.skip("the package nvidia-cuda-nvrtc is not installed")
    good, found = compile_to_ptx(library, text)
    assert good, found
    return found
