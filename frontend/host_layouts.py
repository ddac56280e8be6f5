"""What the user's C compiler says of constants: sizes, offsets, signs. One call answers many, and runs no program.

before: sizeof(struct s), __builtin_offsetof(struct s, x)
after:  const unsigned long long asked[] = { MARK, sizeof(struct s), __builtin_offsetof(struct s, x) };   in an object
        file, whose bytes behind the mark are the answers
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import struct
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from polytile.c_flags import of_types, unsigned_char
from polytile.dataclass import dataclass
from polytile.process import RunawayError, run_bounded

_SECONDS = 20.0
_MARK = (0x706F6C7974696C65, 0x6C61796F75747321)
# GNU spellings that the preprocessor was told to leave out, or that this text must have for what ISO C99 calls so.
_HEAD = "#define offsetof __builtin_offsetof\n#define restrict __restrict\n#define inline __inline\n"
_LIKE_X86_64 = ("x86_64", "amd64", "AMD64")


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler with the flags that change types; no `command` where there is none."""

    command: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether the table of x86-64 holds for all types that no attribute and no pragma changes."""
        return not self.flags and (not self.command or processor() in _LIKE_X86_64)

    @property
    def unsigned_char(self) -> bool:
        """Whether `char` has no sign."""
        if self.plain:
            return False
        found = self.answers("", ["(char)-1 > 0"])
        return unsigned_char(self.flags) if isinstance(found, str) else found == (1,)

    def answers(self, declarations: str, questions: Sequence[str]) -> tuple[int, ...] | str:
        """The values of constants that may name what `declarations` declare; or why there are none."""
        return _answers(self, declarations, tuple(questions), "")

    def answers_inside(self, declarations: str, inside: str, questions: Sequence[str]) -> tuple[int, ...] | str:
        """The same for what is declared `inside` a function."""
        return _answers(self, declarations, tuple(questions), inside)


def processor() -> str:
    """Name the kind of processor that programs run on."""
    if hasattr(os, "uname"):
        return os.uname().machine
    import platform  # 2 ms, which only other systems need

    return platform.machine()


def compiler_of(preprocessor: str | None, flags: Sequence[str]) -> Compiler:
    """The compiler of a preprocessing command, or the system's where that command is none; of the flags those that
    change types."""
    words = [word for word in shlex.split(preprocessor or "") if word != "-E"]
    if not words or words[0] == "pcpp":
        found = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
        words = [found] if found else []
    return Compiler(tuple(words), of_types(flags))


@cache
def _answers(compiler: Compiler, declarations: str, questions: tuple[str, ...], inside: str) -> tuple[int, ...] | str:
    if not compiler.command:
        return "there is no C compiler to ask"
    asked = ", ".join(f"(unsigned long long)({q})" for q in questions)
    values = f"const unsigned long long polytile_asked[] = {{ {', '.join(f'{m:#x}ULL' for m in _MARK)}, {asked} }};"
    if inside:
        values = f"void polytile_asking(void) {{\n{inside}\nstatic __attribute__((__used__)) {values}\n}}"
    return _compiled(compiler, f"{_HEAD}{declarations}\n{values}\n", len(questions))


def _compiled(compiler: Compiler, text: str, count: int) -> tuple[int, ...] | str:
    with tempfile.TemporaryDirectory(prefix="polytile-types-") as folder:
        target = Path(folder) / "types.o"
        command = [
            *compiler.command,
            *compiler.flags,
            "-std=gnu11",
            "-w",
            "-O0",
            "-x",
            "c",
            "-c",
            "-",
            "-o",
            str(target),
        ]
        environment = {**os.environ, "LC_ALL": "C", "POLYTILE_CC_INSIDE": "1"}
        try:
            done = run_bounded(
                command, stdin=text.encode("utf-8", "surrogateescape"), environment=environment, timeout=_SECONDS
            )
        except (OSError, RunawayError) as error:
            return f"{compiler.command[0]} cannot be asked: {error}"
        if done.status != 0:
            said = done.errors.decode("utf-8", "replace")
            found = re.search(r"error: (.*)", said)
            return f"{compiler.command[0]} says: {found[1] if found else said.strip()[:200]}"
        return _read(target.read_bytes(), count)


def _read(content: bytes, count: int) -> tuple[int, ...] | str:
    """The numbers behind the mark, in either order of bytes."""
    for order in "<>":
        at = content.find(struct.pack(f"{order}2Q", *_MARK))
        if at >= 0 and at + 8 * (count + 2) <= len(content):
            return struct.unpack_from(f"{order}{count}Q", content, at + 16)
    return "its object file has no answers"
