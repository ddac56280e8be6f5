"""`polytile cc`, from the words of its command line to an exit status."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from polytile.cc.call import Call
from polytile.cc.host_arguments import Argument, with_response_files
from polytile.cc.host_compiler import become, host_compiler, run
from polytile.cc.own_options import PREFIX, Settings, is_own, settings, shared, without_prefix
from polytile.cc.scop_sources import scop_sources
from polytile.diagnostics import EXIT_DONE, PolytileError

HELP = """usage: polytile cc [options of the host compiler] FILE...

A C compiler for make CC="polytile cc" and CC="polytile cc" cmake. SCoPs between #pragma scop and #pragma endscop run on
the GPU; all else goes to the host compiler. docs/make-and-cmake.md tells more.

  --polytile-on=gpu|emulator|auto  kernels for nvcc (the default), for this machine's CPU, or for what there is
  --polytile-cc=COMMAND            the host compiler ($POLYTILE_CC, or cc, gcc or clang)
  --polytile-managed               heap memory of C files is shared with the GPU, and not copied around SCoPs
  --polytile-ranks=2,2,1|auto      objects have NAME_mpi(MPI_Comm, ..), too, and headers for it beside them; also for
                                   files that use these, and to link, with the flags of mpicc
  -Werror=polytile, -Wno-polytile  a SCoP that is refused is an error, or is not mentioned
  --polytile-help                  this text

Also, as for `polytile` itself, whose --help describes them:"""


def main(words: Sequence[str]) -> int:
    """Compile or link; returns the exit status. Raises PolytileError for what is wrong with the words."""
    expanded = with_response_files(words)
    asked = settings(expanded)
    if asked.help:
        print(HELP, *(f"  {PREFIX}{name}" for name in sorted(shared())), sep="\n")
        return EXIT_DONE
    for word in without_prefix(expanded):
        meant = f"{PREFIX}{word.removeprefix('--')}"
        print(f"polytile: note: {word} goes to the host compiler; polytile's is {meant}", file=sys.stderr, flush=True)
    host = host_compiler(asked.host)
    own = [word for word in expanded if is_own(word)]
    call = Call.of([word for word in expanded if not is_own(word)])
    sources = scop_sources(call, autodetect=asked.autodetect)
    if asked.managed and asked.warn:
        _warn_of_mixed(call)
    if not sources:
        # Response files stay as they are, unless the host compiler would find polytile's options in them.
        kept = [w for w in (words if all(w in words for w in own) else expanded) if not is_own(w)]
        if asked.managed and not call.host_only:
            return _run_managed(call, asked, host, _mpi(call, asked, kept))
        become([*host, *_mpi(call, asked, kept), *_libraries(call, [])])
    call.check()
    os.environ["CC"] = ""  # polytile itself, in a build: whatever else needs a C compiler here finds one by itself
    signal.signal(signal.SIGTERM, _terminated)
    return _compile(call, asked, host, sources)


def _warn_of_mixed(call: Call) -> None:
    from polytile.cc.managed import about_mixed

    if message := about_mixed(call):
        print(f"polytile: warning: {message} [-Wpolytile]", file=sys.stderr, flush=True)


def _run_managed(call: Call, asked: Settings, host: list[str], words: list[str]) -> int:
    """Run the host compiler on sources without SCoPs, or to link, with the managed heap."""
    from polytile.cc.managed import allocating, heap_objects, linked
    from polytile.cc.outputs import workspace

    with workspace() as folder:
        heap = heap_objects(call, asked, folder)
        command = [*allocating(host, call, asked), *words, *linked(heap), *_libraries(call, heap)]
        return run(command, shown=call.has("-v"))


def _mpi(call: Call, asked: Settings, words: list[str]) -> list[str]:
    """Return the words with those that MPI's compiler adds, where SCoPs run on ranks."""
    if not asked.ranks or not call.inputs:
        return words
    from polytile.cc.ranks import flags_for

    flags = flags_for(asked)
    return [*flags.compile, *words, *(flags.link if call.links else ())]


def _libraries(call: Call, made: list[Path]) -> list[str]:
    if not call.links:
        return []
    from polytile.cc.link import libraries

    return libraries(call, made)


def _compile(call: Call, asked: Settings, host: list[str], sources: list[Argument]) -> int:
    from polytile.cc.build import build
    from polytile.cc.outputs import remove

    done = False
    try:
        status = build(call, asked, host, sources)
        done = status == EXIT_DONE
        return status
    except PolytileError as error:
        from polytile.cc.messages import rendered

        print(rendered(error.diagnostic, "error"), file=sys.stderr)
        return error.exit_status
    finally:
        if not done:
            remove(call.outputs())


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    """Exit on SIGTERM as on SIGINT: temporary files and half of an output are removed on the way."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(128 + signal.SIGTERM)
