"""The generated .cu and .h: golden text, and the same text through nvcc, gcc and g++."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.cuda.cuda import print_kernels, print_unit
from polytile.codegen.targets.cuda.shared_memory import dynamic_shared_bytes, shared_bytes
from polytile.ir.host import HostProgram

Programs = Mapping[str, Callable[[], HostProgram]]
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")
needs_gcc = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not on PATH")


@pytest.fixture(scope="module")
def unit(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The .cu of all programs, next to its header."""
    built = [build() for build in programs.values()]
    folder = tmp_path_factory.mktemp("unit")
    (folder / "unit_kernel.h").write_text(print_header(built, guard_name="UNIT_KERNEL_H"))
    file = folder / "unit_kernel.cu"
    file.write_text(print_unit(built, header="unit_kernel.h", title=["unit_kernel.cu: written by hand", "for a test"]))
    return file


def test_unit(unit: Path, golden: Callable[[str, str], None]) -> None:
    golden("codegen/unit_kernel.cu", unit.read_text())
    golden("codegen/unit_kernel.h", unit.with_suffix(".h").read_text())


def test_device_code_alone_needs_no_header(programs: Programs, golden: Callable[[str, str], None]) -> None:
    text = print_kernels(programs["structs"]())
    golden("codegen/structs_device.cu", text)
    assert "#include" not in text


def test_only_the_helpers_that_are_used_are_printed(programs: Programs) -> None:
    text = print_unit([programs["axpy"]()], header="x.h", title=[])
    assert "polytile_min(A a" in text
    assert "polytile_floord(A a" in text
    assert "polytile_max" not in text
    assert "polytile_pmod" not in text


def test_a_file_without_a_program_is_still_a_file() -> None:
    text = print_unit([], header="x.h", title=["nothing"])
    assert text.startswith('// nothing\n#include "x.h"\n')
    assert "PolytileRun" not in text


def test_coordinates_that_are_not_used_are_left_out(programs: Programs) -> None:
    assert "blockIdx.z" not in print_kernels(programs["axpy"]())


def test_shared_memory_beyond_the_static_limit_is_dynamic(programs: Programs) -> None:
    small, big = (programs[name]().kernels[0] for name in ("sum", "dynamic_sum"))
    assert (shared_bytes(small), dynamic_shared_bytes(small)) == (128 * 8, 0)
    assert shared_bytes(big) == dynamic_shared_bytes(big) == 128 * 8 + 8000 * 8
    assert "extern __shared__" not in print_kernels(programs["sum"]())
    text = print_kernels(programs["dynamic_sum"]())
    assert "double (&s_padding)[8000] = *(double (*)[8000])(polytile_shared + 1024);" in text


def test_no_trailing_blanks_and_no_runs_of_empty_lines(unit: Path) -> None:
    for text in (unit.read_text(), unit.with_suffix(".h").read_text()):
        assert not re.search(r"[ \t]\n|\n\n\n\n|\n\n\Z", text)


@pytest.mark.slow(but="sm_90")
@needs_nvcc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_nvcc_has_nothing_to_say(unit: Path, arch: str, tmp_path: Path) -> None:
    command = ["nvcc", f"-arch={arch}", "-cubin", "-Xcompiler", "-Wall,-Wextra", str(unit), "-o", str(tmp_path / "o")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_gcc
@pytest.mark.parametrize("compiler", ["gcc -std=c99", "g++ -std=c++11"])
def test_the_header_is_c_and_cpp(unit: Path, compiler: str, tmp_path: Path) -> None:
    user = tmp_path / ("user.c" if "c99" in compiler else "user.cpp")
    user.write_text('#include "unit_kernel.h"\nint main(void) { return polytile_count(0, 0, 0, 1); }\n')
    strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{unit.parent}"]
    command = [*compiler.split(), *strict, "-c", str(user), "-o", str(tmp_path / "user.o")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
