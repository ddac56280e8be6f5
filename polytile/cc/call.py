"""What one call of the compiler asks for: sources, outputs, files with dependencies."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path

from polytile.c_flags import host_only
from polytile.cc.host_arguments import Argument, arguments
from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError

# What is not about objects and programs: the host compiler alone does it.
_HOST_ONLY = frozenset(("-E", "-S", "-M", "-MM", "-fsyntax-only", "-###", "-emit-llvm"))
DEPENDENCY_OPTIONS = frozenset(("-MD", "-MMD", "-MF", "-MT", "-MQ", "-MP", "-MG"))
# With these the compiler writes files beside the object, named after it, or code that kernels cannot be linked with.
_BESIDE = ("-save-temps", "--coverage", "-coverage", "-fprofile-arcs", "-ftest-coverage", "-gsplit-dwarf", "-fdump-",
           "-fstack-usage", "-fcallgraph-info", "-fprofile-generate", "-aux-info", "-dump", "-Wp,-M")  # fmt: skip
# Flags of C's meaning, and those that define macros.
_FLAGS = ("-f", "-m", "-O", "-std=", "--std=", "-ansi", "-pthread", "-undef")


@dataclass(frozen=True)
class Call:
    """One command line of the host compiler."""

    arguments: tuple[Argument, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> Call:
        """Read the words behind the compiler's name, response files already in place."""
        return cls(arguments(words))

    @cached_property
    def _options(self) -> frozenset[str]:
        return frozenset(a.option for a in self.arguments)

    def has(self, option: str) -> bool:
        return option in self._options

    def value(self, option: str) -> str | None:
        """Return the last value given for an option, or None without the option."""
        return next((a.value for a in reversed(self.arguments) if a.option == option), None)

    @property
    def inputs(self) -> tuple[Argument, ...]:
        return tuple(a for a in self.arguments if not a.option)

    @property
    def host_only(self) -> bool:
        """Whether nothing that polytile does can matter: preprocessing, assembly, questions."""
        return bool(self._options & _HOST_ONLY) or not self.inputs

    @property
    def links(self) -> bool:
        """Whether a program or library is to be made."""
        return not self.host_only and not self.has("-c") and not self.has("-r") and not self.has("-Wl,-r")

    @property
    def obstacle(self) -> str | None:
        """An option with which an object cannot be put together from two, or kernels cannot compute what C means."""
        beside = (a.given[0] for a in self.arguments if a.option.startswith(_BESIDE))
        return next(beside, None) or host_only(self.cflags)

    @property
    def cflags(self) -> tuple[str, ...]:
        """The flags that kernels, too, must follow."""
        return tuple(a.option for a in self.arguments if a.option.startswith(_FLAGS) and a.option not in _HOST_ONLY)

    @property
    def program(self) -> str:
        """The file that linking makes."""
        return self.value("-o") or "a.out"

    def object_of(self, source: Argument) -> str:
        """Return the name of the object that `-c` makes of a source."""
        return self.value("-o") or f"{Path(source.value).stem}.o"

    def dependencies_of(self, source: Argument) -> tuple[str, str] | None:
        """Return the file of make's rules that `-MD` or `-MMD` asks for, and their target, as gcc names both, or
        None."""
        if not (self.has("-MD") or self.has("-MMD")):
            return None
        made = self.object_of(source) if self.has("-c") else self.program
        if self.has("-c") or sum(a.is_c for a in self.inputs) == 1:
            default = Path(made).with_suffix(".d")
        else:
            default = Path(made).with_name(f"{Path(made).stem}-{Path(source.value).stem}.d")
        return self.value("-MF") or str(default), made

    def outputs(self) -> list[Path]:
        """Return all files that the call makes."""
        c = [a for a in self.inputs if a.is_c]
        made = [self.object_of(a) for a in self.inputs if Path(a.value).suffix not in (".o", ".a", ".so")]
        rules = [rule[0] for a in c if (rule := self.dependencies_of(a)) is not None]
        return [Path(name) for name in (*(made if self.has("-c") else [self.program]), *rules)]

    def check(self) -> None:
        """Refuse what gcc refuses, before anything is made or removed."""
        inputs = [a.value for a in self.inputs if os.path.exists(a.value)]
        for made in self.outputs():
            if os.path.isfile(made) and any(os.path.samefile(made, given) for given in inputs):
                raise UsageError(f"the output {made} is an input, too", hint="name another output")
        if self.has("-o") and self.has("-c") and sum(a.is_c for a in self.inputs) > 1:
            raise UsageError("-o names one object, and -c makes several", hint="compile one file at a time")

    def words(self, *, without: Collection[str] = (), inputs: bool = True) -> list[str]:
        """Return the words of the call without some options and, where `inputs` is false, without its inputs."""
        kept = (a for a in self.arguments if (a.option and a.option not in without) or (not a.option and inputs))
        return [word for a in kept for word in a.given]

    def replacing(self, objects: dict[str, str]) -> list[str]:
        """Return the words of the call with some of its sources replaced by their objects, or left out for ""."""
        words: list[str] = []
        for a in self.arguments:
            if a.option or a.value not in objects or not a.is_c:
                words += a.given
            elif objects[a.value]:
                made = objects[a.value]
                words += ["-x", "none", made, "-x", a.language] if a.language else [made]
        return words
