"""The host file: the user's text with calls in it, compiled by a strict C compiler."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from polytile.codegen.targets.c.host_file import host_file
from polytile.diagnostics import InternalError
from polytile.ir.host import HostProgram
from polytile.ir.scop import Scop

Programs = Mapping[str, Callable[[], HostProgram]]
HostText = Callable[[str], str]
ScopAt = Callable[[str, str, str], Scop]
STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]


def test_text(host_text: HostText, user_source: str, golden: Callable[[str, str], None]) -> None:
    golden("codegen/user_host.c", host_text(user_source))


def test_everything_else_stays_as_it_was(host_text: HostText, user_source: str) -> None:
    text = host_text(user_source)
    assert text.startswith(user_source.split("#pragma scop")[0])
    assert text.endswith(user_source[user_source.index("int main(void)") :])


def test_line_ends_of_the_file_are_kept(host_text: HostText, user_source: str) -> None:
    text = host_text(user_source.replace("\n", "\r\n"))
    assert text.replace("\r\n", "\n") == host_text(user_source)
    assert "\n" not in text.replace("\r\n", "")


def test_a_file_without_replacements_is_the_file(user_source: str) -> None:
    assert host_file(user_source, "user.c", []) == user_source


def test_the_source_that_ends_the_file(programs: Programs, scop_at: ScopAt) -> None:
    text = "#pragma scop\nx();\n#pragma endscop"
    out = host_file(text, "a\\b.c", [(scop_at(text, "#pragma scop", "#pragma endscop"), programs["window"]())])
    assert out.splitlines()[-2:] == ['#line 3 "a\\\\b.c"', "}"]
    assert not out.endswith("\n")


def test_overlapping_scops_are_a_bug(programs: Programs, scop_at: ScopAt, user_source: str) -> None:
    one = scop_at(user_source, "#pragma scop", "#pragma endscop")
    with pytest.raises(InternalError, match="overlap"):
        host_file(user_source, "user.c", [(one, programs["axpy"]()), (one, programs["axpy"]())])
    with pytest.raises(InternalError, match="no place"):
        host_file(user_source, "user.c", [(replace(one, span=None), programs["axpy"]())])


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not on PATH")
def test_a_strict_compiler_has_nothing_to_say(host_text: HostText, user_source: str, tmp_path: Path) -> None:
    host = tmp_path / "user_host.c"
    host.write_text(host_text(user_source))
    command = ["gcc", *STRICT, "-c", str(host), "-o", str(tmp_path / "host.o")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
