"""Whole commands with the cache: a hit says and writes what a miss does, and is given to nobody else."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from polytile import api, scop_of_file, work_pieces
from polytile.cli import command, outputs
from polytile.cli.main import main
from polytile.diagnostics import Diagnostic, InternalError, Location, UserError

POLYBENCH = Path(__file__).parents[3] / "polybench/polybench"
GOOD = """static double A[40][40], B[40][40];
void smooth(int n)
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            B[i][j] = 0.25 * (A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]);
#pragma endscop
}
"""
SERIAL = """void last(int n, double A[n], double total[1])
{
#pragma scop
    for (int i = 0; i < n; i++)
        total[0] = total[0] * 0.5 + A[i];
#pragma endscop
}
"""
REFUSED = """void gather(int n, double A[n], double B[n], int p[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        B[p[i]] = A[i] + B[i];
    goto end;
#pragma endscop
end: ;
}
"""
IDLE = """void idle(double A[4])
{
#pragma scop
    for (int i = 3; i < 2; i++)
        A[i] = 0;
#pragma endscop
}
"""
FACTOR = "#define FACTOR 0.5\n"
WITH_HEADER = '#include "factor.h"\n' + SERIAL.replace("0.5", "FACTOR")
UNMARKED = GOOD.replace("#pragma scop\n", "").replace("#pragma endscop\n", "") + REFUSED.replace("#pragma", "// ")


@dataclass(frozen=True)
class Ran:
    """What a command left: its status, what it printed, and the files that it wrote."""

    status: int
    out: str
    err: str
    files: dict[str, bytes]


@dataclass(frozen=True)
class Commands:
    """Runs commands in a folder, with a cache of its own, and counts compilations."""

    folder: Path
    capture: Callable[[], tuple[str, str]]
    compiled: list[str]

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def entries(self) -> list[Path]:
        return sorted(self.cache.glob("*")) if self.cache.is_dir() else []

    def run(self, *words: object, output: str = "out") -> Ran:
        for old in (self.folder / output).glob("*"):
            old.unlink()
        status = main([*map(str, words), "-o", output])
        written = {path.name: path.read_bytes() for path in (self.folder / output).glob("*")}
        return Ran(status, *self.capture(), written)

    def compiles(self, *words: object) -> bool:
        """Whether a command compiles."""
        before = len(self.compiled)
        self.run(*words)
        return len(self.compiled) > before

    def twice(self, *words: object) -> Ran:
        """The second of two runs, which is a hit and leaves what the first left."""
        first = self.run(*words)
        compiled = len(self.compiled)
        second = self.run(*words)
        assert len(self.compiled) == compiled, "the second run compiles, too"
        assert second == first
        return second


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYTILE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "f.c").write_text(GOOD)
    (tmp_path / "factor.h").write_text(FACTOR)
    compiled: list[str] = []
    compile_file = command.compile_file

    def counted(path: str, *arguments: object, **settings: object) -> api.Program:
        compiled.append(path)
        return compile_file(path, *arguments, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(command, "compile_file", counted)
    return Commands(tmp_path, lambda: tuple(capsys.readouterr()), compiled)  # type: ignore[arg-type, return-value]


@pytest.mark.slow(but=4)
@pytest.mark.parametrize(
    ("text", "words", "status", "said"),
    [
        (GOOD, "", 0, "legality: proven"),
        (GOOD, "-q", 0, ""),
        (GOOD, "--schedule classic --tile 8 --fp strict --arch sm_80", 0, "classic"),
        (GOOD + SERIAL, "", 0, "last_scop0"),
        (GOOD + REFUSED, "", 1, "f.c:15"),
        (GOOD + REFUSED, "-q", 1, "f.c:15"),
        (GOOD + REFUSED, "--keep-going", 0, "warning"),
        (REFUSED, "", 1, "f.c:6"),
        (GOOD + IDLE, "", 0, "contains no statement"),
        (UNMARKED, "--autodetect", 0, "smooth_scop0"),
        (WITH_HEADER, "", 0, "last_scop0"),
        (GOOD.replace("\n", "\r\n"), "", 0, "legality: proven"),
        ("// \udcff\udce9\n" + GOOD, "", 0, "legality: proven"),  # bytes that are no UTF-8
    ],
)  # fmt: skip
def test_a_hit_is_like_a_miss(commands: Commands, text: str, words: str, status: int, said: str) -> None:
    (commands.folder / "f.c").write_bytes(text.encode("utf-8", "surrogateescape"))
    ran = commands.twice("f.c", *words.split())
    assert ran.status == status
    assert said in ran.out + ran.err
    assert len(ran.files) == (3 if status == 0 else 0)


def test_a_hit_on_a_benchmark_is_like_a_miss(commands: Commands) -> None:
    ran = commands.twice(POLYBENCH / "gemm.c", "-D", "SMALL_DATASET")
    assert set(ran.files) == {"gemm_host.c", "gemm_kernel.cu", "gemm_kernel.h"}


def test_standard_input_has_entries_too(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    for text in (GOOD + REFUSED, GOOD + REFUSED, GOOD + REFUSED + "\n"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        ran.append(commands.run("-", "--keep-going"))
    assert len(commands.compiled) == 2
    assert ran[0] == ran[1] and ran[0].err == ran[2].err
    assert "<stdin>:15" in ran[0].err and "stdin_host.c" in ran[0].files


def test_nothing_of_the_compiler_is_imported_for_a_hit(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(GOOD + SERIAL)
    heavy = ("islpy", "pycparser", "networkx", "jinja2", "numpy", "rich", "polytile.api", "polytile.codegen")
    code = (
        "import sys; from polytile.cli.main import main; main(['f.c', '-q']); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    environment = {**os.environ, "POLYTILE_CACHE": str(tmp_path / "cache")}
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=True,
        ).stdout
        for _ in range(2)
    ]  # fmt: skip
    assert "islpy" in said[0] and said[1] == "[]\n"


def test_the_files_are_written_wherever_they_are_asked_for(commands: Commands) -> None:
    first = commands.run("f.c")
    second = commands.run("f.c", output="elsewhere/deep")
    assert second.files == first.files and len(commands.compiled) == 1
    assert "wrote elsewhere/deep/f_host.c" in second.out
    (commands.folder / "locked").write_text("no folder")
    assert main(["f.c", "-o", "locked"]) == 1
    assert "is not a folder" in commands.capture()[1]


def test_certificates_and_schedules_come_from_the_cache_and_hold(commands: Commands) -> None:
    commands.run("f.c")
    ran = commands.run("f.c", "--certificate", "out/proof.json", "--save-schedule", "out/schedules")
    assert len(commands.compiled) == 1
    assert "wrote out/f_host.c, out/f_kernel.cu, out/f_kernel.h, out/schedules, out/proof.json" in ran.out
    anew = commands.run("f.c", "--no-cache", "--certificate", "out/proof.json", "--save-schedule", "out/schedules")
    assert anew == ran
    assert main(["check", "out/proof.json", "--source", "f.c"]) == 0


def test_no_cache_neither_reads_nor_writes(commands: Commands) -> None:
    assert commands.compiles("f.c", "--no-cache") and commands.entries == []
    commands.run("f.c")
    (entry,) = commands.entries
    entry.write_bytes(b"torn")
    os.utime(entry, (1, 1))
    assert commands.compiles("f.c", "--no-cache")
    assert commands.entries == [entry] and entry.read_bytes() == b"torn" and entry.stat().st_mtime == 1


def test_the_variable_turns_it_off(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYTILE_CACHE", "0")
    assert commands.compiles("f.c") and commands.compiles("f.c")
    assert commands.entries == [] and not Path("0").exists()


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "words",
    [
        "--explain", "--json", "-v", "--dump schedule", "--dump passes", "--draw out/f.svg", "--report out/f.html",
        "--validate --on emulator --param n=9", "--validate --on emulator --count --param n=9",
        "--build out/f.so --on emulator",
    ],
)  # fmt: skip
def test_what_asks_for_more_than_files_is_made_anew(commands: Commands, words: str) -> None:
    (commands.folder / "f.c").write_text(GOOD + "int main(void) { return 0; }\n")
    commands.run("f.c")
    entries = {path: path.read_bytes() for path in commands.entries}
    assert len(entries) == 1
    assert commands.compiles("f.c", *words.split())
    assert {path: path.read_bytes() for path in commands.entries} == entries


def test_other_words_other_files_and_other_headers_are_misses(commands: Commands) -> None:
    header, source = commands.folder / "factor.h", commands.folder / "f.c"
    source.write_text(WITH_HEADER)
    commands.run("f.c")
    for path, text in (
        (header, FACTOR.replace("0.5", "0.6")),
        (header, FACTOR.replace("0.5", "/* a half */ 0.5")),
        (source, WITH_HEADER + "\n"),
    ):
        path.write_text(text)
        assert commands.compiles("f.c")
        assert not commands.compiles("f.c")
    for more in ("-D X", "-I .", "--tile 8", "--arch sm_80", "--cflags=-fwrapv", "--param n=100", "--keep-going"):
        assert commands.compiles("f.c", *more.split())


def test_an_older_entry_serves_the_older_text_again(commands: Commands) -> None:
    ran = commands.run("f.c")
    (commands.folder / "f.c").write_text(GOOD.replace("0.25", "0.5"))
    assert commands.run("f.c").files["f_kernel.cu"] != ran.files["f_kernel.cu"]
    (commands.folder / "f.c").write_text(GOOD)
    assert not commands.compiles("f.c")


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("content", [b"", b"polytile cache 1 00\n{}", b'{"said": [], "status": 0}'])
def test_a_spoiled_entry_is_a_miss_and_is_replaced(commands: Commands, content: bytes) -> None:
    first = commands.run("f.c")
    (entry,) = commands.entries
    good = entry.read_bytes()
    entry.write_bytes(content)
    assert commands.run("f.c") == first and len(commands.compiled) == 2
    assert entry.read_bytes() == good


def test_an_entry_that_says_something_else_is_a_miss(commands: Commands) -> None:
    from polytile.compile_cache.entries import Entries

    first = commands.run("f.c")
    (entry,) = commands.entries
    for text in ("[]", "null", "{", '{"said": [[1]], "status": 0, "files": {}, "beside": {}}', '{"said": []}'):
        Entries(commands.cache).write(entry.stem, text)
        assert commands.run("f.c") == first
    assert len(commands.compiled) == 6


def test_a_cache_that_cannot_be_written_is_no_error(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = commands.run("f.c", "--no-cache")
    (commands.folder / "file").write_text("")
    for folder in ("file", "file/below", "/proc/none", "/dev/null"):
        monkeypatch.setenv("POLYTILE_CACHE", folder)
        assert commands.run("f.c") == ran


def test_errors_of_a_whole_file_are_found_again(commands: Commands) -> None:
    for text, message in (
        ("void f( {\n", "f.c:1"),
        ('#include "none.h"\n' + GOOD, "cannot find include file"),
        ("int x;\n", "no SCoP in this file"),
        ("#error no\n", "#error no"),
    ):
        (commands.folder / "f.c").write_text(text)
        first, second = commands.run("f.c"), commands.run("f.c")
        assert first == second and first.status == 1 and message in first.err and first.err.count("error:") == 1
    assert commands.run("none.c").status == 1
    assert commands.run("f.c", "--tile", "0").status == 2
    assert commands.run("f.c", "--load-schedule", "none").status == 2
    assert commands.entries == []


def test_a_bug_is_not_kept(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise InternalError("cannot be")

    with monkeypatch.context() as patched:
        patched.setattr(scop_of_file, "run_pipeline", fail)
        assert commands.run("f.c").status == 70
        assert commands.run("f.c", "--keep-going").status == 0
    with monkeypatch.context() as patched:
        patched.setattr("polytile.certificate.certificate", fail)
        assert commands.run("f.c").status == 0
        ran = commands.run("f.c", "--certificate", "out/c.json")
        assert "no certificate: cannot be" in ran.err
    assert commands.entries == []


def test_what_took_too_long_is_not_kept(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[str] = []
    monkeypatch.setattr(work_pieces._WATCHER, "tell", pieces.append)
    assert commands.run("f.c", "--no-cache").status == 0
    begun = next(text.split("\t")[2] for text in pieces if "smooth_scop0" in text)
    with monkeypatch.context() as patched:
        patched.setattr(work_pieces._WATCHER, "hurried", {begun})
        assert commands.run("f.c").status == 0
        patched.setattr(work_pieces._WATCHER, "given_up", {begun: "compiling this takes too long"})
        assert "takes too long" in commands.run("f.c").err
    assert commands.entries == []
    assert commands.compiles("f.c") and not commands.compiles("f.c")


@pytest.mark.parametrize("name", ["f.c", "factor.h"])
def test_what_changes_while_it_is_compiled_is_not_kept(
    commands: Commands, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (commands.folder / "f.c").write_text('#include "factor.h"\n' + GOOD)
    (commands.folder / "factor.h").write_text("enum { many = 40 };\n")
    compile_file = command.compile_file

    def changing(*arguments: object, **settings: object) -> api.Program:
        with (commands.folder / name).open("a") as file:
            file.write("\n")
        return compile_file(*arguments, **settings)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(command, "compile_file", changing)
        assert commands.run("f.c").status == 0
    assert commands.entries == []


def test_a_file_that_vanishes_while_it_is_compiled_is_not_kept(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_file = command.compile_file

    def removing(*arguments: object, **settings: object) -> api.Program:
        program = compile_file(*arguments, **settings)  # type: ignore[arg-type]
        (commands.folder / "f.c").unlink()
        return program

    monkeypatch.setattr(command, "compile_file", removing)
    assert commands.run("f.c").status == 0
    assert commands.entries == []


def test_own_files_that_change_are_a_miss(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    from polytile.compile_cache import key

    commands.run("f.c")
    monkeypatch.setattr(key, "own_files", lambda: "another polytile")
    assert commands.compiles("f.c")
    monkeypatch.setattr(key, "own_files", lambda: None)  # which are being replaced
    assert commands.compiles("f.c") and commands.compiles("f.c")
    assert len(commands.entries) == 2


def test_two_commands_at_once(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(GOOD)
    environment = {**os.environ, "POLYTILE_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "polytile", "f.c"]
    running = [
        subprocess.Popen([*command, "-o", f"out{k}"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
        for k in range(2)
    ]
    for process in running:
        assert process.communicate(timeout=120) and process.returncode == 0
    (entry,) = (tmp_path / "cache").iterdir()
    subprocess.run([*command, "-o", "out2"], cwd=tmp_path, env=environment, check=True, capture_output=True)
    written = [{p.name: p.read_bytes() for p in (tmp_path / f"out{k}").iterdir()} for k in range(3)]
    assert written[0] == written[1] == written[2] and entry.exists()


def test_an_entry_is_data(commands: Commands) -> None:
    commands.run("f.c", "--keep-going")
    (entry,) = commands.entries
    head, _, text = entry.read_text().partition("\n")
    assert head.startswith("polytile cache 1 ")
    found = json.loads(text)
    assert set(found) == {"said", "status", "files", "beside"}
    assert set(found["beside"]) == {outputs.SCHEDULES, outputs.CERTIFICATE}
    assert json.loads(found["beside"][outputs.CERTIFICATE])["format"] == "polytile certificate"


def test_an_outcome_is_read_as_it_was_written() -> None:
    from polytile.cli.outcome import Outcome
    from polytile.cli.report import Said

    place = Location("a\udcff.c", 3, 0)
    said = [Said(Diagnostic("remark", "m", place, "h"), "a.c:3: line"), Said(UserError("no \U0001d4e2").diagnostic)]
    outcome = Outcome(said, 1, {"f.cu": "é\udce9\n"}, {})
    assert Outcome.from_text(outcome.to_text()) == outcome
