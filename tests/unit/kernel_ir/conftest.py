"""nvcc, where it is."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable

import pytest


@pytest.fixture
def compiles(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """`compiles(text, arch)` gives what nvcc has to say about a text: nothing, when it is right."""

    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not here")

    def compile(text: str, arch: str = "sm_90") -> str:
        file = tmp_path_factory.mktemp("nvcc") / "text.cu"
        file.write_text(text)
        flags = ["-std=c++17", f"-arch={arch}", "-Werror", "all-warnings", "-cubin"]
        command = ["nvcc", *flags, "-o", str(file.with_suffix(".cubin")), str(file)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    return compile
