"""Files, names, streams and command lines that are out to do harm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import polytile
from polytile.codegen.targets.c.host_file import line_directive
from polytile.codegen.targets.statements import comment
from polytile.diagnostics import UserError
from polytile.ir.c_text import c_string, c_unescaped, in_comment, one_line
from polytile.runtime.output import write_outputs

needs_compilers = pytest.mark.skipif(
    shutil.which("gcc") is None or shutil.which("g++") is None, reason="gcc and g++ are not on PATH"
)
SOURCE = """#include <stdio.h>
double A[100];
void f(int n)
{
#pragma scop
    for (int i = 0; i < n; i++)
        A[i] = 2 * A[i] + i;
#pragma endscop
}
int main(void) { f(100); printf("%g\\n", A[7]); return 0; }
"""


def command(*words: str | bytes, folder: Path, **more: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "polytile", *words]
    settings = {"capture_output": True, "errors": "replace", "timeout": 100, **more}
    return subprocess.run(line, cwd=folder, **settings)  # type: ignore[call-overload, no-any-return]


# Text --------------------------------------------------------------------------------------------------------------
NAMES = (
    'a"b',
    "a\nint evil;",
    "back\\",
    "tri??/",
    "a\\\\\n",
    "\x01\x1b[31m",
    "$(touch pwned)",
    "{{7*7}}",
    "%s%n",
    "a\tb",
)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_stay_text(name: str) -> None:
    assert c_unescaped(c_string(name)[1:-1]) == name
    assert "\n" not in line_directive(3, name)
    for text in (one_line(name), in_comment(name), *comment(name)):
        assert not any(text.endswith(end) for end in ("\\", "??/"))
        assert "\n" not in text


def test_a_comment_cannot_be_ended_or_continued() -> None:
    assert "*/" not in in_comment("x*/ int evil; /*")
    assert one_line("a \\ \\") == "a"
    long = " ".join(["word"] * 20 + ["\\"] + ["word"] * 40)
    assert not any(line.endswith("\\") for line in comment(long))


@pytest.mark.slow
@needs_compilers
@pytest.mark.parametrize("name", ['a"b\n$(touch pwned);`touch pwned` tri??\\.c', "x" * 240 + ".c"])
def test_a_program_with_such_a_name_is_built(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(SOURCE)
    done = command(name, "--build", "program", "--on", "emulator", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "program"], capture_output=True, text=True).stdout == "7\n"
    assert not (tmp_path / "pwned").exists()


# Contents -----------------------------------------------------------------------------------------------------------
def edited(old: str, new: str) -> bytes:
    return SOURCE.encode().replace(old.encode(), new.encode("utf-8", "surrogateescape"))


ACCEPTED = {
    "crlf": SOURCE.encode().replace(b"\n", b"\r\n"),
    "mixed line ends": SOURCE.encode().replace(b"\n", b"\r\n", 5),
    "byte order mark": b"\xef\xbb\xbf" + SOURCE.encode(),
    "no line end": SOURCE.encode().rstrip(),
    "tabs and form feeds": edited("    ", "\t\f\v "),
    "latin-1": edited("int main", '/* caf\udce9 */ const char *s = "\udce9\udcff"; int main'),
    "nul": edited("double A", "/* \0 */ double A"),
    "pragmas in text": edited("int main", 'const char *s = "\\n#pragma scop\\n*/ //"; /* #pragma endscop */ int main'),
    "pragmas in comments": edited("for (int i", "/* #pragma endscop */ // #pragma scop \\\n x\n for (int i"),
}
REFUSED = {
    "empty": (b"", "no SCoP in this file"),
    "binary": (bytes(range(256)), "illegal character"),
    "utf-16": (SOURCE.encode("utf-16"), "error"),
    "comment that goes on": (edited("endscop", "endscop /* a\nint evil; */"), "is not on a line of its own"),
    "pragma that goes on": (edited("endscop", "endscop \\\nint evil;"), "is not on a line of its own"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_such_a_file_is_compiled_and_kept(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_bytes(ACCEPTED[name])
    program = polytile.compile(tmp_path / "a.c")
    assert len(program.programs) == 1
    program.write(tmp_path)
    written = (tmp_path / "a_host.c").read_bytes()
    assert written.split(b"void f")[0] == ACCEPTED[name].split(b"void f")[0]
    assert written.split(b"int main")[1] == ACCEPTED[name].split(b"int main")[1]


@pytest.mark.parametrize("name", REFUSED)
def test_such_a_file_is_refused(name: str, tmp_path: Path) -> None:
    content, message = REFUSED[name]
    (tmp_path / "a.c").write_bytes(content)
    with pytest.raises(UserError) as refused:
        polytile.compile(tmp_path / "a.c")
    assert message in str(refused.value)
    assert refused.value.location is not None


def test_universal_character_names_cost_the_declaration(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_bytes(edited("double A", "double caf\\u00e9; double A"))
    program = polytile.compile(tmp_path / "a.c")
    (lost,) = program.unread
    assert "illegal character" in lost.error.message and program.scops


@pytest.mark.parametrize("kind", ["folder", "loop", "dangling"])
def test_what_is_no_file_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("a.c" if kind == "loop" else "gone.c")
    with pytest.raises(UserError, match="cannot read"):
        polytile.compile(path)


# Outputs and streams ------------------------------------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.c").write_text(SOURCE)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--save-schedule", "a.c"], "would overwrite the input"),
        (["--build", "./a.c", "--on", "emulator"], "would overwrite the input"),
        (["--save-schedule", "a_host.c"], "two outputs are called a_host.c"),
        (["-o", "a.c"], "is not a folder"),
        (["-o", "x" * 300], "File name too long"),
    ],
)
def test_outputs_do_not_replace_what_they_must_not(words: list[str], message: str, folder: Path) -> None:
    done = command("a.c", *words, folder=folder)
    assert (done.returncode, message in done.stderr) == (1, True), done.stderr
    assert (folder / "a.c").read_text() == SOURCE
    assert sorted(p.name for p in folder.iterdir()) == ["a.c"]


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_outputs({pipe: "text"})
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_disk_is_no_bug(more: list[str], folder: Path) -> None:
    with open("/dev/full", "w") as full:
        done = command("a.c", *more, folder=folder, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 4
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("closing", "status"), [("<&-", 0), (">&-", 0), ("2>&-", 0), ("<&- >&- 2>&-", 0)])
def test_streams_may_be_closed(closing: str, status: int, folder: Path) -> None:
    line = f"'{sys.executable}' -m polytile a.c {closing}"
    done = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (status, "")
    assert (folder / "a_host.c").exists()


def test_a_reader_that_goes_away_is_no_bug(folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = command("a.c", "--explain", folder=folder, capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["-D", "A=1\n#define B 2"], 2),
        (["-D", "é=1"], 2),
        (["-D", "A;rm -rf x"], 2),
        (["-D", 'A="x'], 1),
        (["-D", "A=$(touch pwned)"], 1),
        (["--arch", "sm_90;touch pwned"], 2),
        (["--sizes", "{ kernel[0] -> tile[99999999999999999999] }"], 2),
        (["--max-operations", "9" * 30], 0),
        (["--param", "n=" + "9" * 30], 2),
        (["--load-schedule", "/dev/null"], 1),
    ],
)
def test_such_words_on_the_command_line_do_nothing_else(words: list[str], status: int, folder: Path) -> None:
    done = command("a.c", *words, folder=folder)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "pwned").exists()
