"""What a program with kernels is linked with: CUDA's run-time library, or what the emulator needs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from polytile.cc.call import Call
from polytile.cc.objects import places_of
from polytile.cc.own_options import PREFIX
from polytile.diagnostics import DeviceError, UserError
from polytile.runtime.compilers import nvcc
from polytile.runtime.emulator.build import LINK_LIBRARIES
from polytile.runtime.emulator.process import run_to_end

_CUDA = ("-lcudart_static", "-lrt", "-ldl", "-lm", "-pthread", "-lstdc++")
_LIBRARIES = re.compile(r"^#\$ LIBRARIES=(.*)$", re.MULTILINE)
_SECONDS = 60.0
DRIVERS = (Path("/dev/nvidiactl"), Path("/dev/dxg"))  # of NVIDIA's on Linux, and of Windows below it


def libraries(call: Call, made: list[Path]) -> list[str]:
    """Return the words that linking `call` needs at its end, given that it links `made` too; none for plain objects.

    Raises UserError where some kernels are for a GPU and others for the emulator: only one of them has the device
    memory that both would share.
    """
    places = places_of([*made, *_linked(call)])
    if len(places) > 1:
        message = f"{places['emulator']} was compiled for the emulator and {places['gpu']} for a GPU"
        raise UserError(message, hint=f"compile all files with the same {PREFIX}on=emulator or {PREFIX}on=gpu")
    if "gpu" in places:
        if not any(driver.exists() for driver in DRIVERS):
            note = f"this machine has no GPU to run the kernels on; {PREFIX}on=emulator compiles for its processor"
            print(f"polytile: note: {note}", file=sys.stderr)
        return [*_cuda_folders(places["gpu"]), *_CUDA]
    return ["-lstdc++", *LINK_LIBRARIES] if places else []


def _linked(call: Call) -> list[Path]:
    """Return the objects and archives that are linked, by their paths or found in a folder of `-L`."""
    folders = [Path(a.value) for a in call.arguments if a.option == "-L"]
    named = [a.value for a in call.arguments if a.option == "-l"]
    files = [Path(a.value) for a in call.inputs if not a.is_c]
    return [*files, *(folder / f"lib{name}.a" for name in named for folder in folders)]


def _cuda_folders(example: Path) -> list[str]:
    """Return the `-L` of CUDA's libraries, as nvcc itself would have them. Raises DeviceError without nvcc."""
    compiler = nvcc()
    if compiler is None:
        message = f"nvcc was not found, with which {example} was compiled: CUDA's libraries are beside it"
        raise DeviceError(message, hint="put the CUDA toolkit's bin folder on PATH, or set NVCC")
    told = run_to_end([compiler, "--dryrun", "-o", "program", "x.o"], timeout=_SECONDS)
    found = _LIBRARIES.search(told.output)
    return re.findall(r'"(-L[^"]*)"', found[1]) if found else []
