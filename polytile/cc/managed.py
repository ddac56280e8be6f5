"""`--polytile-managed`: C files allocate from the managed heap (runtime/managed_heap.py), and programs are linked with
it."""

from __future__ import annotations

from pathlib import Path

from polytile.cc.call import Call
from polytile.cc.host_arguments import Argument
from polytile.cc.objects import marked
from polytile.cc.own_options import Settings
from polytile.runtime.build import Build
from polytile.runtime.compilers import nvcc
from polytile.runtime.managed_heap import SOURCE, definitions

_CPP = (".cc", ".cp", ".cxx", ".cpp", ".c++", ".C")  # whose <cstdlib> takes these macros away


def allocating(host: list[str], call: Call, asked: Settings) -> list[str]:
    """Tell the host compiler to allocate from the managed heap where that is asked for and all inputs are C."""
    return [*host, *definitions()] if asked.managed and not any(map(_is_cpp, call.inputs)) else host


def about_mixed(call: Call) -> str:
    """Return a warning where a call compiles C and C++: its C files must not free what others allocate; ""
    elsewhere."""
    if not (any(map(_is_cpp, call.inputs)) and any(a.is_c for a in call.inputs)):
        return ""
    return "C files that a call compiles with C++ ones do not use the managed heap: compile them in calls of their own"


def _is_cpp(source: Argument) -> bool:
    if source.language:
        return source.language.startswith("c++")
    return Path(source.value).suffix in _CPP


def linked(heap: list[Path]) -> list[str]:
    """Return the words for objects at the end of a command line, whatever language it names for its inputs."""
    return ["-x", "none", *map(str, heap)] if heap else []


def heap_objects(call: Call, asked: Settings, folder: Path) -> list[Path]:
    """Compile the object of the managed heap in `folder` where the call links a program. Raises DeviceError without
    nvcc."""
    if not (asked.managed and call.links):
        return []
    on = asked.on if asked.on != "auto" else "gpu" if nvcc() is not None else "emulator"
    units = folder / "heap"
    units.mkdir()
    return [marked(Build(units, on, (), (), "sm_90", strict=False).kernel_object(SOURCE), on, folder)]
