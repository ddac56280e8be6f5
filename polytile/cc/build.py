"""What a call with SCoPs does: objects of their sources, the host compiler on the rest, and linking."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from polytile.cc.call import Call
from polytile.cc.compile_scops import request
from polytile.cc.compile_source import Compiler, Made
from polytile.cc.host_arguments import Argument
from polytile.cc.host_compiler import run
from polytile.cc.link import libraries
from polytile.cc.managed import allocating, heap_objects, linked
from polytile.cc.messages import rendered
from polytile.cc.outputs import put_in_place, workspace
from polytile.cc.own_options import PREFIX, Settings
from polytile.cc.ranks import flags_for
from polytile.diagnostics import EXIT_DONE, EXIT_USER, DeviceError, Diagnostic
from polytile.runtime.compilers import nvcc


def build(call: Call, asked: Settings, host: list[str], sources: list[Argument]) -> int:
    """Compile `sources`, which have SCoPs, and what else the call names; returns the exit status."""
    if call.obstacle is not None:
        message = f"{call.obstacle}: the SCoPs of {', '.join(s.value for s in sources)} stay C with this option"
        severity, flag = ("error", "[-Werror=polytile]") if asked.fatal else ("warning", "[-Wpolytile]")
        if asked.warn:
            print(rendered(Diagnostic(severity, message), severity, flag), file=sys.stderr)
        if asked.fatal:
            return EXIT_USER
        with workspace() as folder:
            heap = heap_objects(call, asked, folder)
            words = [*call.words(), *linked(heap), *libraries(call, heap)]
            return run([*allocating(host, call, asked), *words])
    with workspace() as folder:
        compiler = _compiler(call, asked, host, sources, folder)
        made: dict[str, Made] = {}
        for number, source in enumerate(sources):
            made[source.value] = compiler.compile(source, folder / str(number))
            if made[source.value].status != EXIT_DONE:
                return made[source.value].status
        heap = heap_objects(call, asked, folder)
        kept = {s: m for s, m in made.items() if m.object is not None}
        mpi = flags_for(asked)
        headers = [f"-I{folder / str(number) / 'texts'}" for number in range(len(sources))] if asked.ranks else []
        words = [*allocating(host, call, asked), *mpi.compile, *headers]
        return _finish(call, words, kept, heap, [*mpi.link] if call.links else [])


def _compiler(call: Call, asked: Settings, host: list[str], sources: list[Argument], folder: Path) -> Compiler:
    """Return the compiler of the sources. Raises UsageError for a wrong option and DeviceError without nvcc, or MPI's
    compiler where ranks are asked for, before any work."""
    wanted = request(sources[0].value, call, asked, shlex.join(host), folder)
    flags_for(asked)
    on = asked.on
    if on != "emulator" and nvcc() is None:
        if on == "gpu":
            hint = f"put CUDA's bin folder on PATH, set NVCC, or run kernels on the CPU with {PREFIX}on=emulator"
            raise DeviceError("nvcc was not found", hint=hint)
        print("polytile: note: nvcc was not found: the kernels are for the emulator, and slow", file=sys.stderr)
        on = "emulator"
    return Compiler(call, asked, host, "gpu" if on == "auto" else on, wanted.arch, wanted.strict)


def _finish(call: Call, host: list[str], made: dict[str, Made], heap: list[Path], mpi: list[str]) -> int:
    """Let the host compiler do the rest, with the objects in place of their sources, and link `heap` and MPI too."""
    files = {source: target for m in made.values() for source, target in m.files.items()}
    if call.has("-c"):
        rest = call.replacing(dict.fromkeys(made, ""))
        inputs = [a for a in call.inputs if a.value not in made]
        status = run([*host, *rest], shown=call.has("-v")) if inputs else EXIT_DONE
        objects = ((m.object, Path(call.object_of(a))) for a in call.inputs if (m := made.get(a.value)) is not None)
        files |= {source: target for source, target in objects if source is not None}
    else:
        objects_of = {source: str(m.object) for source, m in made.items()}
        kernels = [*(m.object for m in made.values() if m.object is not None), *heap]
        last = [*linked(heap), *mpi, *libraries(call, kernels)] if call.links else []
        status = run([*host, *call.replacing(objects_of), *last], shown=call.has("-v"))
    if status == EXIT_DONE:
        put_in_place(files)
    return status
