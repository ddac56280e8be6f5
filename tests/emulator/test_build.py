"""Finding a compiler, compiling, and opening libraries."""

from __future__ import annotations

import ctypes
import gc
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

from polytile.codegen.targets import templating
from polytile.codegen.targets.dialects import CUDA
from polytile.diagnostics import DeviceError
from polytile.runtime.emulator import (
    INCLUDE_DIRECTORY,
    EmulatorLibrary,
    HostCompileError,
    compile_object,
    compile_shared,
    extern_shared_flags,
    host_compiler,
)
from polytile.runtime.emulator.build import LINK_LIBRARIES
from polytile.runtime.emulator.instrument import CHECKS, checked

KERNELS = Path(__file__).parent / "kernels"
TEMPLATES = Path(templating.__file__).parent / "templates"
ANSWER = '#include <cuda_runtime.h>\nextern "C" int answer() {{ return {}; }}\n'


def device_functions() -> str:
    """What generated files have of the functions that the emulator's headers define."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES), trim_blocks=True, lstrip_blocks=True)
    template = environment.get_template("device.cu.j2").make_module()
    return str(template.device_functions(["copies", "barriers", "m16n8k8", "m16n8k4"], CUDA))  # type: ignore[attr-defined]


@pytest.mark.slow(but="addresses")
@pytest.mark.parametrize("kernel", sorted(KERNELS.glob("*.cu")), ids=lambda path: path.stem)
def test_kernels_are_cuda(kernel: Path, tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("requires nvcc")
    header = tmp_path / "device_functions.h"
    header.write_text(device_functions())
    command = [nvcc, "-std=c++17", "-arch=sm_90", "-cubin", "-include", str(header)]
    command += ["-o", str(tmp_path / "out.cubin"), str(kernel)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.usefixtures("emulator")
def test_a_linker_that_does_not_work_here_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gold may be there and not find the compiler's libraries, as beside some compilers that were built by hand."""
    gold = tmp_path / "ld.gold"
    gold.write_text("#!/bin/sh\necho >&2 cannot open libstdc++.so\nexit 1\n")
    gold.chmod(0o755)
    monkeypatch.setenv("COMPILER_PATH", str(tmp_path))
    for value in (1, 2):  # linked apart, if not from the first build on
        out = compile_shared(ANSWER.format(value), tmp_path / f"answer{value}.so", instrumentation=checked(CHECKS))
        assert EmulatorLibrary.open(out).function("answer")() == value


@pytest.mark.usefixtures("emulator")
def test_compile_text_and_reopen_after_a_change(tmp_path: Path) -> None:
    out = tmp_path / "answer.so"
    for value in (41, 42):
        library = EmulatorLibrary.open(compile_shared(ANSWER.format(value), out))
        assert library.function("answer")() == value
    assert [path.name for path in tmp_path.iterdir()] == ["answer.so"]


@pytest.mark.usefixtures("emulator")
def test_defines(tmp_path: Path) -> None:
    out = compile_shared(ANSWER.format("VALUE"), tmp_path / "answer.so", defines=["VALUE=7"])
    assert EmulatorLibrary.open(out).function("answer")() == 7


@pytest.mark.usefixtures("emulator")
def test_objects_link_with_a_c_program(tmp_path: Path) -> None:
    objects = [compile_object(KERNELS / f"{name}.cu", tmp_path / f"{name}.o") for name in ("reductions", "limits")]
    main = tmp_path / "main.c"
    main.write_text(
        "int reduce_dynamic(const double *, double *, int);\nint launch_shared(int, unsigned long);\n"
        "int main(void) { double x[3] = {1, 2, 4}, s = 0; int e = reduce_dynamic(x, &s, 3);\n"
        "return e || launch_shared(-1, 128) ? 1 : (int)s; }\n"
    )
    program = tmp_path / "program"
    c_compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if c_compiler is None:
        pytest.skip("requires a C compiler")
    subprocess.run([c_compiler, "-c", str(main), "-o", str(tmp_path / "main.o")], check=True, timeout=60)
    link = [*host_compiler().command, str(tmp_path / "main.o"), *map(str, objects), *LINK_LIBRARIES, "-o", str(program)]
    subprocess.run(link, check=True, timeout=60)
    assert subprocess.run([str(program)], timeout=60).returncode == 7


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize(
    ("optimise", "flags"),
    [
        ("-O0", ()),
        ("-O3", ()),
        ("-O2", ("-fno-omit-frame-pointer", "-fstack-protector-all")),
        ("-O1", ("-DPOLYTILE_EMULATOR_UCONTEXT",)),
        ("-O1", ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")),
    ],
)
def test_every_build_switches_alike(tmp_path: Path, optimise: str, flags: tuple[str, ...]) -> None:
    out = compile_shared(KERNELS / "barriers.cu", tmp_path / "barriers.so", optimise=optimise, extra_flags=flags)
    barriers = EmulatorLibrary.open(out)
    values = (ctypes.c_int * 96)(*range(96))
    assert barriers.function("run_rotate")(values, 96, 3) == 0
    assert list(values)[:95] == [*range(3, 95), 0, 1, 2]
    assert barriers.function("run_diverge")(values, 96, 48) == 719
    assert "barrier divergence" in barriers.message()


@pytest.mark.usefixtures("emulator")
def test_compiling_is_quick(tmp_path: Path) -> None:
    compile_shared(KERNELS / "vector_add.cu", tmp_path / "warm.so")
    start = time.monotonic()
    compile_shared(KERNELS / "reductions.cu", tmp_path / "reductions.so")
    assert time.monotonic() - start < 3.0  # 0.35 s where it was written


@pytest.mark.usefixtures("emulator")
def test_headers_bring_no_functions_that_every_build_instantiates() -> None:
    """A third of the time of a small build, with a precompiled header too."""
    command = [*host_compiler().command, "-std=c++17", f"-I{INCLUDE_DIRECTORY}", "-E", "-P", "-x", "c++", "-"]
    text = "#include <cuda_runtime.h>\n#include <cmath>\ndouble f(double x) { return std::sqrt(x); }\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=True)
    assert "std::sqrt(x)" in done.stdout and "riemann_zeta" not in done.stdout


@pytest.mark.usefixtures("emulator")
def test_errors_of_the_compiler_are_typed(tmp_path: Path) -> None:
    with pytest.raises(HostCompileError) as caught:
        compile_shared("#include <cuda_runtime.h>\nint f() { return nowhere; }\n", tmp_path / "bad.so")
    assert "bad.cu:2" in str(caught.value)
    assert "nowhere" in caught.value.output
    assert "-ffp-contract=off" in caught.value.command
    assert list(tmp_path.iterdir()) == []


def test_missing_compiler_gives_a_hint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(DeviceError) as caught:
        host_compiler()
    assert "CXX" in (caught.value.hint or "")
    monkeypatch.setenv("CXX", "no-such-compiler -m64")
    with pytest.raises(DeviceError, match="no-such-compiler"):
        host_compiler()


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_sibling_of_the_c_compiler_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script(tmp_path / "g++-77", 'echo "g++-77 (Test) 77.0"')
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("CC", str(tmp_path / "gcc-77"))
    assert host_compiler().command == (str(tmp_path / "g++-77"),)
    assert host_compiler().version == "g++-77 (Test) 77.0"


def test_compiler_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    body = 'test "$1" = --version && exit 0\nsleep 60'
    monkeypatch.setenv("CXX", str(script(tmp_path / "slow-g++", body)))
    start = time.monotonic()
    with pytest.raises(DeviceError, match="did not end within"):
        compile_shared(ANSWER.format(1), tmp_path / "out.so", timeout=0.3)
    assert time.monotonic() - start < 2.5


@pytest.mark.usefixtures("emulator")
def test_libraries_that_are_not_ours(tmp_path: Path) -> None:
    library = EmulatorLibrary.open(compile_shared(ANSWER.format(1), tmp_path / "one.so"))
    with pytest.raises(DeviceError, match="no extern"):
        library.function("question")
    with pytest.raises(DeviceError, match="no library"):
        EmulatorLibrary.open(tmp_path / "none.so")
    (tmp_path / "text.so").write_text("text")
    with pytest.raises(DeviceError, match="cannot load"):
        EmulatorLibrary.open(tmp_path / "text.so")


BOTH_KINDS = """#include <cuda_runtime.h>
__global__ void fixed(int *out)
{
    __shared__ int words[32];
    words[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = words[31 - threadIdx.x];
}
__global__ void both(int *out)
{
    __shared__ int words[32];
    extern __shared__ unsigned char polytile_shared[];
    words[threadIdx.x] = threadIdx.x;
    ((int *)polytile_shared)[threadIdx.x] = 1000;
    __syncthreads();
    out[threadIdx.x] = words[31 - threadIdx.x] + ((int *)polytile_shared)[threadIdx.x];
}
extern "C" int run(int *out)
{
    int *device;
    cudaMalloc(&device, 128);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1, 1, 1);
    config.blockDim = dim3(32, 1, 1);
    cudaLaunchKernelEx(&config, fixed, device);
    config.dynamicSmemBytes = 128;
    cudaLaunchKernelEx(&config, both, device);
    cudaMemcpy(out, device, 128, cudaMemcpyDeviceToHost);
    return cudaFree(device);
}
"""


@pytest.mark.usefixtures("emulator")
def test_static_and_dynamic_shared_memory_are_apart(tmp_path: Path) -> None:
    library = EmulatorLibrary.open(compile_shared(BOTH_KINDS, tmp_path / "both.so"))
    out = (ctypes.c_int * 32)()
    assert library.function("run")(out) == 0
    assert list(out) == [1000 + 31 - t for t in range(32)]


def test_extern_shared_declarations_are_found() -> None:
    text = """// extern __shared__ int no[];
__shared__ float a[32];
extern __shared__ __align__(16) unsigned char bytes[];
/* extern __shared__
   int neither[]; */
  extern
  __shared__ double numbers [ ] ;
const char *s = "extern __shared__ int nor[]";
extern __shared__ unsigned char bytes[];
"""
    assert extern_shared_flags(text) == (
        "-DPOLYTILE_EMULATOR_EXTERN_AT_3=~,",
        "-DPOLYTILE_EMULATOR_EXTERN_AT_7=~,",
        "-DPOLYTILE_EMULATOR_EXTERN_AT_9=~,",
        "-DPOLYTILE_EMULATOR_EXTERN_NAMES=POLYTILE_EMULATOR_ALIAS(bytes) POLYTILE_EMULATOR_ALIAS(numbers)",
    )
    assert extern_shared_flags("__shared__ int a[4];") == ()
    with pytest.raises(DeviceError, match="line 1"):
        extern_shared_flags("extern __shared__ int a[]; __shared__ int b[4];")


def test_headers_are_small() -> None:
    for header in INCLUDE_DIRECTORY.rglob("*.h"):
        assert len(header.read_text().splitlines()) < 400, header.name


def test_libraries_are_closed(emulator: None, tmp_path: Path) -> None:
    """Once nobody knows them; a function keeps its own open."""
    made = EmulatorLibrary.open(compile_shared(KERNELS / "barriers.cu", tmp_path / "given_back.so"))
    version = made.function("polytile_emulator_version")

    def is_open() -> bool:
        return "given_back.so" in Path("/proc/self/maps").read_text()

    del made
    gc.collect()
    assert is_open() and version() > 0
    del version
    gc.collect()
    assert not is_open()
