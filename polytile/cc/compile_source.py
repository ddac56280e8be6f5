"""One source with SCoPs: its object, and the rules that `-MD` asks for.

before: blur.c
after:  blur.o, with what the host compiler makes of its functions and nvcc, or the emulator, of its kernels; blur.d
"""

from __future__ import annotations

import os
import shlex
from dataclasses import field
from pathlib import Path

from polytile.cc.call import DEPENDENCY_OPTIONS, Call
from polytile.cc.compile_scops import Kernels, compile_scops
from polytile.cc.host_arguments import Argument
from polytile.cc.host_compiler import run
from polytile.cc.managed import allocating
from polytile.cc.objects import joined
from polytile.cc.own_options import Settings
from polytile.cc.ranks import flags_for, with_driver
from polytile.dataclass import dataclass
from polytile.diagnostics import EXIT_DONE
from polytile.ir.c_text import c_string
from polytile.runtime.build import Build

_OUTPUT = frozenset(("-o", "-c", "-x", "-l", "-L"))
# Warnings that the call of a kernel would get, and nothing else about it: it declares in its block what it calls.
_ABOUT_DECLARATIONS = ("-Wnested-externs", "-Wredundant-decls")
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(slots=True)
class Made:
    """What became of a source: an exit status, its object, or None for the host compiler to make it; `files` are what
    else was made, by the names that they are to have."""

    status: int
    object: Path | None = None
    files: dict[Path, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Compiler:
    """What compiles the sources of one call: for kernels on a GPU or in the emulator (`on`)."""

    call: Call
    settings: Settings
    host: list[str]
    on: str
    arch: str
    strict: bool

    def compile(self, source: Argument, folder: Path) -> Made:
        """Compile one source; everything is made in `folder`."""
        texts = folder / "texts"
        texts.mkdir(parents=True)
        kernels = compile_scops(source.value, self.call, self.settings, shlex.join(self.host), texts)
        if kernels.status != EXIT_DONE or kernels.unit is None:
            return Made(kernels.status)
        return self._object(source, kernels, folder)

    def _object(self, source: Argument, kernels: Kernels, folder: Path) -> Made:
        assert kernels.host is not None
        assert kernels.unit is not None
        functions, units = folder / "functions.o", folder / "units"
        status = self._run([*self._host_words(source, _located(kernels.host, source.value)), "-o", str(functions)])
        rules = folder / "rules.d"
        asked = self.call.dependencies_of(source)
        if status == EXIT_DONE and asked is not None:
            status = self._dependencies(source, asked[1], rules)
        if status != EXIT_DONE:
            return Made(status)
        units.mkdir()
        build = Build(units, self.on, (), (), self.arch, self.strict)
        made = joined(functions, build.kernel_object(kernels.unit), self.on, folder)
        files = {} if asked is None else {rules: Path(asked[0])}
        if kernels.driver is None:
            return Made(EXIT_DONE, made, files)
        if self.call.has("-c"):
            header = kernels.driver.header
            files[header] = Path(self.call.object_of(source)).with_name(header.name)
        words = [*self._given(), *self._exact()]
        return Made(EXIT_DONE, with_driver(made, kernels.driver, self.host, words, build, folder), files)

    def _host_words(self, source: Argument, text: Path) -> list[str]:
        """Return the command that compiles the host file as the host compiler would the source, whose folder has its
        headers."""
        given = self._given()
        quiet = [f"-Wno-{w[2:]}" for w in _ABOUT_DECLARATIONS if w in given]
        home = os.path.dirname(source.value) or "."
        same = [f"-ffile-prefix-map={text}={source.value}"]
        host = allocating(self.host, self.call, self.settings)
        words = [*given, *flags_for(self.settings).compile, *self._exact(), *quiet, *same]
        return [*host, "-iquote", home, *words, "-fno-lto", "-x", "c", "-c", str(text)]

    def _given(self) -> list[str]:
        return self.call.words(without=_OUTPUT | DEPENDENCY_OPTIONS, inputs=False)

    def _exact(self) -> list[str]:
        return ["-ffp-contract=off"] if self.strict else []

    def _dependencies(self, source: Argument, made: str, rules: Path) -> int:
        """Write make's rules for the source itself, not for the host file, and return the compiler's exit status."""
        given = self.call.words(without=_OUTPUT | {"-MD", "-MMD", "-MF"}, inputs=False)
        kind = "-M" if self.call.has("-MD") else "-MM"
        target = [] if self.call.has("-MT") or self.call.has("-MQ") else ["-MQ", made]
        language = ["-x", "c"] if source.language else []
        status = self._run([*self.host, *given, kind, *target, "-MF", str(rules), *language, source.value])
        for name in self.settings.files if status == EXIT_DONE else ():
            rules.write_bytes(_with_prerequisite(rules.read_bytes(), os.fsencode(name)))
        return status

    def _run(self, command: list[str]) -> int:
        return run(command, shown=self.call.has("-v"))


def _located(host: Path, source: str) -> Path:
    """Write the name of the source into the first line of the host file, for messages and `__FILE__`."""
    text = host.read_bytes().decode("utf-8", "surrogateescape").removeprefix(_BYTE_ORDER_MARK)
    newline = "\r\n" if "\r\n" in text else "\n"
    host.write_bytes(f"#line 1 {c_string(source)}{newline}{text}".encode("utf-8", "surrogateescape"))
    return host


def _with_prerequisite(rules: bytes, name: bytes) -> bytes:
    """Add a prerequisite to the first target of make's rules."""
    escaped = name.replace(b"$", b"$$").replace(b" ", b"\\ ").replace(b"#", b"\\#")
    target, colon, rest = rules.partition(b": ")
    return target + colon + escaped + b" " + rest
